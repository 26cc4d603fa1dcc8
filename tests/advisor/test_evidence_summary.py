"""Summary arithmetic on hand-made rows; every expected figure is worked out in the comment beside it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from advisor.evidence_summary import (
    ScoredMemory,
    ScoredRun,
    ceiling_counts,
    confusion,
    error_summary,
    floor_differences,
    median_over_groups,
    memory_report,
    percentile,
    run_report,
)

RUN = ScoredRun(
    id="r",
    group="a/m",
    source="a",
    gpu="h100",
    generation="Hopper",
    model_kind="dense",
    precision="bf16",
    is_full_layout=True,
    unmodelled="",
    note_cause="",
    twin_key="r",
    published=100.0,
    predicted=100.0,
    skipped=None,
)
MEMORY = ScoredMemory(
    id="m",
    group="s/m",
    source="s",
    kind="measured_peak",
    measure="allocated",
    method="pretrain",
    recipe="megatron",
    is_complete=True,
    is_at_ceiling=False,
    outcome_cause="",
    note_cause="",
    card_bytes=80e9,
    published_peak=50e9,
    predicted_peak=50e9,
    predicted_fits=None,
    skipped=None,
)


def runs(*specs):
    """Runs from (group, predicted) pairs against a published 100."""
    return [
        replace(RUN, id=f"r{i}", twin_key=f"t{i}", group=group, source=group.split("/")[0], predicted=predicted)
        for i, (group, predicted) in enumerate(specs)
    ]


def test_percentile_interpolates():
    assert percentile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.9) == pytest.approx(9.1)  # position 8.1 of 0..9
    assert percentile([7], 0.9) == 7
    assert percentile([3, 1], 0.5) == 2
    with pytest.raises(ValueError, match="at least one"):
        percentile([], 0.9)


def test_a_big_group_counts_once():
    # group a: |0.5| three times; b: |-0.1|; c: |0.2| -> medians 0.5, 0.1, 0.2 -> 0.2
    errors = [("a", 0.5), ("a", 0.5), ("a", 0.5), ("b", -0.1), ("c", 0.2)]
    assert median_over_groups(errors) == pytest.approx(0.2)


def test_error_summary():
    summary = error_summary([("a", "x", 0.1), ("a", "x", -0.3), ("b", "y", 0.2)])
    assert summary.count == 3
    assert (summary.group_count, summary.source_count) == (2, 2)
    assert summary.median_absolute_error == pytest.approx(0.2)  # a: median(0.1, 0.3) = 0.2, b: 0.2
    assert summary.row_median_absolute_error == pytest.approx(0.2)
    assert summary.p90_absolute_error == pytest.approx(0.28)  # 0.1, 0.2, 0.3 at position 1.8
    assert summary.bias == pytest.approx(0.1)  # median of -0.3, 0.1, 0.2
    assert summary.mean_error == pytest.approx(0.0)


def test_error_is_relative_to_the_published_figure():
    assert replace(RUN, predicted=80.0).error == pytest.approx(-0.2)
    assert replace(RUN, predicted=None).error is None
    assert replace(RUN, published=None).error is None
    assert replace(RUN, skipped="no_throughput").error is None


def test_floor_is_the_difference_of_twins():
    twins = [replace(RUN, twin_key="t", published=value) for value in (90.0, 110.0, 100.0)]
    lone = replace(RUN, twin_key="lone", published=50.0)
    # pairs: 20/100, 10/95, 10/105
    assert sorted(floor_differences([*twins, lone])) == pytest.approx([10 / 105, 10 / 95, 0.2])


def test_report_keeps_unmodelled_and_partial_rows_apart():
    rows = runs(("a/m", 110.0), ("b/m", 120.0))
    rows.append(replace(RUN, id="partial", is_full_layout=False, predicted=300.0))
    rows.append(replace(RUN, id="known", unmodelled="known_regression", predicted=200.0))
    rows.append(replace(RUN, id="noted", is_full_layout=False, note_cause="token_drop", predicted=150.0))
    rows.append(replace(RUN, id="none", published=None, predicted=None, skipped="no_throughput"))
    report = run_report(rows)
    assert report["summary"]["count"] == 2
    assert report["summary"]["skipped"] == 1
    assert report["summary"]["median_absolute_error"] == pytest.approx(0.15)
    assert report["summary_all_rows"]["count"] == 4
    assert report["named_in_notes"] == [{"id": "noted", "cause": "token_drop", "relative_error": pytest.approx(0.5)}]
    assert report["unmodelled"] == [{"id": "known", "cause": "known_regression", "relative_error": pytest.approx(1.0)}]


def test_slices_need_ten_rows_of_two_sources_to_be_judged():
    nine = runs(*[("a/m", 105.0)] * 9)
    assert not run_report([*nine, *runs(("a/n", 105.0))])["summary"]["by_gpu"]["h100"]["is_judged"]  # one source
    ten = [*nine, *runs(("b/m", 105.0))]
    judged = run_report(ten)["summary"]
    assert judged["by_gpu"]["h100"]["is_judged"]
    assert judged["by_model_kind"]["dense"]["median_absolute_error"] == pytest.approx(0.05)
    assert not run_report(ten[1:])["summary"]["by_gpu"]["h100"]["is_judged"]  # nine rows


def test_an_empty_set_is_null_not_zero():
    report = run_report([])
    assert report["summary"]["count"] == 0
    assert report["summary"]["median_absolute_error"] is None
    assert report["summary"]["floor_p90"] is None
    json.dumps(report, allow_nan=False)
    json.dumps(memory_report([]), allow_nan=False)


def test_memory_errors_leave_ceilings_and_causes_out():
    rows = [
        replace(MEMORY, id="a", predicted_peak=55e9),  # +10 %
        replace(MEMORY, id="b", measure="reserved", predicted_peak=49e9),  # -2 %
        replace(MEMORY, id="c", is_at_ceiling=True, published_peak=79e9, predicted_peak=200e9),
        replace(MEMORY, id="d", outcome_cause="fragmentation", predicted_peak=500e9),
        replace(MEMORY, id="e", is_complete=False, predicted_peak=75e9),  # +50 %, not complete
        replace(MEMORY, id="f", skipped="no_peak", predicted_peak=None),
    ]
    report = memory_report(rows)
    assert report["summary"]["count"] == 2
    assert report["summary"]["by_measure"]["allocated"]["bias"] == pytest.approx(0.1)
    assert report["summary"]["by_measure"]["reserved"]["bias"] == pytest.approx(-0.02)
    assert report["summary_all_rows"]["count"] == 3
    assert [entry["id"] for entry in report["outcome_cause"]] == ["d"]
    noted = memory_report([replace(MEMORY, note_cause="activation_offload")])
    assert [entry["cause"] for entry in noted["named_in_notes"]] == ["activation_offload"]
    assert noted["summary"]["count"] == 1


def outcome(kind, predicted_fits, **more):
    return replace(MEMORY, kind=kind, published_peak=None, predicted_fits=predicted_fits, **more)


def test_confusion_counts():
    rows = [
        *[outcome("fits", True)] * 5,
        outcome("fits", False),
        *[outcome("oom", False)] * 3,
        outcome("oom", True),
        outcome("oom", True, outcome_cause="fragmentation"),  # decided by something else
        outcome("fits", None),  # no answer
    ]
    counts = confusion(rows)
    assert counts["fits"] == {"right": 5, "wrong": 1}
    assert counts["oom"] == {"right": 3, "wrong": 1}
    assert counts["right_fraction"] == pytest.approx(0.8)
    assert counts["oom_called_fits_fraction"] == pytest.approx(0.25)


def test_ceiling_rows_must_reach_the_card():
    low = replace(MEMORY, id="low", is_at_ceiling=True, predicted_peak=0.94 * 80e9)
    high = replace(MEMORY, id="high", is_at_ceiling=True, predicted_peak=0.95 * 80e9)
    assert ceiling_counts([low, high]) == {"right": 1, "wrong": 1, "wrong_ids": ["low"]}
