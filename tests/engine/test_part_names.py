from __future__ import annotations

import pytest

from advisor.engine.part_names import named_gpu
from advisor.engine.parts import Check, GpuPart, pcie_bytes_per_second
from tests.engine.catalogue_parts import CANDIDATES


def test_h100_160gb_does_not_exist():
    check = named_gpu("H100 160GB", CANDIDATES.gpus)
    assert isinstance(check, Check)
    assert check.code == "gpu_memory_does_not_exist"
    # H100 is 80 or 94 GB; the nearest real part of its kind is the H200 141 GB
    assert check.figures["real_memory_labels"] == "80 GB, 94 GB"
    assert check.nearest == "nvidia-h200-sxm5-141gb"


@pytest.mark.parametrize(
    ("text", "sku"),
    [
        ("H100", "nvidia-h100-sxm5-80gb"),
        ("8 x A100 80GB with NVLink", "nvidia-a100-sxm4-80gb"),
        ("8 x A100 80GB", "nvidia-a100-sxm4-80gb"),
        ("A100 40GB PCIe", "nvidia-a100-pcie-40gb"),
        ("NVIDIA H200 141GB", "nvidia-h200-sxm5-141gb"),
        ("RTX 6000 Ada", "nvidia-rtx6000-ada-48gb"),
        ("L40S", "nvidia-l40s-48gb"),
        ("MI300X", "amd-mi300x-192gb"),
    ],
)
def test_real_names(text, sku):
    found = named_gpu(text, CANDIDATES.gpus)
    assert isinstance(found, GpuPart)
    assert found.sku == sku


@pytest.mark.parametrize("text", ["", "H900", "80GB", "quantum card"])
def test_unknown_names(text):
    found = named_gpu(text, CANDIDATES.gpus)
    assert isinstance(found, Check)
    assert found.code == "gpu_unknown"


class TestPcie:
    @pytest.mark.parametrize(("generation", "expected"), [(4, 31e9), (5, 63e9), (6, 121e9)])
    def test_x16_one_way(self, generation, expected):
        assert pcie_bytes_per_second(generation, 16) == pytest.approx(expected)

    @pytest.mark.parametrize(("generation", "lanes"), [(2, 16), (7, 16), (5, 0)])
    def test_nonsense_is_refused(self, generation, lanes):
        with pytest.raises(ValueError, match="No PCIe link"):
            pcie_bytes_per_second(generation, lanes)
