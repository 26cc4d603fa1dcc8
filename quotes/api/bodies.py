"""What the API takes for quotes. Money and fractions are strings or numbers; unknown names are errors."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from advisor.api.schemas import reference
from catalog.money import MINOR_UNITS
from quotes.drafting import DraftLine
from quotes.fields import paper_text
from quotes.models import MAX_LINES, MAX_QUANTITY, MAX_UNIT_PRICE, Basis, Language, Paper
from quotes.pricing import GROUPS
from quotes.services import CustomerData
from quotes.services.mails import MAX_RECIPIENTS

KINDS = tuple(kind for kinds in GROUPS.values() for kind in kinds)
MAX_TERM_MONTHS = 120
Serializer = serializers.Serializer[Any]


class StrictSerializer(Serializer):
    """Names that it does not know are refused, not passed over."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            unknown = {
                str(name): serializers.ErrorDetail(_("There is no field of this name."), code="unknown_field")
                for name in data
                if name not in self.fields
            }
            if unknown:
                raise serializers.ValidationError({name: [detail] for name, detail in unknown.items()})
        return super().to_internal_value(data)


class PaperCharField(serializers.CharField):
    """Text that paper can carry: no control characters, no line breaks unless it has lines."""

    def __init__(self, *, has_lines: bool = False, **kwargs: Any) -> None:
        self.has_lines = has_lines
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> str:
        try:
            return paper_text(super().to_internal_value(data), has_lines=self.has_lines)
        except ValidationError as error:
            raise serializers.ValidationError(error.messages, code="control_character") from None


def _text(length: int, **kwargs: Any) -> PaperCharField:
    return PaperCharField(max_length=length, required=False, allow_blank=True, **kwargs)


class CustomerBody(StrictSerializer):
    name = _text(200)
    tax_id = _text(30)
    address = _text(300)
    contact_name = _text(100)
    contact_phone = _text(50)
    contact_email = serializers.EmailField(required=False, allow_blank=True, max_length=254)
    delivery_place = _text(300)

    @staticmethod
    def fields_of(data: Mapping[str, str]) -> dict[str, str]:
        """The columns of a revision."""
        return {f"customer_{name}" if name in {"name", "tax_id", "address"} else name: data[name] for name in data}


class MoneyBody(StrictSerializer):
    amount = serializers.DecimalField(max_digits=18, decimal_places=4, min_value=Decimal(0), max_value=MAX_UNIT_PRICE)
    currency = serializers.ChoiceField(choices=list(MINOR_UNITS))


class WordsBody(StrictSerializer):
    """The same text in both languages."""

    def get_fields(self) -> dict[str, Any]:
        return {
            "zh-Hans": PaperCharField(max_length=300),
            "en": PaperCharField(max_length=300),
        }


class SpecificationBody(StrictSerializer):
    def get_fields(self) -> dict[str, Any]:
        return {
            "zh-Hans": PaperCharField(max_length=600, allow_blank=True),
            "en": PaperCharField(max_length=600, allow_blank=True),
        }


class LineBody(StrictSerializer):
    kind = serializers.ChoiceField(choices=KINDS)
    sku = _text(100)
    name = WordsBody()
    specification = SpecificationBody(required=False)
    unit = serializers.RegexField(r"^[a-z0-9_]{1,30}$", help_text="A code such as each, month, server_month.")
    quantity = serializers.DecimalField(
        max_digits=12, decimal_places=3, min_value=Decimal("0.001"), max_value=MAX_QUANTITY
    )
    period_count = serializers.IntegerField(min_value=1, max_value=MAX_TERM_MONTHS, default=1)
    unit_price = MoneyBody(allow_null=True, help_text="null: not known yet; it stands against issue.")
    tax_rate = serializers.DecimalField(max_digits=5, decimal_places=4, min_value=Decimal(0), max_value=Decimal(1))
    tax_category = _text(40)
    discount_fraction = serializers.DecimalField(
        max_digits=6, decimal_places=5, min_value=Decimal(0), max_value=Decimal(1), required=False
    )
    is_optional = serializers.BooleanField(default=False)

    @staticmethod
    def line_of(data: Mapping[str, Any]) -> DraftLine:
        specification = data.get("specification") or {}
        price = data["unit_price"]
        return DraftLine(
            kind=data["kind"],
            sku=data.get("sku", ""),
            name_zh=data["name"]["zh-Hans"],
            name_en=data["name"]["en"],
            specification_zh=specification.get("zh-Hans", ""),
            specification_en=specification.get("en", ""),
            unit=data["unit"],
            quantity=data["quantity"],
            period_count=data["period_count"],
            unit_price=price["amount"] if price else None,
            tax_rate=data["tax_rate"],
            tax_category=data.get("tax_category", ""),
            discount_fraction=data.get("discount_fraction", Decimal(0)),
            is_optional=data["is_optional"],
        )


