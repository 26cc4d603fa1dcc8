from __future__ import annotations

from django.urls import path

from quotes.views import customer

app_name = "customer"
urlpatterns = [
    path("<str:token>/", customer.customer_quote, name="quote"),
    path("<str:token>/pdf", customer.customer_pdf, name="pdf"),
    path("<str:token>/accept", customer.customer_accept, name="accept"),
    path("<str:token>/decline", customer.customer_decline, name="decline"),
]
