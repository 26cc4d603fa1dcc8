"""Triggers by which the database itself refuses to change a price book that was published, or its prices.

What may still happen to such a book: it ends earlier, and it retires. SQLite drops a table's triggers when a migration
rebuilds the table, and refuses the rebuild while triggers of other tables name it: such a migration calls `remove`
first and `install` last. A test tries each refusal.
"""

from __future__ import annotations

from typing import Any

MESSAGE = "published price books do not change"
LIFE_CYCLE = frozenset({"status", "valid_until"})
_FROZEN = "EXISTS (SELECT 1 FROM catalog_pricebook WHERE id = {row}.book_id AND status <> 'draft')"
_BACKWARDS = (
    "OLD.status <> 'draft' AND NEW.status <> OLD.status AND NOT (OLD.status = 'published' AND NEW.status = 'retired')"
    " OR OLD.status <> 'draft' AND OLD.valid_until IS NOT NULL"
    " AND (NEW.valid_until IS NULL OR NEW.valid_until > OLD.valid_until)"
)

# trigger -> (table, moment, condition). `{content}` stands for the columns of the book that are not its life cycle.
_TRIGGERS: dict[str, tuple[str, str, str]] = {
    "catalog_book_frozen": ("pricebook", "UPDATE OF {content}", "OLD.status <> 'draft'"),
    "catalog_book_forwards": ("pricebook", "UPDATE", _BACKWARDS),
    "catalog_book_kept": ("pricebook", "DELETE", "OLD.status <> 'draft'"),
    "catalog_price_frozen": ("price", "UPDATE", f"{_FROZEN.format(row='OLD')} OR {_FROZEN.format(row='NEW')}"),
    "catalog_price_added": ("price", "INSERT", _FROZEN.format(row="NEW")),
    "catalog_price_kept": ("price", "DELETE", _FROZEN.format(row="OLD")),
}


def install(apps: Any, schema_editor: Any) -> None:
    """As an operation of a migration, or with the live `apps` on an open schema editor."""
    book = apps.get_model("catalog", "PriceBook")
    content = ", ".join(field.column for field in book._meta.local_fields if field.column not in LIFE_CYCLE)
    for name, (table, moment, condition) in _TRIGGERS.items():
        head = f"CREATE TRIGGER {name} BEFORE {moment.format(content=content)} ON catalog_{table}"
        if schema_editor.connection.vendor == "postgresql":
            # PostgreSQL takes no query in WHEN: each trigger has a function that asks
            row = "OLD" if moment == "DELETE" else "NEW"
            schema_editor.execute(
                f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                f" IF {condition} THEN RAISE EXCEPTION '{MESSAGE}' USING ERRCODE = 'integrity_constraint_violation';"
                f" END IF; RETURN {row}; END $$"
            )
            schema_editor.execute(f"{head} FOR EACH ROW EXECUTE FUNCTION {name}()")
        else:
            schema_editor.execute(f"{head} WHEN {condition} BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END")


def remove(apps: Any, schema_editor: Any) -> None:
    is_postgresql = schema_editor.connection.vendor == "postgresql"
    for name, (table, _moment, _condition) in _TRIGGERS.items():
        schema_editor.execute(f"DROP TRIGGER IF EXISTS {name}" + (f" ON catalog_{table}" if is_postgresql else ""))
        if is_postgresql:
            schema_editor.execute(f"DROP FUNCTION IF EXISTS {name}()")
