from __future__ import annotations

from django.urls import path

from quotes.views import desk, detail, editor, listing, steps

app_name = "quotes"
urlpatterns = [
    path("", listing.quote_list, name="list"),
    path("export.csv", listing.quote_export, name="export"),
    path("figures/", listing.quote_analytics, name="analytics"),
    path("new/", desk.quote_new, name="new"),
    path("new/by-hand/", desk.quote_new_by_hand, name="new-by-hand"),
    path("<uuid:public_id>/", detail.quote_detail, name="detail"),
    path("<uuid:public_id>/r<int:revision_index>/", detail.quote_detail, name="revision"),
    path("<uuid:public_id>/r<int:revision_index>/pdf", desk.quote_pdf, name="pdf"),
    path("<uuid:public_id>/r<int:revision_index>/proof", desk.quote_proof, name="proof"),
    path("<uuid:public_id>/r<int:revision_index>/against/r<int:other_index>/", desk.quote_comparison, name="compare"),
    path("<uuid:public_id>/r<int:revision_index>/duplicate/", steps.quote_duplicate_page, name="duplicate"),
    path("<uuid:public_id>/save/", editor.quote_save, name="save"),
    path("<uuid:public_id>/preview/", editor.quote_preview, name="preview"),
    path("<uuid:public_id>/prices/", steps.quote_reprice_page, name="reprice"),
    path("<uuid:public_id>/export-check/", steps.quote_export_check, name="export-check"),
    path("<uuid:public_id>/team/", steps.quote_shown_to_others, name="team"),
    path("<uuid:public_id>/issue/", desk.quote_issue_page, name="issue"),
    path("<uuid:public_id>/share/", steps.quote_share_link, name="share"),
    path("<uuid:public_id>/unshare/", steps.quote_unshare_links, name="unshare"),
    path("<uuid:public_id>/step/<slug:action>/", steps.quote_step, name="step"),
]
