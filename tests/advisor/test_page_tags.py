"""Words and plain figures of the pages."""

from __future__ import annotations

import pytest
from django.utils import translation

from advisor.templatetags import page

DAY = 86_400


@pytest.mark.parametrize(
    ("seconds", "english", "chinese"),
    [
        (30 * DAY, "30 days", "30\N{NO-BREAK SPACE}天"),
        (27.13 * DAY, "27.1 days", "27.1\N{NO-BREAK SPACE}天"),
        (36 * 3600, "36\N{NO-BREAK SPACE}h", "36\N{NO-BREAK SPACE}小时"),
        (264, "4.4\N{NO-BREAK SPACE}min", "4.4\N{NO-BREAK SPACE}分钟"),
        (None, "—", "—"),
    ],
)
def test_days_in_a_sentence(seconds: float | None, english: str, chinese: str) -> None:
    with translation.override("en"):
        assert page.days_in_words(seconds) == english
    with translation.override("zh-hans"):
        assert page.days_in_words(seconds) == chinese


def test_training_time_keeps_the_exact_value() -> None:
    with translation.override("en"):
        assert page.training_time(264.4) == '<data value="264.4">4.41\N{NO-BREAK SPACE}min</data>'


@pytest.mark.parametrize("nothing", [None, ""])
def test_no_training_time_is_a_dash(nothing: object) -> None:
    assert page.training_time(nothing) == page.training_days(nothing) == "—"


@pytest.mark.parametrize(
    ("fraction", "text"), [(0.123, "+12.3%"), (-0.05, "−5.0%"), (0, "0.0%"), (None, "—")]
)  # fmt: skip
def test_signed_percent_has_a_real_minus(fraction: float | None, text: str) -> None:
    assert page.signed_percent(fraction) == text


@pytest.mark.parametrize(("text", "shown"), [("0.13", "13%"), ("0.06", "6%"), ("0.10", "10%"), ("0", "0%")])
def test_tax_rates_have_no_needless_digits(text: str, shown: str) -> None:
    assert page.tax_rate(text) == shown


@pytest.mark.parametrize(
    ("rate", "text"), [(5_215_802.4, "5.22\N{NO-BREAK SPACE}MB/s"), (1.688e9, "1.69\N{NO-BREAK SPACE}GB/s")]
)  # fmt: skip
def test_slow_rates_are_in_megabytes(rate: float, text: str) -> None:
    assert page.rate(rate) == text


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ({"value": None, "unit": "s"}, "—"),
        ({"value": True, "unit": ""}, "yes"),
        ({"value": "megatron", "unit": ""}, "megatron"),
        ({"value": 3_932_160, "unit": "tokens"}, "3,932,160\N{NO-BREAK SPACE}tokens"),
        ({"value": 1.4, "unit": "1"}, "1.40"),
        ({"value": 0.2, "unit": "fraction"}, "20.0%"),
        ({"value": 0.78, "unit": "1", "name": "gemm_efficiency"}, "78.0%"),
        ({"value": 0.08, "unit": "1/year", "name": "maintenance_fraction_per_year"}, "8.0% a year"),
        ({"value": 600.0, "unit": "s", "name": "restart_seconds"}, "10\N{NO-BREAK SPACE}min"),
        # 1 / 86,400,000 a second and GPU is one in a thousand GPU-days
        ({"value": 1 / 86_400_000, "unit": "1/s", "name": "interruptions_per_gpu_second"}, "1.00 per 1,000 GPU-days"),
        ({"value": 60, "unit": "month"}, "60\N{NO-BREAK SPACE}months"),
    ],
)
def test_assumptions_show_value_and_unit(item: dict[str, object], text: str) -> None:
    with translation.override("en"):
        assert page.assumption_value(item) == text
