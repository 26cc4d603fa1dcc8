"""The editor: rows retire, drafts publish, what is published cannot be changed."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from catalog.drafts import draft_publish
from catalog.models import CatalogChange, CatalogDraft, Gpu, Price, PriceBook, Server
from catalog.revisions import PART_MODELS, current_revision
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def editor() -> Client:
    client = Client(headers={"accept-language": "en"})
    client.force_login(factories.root())
    return client


def draft(**changes: object) -> PriceBook:
    values = {
        "code": "seller-purchase-eur",
        "name_zh": "价目",
        "name_en": "Book",
        "basis": "purchase",
        "currency": "EUR",
        "valid_from": date(2026, 1, 1),
    }
    book = PriceBook.objects.create(**(values | changes))
    Price.objects.create(book=book, sku="a-part", unit="each", amount=Decimal("10.00"), origin_mark="source")
    return book


@pytest.mark.parametrize("model", PART_MODELS, ids=lambda model: model.kind_code)
def test_each_kind_has_a_list_and_a_form(editor: Client, catalog: None, model: type[Gpu]) -> None:
    name = model._meta.model_name
    assert editor.get(reverse(f"admin:catalog_{name}_changelist"), {"q": "a"}).status_code == 200
    row = model._default_manager.first()
    assert row is not None
    assert editor.get(reverse(f"admin:catalog_{name}_change", args=[row.pk])).status_code == 200


def drafted(editor: Client) -> CatalogDraft:
    return CatalogDraft.objects.get(author__username="root", status="open")


def test_retiring_a_part_waits_in_the_draft_and_keeps_the_row(editor: Client, catalog: None) -> None:
    before, gpu = current_revision(), Gpu.objects.get(sku="nvidia-l4-24gb")
    answer = editor.post(reverse("admin:catalog_gpu_changelist"), {"action": "retire", "_selected_action": [gpu.pk]})
    gpu.refresh_from_db()
    assert (answer.status_code, gpu.is_active, current_revision()) == (302, True, before)
    draft_publish(draft=drafted(editor), reason="out of production", author=User.objects.get(username="root"))
    gpu.refresh_from_db()
    assert gpu.is_active is False
    assert current_revision() != before
    change = CatalogChange.objects.get(kind="gpus", key=gpu.sku, revision__code=current_revision())
    assert (change.action, change.revision.reason, change.revision.author) == ("retired", "out of production", "root")


def form_values(editor: Client, url: str) -> dict[str, object]:
    """What a browser would send back unchanged."""
    form = editor.get(url).context["adminform"].form
    values = {name: form[name].value() for name in form.fields}
    lists = {
        name: json.dumps(value)
        for name, value in values.items()
        if isinstance(value, list) and name != "supported_gpus"
    }
    plain = {name: value for name, value in values.items() if value is not None and value is not False}
    return plain | lists


def test_an_edit_goes_into_the_editors_draft_and_the_form_goes_on_from_there(editor: Client, catalog: None) -> None:
    gpu = Gpu.objects.get(sku="nvidia-l4-24gb")
    url = reverse("admin:catalog_gpu_change", args=[gpu.pk])
    answer = editor.post(url, form_values(editor, url) | {"tdp_watts": "75"})
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    row = drafted(editor).rows.get()
    assert (row.key, row.before, row.after) == ("nvidia-l4-24gb", {"tdp_watts": 72.0}, {"tdp_watts": 75.0})
    gpu.refresh_from_db()
    assert gpu.tdp_watts == 72.0
    again = form_values(editor, url)
    assert again["tdp_watts"] == 75.0
    editor.post(url, again | {"tdp_watts": "72"})  # taken back: nothing is left of it
    assert not drafted(editor).rows.exists()


def test_an_edit_of_a_server_keeps_its_gpus_as_a_list_of_names(editor: Client, catalog: None) -> None:
    server = Server.objects.get(sku="nvidia-dgx-h100")
    url = reverse("admin:catalog_server_change", args=[server.pk])
    h200 = Gpu.objects.get(sku="nvidia-h200-sxm5-141gb")
    values = form_values(editor, url)
    chosen = values["supported_gpus"]
    answer = editor.post(url, values | {"supported_gpus": [*chosen, h200.pk]})
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    row = drafted(editor).rows.get()
    assert row.before == {"supported_gpus": ["nvidia-h100-sxm5-80gb"]}
    assert row.after == {"supported_gpus": ["nvidia-h100-sxm5-80gb", "nvidia-h200-sxm5-141gb"]}
    draft_publish(draft=drafted(editor), reason="fits", author=User.objects.get(username="root"))
    assert server.supported_gpus.filter(sku="nvidia-h200-sxm5-141gb").exists()


def test_a_part_cannot_be_deleted(editor: Client, catalog: None) -> None:
    gpu = Gpu.objects.get(sku="nvidia-l4-24gb")
    assert editor.post(reverse("admin:catalog_gpu_delete", args=[gpu.pk]), {"post": "yes"}).status_code == 403
    assert Gpu.objects.filter(pk=gpu.pk).exists()


def test_a_draft_is_published_by_the_action(editor: Client) -> None:
    book = draft()
    editor.post(reverse("admin:catalog_pricebook_changelist"), {"action": "publish", "_selected_action": [book.pk]})
    book.refresh_from_db()
    assert book.status == "published"
    assert book.published_at is not None


def test_a_published_book_and_its_prices_cannot_be_changed_or_deleted(editor: Client) -> None:
    book = draft()
    editor.post(reverse("admin:catalog_pricebook_changelist"), {"action": "publish", "_selected_action": [book.pk]})
    price = book.prices.get()
    for name, row in (("pricebook", book), ("price", price)):
        page = editor.get(reverse(f"admin:catalog_{name}_change", args=[row.pk]))
        assert page.status_code == 200
        assert b'name="_save"' not in page.content
        assert editor.post(reverse(f"admin:catalog_{name}_change", args=[row.pk]), {"amount": "1"}).status_code == 403
        assert editor.post(reverse(f"admin:catalog_{name}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
    price.refresh_from_db()
    assert price.amount == Decimal("10.00")


def test_a_price_cannot_be_put_into_a_published_book(editor: Client) -> None:
    book = draft()
    editor.post(reverse("admin:catalog_pricebook_changelist"), {"action": "publish", "_selected_action": [book.pk]})
    values = {"book": book.pk, "sku": "other", "unit": "each", "amount": "5", "origin_mark": "source"}
    answer = editor.post(reverse("admin:catalog_price_add"), values)
    assert answer.status_code == 200  # the form comes back: the book is not among the choices
    assert not Price.objects.filter(sku="other").exists()


def test_a_copy_is_the_next_version_with_the_same_prices(editor: Client) -> None:
    book = draft()
    editor.post(reverse("admin:catalog_pricebook_changelist"), {"action": "draft_copy", "_selected_action": [book.pk]})
    copy = PriceBook.objects.get(code=book.code, version=2)
    assert copy.status == "draft"
    assert [(p.sku, p.amount) for p in copy.prices.all()] == [("a-part", Decimal("10.00"))]


def test_an_overlapping_book_is_refused_with_a_word(editor: Client) -> None:
    first, second = draft(), draft(code="other-purchase-eur")
    url = reverse("admin:catalog_pricebook_changelist")
    editor.post(url, {"action": "publish", "_selected_action": [first.pk]})
    answer = editor.post(url, {"action": "publish", "_selected_action": [second.pk]}, follow=True)
    second.refresh_from_db()
    assert second.status == "draft"
    assert "Close or retire it first" in answer.content.decode()


@pytest.mark.parametrize(
    ("role", "sees", "changes"),
    [("catalog_editor", 200, 200), ("sales_manager", 200, 403), ("finance_viewer", 200, 403), ("sales_rep", 403, 403)],
)
def test_the_group_says_who_sees_and_who_changes(catalog: None, role: str, sees: int, changes: int) -> None:
    client = Client()
    client.force_login(factories.staff("someone", role))
    gpu = Gpu.objects.get(sku="nvidia-l4-24gb")
    assert client.get(reverse("admin:catalog_gpu_changelist")).status_code == sees
    assert client.get(reverse("admin:catalog_gpu_change", args=[gpu.pk])).status_code == sees
    assert client.get(reverse("admin:catalog_gpu_add")).status_code == changes
    assert client.get(reverse("admin:catalog_price_changelist")).status_code == sees
    assert client.get("/catalog/price-books/").status_code == (200 if sees == 200 else 404)
