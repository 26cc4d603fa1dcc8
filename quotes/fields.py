"""Form fields for what people type into a quote: decimals as they are written, and text that paper can carry."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_PLAIN = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,10})?")
_MAX_LENGTH = 40


class PlainDecimalField(forms.CharField):
    """A decimal as written: `1234.5`, `1,234.50`, full-width digits. No exponents, no NaN; bounds are named.

    `scale` divides what is typed: 100 for a field in percent that is stored as a fraction.
    """

    def __init__(
        self,
        *,
        minimum: Decimal,
        maximum: Decimal,
        decimal_places: int,
        unit: str = "",
        scale: Decimal = Decimal(1),
        **kwargs: Any,
    ) -> None:
        self.minimum, self.maximum, self.decimal_places = minimum, maximum, decimal_places
        self.unit, self.scale = unit, scale
        kwargs.setdefault("widget", forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}))
        super().__init__(max_length=_MAX_LENGTH, **kwargs)

    def clean(self, value: Any) -> Decimal | None:
        raw = unicodedata.normalize("NFKC", super().clean(value) or "").strip().replace(" ", "")
        if not raw:
            return None
        if not (_PLAIN.fullmatch(raw) or _GROUPED.fullmatch(raw)) or not raw.isascii():
            raise ValidationError(_("“%(value)s” is not a number. Write it like 1234.50."), params={"value": raw})
        number = Decimal(raw.replace(",", ""))
        if not self.minimum <= number <= self.maximum:
            raise ValidationError(
                _("%(value)s is out of range: %(minimum)s to %(maximum)s."),
                params={"value": raw, "minimum": f"{self.minimum:,f}", "maximum": f"{self.maximum:,f}"},
            )
        if number != round(number, self.decimal_places):
            raise ValidationError(
                _("%(value)s has too many digits after the point; %(places)d are kept."),
                params={"value": raw, "places": self.decimal_places},
            )
        return number / self.scale

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, Decimal):
            text = f"{value * self.scale:,f}"
            return text.rstrip("0").rstrip(".") if "." in text else text
        return value


def paper_text(value: str, *, has_lines: bool = False) -> str:
    """Text fit for paper: composed letters, plain hyphens, no control characters.

    Raises
    ------
    ValidationError
        For control characters, which no font prints and some readers act on.
    """
    text = unicodedata.normalize("NFC", value).replace("\u2011", "-").replace("\r\n", "\n")
    for letter in text:
        if unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Co"} and not (has_lines and letter == "\n"):
            raise ValidationError(
                _("The text holds a control character (U+%(point)s). Remove it."),
                params={"point": f"{ord(letter):04X}"},
            )
    return text.strip()
