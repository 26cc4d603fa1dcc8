"""Rival offers by what a finished run costs on them, each beside the same GPUs on our bare metal.

A price by the GPU-hour is paid for the hours of the run; a price by the month for the months started, of 730 hours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from django.utils import timezone
from django.utils.translation import gettext as _

from advisor.answers import AssumptionAnswer, ClusterAnswer, EstimateAnswer, MoneyAnswer, ProblemAnswer
from advisor.book_rows import Market, load_books
from advisor.catalog_language import joined
from advisor.engine import ENGINE_VERSION
from advisor.engine.specs import Assumption, DeploymentProfile, Origin
from advisor.engine.units import BITS_PER_BYTE, GIGA, SECONDS_PER_DAY, SECONDS_PER_HOUR
from advisor.figures import format_days, format_percent
from advisor.hardware import load_parts
from advisor.input_types import InputError
from advisor.market_answers import OfferAnswer, OfferComparisonAnswer, OfferRunAnswer
from advisor.offer_inputs import CheckedOffer, CheckedOffers
from advisor.offer_text import CLUSTER_MONTH, GPU_HOUR, GPU_MONTH, SERVER_MONTH
from advisor.price_books import HOURS_PER_MONTH, Book, hourly_price, term_covering
from advisor.prices import money
from advisor.problem_words import assumption_answers
from advisor.services import scenario_estimate
from catalog.money import format_money, round_money

BARE_METAL = "bare_metal"
EQUAL_WITHIN = Decimal("0.02")  # closer than prices and times are known


@dataclass(frozen=True, slots=True, kw_only=True)
class _Terms:
    """A price and what it is paid for."""

    amount: Decimal
    currency: str
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Exchange:
    """The rate of our books: CNY per USD; other currencies are left as they are."""

    target: str
    cny_per_usd: Decimal | None

    def converted(self, amount: Decimal, currency: str) -> Decimal | None:
        if currency == self.target:
            return round_money(amount, self.target)
        if self.cny_per_usd and {currency, self.target} == {"CNY", "USD"}:
            factor = self.cny_per_usd if self.target == "CNY" else 1 / self.cny_per_usd
            return round_money(amount * factor, self.target)
        return None


def offers_compare(*, checked: CheckedOffers, on: date | None = None) -> OfferComparisonAnswer:
    """Every offer's run, ours beside it, and which of them finishes the job for the least money.

    Raises
    ------
    InputError
        For an unknown preset or GPU, or a hostile config.
    """
    day = on or timezone.localdate()
    books = load_books(day)
    book = books.get(("rental", checked.currency))
    exchange = _Exchange(target=checked.currency, cny_per_usd=_rate(books))
    offers, estimates = [], []
    for index, offer in enumerate(checked.offers):
        answer, found = _offer_answer(offer, index, book, exchange)
        offers.append(answer)
        estimates.append(found)
    ranking = sorted((offer for offer in offers if offer["run"]["compared_run_cost"]), key=_compared_cost)
    timed = [offer for offer in offers if offer["run"]["training_days"] is not None]
    fastest = min(timed, key=lambda offer: offer["run"]["training_days"] or math.inf, default=None)
    head = estimates[0]
    return OfferComparisonAnswer(
        currency=checked.currency,
        offers=offers,
        ranking=[offer["name"] for offer in ranking],
        fastest=fastest["name"] if fastest else None,
        advice=_advice(ranking, offers, checked.currency),
        model=dict(head["model"]),
        tokens=checked.offers[0].job.tokens,
        price_book=None
        if book is None
        else {"code": book.code, "name": book.name, "as_of": book.as_of.isoformat(), "note": book.note},
        assumptions=_assumptions(exchange),
        problems=[problem for offer in offers for problem in offer["problems"]],
        engine_version=ENGINE_VERSION,
        catalog_revision=load_parts().revision,
    )


def _rate(books: Mapping[Market, Book]) -> Decimal | None:
    return next((book.exchange_rate for book in books.values() if book.exchange_rate), None)


def _compared_cost(offer: OfferAnswer) -> Decimal:
    cost = offer["run"]["compared_run_cost"]
    return Decimal(cost["amount"]) if cost else Decimal("Infinity")


def _offer_answer(
    offer: CheckedOffer, index: int, book: Book | None, exchange: _Exchange
) -> tuple[OfferAnswer, EstimateAnswer]:
    place = f"/offers/{index}"
    found = _estimated(offer, place)
    run = _run(
        found,
        offer.job.deployment,
        _Terms(amount=offer.amount, currency=offer.currency, unit=offer.price_unit),
        exchange,
    )
    own = _own_run(offer, found, book, exchange)
    problems = _problems(offer, place, found, run, exchange)
    answer = OfferAnswer(
        name=offer.name,
        text=offer.text,
        read_from_text=list(offer.read_from_text),
        run=run,
        own=own,
        own_advantage=_difference(run, own, exchange.target),
        equal_price=_equal_price(offer, run, own, exchange),
        verdict=_verdict(run, own, exchange.target),
        problems=problems,
    )
    return answer, found


def _estimated(offer: CheckedOffer, place: str) -> EstimateAnswer:
    try:
        return scenario_estimate(checked=offer.job)
    except InputError as error:
        raise InputError(
            tuple(
                replace(fault, pointer=place + fault.pointer.removeprefix("/cluster"))
                if fault.pointer.startswith("/cluster")
                else fault
                for fault in error.errors
            )
        ) from error


def _own_run(
    offer: CheckedOffer, found: EstimateAnswer, book: Book | None, exchange: _Exchange
) -> OfferRunAnswer | None:
    """The same GPUs on our bare metal, with the network as our servers are sold, at the term that covers the run."""
    if book is None:
        return None
    job = replace(
        offer.job,
        deployment=DeploymentProfile(code=BARE_METAL),
        scale_out_bytes_per_second_per_gpu=None,
        gpu=found["cluster"]["gpu"],
    )
    mine = scenario_estimate(checked=job)
    seconds = mine["time"]["training_seconds"]
    months = 0.0 if seconds is None else seconds / SECONDS_PER_HOUR / float(HOURS_PER_MONTH)
    price = hourly_price(book, mine["cluster"]["gpu"], term_covering(months))
    if price is None:
        return None
    return _run(mine, job.deployment, _Terms(amount=price.amount, currency=book.currency, unit=GPU_HOUR), exchange)


def _run(found: EstimateAnswer, deployment: DeploymentProfile, terms: _Terms, exchange: _Exchange) -> OfferRunAnswer:
    cluster, time = found["cluster"], found["time"]
    fits = bool(found["memory_per_gpu"]["fits"])
    seconds = time["training_seconds"] if fits else None
    hours = None if seconds is None else seconds / SECONDS_PER_HOUR
    gpu_hours = None if hours is None else hours * cluster["gpu_count"]
    units = None if hours is None or gpu_hours is None else _paid_units(terms.unit, hours, gpu_hours, cluster)
    cost = None if units is None else round_money(terms.amount * units, terms.currency)
    compared = None if cost is None else exchange.converted(cost, terms.currency)
    hourly = None if cost is None or not gpu_hours else cost / Decimal(repr(gpu_hours))
    return OfferRunAnswer(
        gpu=cluster["gpu"],
        gpu_name=cluster["gpu_name"],
        gpu_count=cluster["gpu_count"],
        profile=deployment.code,
        throughput_loss=deployment.throughput_loss_fraction,
        gbit_per_second_per_gpu=cluster["scale_out_bytes_per_second_per_gpu"] * BITS_PER_BYTE / GIGA,
        fits=fits,
        training_days=None if seconds is None else seconds / SECONDS_PER_DAY,
        training_days_low=_days(time["training_seconds_low"]) if fits else None,
        training_days_high=_days(time["training_seconds_high"]) if fits else None,
        gpu_hours=gpu_hours,
        price=_exact(terms.amount, terms.currency),
        price_unit=terms.unit,
        paid_units=None if units is None else float(units),
        price_per_gpu_hour=None if hourly is None else money(hourly, terms.currency),
        run_cost=None if cost is None else money(cost, terms.currency),
        compared_run_cost=None if compared is None else money(compared, exchange.target),
        exchange_rate=None if terms.currency == exchange.target or compared is None else f"{exchange.cny_per_usd:f}",
    )


def _exact(amount: Decimal, currency: str) -> MoneyAnswer:
    """A unit price with its own digits: an hour may cost less than the smallest coin."""
    return MoneyAnswer(amount=f"{amount.normalize():f}", currency=currency)


def _days(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / SECONDS_PER_DAY


def _paid_units(unit: str, hours: float, gpu_hours: float, cluster: ClusterAnswer) -> Decimal:
    if unit == GPU_HOUR:
        return Decimal(repr(gpu_hours))
    months = math.ceil(hours / float(HOURS_PER_MONTH) - 1e-9)
    per_month = {
        GPU_MONTH: cluster["gpu_count"],
        SERVER_MONTH: math.ceil(cluster["gpu_count"] / cluster["gpus_per_server"]),
        CLUSTER_MONTH: 1,
    }[unit]
    return Decimal(max(months, 1) * per_month)


def _difference(run: OfferRunAnswer, own: OfferRunAnswer | None, currency: str) -> MoneyAnswer | None:
    if own is None or run["compared_run_cost"] is None or own["compared_run_cost"] is None:
        return None
    gap = Decimal(run["compared_run_cost"]["amount"]) - Decimal(own["compared_run_cost"]["amount"])
    return money(gap, currency)


def _equal_price(
    offer: CheckedOffer, run: OfferRunAnswer, own: OfferRunAnswer | None, exchange: _Exchange
) -> MoneyAnswer | None:
    """The offer's own price, in its currency and unit, at which its run costs as much as ours."""
    if own is None or run["compared_run_cost"] is None or own["compared_run_cost"] is None:
        return None
    theirs = Decimal(run["compared_run_cost"]["amount"])
    if not theirs:
        return None
    return _exact(
        (offer.amount * Decimal(own["compared_run_cost"]["amount"]) / theirs).quantize(Decimal("0.0001")),
        offer.currency,
    )


