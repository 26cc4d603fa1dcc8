"""Reading the files: what is right becomes base units, what is wrong is listed with file and line; no database."""

from __future__ import annotations

import csv
import io
import shutil
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from django.utils import translation

from catalog import cells
from catalog.cells import CellError
from catalog.management.commands.load_catalog import DEFAULT_FOLDER
from catalog.records import CatalogFileError, CatalogRecords, Fault, Record, read_catalog

Edit = Callable[[list[dict[str, str]]], object]


@pytest.fixture(scope="module")
def records() -> CatalogRecords:
    return read_catalog(DEFAULT_FOLDER)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the catalogue's files to break."""
    copy = tmp_path / "data"
    shutil.copytree(DEFAULT_FOLDER, copy)
    return copy


def edit(path: Path, change: Edit) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    headers = list(rows[0])
    change(rows)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, headers, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8", newline="")


def faults_of(folder: Path) -> tuple[Fault, ...]:
    with translation.override("en"), pytest.raises(CatalogFileError) as raised:
        read_catalog(folder)
    return raised.value.faults


def record(records: CatalogRecords, kind: str, key: str) -> Record:
    return next(found for found in records.of(kind) if found.key == key)


# --- units: the datasheet figures of the files by hand --------------------------------------------------------------
@pytest.mark.parametrize(
    ("kind", "key", "field", "value"),
    [
        ("Gpu", "nvidia-h100-sxm5-80gb", "memory_bytes", 81559 * 1048576),
        ("Gpu", "nvidia-h100-sxm5-80gb", "memory_label", "80 GB"),
        ("Gpu", "nvidia-h100-sxm5-80gb", "memory_bytes_per_second", 3.35e12),
        ("Gpu", "nvidia-h100-sxm5-80gb", "bf16_dense_flops_per_second", 989.4e12),
        ("Gpu", "nvidia-h100-sxm5-80gb", "bf16_sparse_flops_per_second", 1978.9e12),
        ("Gpu", "nvidia-h100-sxm5-80gb", "scale_up_bytes_per_second", 450e9),  # 900 GB/s is both directions
        ("Gpu", "nvidia-a100-sxm4-40gb", "bf16_dense_flops_per_second", 312e12),
        ("Gpu", "nvidia-h100-pcie-80gb", "scale_up_domain_size", 2),  # one NVLink bridge joins two cards
        ("Gpu", "nvidia-gb200-nvl72-gpu", "scale_up_domain_size", 72),
        ("Gpu", "nvidia-l40s-48gb", "scale_up_bytes_per_second", None),
        ("Gpu", "nvidia-l40s-48gb", "scale_up_domain_size", 1),
        ("Gpu", "nvidia-v100-sxm2-32gb", "bf16_dense_flops_per_second", None),
        ("MemoryModule", "ddr5-4800-rdimm-64g", "capacity_bytes", 64 * 2**30),
        ("MemoryModule", "ddr5-4800-rdimm-64g", "capacity_label", "64 GB"),
        ("Ssd", "samsung-pm1743-7680", "capacity_bytes", 7_680_000_000_000),
        ("Nic", "nvidia-cx7-1p-400-vpi", "port_bytes_per_second", 50e9),
        ("Switch", "nvidia-qm9700", "port_count", 64),
        ("Switch", "nvidia-qm9700", "max_two_tier_endpoints_by_rate", {"400G": 2048, "200G": 8192}),
        ("Rack", "rack-42u-air-12", "usable_watts", 12_000.0),
        ("Service", "svc-build-cluster", "demo_fraction", Decimal("0.05")),
        ("Service", "svc-ops-24x7", "availability_fraction", Decimal("0.995")),
        ("Service", "svc-ops-24x7", "replacement_seconds", 14_400),
        ("Tier", "hundreds_of_billions", "upper_parameter_count", None),
        ("ReferenceBuild", "ref-t2-h100", "host_memory_bytes", 1536 * 2**30),
        ("ReferenceBuild", "claim-t1-a100-40", "gpus_per_server", None),
        ("ReferenceBuild", "claim-t1-a100-40", "gpus_per_server_text", "4-8"),
        ("SoftwareStack", "stack-hopper-9.0", "min_toolkit", "11.8"),
        ("ModelArchitecture", "gemma-3-27b", "sliding_window", 1024),
        ("ModelArchitecture", "gemma-3-27b", "window_layers_per_period", 5),
        ("ModelArchitecture", "gemma-3-27b", "window_period", 6),
        ("ModelArchitecture", "llama-4-maverick", "dense_layer_count", 0),
        ("ModelArchitecture", "llama-4-maverick", "moe_layer_interval", 2),
        ("ModelArchitecture", "deepseek-v3", "dense_layer_count", 3),
    ],
)
def test_figures_are_in_base_units(records: CatalogRecords, kind: str, key: str, field: str, value: object) -> None:
    assert record(records, kind, key).fields[field] == value


