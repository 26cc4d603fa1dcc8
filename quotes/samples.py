"""Sample seller, terms and customers, and sample quotes in every state: for demonstrations and tests.

The figures are real (the recommendation of the day, the prices of the demo books); only the firms are made up.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.http import QueryDict
from django.utils import timezone, translation

from advisor.inputs import body_from_query, parse_recommendation_request, query_from_body
from advisor.services import scenario_search
from quotes import policy, services
from quotes.models import QuoteRevision, SellerEntity, Terms
from quotes.services import CustomerData, LineEdit
from quotes.wording import DJANGO_LANGUAGES

if TYPE_CHECKING:
    from advisor.answers import RecommendationAnswer
    from quotes.access import Actor

PARTIES = Path(__file__).resolve().parent / "data" / "sample_parties.toml"
ONE_SERVER = "parameters=7B&tokens=200B&deadline_days=30&gpu=nvidia-h200-sxm5-141gb&term_months=12"
# the first is above what a representative gives alone, the second within it
SAMPLE_DISCOUNTS = {"discount": Decimal("0.08"), "small_discount": Decimal("0.03")}
CLUSTER = "parameters=70B&tokens=1.4T&deadline_days=60&gpu=nvidia-h100-sxm5-80gb&term_months=12"


@cache
def parties() -> dict[str, Any]:
    with PARTIES.open("rb") as file:
        return tomllib.load(file)


def seed_parties() -> None:
    """The sample seller and terms, where there are none of that code yet; an edited one is left alone."""
    seller = parties()["seller"]
    if not SellerEntity.objects.filter(is_default=True).exists():
        SellerEntity.objects.get_or_create(code=seller["code"], defaults=seller | {"is_default": True})
    for terms in parties()["terms"]:
        has_current = Terms.objects.filter(basis=terms["basis"], is_current=True).exists()
        values = terms | {"body_zh": "\n".join(terms["body_zh"]), "body_en": "\n".join(terms["body_en"])}
        stored, is_new = Terms.objects.get_or_create(
            code=terms["code"], version=terms["version"], defaults=values | {"is_current": not has_current}
        )
        if not is_new and not stored.clauses and not stored.payment_schedule:  # made before there were any
            stored.clauses, stored.payment_schedule = terms["clauses"], terms["payment_schedule"]
            stored.save(update_fields=["clauses", "payment_schedule"])
    policy.load()


def sample_customer(index: int) -> CustomerData:
    return CustomerData(**parties()["customers"][index % len(parties()["customers"])])


def answers_for(query: str) -> tuple[dict[str, RecommendationAnswer], str]:
    """Today's recommendation for a query string in both languages, and the canonical query."""
    body = body_from_query(QueryDict(query))
    checked = parse_recommendation_request(body)
    answers = {}
    for language, code in DJANGO_LANGUAGES.items():
        with translation.override(code):
            answers[language] = scenario_search(checked=checked)
    return answers, query_from_body(body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One sample quote: what it offers, and how far its life goes."""

    key: str
    query: str
    basis: str
    language: str
    project: str
    customer: int
    steps: tuple[str, ...] = ()


SAMPLES = (
    Sample(key="draft", query=CLUSTER, basis="purchase", language="zh-Hans+en", project="70B 预训练集群", customer=0),
    Sample(
        key="cancelled",
        query=ONE_SERVER,
        basis="rental",
        language="zh-Hans",
        project="行业模型试点",
        customer=1,
        steps=("cancel",),
    ),
    Sample(
        key="pending_approval",
        query=ONE_SERVER,
        basis="purchase",
        language="zh-Hans",
        project="代码模型训练",
        customer=1,
        steps=("discount", "submit"),
    ),
    Sample(
        key="approved",
        query=ONE_SERVER,
        basis="rental",
        language="zh-Hans+en",
        project="质检视觉模型",
        customer=0,
        steps=("discount", "submit", "approve"),
    ),
    Sample(
        key="issued",
        query=CLUSTER,
        basis="rental",
        language="zh-Hans",
        project="70B 预训练集群租赁",
        customer=0,
        steps=("issue",),
    ),
    Sample(
        key="sent",
        query=ONE_SERVER,
        basis="purchase",
        language="en",
        project="7B fine-tuning server",
        customer=2,
        steps=("issue", "sent"),
    ),
    Sample(
        key="accepted",
        query=ONE_SERVER,
        basis="rental",
        language="zh-Hans+en",
        project="医学文本模型",
        customer=1,
        steps=("issue", "sent", "accept"),
    ),
    Sample(
        key="declined",
        query=ONE_SERVER,
        basis="purchase",
        language="zh-Hans",
        project="影像模型",
        customer=1,
        steps=("issue", "sent", "decline"),
    ),
    Sample(
        key="withdrawn",
        query=ONE_SERVER,
        basis="rental",
        language="en",
        project="Perception model",
        customer=2,
        steps=("issue", "withdraw"),
    ),
    Sample(
        key="superseded",
        query=ONE_SERVER,
        basis="rental",
        language="zh-Hans",
        project="风控模型",
        customer=0,
        steps=("issue", "revise", "small_discount", "issue"),
    ),
    Sample(
        key="expired",
        query=ONE_SERVER,
        basis="rental",
        language="zh-Hans",
        project="客服模型",
        customer=0,
        steps=("issue_long_ago",),
    ),
)


def seed_quote(sample: Sample, *, seller: Actor, manager: Actor) -> QuoteRevision:
    """Make one sample and take it through its steps with the services that the desk uses."""
    answers, query = answers_for(sample.query)
    revision = services.quote_create_from_recommendation(
        actor=seller,
        answers=answers,
        basis=sample.basis,
        language=sample.language,
        customer=sample_customer(sample.customer),
        project=sample.project,
        query=query,
    )
    for step in sample.steps:
        revision = _step(step, revision, seller=seller, manager=manager)
    return revision


def _step(step: str, revision: QuoteRevision, *, seller: Actor, manager: Actor) -> QuoteRevision:
    if step == "issue":
        return services.quote_issue(
            actor=seller, revision=export_checked(seller, without_unpriced_lines(seller, revision))
        )
    if step == "issue_long_ago":
        then = timezone.now() - timedelta(days=40)
        day = then.date()
        ready = export_checked(seller, without_unpriced_lines(seller, revision))
        ready.pricing_date, ready.valid_through = day, day + timedelta(days=15)
        ready.save(update_fields=["pricing_date", "valid_through"])
        return services.quote_issue(actor=seller, revision=ready, now=then)
    if step in SAMPLE_DISCOUNTS:
        ready = export_checked(seller, without_unpriced_lines(seller, revision))
        return services.quote_edit(
            actor=seller,
            revision=ready,
            expected_version=ready.content_version,
            fields={"discount_fraction": SAMPLE_DISCOUNTS[step], "discount_reason": "volume"},
        )
    if step == "submit":
        return services.quote_submit(actor=seller, revision=revision)
    if step == "approve":
        return services.quote_approve(actor=manager, revision=revision, comment="样例：同意，按年度框架执行")
    if step == "revise":
        return services.quote_revise(actor=seller, revision=revision)
    if step == "cancel":
        return services.quote_cancel(actor=seller, revision=revision)
    if step == "accept":  # a buyer sends the quotation back sealed: the same document
        signed = services.ProofFile(name=f"{revision.number}-signed.pdf", content=bytes(revision.document.pdf))
        return services.quote_accept(actor=seller, revision=revision, reason=_REASONS[step], proof=signed)
    if step == "withdraw":
        return services.quote_withdraw(actor=manager, revision=revision, reason="样例：项目范围改变")
    if step == "decline":
        return services.quote_decline(actor=seller, revision=revision, reason=_REASONS[step], reason_code="budget")
    return services.quote_mark_sent(actor=seller, revision=revision, reason=_REASONS[step])


_REASONS: Mapping[str, str] = {
    "sent": "样例：当面递交纸质版",
    "accept": "样例：收到盖章回传件",
    "decline": "样例：预算未获批准",
}


def without_unpriced_lines(seller: Actor, revision: QuoteRevision) -> QuoteRevision:
    """Take out what the demo books have no price for; a real quote would get its price instead."""
    edits = [
        LineEdit(
            position=line.position,
            quantity=line.quantity,
            period_count=line.period_count,
            unit_price=line.unit_price,
            discount_fraction=line.discount_fraction,
            tax_rate=line.tax_rate,
            is_removed=True,
        )
        for line in revision.lines.filter(unit_price__isnull=True, is_included=False)
    ]
    if not edits:
        return revision
    return services.quote_edit(
        actor=seller, revision=revision, expected_version=revision.content_version, fields={}, lines=edits
    )


def export_checked(seller: Actor, revision: QuoteRevision) -> QuoteRevision:
    """Acknowledge the export check where the draft holds controlled parts."""
    if not services.controlled_skus(list(revision.lines.all())):
        return revision
    return services.quote_acknowledge_export(
        actor=seller, revision=revision, statement="样例：许可与目的地已核对，交付以许可为前提"
    )
