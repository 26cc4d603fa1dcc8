from __future__ import annotations

import io

import pypdf
import pytest
from django.test import Client

from advisor.paper_tables import paper_number


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("5750000.00", "5,750,000.00"),
        ("68541415456", "68,541,415,456"),
        ("35.1791212568929", "35.2"),
        ("0.62210511977475", "0.622"),
        ("2471.281072704", "2,470"),
        ("-0.0412345", "−0.0412"),
        ("23400000000000000000000", "2.34e22"),
        ("40", "40"),
        ("", ""),
    ],
)
def test_numbers_on_paper_are_grouped_and_rounded(cell: str, shown: str) -> None:
    assert paper_number(cell) == shown


@pytest.mark.django_db
def test_a_result_on_paper_has_no_number_of_fifteen_digits(client: Client, loaded_catalog: None) -> None:
    query = {"parameters": "1.3e10", "tokens": "3e11", "deadline_days": "42", "v": "1", "lang": "en"}
    pages = pypdf.PdfReader(io.BytesIO(client.get("/result.pdf", query).content)).pages
    words = "\n".join(page.extract_text() for page in pages).split()
    digits = [word for word in words if word.replace(".", "", 1).isdigit() and len(word) > 13]
    assert digits == []
