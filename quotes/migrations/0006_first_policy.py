"""Tax rates, approval rules and discount limits that a new installation starts with."""

from __future__ import annotations

from django.db import migrations

from quotes.policy import load


class Migration(migrations.Migration):
    dependencies = [("quotes", "0005_verification_codes")]

    operations = [migrations.RunPython(load, migrations.RunPython.noop)]
