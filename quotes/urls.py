from __future__ import annotations

from django.urls import path

from quotes import steps, views

app_name = "quotes"
urlpatterns = [
    path("", views.quote_list, name="list"),
    path("new/", views.quote_new, name="new"),
    path("<uuid:public_id>/", views.quote_detail, name="detail"),
    path("<uuid:public_id>/r<int:revision_index>/", views.quote_detail, name="revision"),
    path("<uuid:public_id>/r<int:revision_index>/pdf", views.quote_pdf, name="pdf"),
    path("<uuid:public_id>/save/", views.quote_save, name="save"),
    path("<uuid:public_id>/issue/", views.quote_issue_page, name="issue"),
    path("<uuid:public_id>/share/", steps.quote_share_link, name="share"),
    path("<uuid:public_id>/unshare/", steps.quote_unshare_links, name="unshare"),
    path("<uuid:public_id>/step/<slug:action>/", steps.quote_step, name="step"),
]
