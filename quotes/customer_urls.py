from __future__ import annotations

from django.urls import path

from quotes import customer_views

app_name = "customer"
urlpatterns = [
    path("<str:token>/", customer_views.customer_quote, name="quote"),
    path("<str:token>/pdf", customer_views.customer_pdf, name="pdf"),
    path("<str:token>/accept", customer_views.customer_accept, name="accept"),
    path("<str:token>/decline", customer_views.customer_decline, name="decline"),
]
