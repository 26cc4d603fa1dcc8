"""What moves the answer, as the contract's dict: days and money at both ends of each input, and the break points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from advisor.answers import (
    BreakPointAnswer,
    MoneyAnswer,
    SensitivityAnswer,
    TokensTableAnswer,
    VariedInputAnswer,
    VariedPointAnswer,
)
from advisor.book_rows import CloudOffer, cloud_offers
from advisor.calibration_data import current_calibration
from advisor.configuration import Configured, Setting
from advisor.engine.break_points import break_points
from advisor.engine.search_types import ScalingPoint
from advisor.engine.sensitivity import Sensitivity, SizeTimes, VariedInput, sensitivity, sizes_around
from advisor.engine.specs import Estimate, Origin, Problem
from advisor.engine.units import SECONDS_PER_DAY, SECONDS_PER_HOUR
from advisor.price_books import hourly_price
from advisor.prices import money, run_cost
from advisor.problem_words import ORIGIN_LABELS, filled
from catalog.money import round_money

LABELS: dict[str, str | Promise] = {
    "parameters": _("Parameters"),
    "training_tokens": _("Training tokens"),
    "sequence_length": _("Sequence length"),
    "global_batch_tokens": _("Global batch in tokens"),
    "gemm_efficiency": _("Achieved share of the dense peak in matrix products"),
    "memory_efficiency": _("Achieved share of memory bandwidth"),
    "scale_out_gbit_per_second_per_gpu": _("Network rate per GPU in Gbit/s"),
    "interruptions_per_1000_gpu_days": _("Interruptions per 1000 GPU-days"),
    "throughput_loss": _("Throughput lost by virtualization"),
    "gpu_hour_price": _("Price of a GPU-hour"),
}
# why each range is what it is; the engine's sentences, translated here
SOURCES = frozenset(
    (
        gettext_noop("planning range: a fifth fewer or more layers of the same width"),
        gettext_noop("planning range: a fifth less or more data"),
        gettext_noop("half and double the length; the tokens of a step stay the same"),
        gettext_noop("half and double the batch"),
        gettext_noop("four of five published runs of this kind lie within this of their prediction"),
        gettext_noop("the port rates before and after: 100, 200, 400 and 800 Gbit/s (Ethernet; InfiniBand EDR to XDR)"),
        gettext_noop("published sites with the same GPU differ by a factor of three"),
        gettext_noop("from none to half as much again: 20 % become 30 %, the most that vendor articles claim"),
        gettext_noop("lowest and highest published price of this GPU against the median of its kind of provider"),
    )
)
PRICE_SOURCE = "lowest and highest published price of this GPU against the median of its kind of provider"
MIN_PROVIDERS = 2  # one provider has no spread
BREAKS: dict[str, str | Promise] = {
    "break_tensor_parallel": _(
        "From %(parameter_count)s parameters on, %(gpu_count)s × %(gpu)s need tensor parallelism of at least "
        "%(tensor_parallel)s."
    ),
    "break_memory": _(
        "From %(parameter_count)s parameters on (same width, more layers) the job no longer fits %(gpu_count)s × "
        "%(gpu)s."
    ),
    "break_batch": _(
        "Past %(gpu_count)s GPUs the global batch of %(global_batch_size)s sequences leaves GPUs of this layout "
        "without work."
    ),
    "break_knee": _("Past %(gpu_count)s GPUs each %(gpu)s does less than 80 %% of what it does at its best size."),
    "break_deadline_tokens": _(
        "This cluster meets the deadline of %(deadline_seconds)s with up to %(tokens)s training tokens."
    ),
    "break_deadline_loss": _(
        "This cluster meets the deadline of %(deadline_seconds)s with a throughput loss of up to %(loss_fraction)s."
    ),
}

Priced = Callable[[float | None], MoneyAnswer | None]


def recommended_sensitivity(
    setting: Setting, item: Configured, scaling: Sequence[ScalingPoint]
) -> SensitivityAnswer | None:
    """Of the recommended configuration, with the sizes that the search evaluated and the rental book's money."""
    estimate, checked = item.estimate, setting.checked
    count, sku = estimate.scenario.cluster.gpu_count, estimate.scenario.cluster.gpu.sku
    book = setting.book("rental")

    def price(seconds: float | None) -> MoneyAnswer | None:
        hours = None if seconds is None else count * seconds / SECONDS_PER_HOUR
        cost = run_cost(book, sku, hours, setting.term_months)
        return None if cost is None else money(cost, checked.currency)

    sizes = [
        SizeTimes(
            gpu_count=point.gpu_count,
            step_seconds=point.step_seconds,
            global_batch_size=point.global_batch_size,
            goodput=point.goodput,
        )
        for point in scaling
    ]
    answer = sensitivity_answer(
        estimate, sizes=sizes_around(count, sizes), scaling=scaling, deadline=checked.deadline_seconds, price=price
    )
    hour = None if book is None else hourly_price(book, sku, setting.term_months)
    seconds = estimate.time.training_seconds
    if answer is not None and hour is not None and seconds is not None:
        offers = cloud_offers(setting.parts.revision)
        answer["price_inputs"] = _hour_price_input(
            hour.amount, checked.currency, price_ratios(offers, sku), count * seconds / SECONDS_PER_HOUR, seconds
        )
    return answer


