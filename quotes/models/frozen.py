"""Rows that are written once."""

from __future__ import annotations

from typing import Any, NoReturn

from django.db import models


class FrozenError(Exception):
    """Something tried to change what was issued, or the log."""


class AppendOnlyQuerySet(models.QuerySet[Any]):
    def update(self, **changes: Any) -> NoReturn:
        raise FrozenError(f"{self.model._meta.verbose_name} rows do not change.")

    def delete(self) -> NoReturn:
        raise FrozenError(f"{self.model._meta.verbose_name} rows are not deleted.")


class AppendOnly(models.Model):
    """Rows are written once."""

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise FrozenError(f"{self._meta.verbose_name} rows do not change.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise FrozenError(f"{self._meta.verbose_name} rows are not deleted.")