def test_every_row_keeps_its_source_and_the_day_it_was_read(records: CatalogRecords) -> None:
    for kind in ("Gpu", "Server", "Cpu", "Nic", "Switch"):
        for found in records.of(kind):
            assert found.fields["source_title"], found.key
            assert found.fields["checked_on"] == date(2026, 11, 30), found.key


def test_unverified_columns_are_named_by_field(records: CatalogRecords) -> None:
    assert record(records, "Gpu", "nvidia-h20-96gb").fields["unverified_fields"] == ["launch_date", "tdp_watts"]


def test_there_is_no_h100_with_160_gb_and_ndr_is_400(records: CatalogRecords) -> None:
    h100 = [found for found in records.of("Gpu") if found.key.startswith("nvidia-h100")]
    assert {found.fields["memory_label"] for found in h100} == {"80 GB", "94 GB"}
    rates = {(s.fields["ib_generation"], s.fields["port_bytes_per_second"]) for s in records.of("Switch")}
    assert {("HDR", 25e9), ("NDR", 50e9), ("XDR", 100e9)} <= rates


# --- faults --------------------------------------------------------------------------------------------------------
def test_all_faults_of_all_files_are_listed_at_once_with_their_lines(folder: Path) -> None:
    def break_gpus(rows: list[dict[str, str]]) -> None:
        rows[0]["tdp_w"] = "-5"
        rows[1]["memory_visible_mib"] = "lots"
        rows[1]["sizeable"] = "perhaps"

    edit(folder / "gpus.csv", break_gpus)
    edit(folder / "nics.csv", lambda rows: rows[2].update(ports="2.5"))
    listed = [(fault.file_name, fault.line, fault.column) for fault in faults_of(folder)]
    # the rows that fell out of gpus.csv are missed by those that name them: further faults, each with its own line
    assert [place for place in listed if place[0] in ("gpus.csv", "nics.csv")] == [
        ("gpus.csv", 2, "tdp_w"),
        ("gpus.csv", 3, "memory_visible_mib"),
        ("gpus.csv", 3, "sizeable"),
        ("nics.csv", 4, "ports"),
    ]


