from __future__ import annotations

from django.urls import URLPattern, path

from catalog import book_views, desk_views, views
from catalog.unverified_views import unverified

FORMATS = ("csv", "xlsx")
BOOK = "price-books/<slug:code>/v<int:version>/"

app_name = "catalog"
urlpatterns: list[URLPattern] = [
    path("", views.index, name="index"),
    path("unverified/", unverified, name="unverified"),
    path("catalog.xlsx", desk_views.workbook, name="workbook"),
    path("import/", desk_views.import_parts, name="import"),
    path("drafts/", desk_views.drafts, name="drafts"),
    path("drafts/<int:pk>/", desk_views.draft, name="draft"),
    path("drafts/<int:pk>/publish/", desk_views.publish_draft, name="draft-publish"),
    path("drafts/<int:pk>/discard/", desk_views.discard_draft, name="draft-discard"),
    path("revisions/", desk_views.revisions, name="revisions"),
    path("revisions/<int:pk>/", desk_views.revision, name="revision"),
    path("price-books/", book_views.books, name="books"),
    path("price-books/<slug:code>/", views.price_book, name="price-book"),
    path(BOOK, book_views.book, name="book"),
    path(f"{BOOK}upload/", book_views.upload_prices, name="book-upload"),
    path(f"{BOOK}copy/", book_views.copy_book, name="book-copy"),
    path(f"{BOOK}publish/", book_views.publish_book, name="book-publish"),
    path(f"{BOOK}retire/", book_views.retire_book, name="book-retire"),
    path(f"{BOOK}roll-back/", book_views.roll_back_book, name="book-roll-back"),
]
for suffix in FORMATS:
    kept = {"suffix": suffix}
    urlpatterns += [
        path(f"price-books/<slug:code>/prices.{suffix}", views.price_book_file, kept, name=f"price-book-{suffix}"),
        path(f"{BOOK}prices.{suffix}", book_views.book_file, kept, name=f"book-{suffix}"),
        path(f"<slug:code>/table.{suffix}", views.kind_file, kept, name=f"table-{suffix}"),
        path(f"<slug:code>/comparison.{suffix}", views.compare, kept, name=f"comparison-{suffix}"),
    ]
urlpatterns += [
    path("<slug:code>/compare/", views.compare, name="compare"),
    path("<slug:code>/", views.kind_list, name="list"),
    path("<slug:code>/<str:sku>/", views.part, name="part"),
]
