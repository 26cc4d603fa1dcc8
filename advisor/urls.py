from __future__ import annotations

from django.urls import path, re_path

from advisor import download_views, embed_views, scenario_views, share_views, views

app_name = "advisor"
urlpatterns = [
    path("", views.sizing, name="sizing"),
    re_path(r"^result\.(?P<kind>json|csv|xlsx|pdf)$", download_views.download, name="download"),
    path("model-config", views.model_config, name="model-config"),
    path("compare", views.compare, name="compare"),
    path("scenarios/", scenario_views.scenario_list, name="scenarios"),
    path("scenarios/save", scenario_views.save, name="scenario-save"),
    path("scenarios/<uuid:public_id>/", scenario_views.scenario, name="scenario"),
    path("scenarios/<uuid:public_id>/changes", scenario_views.price_change, name="scenario-changes"),
    re_path(
        r"^scenarios/(?P<public_id>[0-9a-f-]{36})/(?P<step>duplicate|archive|restore)$",
        scenario_views.scenario_step,
        name="scenario-step",
    ),
    path("share.svg", share_views.qr_code, name="share-qr"),
    path("oembed", share_views.oembed, name="oembed"),
    path("embed", embed_views.embed_docs, name="embed-docs"),
    path("embed/sizer", embed_views.sizer, name="embed-sizer"),
    path("embed.js", embed_views.loader, name="embed-loader"),
    path("method", views.method, name="method"),
    path("glossary", views.glossary, name="glossary"),
    path("validation", views.validation, name="validation"),
    path("theme/", views.theme, name="theme"),
    path("favicon.ico", views.favicon, name="favicon"),
]
