"""Addresses of what goes beyond the desk: requests of visitors, outgoing mail, API tokens."""

from __future__ import annotations

from django.urls import path

from quotes.views import mails, request_desk, requests, tokens

urlpatterns = [
    path("request-quote/", requests.quote_request, name="request-quote"),
    path("request-quote/thanks/<str:reference>/", requests.request_thanks, name="request-thanks"),
    path("quotes/requests/", request_desk.request_list, name="requests"),
    path("quotes/requests/<str:reference>/", request_desk.request_detail, name="request-detail"),
    path("quotes/requests/<str:reference>/take/", request_desk.request_take_step, name="request-take"),
    path("quotes/requests/<str:reference>/assign/", request_desk.request_assign_step, name="request-assign"),
    path("quotes/requests/<str:reference>/note/", request_desk.request_note_step, name="request-note"),
    path("quotes/requests/<str:reference>/close/", request_desk.request_close_step, name="request-close"),
    path("quotes/requests/<str:reference>/draft/", request_desk.request_draft_step, name="request-draft"),
    path("quotes/mail/", mails.mail_list, name="mails"),
    path("quotes/mail/<int:pk>/retry/", mails.mail_retry_step, name="mail-retry"),
    path("quotes/<uuid:public_id>/mail/", mails.quote_mail_page, name="quote-mail"),
    path("quotes/tokens/", tokens.token_list, name="tokens"),
    path("quotes/tokens/<int:pk>/revoke/", tokens.token_revoke, name="token-revoke"),
]
