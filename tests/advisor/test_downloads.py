"""The same numbers at every door: page, API, JSON, CSV, spreadsheet, PDF."""

from __future__ import annotations

import csv
import io
import json
import re
from decimal import Decimal
from typing import Any

import openpyxl
import pypdf
import pytest
from django.test import Client

from advisor import fonts
from tests.advisor.test_views import Page, case

pytestmark = pytest.mark.django_db
SHEET_DIGITS = 1e-13  # a spreadsheet keeps fifteen digits, a leading zero among them


@pytest.fixture
def answer(client: Client, catalog: None) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/api/v1/recommendations", case(lang="en")).json()
    return found


def fetch(client: Client, kind: str, **changes: Any) -> Any:
    return client.get(f"/result.{kind}", case(lang="en", **changes))


def key_figures(answer: dict[str, Any]) -> dict[str, float]:
    best = answer["recommended"]
    return {
        "GPUs": best["gpu_count"],
        "Servers": best["server_count"],
        "Training time": best["training_days"],
        "Training time, fastest": best["training_days_low"],
        "Training time, slowest": best["training_days_high"],
        "MFU": best["estimate"]["time"]["mfu"],
        "GPU memory used": best["estimate"]["memory_per_gpu"]["total_bytes"],
        "IT power": best["power"]["it_watts"],
        "Energy of the run": best["power"]["energy_kilowatt_hours"],
        "Cost of the run": float(best["run_cost"]["amount"]),
        "Rental, tax included": float(best["prices"]["rental"]["total"]["amount"]),
        "Purchase, tax included": float(best["prices"]["purchase"]["total"]["amount"]),
    }


def csv_rows(content: bytes) -> list[list[str]]:
    assert content.startswith(b"\xef\xbb\xbf"), "Excel needs the mark"
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))


def test_csv_and_spreadsheet_hold_the_numbers_of_the_api(client: Client, answer: dict[str, Any]) -> None:
    expected = key_figures(answer)
    rows = csv_rows(fetch(client, "csv").content)
    in_csv = {row[0]: float(row[1]) for row in rows if len(row) == 4 and row[0] in expected}
    sheet = openpyxl.load_workbook(io.BytesIO(fetch(client, "xlsx").content)).worksheets[0]
    in_sheet = {row[0]: row[1] for row in sheet.iter_rows(values_only=True) if row[0] in expected}
    assert in_csv == {name: pytest.approx(value, rel=SHEET_DIGITS) for name, value in expected.items()}
    assert in_sheet == {name: pytest.approx(value, rel=SHEET_DIGITS) for name, value in expected.items()}


def test_what_the_files_show_is_what_the_page_shows(client: Client, answer: dict[str, Any]) -> None:
    text = Page(client.get("/", case(lang="en"))).text
    shown = {row[0]: row[3] for row in csv_rows(fetch(client, "csv").content) if len(row) == 4}
    pdf = " ".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(fetch(client, "pdf").content)).pages)
    flat = re.sub(r"\s+", "", pdf)
    for name in key_figures(answer):
        assert " ".join(shown[name].split()) in text, name
        assert re.sub(r"\s+", "", shown[name]) in flat, name


def test_bill_in_the_files_adds_up_to_the_net_of_the_api(client: Client, answer: dict[str, Any]) -> None:
    sheet = next(
        sheet
        for sheet in openpyxl.load_workbook(io.BytesIO(fetch(client, "xlsx").content)).worksheets
        if sheet.title == "Bill of materials"
    )
    rows = list(sheet.iter_rows(min_row=2, values_only=True))
    for column, basis in ((3, "rental"), (4, "purchase")):
        total = sum(Decimal(str(row[column])) for row in rows if row[column] is not None)
        assert total == Decimal(answer["recommended"]["prices"][basis]["subtotal"]["amount"])


def test_json_is_the_answer_of_the_api_with_its_calculation(client: Client, answer: dict[str, Any]) -> None:
    document = json.loads(fetch(client, "json").content)
    assert {name: document[name] for name in answer} == answer
    assert document["title"].startswith("Estimate: ")
    assert {row["code"] for row in document["calculation"]} >= {"mfu", "training_seconds", "run_cost"}


@pytest.mark.parametrize("kind", ["csv", "xlsx", "pdf", "json"])
def test_every_file_says_that_it_is_an_estimate(client: Client, catalog: None, kind: str) -> None:
    response = fetch(client, kind)
    assert response.status_code == 200
    assert response["Content-Disposition"].startswith('attachment; filename="estimate-')
    content = response.content
    if kind == "csv":
        assert csv_rows(content)[0][0].startswith("Estimate: ")
    elif kind == "xlsx":
        assert str(openpyxl.load_workbook(io.BytesIO(content)).worksheets[0]["A2"].value).startswith("Estimate: ")
    elif kind == "pdf":
        reader = pypdf.PdfReader(io.BytesIO(content))
        assert reader.metadata is not None
        assert str(reader.metadata.title).startswith("Estimate: ")


def test_the_paper_is_chinese_for_chinese_readers(client: Client, catalog: None) -> None:
    content = client.get("/result.pdf", case(lang="zh-Hans")).content
    text = "".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(content)).pages)
    assert "测算结果" in text
    assert fonts.missing_characters(text) == []
    assert "配置清单" in text


def test_no_text_of_a_file_starts_a_formula(client: Client, catalog: None) -> None:
    for row in csv_rows(fetch(client, "csv").content):
        for cell in row:
            assert not cell.startswith(("=", "+", "@")), cell
    book = openpyxl.load_workbook(io.BytesIO(fetch(client, "xlsx").content))
    assert all(cell.data_type != "f" for sheet in book.worksheets for row in sheet.iter_rows() for cell in row)


def test_a_faulty_case_is_sent_to_the_page_that_says_so(client: Client, catalog: None) -> None:
    response = client.get("/result.csv", case(parameters="8x7B"))
    assert response.status_code == 302
    assert response["Location"].startswith("/?")
    assert client.get(response["Location"]).status_code == 422


def test_an_infeasible_case_has_files_too(client: Client, catalog: None) -> None:
    for kind in ("csv", "xlsx", "json", "pdf"):
        assert fetch(client, kind, deadline_days="0.001").status_code == 200


def test_without_the_renderer_the_page_says_what_to_install(
    client: Client, catalog: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from advisor import pdf_rendering

    def missing() -> None:
        raise pdf_rendering.PdfUnavailableError(pdf_rendering.APT_LINE)

    monkeypatch.setattr(pdf_rendering, "weasyprint_module", missing)
    response = fetch(client, "pdf")
    assert response.status_code == 503
    assert "apt-get install" in response.content.decode()
