"""Every sentence that the engine gives as a source can be said in both languages."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.utils import translation

from advisor.engine import interruption_rates, ownership, power, reliability, storage
from advisor.engine.acceptance import AcceptanceInputs, acceptance_tests
from advisor.engine.specs import Assumption
from advisor.source_words import FIELD_NAMES, GENERIC_PARTS, SOURCES, field_text, part_text, source_text

MODULES = (interruption_rates, ownership, power, reliability, storage)

FULL = AcceptanceInputs(
    gpu_sku="nvidia-h100-sxm5-80gb",
    gpu_count=512,
    gpus_per_server=8,
    gpu_memory_bytes=81559 * 2**20,
    bf16_dense_flops_per_second=989.4e12,
    fp8_dense_flops_per_second=1978.9e12,
    uses_fp8=True,
    scale_up_bytes_per_second=450e9,
    scale_out_bytes_per_second_per_gpu=50e9,
    storage_read_bytes_per_second=5e9,
    storage_write_bytes_per_second=98e9,
    checkpoint_bytes=980e9,
    tokens_per_second=500e3,
    server_max_watts=10200,
    interruptions_per_gpu_second=2e-5 / 3600,
)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_sources_of_assumptions(module):
    missing = [
        name for name, value in vars(module).items() if isinstance(value, Assumption) and value.source not in SOURCES
    ]
    assert missing == []


@pytest.mark.parametrize(
    "inputs",
    [
        FULL,
        replace(FULL, gpu_sku="nvidia-l40s-48gb", scale_up_bytes_per_second=None),
        replace(FULL, stated_read_bytes_per_second=900e9, stated_write_bytes_per_second=650e9),
    ],
    ids=["measured", "unmeasured", "stated storage"],
)
def test_sources_of_acceptance_tests(inputs):
    assert [test.code for test in acceptance_tests(inputs) if test.source not in SOURCES] == []


def test_chinese_differs_and_a_bare_citation_stays():
    with translation.override("zh-hans"):
        assert source_text("need of the checkpoint plan") != "need of the checkpoint plan"
        assert source_text("arXiv:1910.02054") == "arXiv:1910.02054"


def test_generic_parts_are_described_and_models_stay():
    with translation.override("zh-hans"):
        assert part_text("generic Cat 6 patch cable 3 m") == "6 类网线，3 m"
        assert part_text("NVIDIA MMA4Z00-NS") == "NVIDIA MMA4Z00-NS"
        assert [name for name in GENERIC_PARTS if part_text(name) == name] == []
    with translation.override("en"):
        assert part_text("generic Cat 6 patch cable 3 m") == "Cat 6 patch cable 3 m"


def test_columns_have_names_for_readers():
    with translation.override("zh-hans"):
        assert field_text("min_cuda") == "最低 CUDA 版本"
        assert [column for column in FIELD_NAMES if field_text(column) == FIELD_NAMES[column]] == []
    with translation.override("en"):
        assert field_text("tdp_w") == "maximum power"
        assert field_text("some_column") == "some column"
