"""The evidence reads the catalogue's files, the site its database: both must hand the engine the same parts."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from advisor.evidence_hardware import catalog_gpus, preset_models
from advisor.hardware import gpu_part
from advisor.training_plan import preset_model
from catalog.models import Gpu, ModelArchitecture

pytestmark = pytest.mark.django_db

WORDS = ("name", "vendor", "memory_label", "source")  # shown to people, never computed with


def figures(spec):
    return {name: value for name, value in asdict(spec).items() if name not in WORDS}


def test_same_gpus(catalog):
    rows = list(Gpu.objects.all())
    assert len(rows) == len(catalog_gpus())
    for row in rows:
        assert figures(gpu_part(row).spec) == figures(catalog_gpus()[row.sku]), row.sku


def test_same_models(catalog):
    codes = list(ModelArchitecture.objects.values_list("sku", flat=True))
    assert set(codes) == set(preset_models())
    for code in codes:
        assert figures(preset_model(code)) == figures(preset_models()[code]), code
