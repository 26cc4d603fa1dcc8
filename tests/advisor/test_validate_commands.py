"""The validation commands: shape of the JSON, another file of the same schema, and rows that make no sense."""

from __future__ import annotations

import csv
import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from advisor.evidence import MEMORY_CSV, RUNS_CSV


def command(name, *arguments):
    out = StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


def rows_of(path, keep):
    with path.open(encoding="utf-8") as handle:
        return [row for row in csv.DictReader(handle) if keep(row)]


def write(path, rows):
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


@pytest.fixture(scope="module")
def public_runs():
    return json.loads(command("validate_runs", "--json"))


@pytest.fixture(scope="module")
def public_memory():
    return json.loads(command("validate_memory", "--json"))


def test_every_run_is_answered(public_runs):
    assert len(public_runs["rows"]) == 1022
    for row in public_runs["rows"]:
        if row["skipped"] is None:
            error = row["predicted_tokens_per_second_per_gpu"] / row["published_tokens_per_second_per_gpu"] - 1
            assert row["relative_error"] == pytest.approx(error)
        else:
            assert row["relative_error"] is None
    assert {row["skipped"] for row in public_runs["rows"]} == {None, "no_throughput"}


def test_run_summary_has_the_agreed_names(public_runs):
    summary = public_runs["summary"]
    assert summary["count"] + summary["skipped"] == 593  # full layout, without the two known regressions
    for name in (
        "median_absolute_error",
        "row_median_absolute_error",
        "p90_absolute_error",
        "floor_p90",
        "bias",
    ):
        assert isinstance(summary[name], float)
    assert {"dense", "moe"} <= set(summary["by_model_kind"])
    assert "nvidia-h100-sxm5-80gb" in summary["by_gpu"]
    assert len(public_runs["unmodelled"]) == 23


def test_the_floor_is_that_of_the_evidence(public_runs):
    """The evidence's README gives 1.6 % in the median for rows that share every column."""
    assert public_runs["summary_all_rows"]["floor_median"] == pytest.approx(0.016, abs=0.004)


def test_every_memory_row_is_answered(public_memory):
    assert len(public_memory["rows"]) == 431
    for row in public_memory["rows"]:
        assert row["skipped"] is None
        if row["kind"] == "measured_peak" and row["published_peak_bytes"]:
            assert row["relative_error"] == pytest.approx(row["predicted_peak_bytes"] / row["published_peak_bytes"] - 1)
        else:
            assert row["relative_error"] is None
        assert (row["predicted_fits"] is None) == (row["kind"] == "measured_peak")
    fits = public_memory["summary_all_rows"]["fits"]
    judged = sum(fits["fits"].values()) + sum(fits["oom"].values())
    assert judged == fits["count"]
    causes = [entry for entry in public_memory["outcome_cause"] if entry["published_fits"] is not None]
    assert judged + len(causes) == 148  # 113 fits and 35 oom rows


def test_measure_decides_which_figure_is_compared(public_memory):
    figure = {"allocated": "allocated_bytes", "reserved": "reserved_bytes", "nvidia-smi": "total_bytes"}
    for row in public_memory["rows"]:
        if row["predicted_peak_bytes"] is not None:
            assert row["predicted_peak_bytes"] == row[figure.get(row["measure"], "reserved_bytes")]


def test_another_file_of_the_schema(tmp_path):
    kept = rows_of(RUNS_CSV, lambda row: row["group"].startswith("fms-fsdp"))
    answer = json.loads(command("validate_runs", write(tmp_path / "some.csv", kept), "--json"))
    assert [row["id"] for row in answer["rows"]] == [row["id"] for row in kept]
    kept = rows_of(MEMORY_CSV, lambda row: "torchtune" in row["source_title"])
    answer = json.loads(command("validate_memory", write(tmp_path / "more.csv", kept), "--json"))
    assert len(answer["rows"]) == len(kept)


def test_nonsense_rows_are_skipped_with_a_reason(tmp_path):
    first = rows_of(RUNS_CSV, lambda row: row["preset"] == "llama-3-8b" and row["full_layout"] == "y")[0]
    bad = [
        {**first, "id": "gpu", "gpu": "Cray-1"},
        {**first, "id": "layout", "tp": "7"},
        {**first, "id": "stages", "pp": "1024"},
        {**first, "id": "text", "n_gpus": "many", "tp": "x", "micro_batch": "-3"},
        {**first, "id": "huge", "seq_len": "9" * 30},
        {**first, "id": "good"},
    ]
    answer = json.loads(command("validate_runs", write(tmp_path / "bad.csv", bad), "--json"))
    skipped = {row["id"]: row["skipped"] for row in answer["rows"]}
    assert skipped["good"] is None
    assert skipped["gpu"] == "unknown_gpu"
    assert skipped["layout"]
    assert skipped["stages"]
    assert len(skipped) == 6


def test_printed_tables(tmp_path):
    kept = rows_of(RUNS_CSV, lambda row: row["group"].startswith("fms-fsdp"))
    text = command("validate_runs", write(tmp_path / "some.csv", kept))
    assert "median over groups" in text
    assert kept[0]["id"] in text
    kept = rows_of(MEMORY_CSV, lambda row: "torchtune" in row["source_title"])
    text = command("validate_memory", write(tmp_path / "more.csv", kept))
    assert "right in all" in text


@pytest.mark.parametrize("name", ["validate_runs", "validate_memory"])
def test_missing_file_is_a_clear_error(name):
    with pytest.raises(CommandError, match="There is no file"):
        command(name, "/nowhere/rows.csv")
