"""A constraint that the database keeps itself: on any day one published price book of a basis and currency."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db import DEFAULT_DB_ALIAS, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.backends.ddl_references import Statement, Table

# A market as a number: first letter of the basis (rental, purchase and cloud differ in it) and the currency's letters.
# With the day behind it, a market's days are one stretch of whole numbers, which PostgreSQL compares without an
# extension that an owner may not be allowed to install.
_MARKET = (
    "((ascii(basis)::bigint * 256 + ascii(currency)) * 256 + ascii(substr(currency, 2, 1))) * 256"
    " + ascii(substr(currency, 3, 1))"
)
_FIRST_DAY = "DATE '0001-01-01'"
_EXCLUDE = (
    f"EXCLUDE USING gist (int8range(({_MARKET}) * 10000000 + (valid_from - {_FIRST_DAY}),"
    f" ({_MARKET}) * 10000000 + COALESCE(valid_until - {_FIRST_DAY}, 9999999)) WITH &&)"
    " WHERE (status = 'published')"
)
_TRIGGER = """CREATE TRIGGER {name} BEFORE {event} ON %(table)s WHEN NEW.status = 'published' BEGIN
SELECT RAISE(ABORT, '{message}') WHERE EXISTS (SELECT 1 FROM %(table)s AS other WHERE other.id <> NEW.id
AND other.status = 'published' AND other.basis = NEW.basis AND other.currency = NEW.currency
AND (NEW.valid_until IS NULL OR other.valid_from < NEW.valid_until)
AND (other.valid_until IS NULL OR other.valid_until > NEW.valid_from)); END"""


class OnePublishedBookADay(models.BaseConstraint):
    """PostgreSQL: an exclusion constraint. SQLite: two triggers, which come back whenever the table is remade."""

    def constraint_sql(self, model: Any, schema_editor: Any) -> Any:
        """Part of CREATE TABLE."""
        if schema_editor.connection.vendor == "postgresql":
            return f"CONSTRAINT {schema_editor.quote_name(self.name)} {_EXCLUDE}"
        schema_editor.deferred_sql += [self._trigger(model, schema_editor, event) for event in ("INSERT", "UPDATE")]
        return None

    def create_sql(self, model: Any, schema_editor: Any) -> Any:
        """Asked of PostgreSQL alone: SQLite remakes the table."""
        name = schema_editor.quote_name(self.name)
        return Statement(f"ALTER TABLE %(table)s ADD CONSTRAINT {name} {_EXCLUDE}", table=_table(model, schema_editor))

    def remove_sql(self, model: Any, schema_editor: Any) -> Any:
        name = schema_editor.quote_name(self.name)
        return Statement(f"ALTER TABLE %(table)s DROP CONSTRAINT {name}", table=_table(model, schema_editor))

    def __eq__(self, other: object) -> bool:
        """Migrations ask whether the constraint has changed."""
        return isinstance(other, OnePublishedBookADay) and self.deconstruct() == other.deconstruct()

    __hash__ = models.BaseConstraint.__hash__

    def _trigger(self, model: type[models.Model], schema_editor: BaseDatabaseSchemaEditor, event: str) -> Statement:
        name = schema_editor.quote_name(f"{self.name}_{event.lower()}")
        template = _TRIGGER.format(name=name, event=event, message=self.name)
        return Statement(template, table=_table(model, schema_editor))

    def validate(
        self, model: type[models.Model], instance: Any, exclude: Any = None, using: str = DEFAULT_DB_ALIAS
    ) -> None:
        if instance.status != "published" or instance.valid_from is None:
            return
        rivals = model._default_manager.using(using).filter(
            status="published", basis=instance.basis, currency=instance.currency
        )
        overlapping = rivals.overlapping(instance.valid_from, instance.valid_until)  # type: ignore[attr-defined]
        if overlapping.exclude(pk=instance.pk).exists():
            raise ValidationError(self.get_violation_error_message(), code=self.violation_error_code)


def _table(model: type[models.Model], schema_editor: BaseDatabaseSchemaEditor) -> Table:
    return Table(model._meta.db_table, schema_editor.quote_name)
