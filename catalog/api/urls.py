"""`/api/v1/gpus` and its siblings: one list and one detail for each kind of part."""

from __future__ import annotations

from django.urls import URLPattern, path

from catalog.api.views import PART_VIEWS

urlpatterns: list[URLPattern] = []
for model, (list_view, detail_view) in PART_VIEWS.items():
    code = model.kind_code
    urlpatterns += [
        path(code, list_view.as_view(), name=f"api-{code}"),
        path(f"{code}/<str:sku>", detail_view.as_view(), name=f"api-{code}-detail"),
    ]
