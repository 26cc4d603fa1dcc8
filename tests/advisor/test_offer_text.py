"""Pasted offers, as sellers write them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.offer_text import read_offer

BARE, VIRTUAL, SHARED = "bare_metal", "virtualized_dedicated", "virtualized_shared"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "64 x H100 SXM 80GB, $2.49/GPU-hour, 400G InfiniBand, bare metal",
            ("H100 SXM 80GB", 64, "2.49", "USD", "gpu_hour", "400", BARE),
        ),
        (
            "8台 8卡 H20 141GB 服务器，每台 6.5 万元/月，RoCE 200G 网络，裸金属，一年起租",
            ("H20 141GB", 64, "65000", "CNY", "server_month", "200", BARE),
        ),
        (
            "256 A100 80GB GPUs at USD 1.10 per GPU hour, VMs",
            ("A100 80GB", 256, "1.10", "USD", "gpu_hour", None, VIRTUAL),
        ),
        ("H800 16台，8.3万元/台/月，400G IB", ("H800", 128, "83000", "CNY", "server_month", "400", None)),
        (
            "4 nodes of 8 x B200, €210,000 per month, 3.2 Tbps per node",
            ("B200", 32, "210000", "EUR", "cluster_month", "400", None),
        ),
        ("昇腾 910B 64张，12 元/卡时，共享", ("昇腾 910B", 64, "12", "CNY", "gpu_hour", None, SHARED)),
        ("RTX 4090 x 8, ¥1.88/小时, 云主机", ("RTX 4090", None, "1.88", "CNY", "gpu_hour", None, VIRTUAL)),
        ("MI300X, 128 GPUs, $1,450/GPU/month", ("MI300X", 128, "1450", "USD", "gpu_month", None, None)),
    ],
)  # fmt: skip
def test_what_an_offer_says(text, expected):
    found = read_offer(text)
    gpu, count, amount, currency, unit, rate, profile = expected
    assert found.get("gpu") == gpu
    assert found.get("gpu_count") == count
    assert (found.get("amount"), found.get("currency"), found.get("price_unit")) == (Decimal(amount), currency, unit)
    assert found.get("gbit") == (None if rate is None else Decimal(rate))
    assert found.get("profile") == profile


def test_memory_is_not_read_as_a_network_and_nothing_is_guessed():
    assert read_offer("H100 80GB") == {"gpu": "H100 80GB"}
    assert read_offer("good prices, call us") == {}
    assert read_offer("") == {}


@given(st.text(max_size=300))
def test_any_text_is_read_or_passed_over(text):
    assert set(read_offer(text)) <= {"gpu", "gpu_count", "amount", "currency", "price_unit", "gbit", "profile"}
