"""Shapes of two answers beside sizing: rival offers by the cost of a finished run, and growth of a present cluster."""

from __future__ import annotations

from typing import Any, TypedDict

from advisor.answers import AssumptionAnswer, MoneyAnswer, ProblemAnswer


class OfferRunAnswer(TypedDict):
    """What the job takes and costs on one offer; null where it cannot be told, with a problem that says why."""

    gpu: str
    gpu_name: str
    gpu_count: int
    profile: str
    throughput_loss: float
    gbit_per_second_per_gpu: float
    fits: bool
    training_days: float | None
    training_days_low: float | None
    training_days_high: float | None
    gpu_hours: float | None
    price: MoneyAnswer | None
    price_unit: str
    paid_units: float | None  # hours of one GPU, or months started, by the unit
    price_per_gpu_hour: MoneyAnswer | None  # what an hour of one GPU comes to in this run
    run_cost: MoneyAnswer | None  # in the offer's own currency
    compared_run_cost: MoneyAnswer | None  # in the currency of the comparison
    exchange_rate: str | None


class OfferAnswer(TypedDict):
    name: str
    text: str
    read_from_text: list[str]
    run: OfferRunAnswer
    own: OfferRunAnswer | None  # the same GPU and count on our bare metal, at our rental book
    own_advantage: MoneyAnswer | None  # the offer's run less ours, positive where ours costs less
    equal_price: MoneyAnswer | None  # the offer's price at which both runs cost the same
    verdict: str
    problems: list[ProblemAnswer]


class OfferComparisonAnswer(TypedDict):
    currency: str
    offers: list[OfferAnswer]
    ranking: list[str]  # names by cost of a finished run
    fastest: str | None
    advice: str
    model: dict[str, Any]
    tokens: float | None
    price_book: dict[str, Any] | None
    assumptions: list[AssumptionAnswer]
    problems: list[ProblemAnswer]
    engine_version: str
    catalog_revision: str


class UpgradeStepAnswer(TypedDict):
    """One line of the path: what happens to a part of the present cluster."""

    action: str  # keep | add | replace | cannot_grow
    kind: str
    sku: str | None
    name: str
    present_quantity: int
    target_quantity: int
    change: int
    reason: str
    rule: str


class UpgradeSideAnswer(TypedDict):
    gpu: str
    gpu_name: str
    gpu_count: int
    server: str | None
    server_name: str | None
    server_count: int
    fits: bool
    training_days: float | None
    it_watts: float | None
    rack_count: int | None
    leaf_count: int
    spine_count: int
    core_count: int


class UpgradeAnswer(TypedDict):
    present: UpgradeSideAnswer
    target: UpgradeSideAnswer | None
    meets_target: bool | None  # the present cluster already does what is asked
    steps: list[UpgradeStepAnswer]
    growth_inside: list[str]
    cannot_grow: list[str]
    added_cost: MoneyAnswer | None
    added_cost_is_complete: bool
    added_cost_missing: list[str]
    advice: str
    problems: list[ProblemAnswer]
    engine_version: str
    catalog_revision: str
