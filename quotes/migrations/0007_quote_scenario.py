from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("advisor", "0001_saved_scenarios"), ("quotes", "0006_first_policy")]

    operations = [
        migrations.AddField(
            model_name="quote",
            name="scenario",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="quotes",
                to="advisor.scenario",
            ),
        ),
    ]