def _verdict(run: OfferRunAnswer, own: OfferRunAnswer | None, currency: str) -> str:
    if not run["fits"]:
        return _("The job does not fit on these GPUs: at no price does this offer finish it.")
    if run["run_cost"] is None:
        return _("Without a number of tokens there is no run to pay for.")
    if own is None:
        return _("Our book has no price for this GPU to compare with.")
    if own["compared_run_cost"] is None or run["compared_run_cost"] is None:
        return _("The currencies cannot be compared: our books have a rate for CNY and USD only.")
    theirs, ours = Decimal(run["compared_run_cost"]["amount"]), Decimal(own["compared_run_cost"]["amount"])
    figures = {
        "gap": format_money(abs(theirs - ours), currency),
        "share": format_percent(float(abs(theirs - ours) / max(theirs, ours))),
        "days": format_days(abs((run["training_days"] or 0) - (own["training_days"] or 0)) * SECONDS_PER_DAY),
    }
    if abs(theirs - ours) <= EQUAL_WITHIN * max(theirs, ours):
        text = _("The finished run costs the same as on our bare metal, within 2 %% (%(gap)s).")
    elif theirs > ours:
        text = _("The finished run costs %(gap)s more than on our bare metal (%(share)s).")
    else:
        text = _("The finished run costs %(gap)s less than on our bare metal (%(share)s).")
    sentences = [text % figures]
    later = (run["training_days"] or 0) - (own["training_days"] or 0)
    if later > 0.05:
        sentences.append(_("It finishes %(days)s later.") % figures)
    elif later < -0.05:
        sentences.append(_("It finishes %(days)s earlier.") % figures)
    return joined(*sentences)


