"""Triggers by which the database itself refuses to change what was issued, decided or logged.

SQLite drops a table's triggers when a migration rebuilds the table, and refuses the rebuild while triggers of other
tables name it: such a migration calls `remove` first and `install` last. A test tries each refusal.
"""

from __future__ import annotations

from typing import Any

MESSAGE = "issued quotes do not change"
LIFE_CYCLE = frozenset({"id", "state", "internal_note", "decided_at", "decision", "updated_at"})
_ISSUED = "EXISTS (SELECT 1 FROM quotes_quoterevision WHERE id = {row}.revision_id AND snapshot <> '')"

# trigger -> (table, moment, condition). `{content}` stands for the columns of the revision that are not its life cycle.
_TRIGGERS: dict[str, tuple[str, str, str]] = {
    "quotes_revision_frozen": ("quoterevision", "UPDATE OF {content}", "OLD.snapshot <> ''"),
    "quotes_revision_kept": ("quoterevision", "DELETE", "OLD.snapshot <> ''"),
    "quotes_number_frozen": ("quote", "UPDATE OF number", "OLD.number IS NOT NULL"),
    "quotes_number_kept": ("quote", "DELETE", "OLD.number IS NOT NULL"),
    "quotes_line_frozen": ("quoteline", "UPDATE", _ISSUED.format(row="OLD")),
    "quotes_line_moved": ("quoteline", "UPDATE OF revision_id", _ISSUED.format(row="NEW")),
    "quotes_line_added": ("quoteline", "INSERT", _ISSUED.format(row="NEW")),
    "quotes_line_kept": ("quoteline", "DELETE", _ISSUED.format(row="OLD")),
    "quotes_document_frozen": ("quotedocument", "UPDATE", ""),
    "quotes_document_kept": ("quotedocument", "DELETE", ""),
    "quotes_proof_frozen": ("acceptanceproof", "UPDATE", ""),
    "quotes_proof_kept": ("acceptanceproof", "DELETE", ""),
    "quotes_approval_frozen": ("approvalrequest", "UPDATE", "OLD.decision <> 'pending'"),
    "quotes_approval_kept": ("approvalrequest", "DELETE", ""),
    "quotes_audit_frozen": ("auditentry", "UPDATE", ""),
    "quotes_audit_kept": ("auditentry", "DELETE", ""),
}


def install(apps: Any, schema_editor: Any) -> None:
    """As an operation of a migration, or with the live `apps` on an open schema editor."""
    model = apps.get_model("quotes", "QuoteRevision")
    content = ", ".join(field.column for field in model._meta.local_fields if field.column not in LIFE_CYCLE)
    is_postgresql = schema_editor.connection.vendor == "postgresql"
    if is_postgresql:
        _install_functions(schema_editor)
    for name, (table, moment, condition) in _TRIGGERS.items():
        head = f"CREATE TRIGGER {name} BEFORE {moment.format(content=content)} ON quotes_{table}"
        if not is_postgresql:
            when = f" WHEN {condition}" if condition else ""
            schema_editor.execute(f"{head}{when} BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END")
        elif "SELECT" in condition:  # PostgreSQL takes no query in WHEN
            row = "OLD" if "OLD." in condition else "NEW"
            schema_editor.execute(f"{head} FOR EACH ROW EXECUTE FUNCTION quotes_refuse_line_of_{row.lower()}()")
        else:
            when = f" WHEN ({condition})" if condition else ""
            schema_editor.execute(f"{head} FOR EACH ROW{when} EXECUTE FUNCTION quotes_refuse()")


def _install_functions(schema_editor: Any) -> None:
    raises = f"RAISE EXCEPTION '{MESSAGE}' USING ERRCODE = 'integrity_constraint_violation';"
    schema_editor.execute(
        f"CREATE OR REPLACE FUNCTION quotes_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {raises} END $$"
    )
    for row in ("OLD", "NEW"):
        schema_editor.execute(
            f"CREATE OR REPLACE FUNCTION quotes_refuse_line_of_{row.lower()}() RETURNS trigger LANGUAGE plpgsql AS $$ "
            f"BEGIN IF {_ISSUED.format(row=row)} THEN {raises} END IF; "
            "IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; RETURN NEW; END $$"
        )


def remove(apps: Any, schema_editor: Any) -> None:
    """Take out all triggers, those of earlier migrations too."""
    is_postgresql = schema_editor.connection.vendor == "postgresql"
    existing = set(schema_editor.connection.introspection.table_names())
    for name, (table, _moment, _condition) in _TRIGGERS.items():
        if f"quotes_{table}" in existing:
            schema_editor.execute(f"DROP TRIGGER IF EXISTS {name}" + (f" ON quotes_{table}" if is_postgresql else ""))
    if is_postgresql:
        for function in ("refuse", "refuse_frozen_line", "refuse_line_of_old", "refuse_line_of_new"):
            schema_editor.execute(f"DROP FUNCTION IF EXISTS quotes_{function}()")
