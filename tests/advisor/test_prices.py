"""Bills in money: rental and purchase blocks, taxes, what is missing."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from advisor.bill_of_materials import BillRequest, bill_of_materials
from advisor.book_rows import load_books
from advisor.engine.specs import ModelSpec, TrainingPlan
from advisor.hardware import load_parts
from advisor.price_books import build_quantities
from advisor.prices import purchase_prices, rental_prices, run_cost
from advisor.storage_parts import storage_sizes

pytestmark = pytest.mark.usefixtures("catalog")
DAY = date(2026, 11, 30)
SMALL = ModelSpec(
    name="small",
    layer_count=32,
    hidden_size=4096,
    ffn_size=11008,
    head_count=32,
    kv_head_count=32,
    head_size=128,
    vocab_size=32000,
)


def _bill(gpu="nvidia-h100-sxm5-80gb", server="supermicro-as-8125gs-tnhr", servers=4, spares=1, **changes):
    parts = load_parts()
    plan = TrainingPlan(tokens=1e12, sequence_length=4096, global_batch_size=1024)
    sizes = storage_sizes(SMALL, plan, unique_tokens=1e12, tokens_per_second=3e5, interval_seconds=1800)
    request = BillRequest(
        gpu=parts.gpus[gpu],
        server=parts.servers[server],
        server_count=servers,
        spare_server_count=spares,
        sizes=sizes,
        training_seconds=20 * 86400.0,
        **changes,
    )
    return parts, bill_of_materials(parts, request)


def _amount(money):
    return Decimal(money["amount"])


class TestRental:
    def _block(self, term=12, **changes):
        parts, bill = _bill(**changes)
        books = load_books(DAY)
        block, problems = rental_prices(
            parts, bill, books["rental", "CNY"], books["purchase", "CNY"], term_months=term, on=DAY, currency="CNY"
        )
        assert problems == []
        assert block is not None
        return block

    def test_a_server_month_of_eight_h100_is_about_87_000_yuan(self):
        # market index of 2026-10-10, mainland China, 8-GPU bare-metal node, one-year lease: 87 000 CNY a month
        block = self._block()
        server = next(line for line in block["lines"] if line["kind"] == "server")
        assert server["unit"] == "server_month"
        assert server["quantity"] == 4 * 12
        assert server["unit_price"] is not None
        assert _amount(server["unit_price"]) == pytest.approx(Decimal(87000), abs=1)

    def test_lease_is_taxed_at_13_and_services_at_6_percent(self):
        # China VAT: lease of movable things 13 %, services 6 %; one rounding for each rate
        block = self._block()
        groups = {group["rate"]: group for group in block["tax_groups"]}
        assert set(groups) == {"0.13", "0.06"}
        for rate, group in groups.items():
            by_hand = (_amount(group["base"]) * Decimal(rate)).quantize(Decimal("0.01"), rounding="ROUND_HALF_UP")
            assert _amount(group["tax"]) == by_hand

    def test_lines_add_up_to_subtotal_and_total(self):
        block = self._block()
        lines = sum(_amount(line["amount"]) for line in block["lines"] if line["amount"])
        assert lines == _amount(block["subtotal"])
        assert _amount(block["subtotal"]) + _amount(block["tax"]) == _amount(block["total"])

    def test_deposit_is_two_months_of_rent_from_a_year_on(self):
        long, short = self._block(term=12), self._block(term=3)
        assert long["monthly"] is not None
        assert long["deposit"] is not None
        assert short["monthly"] is not None
        assert short["deposit"] is not None
        assert _amount(long["deposit"]) == 2 * _amount(long["monthly"])
        assert _amount(short["deposit"]) == _amount(short["monthly"])

    def test_longer_terms_cost_less_a_month(self):
        # demo rule: factors 1.00, 0.97, 0.93, 0.85, 0.78, 0.70
        months = [_amount(self._block(term=term)["lines"][0]["unit_price"]) for term in (1, 3, 6, 12, 24, 36)]
        assert months == sorted(months, reverse=True)
        assert months[5] / months[0] == pytest.approx(Decimal("0.70"), abs=Decimal("0.001"))

    def test_storage_is_rented_at_the_servers_share_of_their_price(self):
        # 14.8973 CNY an hour x 8 x 730 = 87 000.23 a month on a server of 2 750 000: 3.16364 %;
        # 500 TB of drives, 318 645.83 USD x 6.74 = 2 147 672.92 CNY, so 67 944.62 a month and appliance
        block = self._block()
        assert block["is_complete"] is True
        storage = next(line for line in block["lines"] if line["kind"] == "storage")
        assert storage["unit_price"] is not None
        assert _amount(storage["unit_price"]) == pytest.approx(Decimal("67944.62"), abs=Decimal("0.5"))
        assert storage["origin_mark"] == "proxy"
        assert storage["is_indicative"] is True

    def test_what_has_no_price_is_named_and_never_zero(self):
        # without a purchase book nothing says what the storage is worth
        parts, bill = _bill()
        block, _ = rental_prices(
            parts, bill, load_books(DAY)["rental", "CNY"], None, term_months=12, on=DAY, currency="CNY"
        )
        assert block is not None
        assert block["is_complete"] is False
        storage = next(line for line in block["lines"] if line["kind"] == "storage")
        assert (storage["unit_price"], storage["amount"]) == (None, None)
        missing = next(item for item in block["missing"] if item["sku"] == storage["sku"])
        assert (missing["book"], missing["date"]) == ("demo-rental-cny", "2026-11-30")
        assert storage["sku"] in missing["message"]

    def test_network_and_racks_are_in_the_rent(self):
        block = self._block()
        assert not {"switch", "rack", "pdu", "cable"} & {line["kind"] for line in block["lines"]}
        assert block["price_book"]["note"]

    def test_a_gpu_without_a_rental_price_has_no_block(self):
        # demo_price_rules, section 6: no rental price can be formed for H20 96GB
        parts, bill = _bill("nvidia-h20-96gb", "supermicro-sys-821ge-tnhr")
        books = load_books(DAY)
        block, problems = rental_prices(
            parts, bill, books["rental", "CNY"], books["purchase", "CNY"], term_months=12, on=DAY, currency="CNY"
        )
        assert block is None
        assert problems[0]["code"] == "price_missing"
        assert problems[0]["params"]["gpu"] == "nvidia-h20-96gb"
        assert problems[0]["params"]["book"] == "demo-rental-cny"
        assert problems[0]["params"]["date"] == "2026-11-30"


class TestPurchase:
    def _block(self, currency="CNY", **changes):
        parts, bill = _bill(**changes)
        return purchase_prices(parts, bill, load_books(DAY).get(("purchase", currency)), on=DAY, currency=currency)

    def test_a_class_price_stands_for_the_complete_server(self):
        # demo_price_rules, section 5: 8 x H100 class price 2 750 000 CNY (2026-08-22), within six months
        block, problems = self._block()
        assert problems == []
        assert block is not None
        server = block["lines"][0]
        assert server["unit_price"] is not None
        assert _amount(server["unit_price"]) == Decimal("2750000.00")
        assert (server["origin_mark"], server["is_indicative"]) == ("class price", True)
        assert not {"gpu", "cpu", "memory", "ssd"} & {line["kind"] for line in block["lines"]}

    def test_without_a_class_price_the_parts_are_summed(self):
        # USD has no class price: (GPUs + CPUs + memory + drives + NICs) x 1.15 from the book's own rows
        parts, bill = _bill()
        book = load_books(DAY)["purchase", "USD"]
        block, _problems = purchase_prices(parts, bill, book, on=DAY, currency="USD")
        assert block is not None
        rows = {sku: book.find(sku, "each") for sku in build_quantities(bill.build)}
        by_hand = sum(rows[sku].amount * count for sku, count in build_quantities(bill.build).items())
        server = block["lines"][0]
        assert server["unit_price"] is not None
        assert _amount(server["unit_price"]) == (by_hand * Decimal("1.15")).quantize(Decimal("0.01"))
        assert server["origin_mark"] == "sum of parts"

    def test_spare_servers_are_bought_at_the_servers_price(self):
        block, _problems = self._block(spares=2)
        assert block is not None
        spare = next(line for line in block["lines"] if line["kind"] == "spare_server")
        assert (spare["quantity"], spare["unit_price"]) == (2, block["lines"][0]["unit_price"])
        assert "svc-onsite-spare" not in {line["sku"] for line in block["lines"]}

    def test_dollars_leave_tax_to_the_invoice(self):
        block, _problems = self._block(currency="USD")
        assert block is not None
        assert _amount(block["tax"]) == 0

    def test_without_any_price_of_the_server_there_is_no_block(self):
        # demo_price_rules, sections 5 and 6: A100 40GB has neither class price nor parts
        block, problems = self._block(gpu="nvidia-a100-sxm4-40gb", server="nvidia-dgx-a100-320gb")
        assert block is None
        assert [problem["code"] for problem in problems] == ["price_missing"]

    def test_a_currency_without_a_book_says_so(self):
        block, problems = self._block(currency="EUR")
        assert block is None
        assert problems[0]["code"] == "price_book_missing"


class TestRunCost:
    def test_gpu_hours_at_the_terms_price(self):
        book = load_books(DAY)["rental", "CNY"]
        price = next(row for row in book.prices["nvidia-h100-sxm5-80gb"] if row.term_months == 12)
        cost = run_cost(book, "nvidia-h100-sxm5-80gb", 1000.0, 12)
        assert cost == (price.amount * 1000).quantize(Decimal("0.01"), rounding="ROUND_HALF_UP")

    def test_unknown_hours_or_prices_cost_nothing_that_is_known(self):
        book = load_books(DAY)["rental", "CNY"]
        assert run_cost(book, "nvidia-h100-sxm5-80gb", None, 12) is None
        assert run_cost(book, "nvidia-h20-96gb", 1000.0, 12) is None
        assert run_cost(None, "nvidia-h100-sxm5-80gb", 1000.0, 12) is None
