from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("quotes", "0004_lifecycle_approvals_tax_clauses")]

    operations = [
        migrations.CreateModel(
            name="VerificationCode",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("code", models.CharField(max_length=20, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "revision",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="verification",
                        to="quotes.quoterevision",
                    ),
                ),
            ],
            options={
                "verbose_name": "verification code",
                "verbose_name_plural": "verification codes",
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("code__gt", "")), name="verification_code_not_empty")
                ],
            },
        ),
    ]
