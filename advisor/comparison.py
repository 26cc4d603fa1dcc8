"""Bare metal against virtualized: days, GPU-hours, interruptions, energy and money of the same job on both sides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from advisor.answers import DeploymentComparisonAnswer, SideAnswer
from advisor.book_rows import CloudOffer
from advisor.engine.compatibility_software import CONTROL_LAYERS, control_by_layer
from advisor.engine.specs import DeploymentProfile, Estimate, Origin
from advisor.engine.units import SECONDS_PER_DAY, SECONDS_PER_HOUR
from advisor.figures import format_days, format_percent, format_si_count, format_significant
from advisor.prices import money
from advisor.source_words import source_text

BARE_METAL, DEDICATED, SHARED = "bare_metal", "virtualized_dedicated", "virtualized_shared"
DEFAULT_LOSS = 0.02
# Class of providers whose price stands for the virtualized side, first found first.
CLASS_ORDER = ("hyperscaler", "neocloud", "china", "marketplace")
COMMITMENT_BY_TERM = ((36, ("3y", "1y", "on_demand")), (12, ("1y", "on_demand", "1m")), (1, ("1m", "on_demand", "1y")))


@dataclass(frozen=True, slots=True, kw_only=True)
class LossPreset:
    code: str
    label: str | Promise
    loss: float
    origin: Origin
    source: str


LOSS_PRESETS: tuple[LossPreset, ...] = (
    LossPreset(
        code="measured_passthrough",
        label=_lazy("whole-GPU passthrough, measured"),
        loss=DEFAULT_LOSS,
        origin=Origin.MEASURED,
        source="whole-GPU passthrough and whole-card vGPU: 0 to 6 % below bare metal (vSphere, KVM; facts on "
        "virtualization)",
    ),
    LossPreset(
        code="measured_worst",
        label=_lazy("worst whole-GPU measurement"),
        loss=0.06,
        origin=Origin.MEASURED,
        source="MLPerf Inference v1.1 on vSphere 7.0 U2, 3 x A100 whole-card vGPU: 94.4 % of bare metal",
    ),
    LossPreset(
        code="claim_10",
        label=_lazy("vendor claim, low"),
        loss=0.10,
        origin=Origin.VENDOR_CLAIM,
        source="bare-metal hosting articles: 10 to 30 % of GPU throughput; no measurement of whole GPUs supports it",
    ),
    LossPreset(
        code="claim_20",
        label=_lazy("vendor claim, middle"),
        loss=0.20,
        origin=Origin.VENDOR_CLAIM,
        source="bare-metal hosting articles: at 20 % a run of 10 days takes 12.5",
    ),
    LossPreset(
        code="claim_30",
        label=_lazy("vendor claim, high"),
        loss=0.30,
        origin=Origin.VENDOR_CLAIM,
        source="bare-metal hosting articles: 10 to 30 % of GPU throughput",
    ),
)


def bare_profile() -> DeploymentProfile:
    return DeploymentProfile(code=BARE_METAL)


def compared_profile(asked: DeploymentProfile) -> DeploymentProfile:
    """The virtualized side: what was asked for, or whole-GPU passthrough with the measured loss."""
    if asked.code != BARE_METAL:
        return asked
    return DeploymentProfile(code=DEDICATED, throughput_loss_fraction=DEFAULT_LOSS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The same job and cluster under both profiles, with what each side costs and draws."""

    bare: Estimate
    virtual: Estimate
    bare_price: dict[str, Any] | None
    virtual_price: dict[str, Any] | None
    facility_watts: float | None  # average in training, the same machines on both sides


def side_answer(
    estimate: Estimate, reference: Estimate, *, price: dict[str, Any] | None, facility_watts: float | None
) -> SideAnswer:
    time = estimate.time
    seconds = time.training_seconds if estimate.memory.fits else None
    gpu_count = estimate.scenario.cluster.gpu_count
    per_day = time.tokens_per_second * SECONDS_PER_DAY * time.goodput
    lost = reference.time.tokens_per_second * SECONDS_PER_DAY * reference.time.goodput - per_day
    return SideAnswer(
        training_days=None if seconds is None else seconds / SECONDS_PER_DAY,
        gpu_hours=None if seconds is None else gpu_count * seconds / SECONDS_PER_HOUR,
        interruptions=time.interruptions_expected if seconds is not None else None,
        goodput=time.goodput,
        tokens_per_day=per_day,
        tokens_lost_per_day=max(lost, 0.0),
        samples_lost_per_day=max(lost, 0.0) / estimate.scenario.plan.sequence_length,
        energy_kilowatt_hours=(
            None if seconds is None or facility_watts is None else facility_watts * seconds / SECONDS_PER_HOUR / 1000
        ),
        price=price,
    )


