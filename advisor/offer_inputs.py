"""Rival offers as they are sent, checked: fields that are given, else what the pasted text states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_lazy as _

from advisor.comparison import DEFAULT_LOSS
from advisor.input_fields import CURRENCIES, PROFILES
from advisor.input_kinds import FieldKind, InputField, choices_of, count_row, whole_row
from advisor.input_parsing import parse_estimate_request
from advisor.input_reading import make_fault
from advisor.input_types import CheckedEstimate, InputError, InputFault
from advisor.market_reading import as_object, distinct, given_values, not_an_object, unknown_names
from advisor.messages import shown
from advisor.offer_text import CLUSTER_MONTH, GPU_HOUR, GPU_MONTH, MAX_TEXT, SERVER_MONTH, read_offer
from advisor.quantities import Kind

MAX_OFFERS = 6
BARE_METAL = "bare_metal"
PRICE_UNITS = choices_of(
    (GPU_HOUR, _("per GPU-hour")),
    (GPU_MONTH, _("per GPU and month")),
    (SERVER_MONTH, _("per server and month")),
    (CLUSTER_MONTH, _("per month for all")),
)


def _rows(*rows: InputField) -> dict[str, InputField]:
    return {row.name: row for row in rows}


# path inside one offer; bounds are those of the same quantities of an estimate
OFFER_FIELDS = _rows(
    InputField(name="name", pointer="/name", kind=FieldKind.TEXT, label=_("Name of the offer"), example="A"),
    InputField(
        name="gpu", pointer="/gpu", kind=FieldKind.TEXT, label=_("GPU"), example="nvidia-h100-sxm5-80gb",
        help=_("Catalogue key, or the name as the offer writes it."),
    ),
    whole_row("gpu_count", "/gpu_count", _("GPUs"), 1, 131_072, example="64"),
    count_row("amount", "/price/amount", _("Price"), "0", "1e12", quantity=Kind.MONEY, is_minimum_excluded=True,
              example="2.49"),
    InputField(
        name="currency", pointer="/price/currency", kind=FieldKind.CHOICE, label=_("Currency"), choices=CURRENCIES,
        example="USD",
    ),
    InputField(
        name="price_unit", pointer="/price_unit", kind=FieldKind.CHOICE, label=_("Price unit"), choices=PRICE_UNITS,
        example=GPU_HOUR,
    ),
    count_row("gbit", "/scale_out_gbit_per_second_per_gpu", _("Network per GPU"), "0.1", "100000", unit="Gbit/s",
              example="400", help=_("Left out: as the server is sold.")),
    InputField(
        name="profile", pointer="/deployment/profile", kind=FieldKind.CHOICE, label=_("Deployment"), choices=PROFILES,
        aliases=(("virtualized", "virtualized_dedicated"),), example=BARE_METAL,
    ),
    InputField(
        name="loss", pointer="/deployment/throughput_loss", kind=FieldKind.FRACTION, label=_("Throughput loss"),
        minimum=Decimal(0), maximum=Decimal("0.95"), example="0.1",
        help=_("Of virtual machines; left out: 2 %, measured for whole GPUs."),
    ),
)  # fmt: skip
CURRENCY_ROW = InputField(
    name="currency", pointer="/commercial/currency", kind=FieldKind.CHOICE, label=_("Currency"), default="CNY",
    choices=CURRENCIES, example="CNY",
)  # fmt: skip
_REQUIRED = ("gpu", "gpu_count", "amount", "currency", "price_unit")
# names of an offer's object, and of the objects in it
_NAMES_OF = {
    "": ("name", "text", "gpu", "gpu_count", "price", "price_unit", "scale_out_gbit_per_second_per_gpu", "deployment"),
    "price": ("amount", "currency"),
    "deployment": ("profile", "throughput_loss"),
}
# a fault of the job's cluster, as a fault of the offer that it comes from
_FROM_CLUSTER = {
    "/cluster/gpu": "/gpu",
    "/cluster/gpu_count": "/gpu_count",
    "/cluster/scale_out_gbit_per_second_per_gpu": "/scale_out_gbit_per_second_per_gpu",
    "/cluster/deployment/profile": "/deployment/profile",
    "/cluster/deployment/throughput_loss": "/deployment/throughput_loss",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedOffer:
    name: str
    text: str
    read_from_text: tuple[str, ...]
    amount: Decimal
    currency: str
    price_unit: str
    job: CheckedEstimate  # the job on the offer's cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedOffers:
    offers: tuple[CheckedOffer, ...]
    currency: str


def parse_offer_comparison(body: Any) -> CheckedOffers:
    """The checked form of `POST /api/v1/offer-comparisons`. Raises InputError with every fault."""
    if not isinstance(body, Mapping):
        raise InputError((not_an_object("", _("Request"), body),))
    faults = list(unknown_names("", body, ("model", "training", "offers", "commercial")))
    currency, currency_faults = _currency(body.get("commercial"))
    faults += currency_faults
    job = {name: body[name] for name in ("model", "training") if name in body}
    offers: list[CheckedOffer] = []
    entries, list_faults = _entries(body.get("offers"))
    faults += list_faults
    for index, entry in enumerate(entries):
        try:
            offers.append(_offer(job, index, entry))
        except InputError as error:
            faults += error.errors
    faults += _same_names(offers)
    if not entries:  # the job is read with the offers; without them its own faults still count
        faults += _job_faults(job)
    if faults:
        raise InputError(distinct(faults))
    return CheckedOffers(offers=tuple(offers), currency=currency)


def _entries(raw: Any) -> tuple[list[Any], list[InputFault]]:
    if not isinstance(raw, list) or not raw:
        text = _("Give at least one offer: paste its text, or fill in GPU, count and price.")
        return [], [InputFault(pointer="/offers", code="offers_missing", params={}, message=str(text))]
    if len(raw) > MAX_OFFERS:
        params = {"field": _("Offers"), "count": len(raw), "limit": MAX_OFFERS}
        return [], [make_fault("/offers", "too_many", params)]
    return raw, []


def _currency(commercial: Any) -> tuple[str, list[InputFault]]:
    default = str(CURRENCY_ROW.default)
    node, faults = as_object("/commercial", commercial, ("currency",))
    values, value_faults = given_values("", {"currency": CURRENCY_ROW}, {CURRENCY_ROW.pointer: node.get("currency")})
    return str(values.get("currency", default)), faults + value_faults


def _offer(job: Mapping[str, Any], index: int, entry: Any) -> CheckedOffer:
    place = f"/offers/{index}"
    if not isinstance(entry, Mapping):
        raise InputError((not_an_object(place, _("Offer"), entry),))
    text = entry.get("text") or ""
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        code, params = ("text_too_long", {"limit": MAX_TEXT}) if isinstance(text, str) else ("not_a_text", {})
        words = {"field": _("Text of the offer"), "value": shown(text), **params}
        raise InputError((make_fault(f"{place}/text", code, words),))
    values, faults = _given(place, entry)
    read: dict[str, Any] = {
        name: value for name, value in read_offer(text).items() if name not in values and _is_usable(name, value)
    }
    values = read | values
    faults += [
        _missing(place, name, has_text=bool(text.strip()))
        for name in _REQUIRED
        if name not in values and not any(fault.pointer == place + OFFER_FIELDS[name].pointer for fault in faults)
    ]
    if faults:
        raise InputError((*faults, *_job_faults(job)))
    return CheckedOffer(
        name=values.get("name") or str(_("Offer %(number)d") % {"number": index + 1}),
        text=text.strip(),
        read_from_text=tuple(read),
        amount=Decimal(values["amount"]),
        currency=values["currency"],
        price_unit=values["price_unit"],
        job=_job(job, place, values),
    )


def _given(place: str, entry: Mapping[str, Any]) -> tuple[dict[str, Any], list[InputFault]]:
    """Typed values of what is given, and the faults."""
    faults = list(unknown_names(place, entry, _NAMES_OF[""]))
    leaves: dict[str, Any] = {f"/{name}": entry.get(name) for name in _NAMES_OF[""] if name not in _NAMES_OF}
    for name in ("price", "deployment"):
        node, node_faults = as_object(f"{place}/{name}", entry.get(name), _NAMES_OF[name])
        faults += node_faults
        leaves |= {f"/{name}/{inner}": raw for inner, raw in node.items()}
    values, value_faults = given_values(place, OFFER_FIELDS, leaves)
    return values, faults + value_faults


def _is_usable(name: str, value: Any) -> bool:
    """Whether a value read from a text lies within the field's bounds; else it is as if not read."""
    row = OFFER_FIELDS[name]
    if row.minimum is None or row.maximum is None:
        return True
    return (
        row.minimum < Decimal(value) <= row.maximum if row.is_minimum_excluded else row.minimum <= value <= row.maximum
    )