class RecommendationField(serializers.DictField):
    """The request of `/recommendations`, read by its own reader."""


RecommendationField = extend_schema_field(reference("RecommendationRequest"))(RecommendationField)  # type: ignore[misc]


class QuoteCreateRequestSerializer(StrictSerializer):
    """A draft, from a recommendation or from lines."""

    basis = serializers.ChoiceField(choices=Basis.choices)
    recommendation = RecommendationField(required=False)
    lines = LineBody(many=True, required=False, min_length=1, max_length=MAX_LINES)  # type: ignore[call-arg]
    currency = serializers.ChoiceField(choices=list(MINOR_UNITS), required=False, help_text="With lines only.")
    term_months = serializers.IntegerField(
        min_value=1, max_value=MAX_TERM_MONTHS, required=False, help_text="With lines of a rental only."
    )
    language = serializers.ChoiceField(choices=Language.choices, default=Language.CHINESE)
    paper = serializers.ChoiceField(choices=Paper.choices, default=Paper.A4)
    valid_through = serializers.DateField(required=False)
    project = _text(200)
    customer = CustomerBody(required=False)
    customer_note = _text(5000, has_lines=True)

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if ("recommendation" in data) == ("lines" in data):
            raise serializers.ValidationError(_("Give either recommendation or lines."), code="one_of")
        if "recommendation" in data:
            for name in ("currency", "term_months"):
                if name in data:
                    sentence = _("With a recommendation this stands in its own part, commercial.")
                    raise serializers.ValidationError({name: sentence}, code="not_here")
            return data
        if "currency" not in data:
            raise serializers.ValidationError({"currency": _("Lines need their currency.")}, code="required")
        for index, line in enumerate(data["lines"]):
            price = line["unit_price"]
            if price and price["currency"] != data["currency"]:
                sentence = _("A line's price is in the currency of the quote.")
                raise serializers.ValidationError(
                    {"lines": {str(index): {"unit_price": {"currency": sentence}}}}, code="other_currency"
                )
        return data

    @staticmethod
    def customer_of(data: Mapping[str, Any]) -> CustomerData:
        return CustomerData(**CustomerBody.fields_of(data.get("customer") or {}))


class QuoteChangeRequestSerializer(StrictSerializer):
    """Changes of a draft; what is not named stays."""

    project = _text(200)
    language = serializers.ChoiceField(choices=Language.choices, required=False)
    paper = serializers.ChoiceField(choices=Paper.choices, required=False)
    valid_through = serializers.DateField(required=False)
    customer = CustomerBody(required=False)
    customer_note = _text(5000, has_lines=True)


class QuoteListQuerySerializer(Serializer):
    q = serializers.CharField(max_length=100, required=False, help_text="In number, customer, project, SKU, owner.")
    state = serializers.CharField(required=False, help_text="A state's code.")
    basis = serializers.ChoiceField(choices=Basis.choices, required=False)
    currency = serializers.ChoiceField(choices=list(MINOR_UNITS), required=False)


class EmptyRequestSerializer(StrictSerializer):
    """A step without words."""


class CommentRequestSerializer(StrictSerializer):
    comment = _text(1000, has_lines=True)


class RejectRequestSerializer(StrictSerializer):
    comment = PaperCharField(max_length=1000, has_lines=True)


class ReasonRequestSerializer(StrictSerializer):
    reason = PaperCharField(max_length=1000, has_lines=True)


class DuplicateRequestSerializer(StrictSerializer):
    reprice = serializers.BooleanField(default=True, help_text="false keeps the old prices.")


class SendRequestSerializer(StrictSerializer):
    """By mail to recipients, or the record of a hand-over by another way."""

    recipients = serializers.ListField(
        child=serializers.EmailField(max_length=254), required=False, min_length=1, max_length=MAX_RECIPIENTS
    )
    message = _text(2000, has_lines=True)
    handed_over = PaperCharField(max_length=1000, required=False, help_text="To whom and by which way it went.")

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if ("recipients" in data) == ("handed_over" in data):
            raise serializers.ValidationError(_("Give either recipients or handed_over."), code="one_of")
        return data
