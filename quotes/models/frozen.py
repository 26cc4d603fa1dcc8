"""Rows that are written once."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from django.db import models


class FrozenError(Exception):
    """Something tried to change what was issued, or the log."""


_Row = TypeVar("_Row", bound=models.Model)


class AppendOnlyQuerySet(models.QuerySet[_Row]):
    def update(self, **changes: Any) -> NoReturn:
        raise FrozenError(f"{self.model._meta.verbose_name} rows do not change.")

    def delete(self) -> NoReturn:
        raise FrozenError(f"{self.model._meta.verbose_name} rows are not deleted.")


class AppendOnly(models.Model):
    """Rows are written once; each class takes `AppendOnlyQuerySet` as its manager."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise FrozenError(f"{self._meta.verbose_name} rows do not change.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise FrozenError(f"{self._meta.verbose_name} rows are not deleted.")
