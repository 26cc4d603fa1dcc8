from __future__ import annotations

from django.urls import path

from quotes.views import desk, listing, steps

app_name = "quotes"
urlpatterns = [
    path("", listing.quote_list, name="list"),
    path("export.csv", listing.quote_export, name="export"),
    path("figures/", listing.quote_analytics, name="analytics"),
    path("new/", desk.quote_new, name="new"),
    path("<uuid:public_id>/", desk.quote_detail, name="detail"),
    path("<uuid:public_id>/r<int:revision_index>/", desk.quote_detail, name="revision"),
    path("<uuid:public_id>/r<int:revision_index>/pdf", desk.quote_pdf, name="pdf"),
    path("<uuid:public_id>/save/", desk.quote_save, name="save"),
    path("<uuid:public_id>/issue/", desk.quote_issue_page, name="issue"),
    path("<uuid:public_id>/share/", steps.quote_share_link, name="share"),
    path("<uuid:public_id>/unshare/", steps.quote_unshare_links, name="unshare"),
    path("<uuid:public_id>/step/<slug:action>/", steps.quote_step, name="step"),
]
