"""Inputs of rent or buy: how much the cluster is used, how long one looks, and what power and capital cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_lazy as _

from advisor.input_kinds import RECOMMENDATION, FieldKind, InputField, count_row, whole_row
from advisor.quantities import Kind

_ROUTES = frozenset({RECOMMENDATION})

OWNERSHIP_FIELDS = (
    InputField(
        name="utilisation", pointer="/commercial/utilisation_fraction", kind=FieldKind.FRACTION,
        label=_("Share of the time in use"), minimum=Decimal("0.01"), maximum=Decimal(1), query="utilisation",
        help=_("Of all hours of the horizon, 0.7 or 70%. Left out: 70 %, shown as an assumption."), example="0.7",
        routes=_ROUTES,
    ),
    whole_row("horizon_months", "/commercial/horizon_months", _("Horizon of the comparison"), 1, 60, default=60,
              query="horizon_months", unit=_("months"), routes=_ROUTES, example="36",
              help=_("Over how many months renting and owning are compared.")),
    count_row("electricity_price", "/commercial/electricity_price_per_kilowatt_hour", _("Electricity per kWh"),
              "0", "100", quantity=Kind.MONEY, query="electricity_price", routes=_ROUTES, example="0.63",
              help=_("In the currency of the prices. Left out: the country's published industrial average.")),
    count_row("pue", "/site/pue", "PUE", "1", "3", query="pue", routes=_ROUTES, example="1.3",
              help=_("Facility power over IT power. Left out: 1.4, a good air-cooled site.")),
    InputField(
        name="cost_of_capital", pointer="/commercial/cost_of_capital_fraction", kind=FieldKind.FRACTION,
        label=_("Cost of capital a year"), minimum=Decimal(0), maximum=Decimal(1), query="cost_of_capital",
        help=_("For present values, 0.08 or 8%. Left out: 8 % a year."), example="0.08", routes=_ROUTES,
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnershipChoice:
    """What the user said about owning; None leaves the stated assumption in force."""

    horizon_months: int
    utilisation_fraction: float | None = None
    electricity_amount_per_kilowatt_hour: float | None = None
    pue: float | None = None
    cost_of_capital_fraction: float | None = None


def ownership_choice(values: Mapping[str, Any]) -> OwnershipChoice:
    def number(name: str) -> float | None:
        value = values.get(name)
        return None if value is None else float(value)

    default = next(row.default for row in OWNERSHIP_FIELDS if row.name == "horizon_months")
    return OwnershipChoice(
        horizon_months=int(values.get("horizon_months", default)),
        utilisation_fraction=number("utilisation"),
        electricity_amount_per_kilowatt_hour=number("electricity_price"),
        pue=number("pue"),
        cost_of_capital_fraction=number("cost_of_capital"),
    )