def _advice(ranking: list[OfferAnswer], offers: list[OfferAnswer], currency: str) -> str:
    if not ranking:
        return _("No offer gives a finished run with a cost.")
    best = ranking[0]
    cost = best["run"]["compared_run_cost"]
    figures = {
        "name": best["name"],
        "cost": format_money(Decimal(cost["amount"]), currency) if cost else "",
        "days": format_days((best["run"]["training_days"] or 0) * SECONDS_PER_DAY),
    }
    text = (
        _("“%(name)s” finishes the run for %(cost)s in %(days)s, the least of the offers.")
        if len(offers) > 1
        else _("“%(name)s” finishes the run for %(cost)s in %(days)s.")
    )
    return text % figures


def _problems(
    offer: CheckedOffer, place: str, found: EstimateAnswer, run: OfferRunAnswer, exchange: _Exchange
) -> list[ProblemAnswer]:
    """What the estimate has to tell of this offer, pointed at it, and what the money lacks."""
    told = [
        ProblemAnswer(**{**problem, "field": place + problem["field"].removeprefix("/cluster")})
        for problem in found["problems"]
        if problem["field"].startswith("/cluster") or problem["code"] == "does_not_fit"
    ]
    if run["run_cost"] is not None and run["compared_run_cost"] is None:
        text = _("No rate from %(currency)s to %(target)s is in the price books: the run is told in %(currency)s only.")
        params: dict[str, float | int | str | bool | None] = {"currency": offer.currency, "target": exchange.target}
        told.append(
            ProblemAnswer(
                field=f"{place}/price/currency",
                code="no_exchange_rate",
                message=text % params,
                severity="note",
                params=params,
            )
        )
    return told


def _assumptions(exchange: _Exchange) -> list[AssumptionAnswer]:
    listed = [
        Assumption(
            name="rental_hours_per_month",
            value=float(HOURS_PER_MONTH),
            unit="h",
            origin=Origin.DERIVED,
            source="price files' own month: 8,760 h a year over 12",
        )
    ]
    if exchange.cny_per_usd:
        listed.append(
            Assumption(
                name="cny_per_usd",
                value=float(exchange.cny_per_usd),
                unit="CNY",
                origin=Origin.DERIVED,
                source="rate of the price books in force",
            )
        )
    return assumption_answers(listed)
