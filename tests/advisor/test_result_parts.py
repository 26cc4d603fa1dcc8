"""The parts of a result: their order, and that each says what it promises with the figures of this answer."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.test import Client

from advisor.assumptions_page import assumption_rows
from advisor.charts_choice import deployment_bars, pareto_chart, topology
from advisor.glossary import CHAPTERS, ENTRIES, ON_RESULT
from advisor.method_text import SECTIONS
from advisor.price_table import price_rows
from advisor.result_page import EXAMPLES
from advisor.sensitivity_page import tornado
from advisor.why_page import fallen_out
from tests.advisor.test_views import Page, case, get

pytestmark = pytest.mark.django_db

ORDER = [
    "result-heading", "part-limits", "part-why", "part-others", "part-assumptions", "part-sensitivity",
    "part-calculation", "part-checks", "part-excluded", "part-quality", "part-next",
]  # fmt: skip


def test_parts_stand_in_the_order_of_a_reader(client: Client, catalog: None) -> None:
    ids = Page(get(client, **case())).ids
    places = [ids.index(name) for name in ORDER]
    assert places == sorted(places)


def test_no_more_than_three_reasons_and_each_leads_to_its_calculation(client: Client, catalog: None) -> None:
    page = Page(get(client, **case()))
    proofs = [link["href"] for link in page.all("a", class_="proof")]
    assert 1 <= len(proofs) <= 3
    assert all(proof.removeprefix("#") in page.ids for proof in proofs)


def test_at_least_five_others_with_a_reason_each(client: Client, catalog: None) -> None:
    response = get(client, **case(gpu=None))
    context = response.context
    others = [candidate for candidate in context["candidates"] if not candidate.is_recommended]
    said = [candidate.reason for candidate in others] + [reason for _name, reason in context["nearest_rejections"]]
    assert len(said) >= 5
    assert all(said)


def test_every_gpu_that_fell_out_is_named_once(client: Client, catalog: None) -> None:
    context = get(client, **case(gpu=None)).context
    filling, rest = fallen_out(context["answer"], context["candidates"])
    names = [row["gpu"] for row in (*filling, *rest)] + [c.row["gpu"] for c in context["candidates"]]
    assert len(names) == len(set(names))
    assert {row["gpu"] for row in context["answer"]["rejected"]} <= set(names)


def test_an_assumption_changed_in_place_keeps_the_rest_of_the_case(client: Client, catalog: None) -> None:
    answer = get(client, **case()).context["answer"]
    query = "deadline_days=30&parameters=7e9&precision=fp8&tokens=1e11&v=1"
    rows = {row.name: row for row in assumption_rows(answer, query)}
    row = rows["sequence_length"]
    kept = {name: values[0] for name, values in parse_qs(query).items()}
    assert dict(row.pairs) == kept
    assert (row.query, row.entered, row.origin) == ("sequence_length", "4096", "derived")
    assert dict(rows["precision"].pairs) == {name: value for name, value in kept.items() if name != "precision"}
    assert rows["precision"].is_changed
    assert next(iter(rows)) == "precision"


def test_an_assumption_form_gives_the_changed_case(client: Client, catalog: None) -> None:
    page = Page(get(client, **case(sequence_length="8192")))
    assert "8192" in [field["value"] for field in page.all("input", name="sequence_length", type="text")]
    forms = [form for form in page.all("form") if form.get("action", "").endswith("#part-assumptions")]
    assert len(forms) > 8


def test_presets_of_the_loss_and_the_way_back_are_cases_that_answer(client: Client, catalog: None) -> None:
    context = get(client, **case()).context
    link = next(row["url"] for row in context["loss_presets"] if row["throughput_loss"] == 0.2)
    response = client.get(f"{link}&lang=en")
    assert response.status_code == 200
    sides = response.context["answer"]["deployment_comparison"]
    assert sides["virtualized"]["training_days"] == pytest.approx(sides["bare_metal"]["training_days"] / 0.8)
    assert client.get(response.context["bare_metal_url"]).context["answer"] == context["answer"]


@pytest.mark.parametrize("query", [query for _title, _case, query in EXAMPLES])
def test_every_example_is_one_press_from_its_answer(client: Client, catalog: None, query: str) -> None:
    assert f"/?{query}" in [a["href"] for a in Page(get(client)).all("a") if "href" in a]
    response = client.get(f"/?{query}&lang=en")
    assert response.status_code == 200
    assert response.context["answer"]["recommended"]
    assert query == response.context["form"].query


def test_every_marked_word_has_its_explanation(client: Client, catalog: None) -> None:
    page = Page(get(client, **case()))
    targets = {button["popovertarget"] for button in page.all("button", class_="term")}
    assert targets
    assert targets <= set(page.ids)
    assert set(ON_RESULT) <= set(ENTRIES)


def test_glossary_links_to_sections_that_exist(client: Client) -> None:
    codes = {section.code for section in SECTIONS} | {"range"}
    assert {entry.section for chapter in CHAPTERS for entry in chapter.entries} - {""} <= codes
    page = Page(client.get("/glossary", {"lang": "zh-Hans"}))
    assert set(ENTRIES) <= set(page.ids)
    assert "显存" in page.text


def point(days: float, cost: float, gpus: int = 8) -> dict[str, Any]:
    return {"gpu": "a", "gpu_name": "A", "gpu_count": gpus, "training_days": days, "relative_cost": cost}


def test_front_is_drawn_on_logarithmic_axes_and_names_the_price_of_half_the_time() -> None:
    best = {"gpu": "a", "gpu_count": 8, "training_days": 40.0}
    chart = pareto_chart(
        [point(10, 400, 64), point(20, 150, 32), point(40, 100), point(80, 90, 4), point(4000, 1, 1)],
        best,
        deadline_seconds=50 * 86_400.0,
    )
    assert chart is not None
    assert [p.days for p in chart.points] == [10, 20, 40, 80]  # 4 000 days are far from the decision
    assert chart.chosen is not None
    # equal ratios of days are equal steps
    steps = [b.x - a.x for a, b in zip(chart.points, chart.points[1:], strict=False)]
    assert steps == pytest.approx([steps[0]] * 3)
    assert chart.halved == (20, pytest.approx(1.5))
    assert chart.halved_more == pytest.approx(0.5)
    assert chart.deadline_at is not None
    assert chart.chosen.x < chart.deadline_at < chart.points[-1].x


def test_two_points_are_no_front() -> None:
    best = {"gpu": "a", "gpu_count": 8, "training_days": 40.0}
    assert pareto_chart([point(20, 150), point(40, 100)], best, deadline_seconds=None) is None


def test_topology_shows_every_layer_with_its_count() -> None:
    drawn = topology({"leaf_count": 128, "spine_count": 128, "core_count": 64}, 512)
    assert drawn is not None
    assert [(layer.code, layer.count, len(layer.boxes)) for layer in drawn.layers] == [
        ("core", 64, 16), ("spine", 128, 16), ("leaf", 128, 16), ("server", 512, 16),
    ]  # fmt: skip
    assert topology({"leaf_count": 1, "spine_count": 0, "core_count": 0}, 1) is None


def test_bars_of_both_profiles_are_in_proportion() -> None:
    drawn = deployment_bars({"bare_metal": {"training_days": 10.0}, "virtualized": {"training_days": 12.5}})
    assert drawn is not None
    assert (drawn.bare_length, drawn.virtual_length) == (pytest.approx(80.0), 100.0)


def end(value: float, days: float | None, reason: str | None = None) -> dict[str, Any]:
    return {"value": value, "training_days": days, "price": None, "reason": reason}


def test_tornado_bars_reach_from_the_expected_days_to_each_end() -> None:
    item = {"label": "Tokens", "unit": "tokens", "origin": "user", "source": ""}
    drawn = tornado(
        {
            "inputs": [
                item | {"base": end(1e12, 20.0), "low": end(5e11, 10.0), "high": end(2e12, 30.0)},
                item | {"base": end(1e12, 20.0), "low": end(5e11, 15.0), "high": end(2e12, None, "does not fit")},
            ]
        }
    )
    assert drawn is not None
    assert drawn.base_at == 50.0
    first, second = drawn.rows
    assert (first.low.start, first.low.length, first.high.start, first.high.length) == (0.0, 50.0, 50.0, 50.0)
    assert (second.low.start, second.low.length) == (25.0, 25.0)
    assert (second.high.days, second.high.reason) == (None, "does not fit")
    assert first.origin == "user"
    assert tornado(None) is None


def test_a_varied_input_has_the_origin_that_the_list_of_assumptions_says() -> None:
    item = {"name": "sequence_length", "label": "", "unit": "tokens", "origin": "derived", "source": ""}
    inputs = [item | {side: end(4096, 20.0) for side in ("low", "base", "high")}]
    drawn = tornado({"inputs": inputs}, {"sequence_length": "default"})
    assert drawn is not None
    assert drawn.rows[0].origin == "default"


def test_the_front_says_what_a_run_as_fast_would_save_when_the_chosen_one_is_off_it() -> None:
    """80 in 10 days against 100 in 12: as fast or faster, and a fifth less."""
    front = [
        {"gpu": name, "gpu_name": name, "gpu_count": 8, "training_days": days, "relative_cost": cost}
        for name, days, cost in (("a", 5.0, 150.0), ("b", 10.0, 80.0), ("c", 20.0, 60.0))
    ]
    best = {"gpu": "d", "gpu_name": "d", "gpu_count": 8, "training_days": 12.0, "run_cost": {"amount": "100"}}
    drawn = pareto_chart(front, best, deadline_seconds=None)
    assert drawn is not None
    assert drawn.cheaper is not None
    assert (drawn.cheaper[0].gpu, drawn.cheaper[1]) == ("b", pytest.approx(0.2))
    assert drawn.halved_more is None
    on_front = pareto_chart(
        front, best | {"gpu": "c", "training_days": 20.0, "run_cost": {"amount": "60"}}, deadline_seconds=None
    )
    assert on_front is not None
    assert on_front.cheaper is None
    assert on_front.fastest_more == pytest.approx(1.5)


def test_the_folded_lines_and_those_before_the_fold_are_the_whole_bill(client: Client, catalog: None) -> None:
    context = get(client, **case()).context
    folded = context["folded_prices"]
    rows = [*context["leading_prices"], *folded.rows]
    whole = price_rows(context["answer"]["recommended"])
    assert sorted(row.sku for row in rows) == sorted(row.sku for row in whole)
    for basis in ("rental", "purchase"):
        shown = [getattr(row, basis) for row in context["leading_prices"]]
        total = sum(Decimal(cell.amount["amount"]) for cell in shown if cell and cell.amount)
        total += Decimal((getattr(folded, basis) or {"amount": "0"})["amount"])  # none of those here is rented
        assert total == Decimal(context["answer"]["recommended"]["prices"][basis]["subtotal"]["amount"])
