"""Interconnect texts, GPU labels and presets as the evidence names them. Expected rates by hand."""

from __future__ import annotations

import pytest

from advisor.engine.parameters import parameter_count
from advisor.engine.specs import Precision
from advisor.evidence_hardware import (
    catalog_gpus,
    csv_rows,
    fabric_of,
    gpu_aliases,
    gpu_by_label,
    number,
    preset_models,
    read_interconnect,
    whole,
    window_of,
)

GIBI = 2**30


@pytest.mark.parametrize(
    ("text", "gpus_per_server", "gbit", "kind"),
    [
        ("1600 Gbps node-node RoCE", 8, 200.0, "roce"),
        ("4 x 100Gb RoCE inter-machine", 8, 50.0, "roce"),
        ("NVLink4 x4; 4x Omni-Path 100 per node (Jean Zay)", 8, 50.0, "infiniband"),
        ("NVLink intra-node (H800); 8 x 100 Gbps NICs per node", 8, 100.0, "infiniband"),
        ("NVLink intra-node; 400 Gb/s RDMA per GPU", 8, 400.0, "infiniband"),
        ("8x200G NICs per node, 3-layer Tomahawk-4 CLOS", 8, 200.0, "infiniband"),
        ("NVLink/NVSwitch; 8x 200Gb/s HDR InfiniBand per node (Selene)", 8, 200.0, "infiniband"),
        ("8x HDR IB (Selene)", 8, 200.0, "infiniband"),
        ("400Gbps", 8, 50.0, "infiniband"),
        ("800 Gbps", 8, 100.0, "infiniband"),
        ("400 Gb/s RoCE (Arista 7800/Minipack2), NVLink", 8, 400.0, "roce"),
        ("NVLINK Gen5 1800 GB/s + NVSWITCH Gen5 | 4x ConnectX-7 IB NDR 400Gb/s", 4, 400.0, "infiniband"),
        ("NVLINK Gen5 1800 GB/s + NVSWITCH Gen5 | 4x ConnectX-8 IB XDR 800 Gb/s", 4, 800.0, "infiniband"),
        (
            "NVLINK Gen4 900 GB/s + NVSWITCH Gen3 | Storage: 2x ConnectX-7 IB NDR 400Gb/s, "
            "Compute: 8x ConnectX-7 IB NDR 400Gb/s, Ma",
            8,
            400.0,
            "infiniband",
        ),
        (
            "NVLINK Gen4 900 GB/s + NVSWITCH Gen3 | Storage&Compute: 4x ConnectX-7 IB NDR 400Gb/s, "
            "Management: 25Gb/s Ethernet NIC",
            8,
            200.0,
            "infiniband",
        ),
        ("NVLINK 4.0 | 1x Ethernet 100Gb/Sec, 8x NVIDIA Quantum-2 CX7 InfiniBand (400Gb/s)", 8, 400.0, "infiniband"),
        ("x | 8x ConnectX-7 IB NDR 400Gb/s", 4, 400.0, "infiniband"),  # a GPU drives one port, not two
        ("PCIe Gen4 | BF3 200Gbps for NS and 2xBF3 400Gbps for EW", 4, 200.0, "infiniband"),
        ("2x 400Gbe Ethernet | Gig Ethernet", 8, 100.0, "roce"),
    ],
)
def test_interconnect_states_a_rate(text, gpus_per_server, gbit, kind):
    reading = read_interconnect(text, gpus_per_server)
    assert reading.gbit_per_second_per_gpu == pytest.approx(gbit)
    assert reading.kind == kind


@pytest.mark.parametrize(
    "text",
    [
        "",
        " | ",
        "NVL72 NVLink domain",
        "single node NVLink",
        "XGMI | 10G Ethernet",
        "XGMI | N/A",
        "NVLINK Gen4 900 GB/s + NVSWITCH Gen3 | ConnectX-6 25Gb/s Ethernet",
        "18x 5th Gen NVLink, 14.4 TB/s aggregated bandwidth | InfiniBand; Data bandwidth for GPU-PCIe: 504 GB/s; "
        "PCIe-NIC: 500 GB/s",
        "NVLINK + NVSWITCH | Management: 1x Ethernet 10GB/Sec",
        "XGMI | 2 x Ethernet Controller X710 for 10GBASE-T, 2 x Ethernet Controller 10G X550T",
        "Storage: 2x ConnectX-7 IB NDR 400Gb/s",
        "x" * 10_000,
    ],
)
def test_interconnect_without_a_training_rate(text):
    assert read_interconnect(text, 8).gbit_per_second_per_gpu is None


