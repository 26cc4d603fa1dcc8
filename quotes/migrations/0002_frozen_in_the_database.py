"""The database itself refuses to change what was issued, by whatever way the statement comes.

SQLite drops a table's triggers when a later migration rebuilds the table: such a migration must call `install` again.
A test tries each refusal, so that a forgotten one is noticed.
"""

from __future__ import annotations

from django.db import migrations

MESSAGE = "issued quotes do not change"
LIFE_CYCLE = {"id", "state", "internal_note", "decided_at", "decision", "updated_at"}
NOT_FROZEN_BY = "SELECT 1 FROM quotes_quoterevision WHERE id = {row}.revision_id AND snapshot <> ''"


def _content_columns(apps):
    model = apps.get_model("quotes", "QuoteRevision")
    return [field.column for field in model._meta.local_fields if field.column not in LIFE_CYCLE]


def install(apps, schema_editor):
    {"sqlite": _install_sqlite, "postgresql": _install_postgresql}[schema_editor.connection.vendor](apps, schema_editor)


def _install_sqlite(apps, schema_editor):
    refuse = f"BEGIN SELECT RAISE(ABORT, '{MESSAGE}'); END"
    columns = ", ".join(_content_columns(apps))
    statements = [
        f"CREATE TRIGGER quotes_revision_frozen BEFORE UPDATE OF {columns} ON quotes_quoterevision "
        f"WHEN OLD.snapshot <> '' {refuse}",
        f"CREATE TRIGGER quotes_line_frozen BEFORE UPDATE ON quotes_quoteline "
        f"WHEN EXISTS ({NOT_FROZEN_BY.format(row='OLD')}) {refuse}",
        f"CREATE TRIGGER quotes_line_added BEFORE INSERT ON quotes_quoteline "
        f"WHEN EXISTS ({NOT_FROZEN_BY.format(row='NEW')}) {refuse}",
        f"CREATE TRIGGER quotes_document_frozen BEFORE UPDATE ON quotes_quotedocument {refuse}",
        f"CREATE TRIGGER quotes_audit_frozen BEFORE UPDATE ON quotes_auditentry {refuse}",
    ]
    for statement in statements:
        schema_editor.execute(statement)


def _install_postgresql(apps, schema_editor):
    raises = f"RAISE EXCEPTION '{MESSAGE}' USING ERRCODE = 'integrity_constraint_violation';"
    row = "CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END"
    columns = ", ".join(_content_columns(apps))
    statements = [
        f"CREATE FUNCTION quotes_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {raises} END $$",
        f"CREATE FUNCTION quotes_refuse_frozen_line() RETURNS trigger LANGUAGE plpgsql AS $$ "
        f"DECLARE line quotes_quoteline; BEGIN line := {row}; "
        f"IF EXISTS ({NOT_FROZEN_BY.format(row='line')}) THEN {raises} END IF; RETURN line; END $$",
        f"CREATE TRIGGER quotes_revision_frozen BEFORE UPDATE OF {columns} ON quotes_quoterevision "
        "FOR EACH ROW WHEN (OLD.snapshot <> '') EXECUTE FUNCTION quotes_refuse()",
        "CREATE TRIGGER quotes_revision_kept BEFORE DELETE ON quotes_quoterevision "
        "FOR EACH ROW WHEN (OLD.snapshot <> '') EXECUTE FUNCTION quotes_refuse()",
        "CREATE TRIGGER quotes_line_frozen BEFORE INSERT OR UPDATE OR DELETE ON quotes_quoteline "
        "FOR EACH ROW EXECUTE FUNCTION quotes_refuse_frozen_line()",
        "CREATE TRIGGER quotes_document_frozen BEFORE UPDATE OR DELETE ON quotes_quotedocument "
        "FOR EACH ROW EXECUTE FUNCTION quotes_refuse()",
        "CREATE TRIGGER quotes_audit_frozen BEFORE UPDATE OR DELETE ON quotes_auditentry "
        "FOR EACH ROW EXECUTE FUNCTION quotes_refuse()",
    ]
    for statement in statements:
        schema_editor.execute(statement)


def remove(apps, schema_editor):
    tables = {
        "quotes_revision_frozen": "quotes_quoterevision",
        "quotes_revision_kept": "quotes_quoterevision",
        "quotes_line_frozen": "quotes_quoteline",
        "quotes_line_added": "quotes_quoteline",
        "quotes_document_frozen": "quotes_quotedocument",
        "quotes_audit_frozen": "quotes_auditentry",
    }
    is_postgresql = schema_editor.connection.vendor == "postgresql"
    for trigger, table in tables.items():
        schema_editor.execute(f"DROP TRIGGER IF EXISTS {trigger}" + (f" ON {table}" if is_postgresql else ""))
    if is_postgresql:
        for function in ("quotes_refuse", "quotes_refuse_frozen_line"):
            schema_editor.execute(f"DROP FUNCTION IF EXISTS {function}()")


class Migration(migrations.Migration):
    dependencies = [("quotes", "0001_quotes_and_revisions")]

    operations = [migrations.RunPython(install, remove)]