def sensitivity_answer(
    estimate: Estimate,
    *,
    sizes: Sequence[SizeTimes] = (),
    scaling: Sequence[ScalingPoint] = (),
    deadline: float | None = None,
    price: Priced = lambda seconds: None,
) -> SensitivityAnswer | None:
    """None for a job without tokens or one that does not fit: there is no time to move."""
    calibration = current_calibration()
    found = sensitivity(estimate, calibration=calibration, sizes=sizes)
    if found is None:
        return None
    points = break_points(estimate, found.base, calibration=calibration, deadline_seconds=deadline, scaling=scaling)
    return SensitivityAnswer(
        inputs=[_varied_answer(item, price) for item in found.inputs],
        price_inputs=[],
        tokens_by_gpu_count=_table(found),
        break_points=[break_point_answer(point) for point in points],
    )


def break_point_answer(point: Problem) -> BreakPointAnswer:
    return BreakPointAnswer(
        code=point.code, message=filled(BREAKS[point.code], point.params), params=dict(point.params)
    )


def _varied_answer(item: VariedInput, price: Priced) -> VariedInputAnswer:
    points = [
        VariedPointAnswer(
            value=value,
            training_days=None if seconds is None else seconds / SECONDS_PER_DAY,
            price=price(seconds),
            reason=gettext("The job does not fit this cluster then.") if seconds is None else None,
        )
        for value, seconds in zip(item.values, item.training_seconds, strict=True)
    ]
    return _answer(item.name, item.unit, item.origin, item.source, points)


def _answer(
    name: str, unit: str, origin: Origin, source: str, points: Sequence[VariedPointAnswer]
) -> VariedInputAnswer:
    low, base, high = points
    return VariedInputAnswer(
        name=name,
        label=str(LABELS[name]),
        unit=unit,
        origin=origin.value,
        origin_label=str(ORIGIN_LABELS[origin]),
        source=gettext(source),
        low=low,
        base=base,
        high=high,
    )


def _table(found: Sensitivity) -> TokensTableAnswer:
    table = found.tokens_by_gpu_count
    return TokensTableAnswer(
        tokens=list(table.tokens),
        gpu_counts=list(table.gpu_counts),
        training_days=[
            [None if seconds is None else seconds / SECONDS_PER_DAY for seconds in row]
            for row in table.training_seconds
        ],
    )


def price_ratios(offers: Sequence[CloudOffer], gpu_sku: str) -> tuple[Decimal, Decimal] | None:
    """Lowest and highest published price over the median, of provider kinds with more than one provider."""
    rows = [row for row in offers if row.gpu_sku == gpu_sku and row.provider_count >= MIN_PROVIDERS and row.median > 0]
    if not rows:
        return None
    low, high = min(row.low / row.median for row in rows), max(row.high / row.median for row in rows)
    return (low, high) if low < 1 < high else None


def _hour_price_input(
    amount: Decimal, currency: str, ratios: tuple[Decimal, Decimal] | None, gpu_hours: float, seconds: float
) -> list[VariedInputAnswer]:
    if ratios is None:
        return []
    points = [
        VariedPointAnswer(
            value=float(amount * ratio),
            training_days=seconds / SECONDS_PER_DAY,
            price=money(round_money(amount * ratio * Decimal(repr(gpu_hours)), currency), currency),
            reason=None,
        )
        for ratio in (ratios[0], Decimal(1), ratios[1])
    ]
    return [_answer("gpu_hour_price", f"{currency}/h", Origin.PUBLISHED_RUN, PRICE_SOURCE, points)]