def cloud_price(
    offers: Iterable[CloudOffer],
    *,
    gpu_sku: str,
    currency: str,
    gpu_hours: float | None,
    term_months: int,
    exchange_rate: Decimal | None = None,
) -> dict[str, Any] | None:
    """Money of the GPU-hours at published prices of virtual machines; None where nobody publishes one.

    The own currency comes first; else the other one of CNY and USD at the cloud book's rate (CNY per USD), converted
    once and marked. `by_class` has every provider class and commitment that is published, own currency first.
    """
    if gpu_hours is None:
        return None
    virtual = [offer for offer in offers if offer.gpu_sku == gpu_sku and offer.deployment != BARE_METAL]
    priced = [
        (offer, factor) for offer in virtual if (factor := _factor(offer.currency, currency, exchange_rate)) is not None
    ]
    own = [pair for pair in priced if pair[0].currency == currency]
    commitments: tuple[str, ...] = next((names for months, names in COMMITMENT_BY_TERM if term_months >= months), ())
    ranked = sorted(
        (pair for pair in own or priced if pair[0].commitment in commitments and pair[0].provider_class in CLASS_ORDER),
        key=lambda pair: (CLASS_ORDER.index(pair[0].provider_class), commitments.index(pair[0].commitment)),
    )
    if not ranked:
        return None
    hours = Decimal(repr(gpu_hours))
    chosen = _run_at_cloud(*ranked[0], hours, currency)
    listed = sorted(
        (pair for pair in priced if pair[0].provider_class in CLASS_ORDER),
        key=lambda pair: (
            pair[0].currency != currency,
            CLASS_ORDER.index(pair[0].provider_class),
            pair[0].commitment,
        ),
    )
    return chosen | {
        "origin": _("published cloud prices, median of providers"),
        "by_class": [_run_at_cloud(offer, factor, hours, currency) for offer, factor in listed],
    }


def _factor(source: str, target: str, cny_per_usd: Decimal | None) -> Decimal | None:
    """What an amount is multiplied by to reach the target currency; None where there is no rate."""
    if source == target:
        return Decimal(1)
    if cny_per_usd and {source, target} == {"CNY", "USD"}:
        return cny_per_usd if target == "CNY" else 1 / cny_per_usd
    return None


def _run_at_cloud(offer: CloudOffer, factor: Decimal, gpu_hours: Decimal, currency: str) -> dict[str, Any]:
    hours = gpu_hours * factor
    return {
        "total": money(offer.median * hours, currency),
        "low": money(offer.low * hours, currency),
        "high": money(offer.high * hours, currency),
        "per_gpu_hour": money(offer.median * factor, currency),
        "is_converted": offer.currency != currency,
        "provider_class": offer.provider_class,
        "commitment": offer.commitment,
        "deployment": offer.deployment,
        "provider_count": offer.provider_count,
        "as_of": offer.as_of.isoformat() if offer.as_of else None,
    }


def bare_price(cost: Decimal | None, currency: str, term_months: int, as_of: str | None) -> dict[str, Any] | None:
    """Money of the GPU-hours at the rental book's price; the same number as `run_cost` of the configuration."""
    if cost is None:
        return None
    return {
        "total": money(cost, currency),
        "term_months": term_months,
        "as_of": as_of,
        "origin": _("rental price book, GPU-hours of the run"),
    }


def deployment_comparison(
    sides: Sides, *, workload_reasons: tuple[str, ...], loss: float, faq: list[dict[str, str]]
) -> DeploymentComparisonAnswer:
    bare = side_answer(sides.bare, sides.bare, price=sides.bare_price, facility_watts=sides.facility_watts)
    virtual = side_answer(sides.virtual, sides.bare, price=sides.virtual_price, facility_watts=sides.facility_watts)
    return DeploymentComparisonAnswer(
        bare_metal=bare,
        virtualized=virtual,
        throughput_loss=loss,
        presets=_presets(sides.bare),
        advice=_advice(bare, virtual, loss, workload_reasons),
        must_be_bare_metal=bool(workload_reasons),
        reasons=[*workload_reasons, *_reasons(virtual)],
        controls=controls(),
        faq=faq,
    )