def test_generation_defaults_are_named():
    usual = {"nvidia-a100-sxm4-80gb": 200, "nvidia-h100-sxm5-80gb": 400, "nvidia-b300-sxm-270gb": 800}
    for sku, gbit in usual.items():
        fabric, note = fabric_of("", catalog_gpus()[sku], 8)
        assert fabric.scale_out_bytes_per_second_per_gpu == gbit * 1e9 / 8
        assert "generation" in note
    fabric, note = fabric_of("8x HDR IB", catalog_gpus()["nvidia-h100-sxm5-80gb"], 8)
    assert (fabric.scale_out_bytes_per_second_per_gpu, note) == (25e9, "")


def test_catalogue_gpu_in_base_units():
    h100 = catalog_gpus()["nvidia-h100-sxm5-80gb"]
    assert h100.memory_bytes == 81559 * 2**20  # what nvidia-smi shows, MLPerf system files
    assert h100.dense_peak_flops_per_second[Precision.BF16] == 989.4e12
    assert h100.scale_up_bytes_per_second == 450e9  # 900 GB/s is both directions
    assert h100.scale_up_domain_size == 8
    assert Precision.MXFP8 not in h100.dense_peak_flops_per_second
    gb200 = catalog_gpus()["nvidia-gb200-nvl72-gpu"]
    assert gb200.scale_up_domain_size == 72
    assert gb200.dense_peak_flops_per_second[Precision.MXFP8] == 5000e12
    l40s = catalog_gpus()["nvidia-l40s-48gb"]
    assert (l40s.scale_up_bytes_per_second, l40s.scale_up_domain_size) == (0.0, 1)


def test_every_alias_is_a_card():
    for label in gpu_aliases():
        found = gpu_by_label(label)
        assert found is not None
        assert found[0].memory_bytes > 0
        assert found[0].memory_bytes_per_second > 0
        assert found[0].dense_peak_flops_per_second


def test_alias_overrides():
    titan, _ = gpu_by_label("H100-96GB-HBM2e-500W (Grand Teton)")
    assert titan.memory_bytes_per_second == 2400e9
    assert titan.tdp_watts == 500
    assert titan.memory_bytes == 97321 * 2**20
    a10g, _ = gpu_by_label("A10G")
    assert a10g.memory_bytes == 23028 * 2**20
    assert a10g.dense_peak_flops_per_second[Precision.BF16] == 70e12
    small, note = gpu_by_label("24GB card")
    assert small.memory_bytes == 24 * GIBI
    assert "only the memory" in note
    dgx2, _ = gpu_by_label("V100-32GB-SXM3 (DGX-2)")
    assert dgx2.scale_up_domain_size == 16
    assert gpu_by_label("Cray-1") is None


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("", (0, 1, 1)),
        ("4096", (4096, 1, 1)),
        ("4096/1:1", (4096, 1, 2)),
        ("1024/5:1", (1024, 5, 6)),
        ("8192 chunks/3:1", (8192, 3, 4)),
    ],
)
def test_window_notation(text, window):
    assert window_of(text) == window


def test_presets_give_the_published_counts():
    models = preset_models()
    compared = 0
    for code, model in models.items():
        if model.published_parameter_count:
            compared += 1
            assert parameter_count(model) == pytest.approx(model.published_parameter_count, rel=0.005), code
    assert compared > 100


def test_alternating_layers_are_no_leading_ones():
    maverick = preset_models()["llama-4-maverick"]
    assert (maverick.dense_layer_count, maverick.moe_layer_interval) == (0, 2)
    assert preset_models()["deepseek-v3"].dense_layer_count == 3


def test_cells():
    assert number("1.5") == 1.5
    assert [number(text) for text in ("", "n/a", "inf", "nan", None)] == [0.0] * 5
    assert whole("8.0") == 8
    assert whole("") is None
    assert [whole(text) for text in ("eight", "0", "-3", "1e300")] == [None] * 4


def test_csv_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes("\ufeffid,a\n1, x \n".encode())
    assert csv_rows(path) == [{"id": "1", "a": "x"}]
