"""The database itself refuses to change a published price book or its prices, by whatever way the statement comes."""

from __future__ import annotations

from django.db import migrations

from catalog.frozen_books import install, remove


class Migration(migrations.Migration):
    dependencies = [("catalog", "0003_drafts_history_and_costs")]

    operations = [migrations.RunPython(install, remove)]
