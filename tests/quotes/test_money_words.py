"""人民币大写 against written vectors and against its inverse; English words by hand."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.money_words import english_words, rmb_from_words, rmb_words

# Vectors: the official guidance on filling in bills (支付结算办法, appendix) and its worked examples (1,409.50;
# 6,007.14; 1,680.32; 107,000.53; 16,409.02; 325.04), and the amounts that public converters got wrong (hutool #1739,
# #3662, #3986; fishbase #238; number-zh #2). 327 400 500: checked against a second, unrelated converter.
VECTORS = [
    ("0.00", "人民币零元整"),
    ("0.01", "人民币壹分"),
    ("0.05", "人民币伍分"),
    ("0.10", "人民币壹角"),
    ("0.18", "人民币壹角捌分"),
    ("10.00", "人民币壹拾元整"),
    ("325.04", "人民币叁佰贰拾伍元零肆分"),
    ("1409.50", "人民币壹仟肆佰零玖元伍角"),
    ("1680.32", "人民币壹仟陆佰捌拾元零叁角贰分"),
    ("6007.14", "人民币陆仟零柒元壹角肆分"),
    ("10010.00", "人民币壹万零壹拾元整"),
    ("12000.01", "人民币壹万贰仟元零壹分"),
    ("16409.02", "人民币壹万陆仟肆佰零玖元零贰分"),
    ("54106.38", "人民币伍万肆仟壹佰零陆元叁角捌分"),
    ("67348.18", "人民币陆万柒仟叁佰肆拾捌元壹角捌分"),
    ("100000.00", "人民币壹拾万元整"),
    ("100000.53", "人民币壹拾万元零伍角叁分"),
    ("107000.53", "人民币壹拾万柒仟元零伍角叁分"),
    ("120500.00", "人民币壹拾贰万零伍佰元整"),
    ("1010000.00", "人民币壹佰零壹万元整"),
    ("1234567.08", "人民币壹佰贰拾叁万肆仟伍佰陆拾柒元零捌分"),
    ("100000000.00", "人民币壹亿元整"),
    ("100005000.00", "人民币壹亿零伍仟元整"),
    ("100010000.00", "人民币壹亿零壹万元整"),
    ("200000000.00", "人民币贰亿元整"),
    ("327400500.00", "人民币叁亿贰仟柒佰肆拾万零伍佰元整"),
    ("1000000001.00", "人民币壹拾亿零壹元整"),
    ("1000000000000.00", "人民币壹万亿元整"),
]


@pytest.mark.parametrize(("amount", "words"), VECTORS, ids=[amount for amount, _ in VECTORS])
def test_written_as_the_guidance_asks(amount, words):
    assert rmb_words(Decimal(amount)) == words
    assert rmb_from_words(words) == Decimal(amount)


@pytest.mark.parametrize(
    ("words", "amount"),
    [
        ("人民币壹拾万零柒仟元伍角叁分", "107000.53"),
        ("人民币壹仟陆佰捌拾元叁角贰分", "1680.32"),
        ("人民币壹仟肆佰零玖元伍角整", "1409.50"),
        ("人民币壹拾圆正", "10.00"),
    ],
)
def test_other_allowed_forms_are_read(words, amount):
    assert rmb_from_words(words) == Decimal(amount)


@pytest.mark.parametrize("words", ["", "人民币", "整", "ten", "人民币壹拾", "人民币壹角贰角"])
def test_reading_refuses_what_names_no_amount(words):
    with pytest.raises(ValueError, match="not an amount"):
        rmb_from_words(words)


@pytest.mark.parametrize("amount", ["-0.01", "0.001", "10000000000000000", "NaN", "Infinity"])
def test_writing_refuses_negative_broken_and_huge(amount):
    with pytest.raises(ValueError, match=r"outside|whole number"):
        rmb_words(Decimal(amount))


@given(st.integers(min_value=0, max_value=10**18 - 1))
def test_words_read_back_to_the_amount(fen):
    amount = Decimal(fen).scaleb(-2)
    words = rmb_words(amount)
    assert rmb_from_words(words) == amount
    assert "零零" not in words
    assert "零万" not in words
    assert "零亿" not in words
    assert not words.endswith("零")


@pytest.mark.slow
@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_a_thousand_amounts_of_every_length_read_back(source: random.Random):
    """With hypothesis' 100 examples: 100 000 amounts, as many short ones as long ones."""
    for _ in range(1000):
        fen = source.randrange(10 ** source.randint(1, 18))
        amount = Decimal(fen).scaleb(-2)
        assert rmb_from_words(rmb_words(amount)) == amount


@pytest.mark.parametrize(
    ("amount", "currency", "words"),
    [
        ("0.00", "USD", "US Dollar zero only"),
        ("21.07", "USD", "US Dollar twenty-one and 07/100 only"),
        ("1200.50", "USD", "US Dollar one thousand two hundred and 50/100 only"),
        (
            "1234567.08",
            "CNY",
            "Yuan Renminbi one million two hundred thirty-four thousand five hundred sixty-seven and 08/100 only",
        ),
        ("1000000000.00", "CNY", "Yuan Renminbi one billion only"),
        ("115", "JPY", "Yen one hundred fifteen only"),
        ("1.005", "KWD", "Kuwaiti Dinar one and 005/1000 only"),
    ],
)
def test_english_words(amount, currency, words):
    assert english_words(Decimal(amount), currency) == words


@pytest.mark.parametrize("amount", ["-1", "0.005", "NaN"])
def test_english_words_refuse_the_same(amount):
    with pytest.raises(ValueError, match="in words"):
        english_words(Decimal(amount), "USD")