@pytest.mark.parametrize(
    ("file_name", "changes", "words"),
    [
        ("gpus.csv", {"sku": "Nvidia H100"}, "is no SKU"),
        ("gpus.csv", {"vendor": ""}, "may not be empty"),
        ("gpus.csv", {"status": "sold"}, "is not one of"),
        ("gpus.csv", {"launch_date": "2022-13-01"}, "is not a date"),
        ("gpus.csv", {"memory_bandwidth_gb_s": "0"}, "must be above zero"),
        ("gpus.csv", {"memory_bandwidth_gb_s": "NaN"}, "not a usable number"),
        ("gpus.csv", {"tdp_w": "1e400"}, "not a usable number"),
        ("gpus.csv", {"tdp_w": "3,5"}, "is not a number"),
        ("gpus.csv", {"sizeable": "n", "not_sizeable_reason": ""}, "Say why this GPU cannot be sized"),
        ("tiers.csv", {"lower_parameter_count": "5"}, "was to follow"),
        ("services.csv", {"demo_percent": "-1"}, "cannot be negative"),
        ("switches.csv", {"max_two_tier_endpoints_by_rate": "400G=5"}, "is not a list like"),
        ("model_architectures.csv", {"sliding_window": "wide"}, "is no window"),
        ("cloud_prices.csv", {"low": "999"}, "out of order"),
        ("prices_rental.csv", {"commitment": "2y"}, "is not one of"),
        ("prices_purchase.csv", {"as_of": "last year"}, "is not a date"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else None,
)
def test_a_wrong_cell_is_named(folder: Path, file_name: str, changes: dict[str, str], words: str) -> None:
    edit(folder / file_name, lambda rows: rows[0].update(changes))
    messages = [fault.message for fault in faults_of(folder) if (fault.file_name, fault.line) == (file_name, 2)]
    assert any(words in message for message in messages), messages


def test_swapped_dense_and_sparse_rates_are_noticed(folder: Path) -> None:
    def swap(rows: list[dict[str, str]]) -> None:
        row = next(row for row in rows if row["sku"] == "nvidia-h100-sxm5-80gb")
        row["bf16_dense_tflops"], row["bf16_sparse_tflops"] = row["bf16_sparse_tflops"], row["bf16_dense_tflops"]

    edit(folder / "gpus.csv", swap)
    assert any("look swapped" in fault.message for fault in faults_of(folder))


def test_a_sizeable_gpu_without_a_dense_rate_is_refused(folder: Path) -> None:
    edit(folder / "gpus.csv", lambda rows: rows[1].update(bf16_dense_tflops=""))
    assert any("needs a dense BF16 rate" in fault.message for fault in faults_of(folder))


def test_one_sku_names_one_part_across_all_files(folder: Path) -> None:
    edit(folder / "nics.csv", lambda rows: rows[0].update(sku="nvidia-h100-sxm5-80gb"))
    faults = [fault for fault in faults_of(folder) if "is already in gpus.csv:" in fault.message]
    assert [(fault.file_name, fault.line) for fault in faults] == [("nics.csv", 2)]


def test_a_named_part_must_exist(folder: Path) -> None:
    def rename(rows: list[dict[str, str]]) -> None:
        rows[0]["supported_gpu_skus"] = "nvidia-a100-sxm4-80gb;nvidia-h100-160gb"

    edit(folder / "servers.csv", rename)
    assert ("servers.csv", 2, "supported_gpu_skus") in [(f.file_name, f.line, f.column) for f in faults_of(folder)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read"),
        (b"", "The column is missing"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"sku,sku\n", "there twice"),
        (b"\x00" * 10, "missing"),
    ],
    ids=["no file", "empty", "not UTF-8", "twice", "binary"],
)
def test_a_file_that_is_no_catalogue_file_is_named(folder: Path, content: bytes | None, words: str) -> None:
    path = folder / "nics.csv"
    path.unlink() if content is None else path.write_bytes(content)
    assert any(fault.file_name == "nics.csv" and words in fault.message for fault in faults_of(folder))


def test_a_row_of_the_wrong_length_and_an_unknown_column_are_named(folder: Path) -> None:
    path = folder / "nics.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([lines[0], "just,three,cells", *lines[2:]]) + "\n", encoding="utf-8")
    assert any((f.file_name, f.line) == ("nics.csv", 2) and "3 cells" in f.message for f in faults_of(folder))
    path.write_text("\n".join([lines[0] + ",colour", *(f"{line},red" for line in lines[1:])]) + "\n", encoding="utf-8")
    assert ("nics.csv", 1, "colour") in [(f.file_name, f.line, f.column) for f in faults_of(folder)]


def test_lines_are_counted_through_cells_with_line_breaks(folder: Path) -> None:
    def break_late(rows: list[dict[str, str]]) -> None:
        rows[0]["notes"] = "two\nlines"
        rows[1]["ports"] = "none"

    edit(folder / "nics.csv", break_late)
    assert ("nics.csv", 4, "ports") in [(f.file_name, f.line, f.column) for f in faults_of(folder)]


def test_a_fault_reads_as_file_line_column_sentence() -> None:
    fault = Fault(file_name="gpus.csv", line=7, column="tdp_w", message="Wrong.")
    assert str(fault) == "gpus.csv:7: tdp_w: Wrong."


# --- single cells ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("raw", "value"), [("2026", date(2026, 1, 1)), ("2026-08", date(2026, 8, 1)), ("2026-08-22", date(2026, 8, 22))]
)
def test_partial_dates_count_from_the_first(raw: str, value: date) -> None:
    assert cells.partial_day(raw) == value


@pytest.mark.parametrize(
    ("parse", "raw"),
    [
        (cells.partial_day, "2026-2-1"),
        (cells.partial_day, "2026-02-30"),
        (cells.count(), "0"),
        (cells.count(), "1.5"),
        (cells.quantity(), "Infinity"),
        (cells.money, "-0.01"),
        (cells.yes_no, "Y"),
        (cells.sku, "a" * 81),
    ],
)
def test_wrong_cells_are_refused(parse: Callable[[str], object], raw: str) -> None:
    with pytest.raises(CellError):
        parse(raw)
