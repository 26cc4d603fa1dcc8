from __future__ import annotations

from django.urls import path

from catalog import views

app_name = "catalog"
urlpatterns = [
    path("", views.index, name="index"),
    path("price-books/<slug:code>/", views.price_book, name="price-book"),
    path("price-books/<slug:code>/prices.csv", views.price_book_csv, name="price-book-csv"),
    path("<slug:code>/", views.kind_list, name="list"),
    path("<slug:code>/<str:sku>/", views.part, name="part"),
]
