"""What every catalogue row has, and the shape of its constraints."""

from __future__ import annotations

from typing import ClassVar

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.urls import NoReverseMatch, reverse
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from catalog.words import word

SKU_VALIDATOR = RegexValidator(
    r"^[a-z0-9][a-z0-9._-]*$", _("A SKU has lower-case letters, digits, dots, hyphens and underscores only.")
)


def positive(table: str, *fields: str) -> list[models.BaseConstraint]:
    """A named check for each field: not published (NULL) or above zero."""
    return [
        models.CheckConstraint(
            name=f"catalog_{table}_{field}_positive",
            condition=Q(**{f"{field}__isnull": True}) | Q(**{f"{field}__gt": 0}),
            violation_error_message=_("This figure must be above zero, or empty when it is not published."),
        )
        for field in fields
    ]


def not_negative(table: str, *fields: str) -> list[models.BaseConstraint]:
    """A named check for each field: not published (NULL) or at least zero."""
    return [
        models.CheckConstraint(
            name=f"catalog_{table}_{field}_not_negative",
            condition=Q(**{f"{field}__isnull": True}) | Q(**{f"{field}__gte": 0}),
            violation_error_message=_("This figure cannot be negative."),
        )
        for field in fields
    ]


class Part(models.Model):
    """One row of the catalogue with where it was read. Rows retire (`is_active`), they are not deleted."""

    kind_code: ClassVar[str]  # the page's and the quote line's name of this kind

    sku = models.CharField(_("SKU"), max_length=80, unique=True, validators=[SKU_VALIDATOR])
    vendor = models.CharField(_("vendor"), max_length=80, blank=True, default="")
    name = models.CharField(_("name"), max_length=200)
    status = models.CharField(_("status"), max_length=120, blank=True, default="")
    is_active = models.BooleanField(_("active"), default=True)
    source_title = models.TextField(_("source"), blank=True, default="")
    source_locator = models.TextField(_("locator"), blank=True, default="")
    checked_on = models.DateField(_("checked on"), null=True, blank=True)
    unverified_fields = models.JSONField(_("unverified fields"), default=list, blank=True)
    notes = models.TextField(_("notes"), blank=True, default="")
    # of the file's row when it was last written here: tells an editor's change from a change of the file
    file_hash = models.CharField(max_length=64, blank=True, default="", editable=False)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.display_name

    def get_absolute_url(self) -> str:
        try:
            return reverse("catalog:part", args=[self.kind_code, self.sku])
        except NoReverseMatch:  # a kind without a page of its own
            return reverse("catalog:index")

    @property
    def display_name(self) -> str:
        """The name in the active language; most hardware has one name in both."""
        name_zh: str = getattr(self, "name_zh", "")
        return name_zh if name_zh and (get_language() or "").startswith("zh") else word(self.name)