def _missing(place: str, name: str, *, has_text: bool) -> InputFault:
    row = OFFER_FIELDS[name]
    template = (
        _("The text does not tell: %(field)s. Enter it, such as %(example)s.")
        if has_text
        else _("%(field)s is missing; enter it, such as %(example)s, or paste the offer's text.")
    )
    text = template % {"field": row.label, "example": row.example}
    return InputFault(pointer=place + row.pointer, code="offer_incomplete", params={"name": name}, message=str(text))


def _same_names(offers: list[CheckedOffer]) -> list[InputFault]:
    names = [offer.name for offer in offers]
    twice = sorted({name for name in names if names.count(name) > 1})
    text = _("Two offers have the name “%(name)s”; give each its own.")
    return [
        InputFault(
            pointer=f"/offers/{len(names) - 1 - names[::-1].index(name)}/name",
            code="offer_name_twice",
            params={"name": name},
            message=str(text % {"name": name}),
        )
        for name in twice
    ]


def _job(job: Mapping[str, Any], place: str, values: Mapping[str, Any]) -> CheckedEstimate:
    """The job on the offer's cluster, read by the reader of estimates; its faults point at the offer."""
    profile = values.get("profile", BARE_METAL)
    deployment: dict[str, Any] = {"profile": profile}
    if profile != BARE_METAL:
        deployment["throughput_loss"] = values.get("loss", Decimal(repr(DEFAULT_LOSS)))
    elif "loss" in values:
        deployment["throughput_loss"] = values["loss"]
    cluster: dict[str, Any] = {"gpu": values["gpu"], "gpu_count": values["gpu_count"], "deployment": deployment}
    if "gbit" in values:
        cluster["scale_out_gbit_per_second_per_gpu"] = values["gbit"]
    try:
        return parse_estimate_request({**job, "cluster": cluster})
    except InputError as error:
        raise InputError(
            tuple(
                replace(fault, pointer=place + _FROM_CLUSTER[fault.pointer])
                if fault.pointer in _FROM_CLUSTER
                else fault
                for fault in error.errors
            )
        ) from error


def _job_faults(job: Mapping[str, Any]) -> tuple[InputFault, ...]:
    try:
        parse_estimate_request(dict(job))
    except InputError as error:
        return error.errors
    return ()