def _presets(bare: Estimate) -> list[dict[str, Any]]:
    """Each loss with the days it makes: bare-metal days / (1 - loss)."""
    seconds = bare.time.training_seconds if bare.memory.fits else None
    return [
        {
            "code": preset.code,
            "label": f"{format_percent(preset.loss)} {preset.label}",
            "throughput_loss": preset.loss,
            "training_days": None if seconds is None else seconds / (1 - preset.loss) / SECONDS_PER_DAY,
            "origin": preset.origin.value,
            "source": source_text(preset.source),
        }
        for preset in LOSS_PRESETS
    ]


def _advice(bare: SideAnswer, virtual: SideAnswer, loss: float, must: tuple[str, ...]) -> str:
    if bare["training_days"] is None or virtual["training_days"] is None:
        return _("Without a training time both sides differ by the loss alone: %(loss)s of the throughput.") % {
            "loss": format_percent(loss)
        }
    figures = {
        "loss": format_percent(loss),
        "bare": format_days(bare["training_days"] * SECONDS_PER_DAY),
        "virtual": format_days(virtual["training_days"] * SECONDS_PER_DAY),
        "more": format_days((virtual["training_days"] - bare["training_days"]) * SECONDS_PER_DAY),
    }
    if must:
        text = _("This job is to run on bare metal; virtualized it would take %(virtual)s instead of %(bare)s.")
    else:
        text = _(
            "Bare metal is a preference here, worth %(more)s at a loss of %(loss)s: %(bare)s instead of %(virtual)s."
        )
    return text % figures


def _reasons(virtual: SideAnswer) -> list[str]:
    lost_tokens, lost_samples = virtual["tokens_lost_per_day"], virtual["samples_lost_per_day"]
    reasons = []
    if lost_tokens:
        reasons.append(
            _("The virtualized side trains %(tokens)s tokens (%(samples)s sequences) a day less.")
            % {"tokens": format_si_count(lost_tokens), "samples": format_si_count(lost_samples or 0.0)}
        )
    reasons.append(
        _(
            "Losses of 10 to 30 % are a vendor's claim; whole-GPU passthrough measured 0 to 6 %. Larger losses "
            "come from "
            "time-shared GPUs, wrong NUMA pinning, or GPU-to-NIC traffic forced through the root complex."
        )
    )
    reasons.append(
        _(
            "That 15 to 20 %% of cloud runs are interrupted and under 1 %% on bare metal are claims without a "
            "base; here "
            "both sides rest on published rates: %(count)s interruptions expected."
        )
        % {"count": format_significant(virtual["interruptions"]) if virtual["interruptions"] is not None else "—"}
    )
    reasons.append(
        _(
            "Accuracy does not depend on virtualization as such; number formats, silent data corruption and lost "
            "checkpoints change it."
        )
    )
    return reasons


def controls() -> list[dict[str, str]]:
    """Who controls what under each profile (M9)."""
    layers = {
        "facility": _("Facility and power"),
        "bmc": _("BMC"),
        "firmware": _("Firmware"),
        "hypervisor": _("Hypervisor"),
        "operating_system": _("Operating system"),
        "driver": _("GPU driver"),
        "framework": _("Framework and libraries"),
        "data": _("Data and keys"),
    }
    holders = {"seller": _("provider"), "customer": _("customer"), "shared": _("shared"), "none": _("none")}
    by_profile = {profile: control_by_layer(profile) for profile in (BARE_METAL, DEDICATED, SHARED)}
    return [
        {"what": layers[layer], **{profile: holders[held[layer]] for profile, held in by_profile.items()}}
        for layer in CONTROL_LAYERS
    ]


def must_be_bare_metal(
    *, tier_code: str | None, real_time: bool, data_sensitivity: str, profile_code: str
) -> tuple[str, ...]:
    """The three cases that the rule set reserves for bare metal, each with its reason (V5, V6)."""
    reasons = []
    if tier_code == "hundreds_of_billions":
        reasons.append(
            _("Frontier model: hundreds of GPUs in step make every slow link and every interruption everyone's loss.")
        )
    if real_time:
        reasons.append(_("Real-time training: sensor data arrives while training runs and jitter stalls every GPU."))
    if data_sensitivity == "regulated":
        if profile_code == SHARED:
            reasons.append(
                _(
                    "Regulated data may not go on a shared host: the seller's policy, which an editor can "
                    "change, not a law."
                )
            )
        else:
            reasons.append(
                _("Regulated data: exclusive hardware isolates tenants, and disks carry the customer's keys.")
            )
    return tuple(reasons)
