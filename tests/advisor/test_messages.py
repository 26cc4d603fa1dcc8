"""Every code has a sentence, every sentence a code, and no sentence lacks a figure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from django.utils import translation

from advisor.inputs import InputError, parse_estimate_request, parse_recommendation_request
from advisor.messages import FAULTS, sentence, shown, written
from advisor.problem_words import SENTENCES
from tests.advisor.test_inputs import (
    CONTRACT_EXAMPLE,
    RECOMMENDATION_EXAMPLE,
    REFUSED,
    REFUSED_RECOMMENDATION,
    with_value,
)

ADVISOR = Path(__file__).resolve().parents[2] / "advisor"
READERS = [*sorted(ADVISOR.glob("input_*.py")), ADVISOR / "quantities.py"]


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, node


def texts(node: ast.AST) -> list[str]:
    return [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant) and isinstance(inner.value, str)]


def reader_codes() -> set[str]:
    """Codes that the readers of input raise, read from their source."""
    found: set[str] = set()
    for path in READERS:
        for name, call in calls(path):
            if name in ("Refused", "QuantityError") and isinstance(call.args[0], ast.Constant):
                found.add(call.args[0].value)
            if name == "make_fault" and isinstance(call.args[1], ast.Constant):
                found.add(call.args[1].value)
            if name == "Problem":
                found.update(*(texts(word.value) for word in call.keywords if word.arg == "code"))
    return found


def engine_codes() -> dict[str, str]:
    """Codes of the engine's problems and rejections -> where."""
    found: dict[str, str] = {}
    for path in sorted((ADVISOR / "engine").glob("*.py")):
        for name, call in calls(path):
            if name in ("Problem", "Rejection"):
                for word in call.keywords:
                    if word.arg == "code":
                        found |= dict.fromkeys(texts(word.value), path.name)
    return found


def test_every_code_of_the_readers_has_a_sentence_and_no_sentence_is_idle():
    assert reader_codes() - {"unknown_field"} <= set(FAULTS)
    assert set(FAULTS) - {"unknown_field_like"} <= reader_codes()


def test_every_code_of_the_engine_has_a_sentence():
    found = engine_codes()
    assert "does_not_fit" in found
    missing = {code: where for code, where in found.items() if code not in SENTENCES and code not in FAULTS}
    assert not missing


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_no_sentence_lacks_a_figure(language):
    cases = [(parse_estimate_request, CONTRACT_EXAMPLE, row) for row in REFUSED if row[1] == row[1]]
    cases += [(parse_recommendation_request, RECOMMENDATION_EXAMPLE, row) for row in REFUSED_RECOMMENDATION]
    with translation.override(language):
        for parse, example, (pointer, value, _at, _code) in cases:
            body = with_value(example, pointer, value)
            with pytest.raises(InputError) as refused:
                parse(body)
            for fault in refused.value.errors:
                assert "—" not in fault.message, fault
                assert "%(" not in fault.message, fault


def test_chinese_sentences_have_full_width_punctuation_and_no_english_rest():
    known = re.compile(r"[A-Za-z]{4,} [a-z]{2,} [a-z]{2,}")  # three English words in a row
    with translation.override("zh-hans"):
        for code, text in FAULTS.items():
            chinese = str(text)
            assert not known.search(re.sub(r"%\(\w+\)s", "", chinese)), code
            assert chinese.endswith(("。", "？")), code


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("needed_bytes", 80 * 2**30, "80.0\u00a0GiB"),
        ("link_bytes_per_second", 50e9, "50.0\u00a0GB/s"),
        ("training_seconds", 3 * 86_400, "3\u00a0d"),
        ("run_days", 3, "3\u00a0d"),
        ("loss_fraction", 0.2, "20.0%"),
        ("parameter_count", 7e9, "7B"),
        ("global_batch_tokens", 4_194_304, "4.19M"),
        ("gpu_count", 16384, "16,384"),
        ("tdp_watts", 700, "700\u00a0W"),
        ("text", "8x7B", "8x7B"),
        ("value", None, "null"),
        ("value", True, "true"),
        ("ratio", Decimal("0.25"), "0.25"),
    ],
)
def test_figures_are_written_by_the_unit_of_their_name(name, value, text):
    with translation.override("en"):
        assert written(name, value) == text


def test_an_absent_figure_is_a_dash():
    assert sentence("%(gpu_count)s of %(total)s", {"gpu_count": 8}) == "8 of —"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x" * 1000, "x" * 59 + "…"),
        ("a\x00b", "a\ufffdb"),
        ("\ud800", "\ufffd"),
        ({"a": 1}, "{…}"),
        ([1], "[…]"),
        (10**1000, "…"),
        (None, "null"),
    ],
)
def test_a_raw_value_is_repeated_short_and_printable(value, text):
    assert shown(value) == text
    shown(value).encode()
