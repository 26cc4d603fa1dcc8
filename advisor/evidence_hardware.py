"""Small pure readers of the catalogue's CSV files for the evidence: presets, GPUs by label, links by interconnect text.

The evidence is scored without a database, so that it can be calibrated and checked anywhere. Every figure stays in the
catalogue's files; this module only turns their units into base units.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from advisor.engine.specs import FabricSpec, GpuSpec, ModelKind, ModelSpec, Precision
from advisor.engine.units import GIGA, MEBI, TERA, bytes_per_second_from_gbit

ROOT = Path(__file__).resolve().parent.parent
PRESETS_CSV = ROOT / "catalog" / "data" / "model_architectures.csv"
GPUS_CSV = ROOT / "catalog" / "data" / "gpus.csv"
ALIASES_CSV = ROOT / "advisor" / "data" / "evidence" / "gpu-aliases.csv"

# One direction of an x16 slot, bytes per second (catalogue facts, section 4; generation 3 half of 4).
PCIE_X16_BYTES_PER_SECOND = {3: 15.75 * GIGA, 4: 31.0 * GIGA, 5: 63.0 * GIGA, 6: 121.0 * GIGA}
FULL_PCIE_LANES = 16
DEFAULT_PCIE_GENERATION = 5

# GPUs that one NVLink-like switch domain joins, where it is larger than a baseboard (NVL72 rack; DGX-2 has 16).
RACK_DOMAIN_SIZES = {"nvidia-gb200-nvl72-gpu": 72, "nvidia-gb300-nvl72-gpu": 72}
BRIDGED_PAIR_SIZE = 2  # PCIe cards that NVLink bridges join in pairs

MX_ARCHITECTURES = ("Blackwell", "Blackwell Ultra", "CDNA 4")  # block-scaled MXFP8 in hardware

# Usual scale-out port of a GPU, Gbit/s (catalogue facts, section 5: A100 8 x 200 HDR, H100/H200/B200 8 x 400 NDR,
# B300 800 XDR, GB200 400; V100 servers had EDR 100 ports shared by two or four GPUs).
DEFAULT_PORT_GBIT = {
    "nvidia-b300-sxm-270gb": 800.0,
    "nvidia-gb300-nvl72-gpu": 800.0,
    "nvidia-l40s-48gb": 200.0,
}
DEFAULT_PORT_GBIT_BY_ARCHITECTURE = {
    "Volta": 50.0,
    "Ampere": 200.0,
    "Hopper": 400.0,
    "Blackwell": 400.0,
    "Blackwell Ultra": 800.0,
    "CDNA 3": 400.0,
    "CDNA 4": 400.0,
    "Da Vinci": 200.0,
}
LARGEST_COUNT = 1e15
SMALLEST_TRAINING_PORT_GBIT = 100.0  # slower ports serve management and storage
# Memory bandwidth where the catalogue has none, GB/s: as reported for the 910B's HBM2e, unverified.
REPORTED_BANDWIDTH_GB_S = {"huawei-ascend-910b3-64gb": 1600.0, "huawei-ascend-910b4-32gb": 800.0}
UNKNOWN_CARD_STAND_IN = "nvidia-a100-sxm4-80gb"  # speed figures of a card known by its memory size alone


def csv_rows(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file with a header, as text."""
    with path.open(encoding="utf-8-sig", newline="") as handle:
        return [{key: (value or "").strip() for key, value in row.items() if key} for row in csv.DictReader(handle)]


def number(text: str | None, default: float = 0.0) -> float:
    """The number in a cell, or the default where it is blank or no number."""
    try:
        value = float(text or "")
    except ValueError:
        return default
    return value if abs(value) < float("inf") else default


def whole(text: str | None) -> int | None:
    """The positive whole number in a cell; None where it is blank, no number, or nothing that counts something."""
    value = number(text)
    return round(value) if 0.5 <= value <= LARGEST_COUNT else None


# --- models -----------------------------------------------------------------------------------------------------------
def window_of(text: str) -> tuple[int, int, int]:
    """(window, windowed layers per period, period) of `4096`, `4096/1:1` or `8192 chunks/3:1` (local : global)."""
    match = re.match(r"(\d+)(?:\s*chunks)?(?:/(\d+):(\d+))?", text)
    if not match:
        return 0, 1, 1
    local, everywhere = int(match[2] or 1), int(match[3] or 0)
    return int(match[1]), local, local + everywhere


def model_from_catalog_row(row: Mapping[str, str]) -> ModelSpec:
    """A row of model_architectures.csv as the engine's ModelSpec.

    Where exactly half of the layers are dense and the row's notes say so, dense and expert layers alternate (Llama 4
    Maverick) and the dense ones are not the first.
    """
    window, local, period = window_of(row["sliding_window"])
    alternates = "alternate" in row["notes"].lower()
    expert_count = whole(row["expert_count"]) or 0
    return ModelSpec(
        name=row["name"] or row["preset"],
        kind=ModelKind(row["kind"]),
        layer_count=whole(row["layer_count"]) or 0,
        hidden_size=whole(row["hidden_size"]) or 0,
        ffn_size=whole(row["ffn_size"]) or whole(row["expert_ffn_size"]) or 0,
        head_count=whole(row["head_count"]) or 0,
        kv_head_count=whole(row["kv_head_count"]) or 0,
        head_size=whole(row["head_size"]) or 0,
        vocab_size=whole(row["vocab_size"]) or 0,
        gated_ffn=row["gated_ffn"] == "y",
        tied_embeddings=row["tied_embeddings"] == "y",
        learned_position_count=whole(row["learned_positions"]) or 0,
        has_qkv_bias=row["attention_bias"] in ("qkv", "all"),
        has_output_bias=row["attention_bias"] == "all",
        has_ffn_bias=row["ffn_bias"] == "y",
        norm_weight_vectors=2 if row["norm_bias"] == "y" else 1,
        norms_per_layer=whole(row["norms_per_layer"]) or 2,
        has_qk_norm=row["qk_norm"] == "y",
        q_lora_rank=whole(row["q_lora_rank"]) or 0,
        kv_lora_rank=whole(row["kv_lora_rank"]) or 0,
        qk_nope_head_size=whole(row["qk_nope_head_size"]) or 0,
        qk_rope_head_size=whole(row["qk_rope_head_size"]) or 0,
        v_head_size=whole(row["v_head_size"]) or 0,
        sliding_window=window,
        window_layers_per_period=local,
        window_period=period,
        expert_count=expert_count,
        experts_per_token=whole(row["experts_per_token"]) or 0,
        expert_ffn_size=whole(row["expert_ffn_size"]) or 0,
        shared_expert_count=whole(row["shared_expert_count"]) or 0,
        shared_expert_ffn_size=whole(row["shared_expert_ffn_size"]) or 0,
        dense_layer_count=0 if alternates else whole(row["dense_layer_count"]) or 0,
        moe_layer_interval=2 if alternates and expert_count else 1,
        mtp_layer_count=whole(row["mtp_layer_count"]) or 0,
        other_parameter_count=whole(row["other_parameter_count"]) or 0,
        max_sequence_length=whole(row["max_sequence_length"]) or 0,
        published_parameter_count=whole(row["published_parameter_count"]),
        published_active_parameter_count=whole(row["published_active_parameter_count"]),
        source=f"{row['source_title']}, {row['source_locator']}",
    )


@lru_cache(maxsize=1)
def preset_models() -> dict[str, ModelSpec]:
    """Every preset of the catalogue's file by code."""
    return {row["preset"]: model_from_catalog_row(row) for row in csv_rows(PRESETS_CSV)}


# --- GPUs -------------------------------------------------------------------------------------------------------------
def dense_peaks(row: Mapping[str, str]) -> dict[Precision, float]:
    """Dense peaks of a GPU row, FLOP/s; a precision without hardware support is missing."""
    columns = {
        Precision.BF16: "bf16_dense_tflops",
        Precision.FP16: "fp16_dense_tflops",
        Precision.FP8: "fp8_dense_tflops",
        Precision.FP4: "fp4_dense_tflops",
        Precision.TF32: "tf32_dense_tflops",
        Precision.FP32: "fp32_tflops",
    }
    peaks = {
        precision: float(round(number(row[column]) * TERA))
        for precision, column in columns.items()
        if number(row[column])
    }
    if row["architecture"].startswith(MX_ARCHITECTURES) and Precision.FP8 in peaks:
        peaks[Precision.MXFP8] = peaks[Precision.FP8]
    return peaks


def scale_up_domain_size(row: Mapping[str, str]) -> int:
    """GPUs in one NVLink-like domain: the rack of an NVL72, the baseboard of a module, a bridged pair of cards."""
    if row["sku"] in RACK_DOMAIN_SIZES:
        return RACK_DOMAIN_SIZES[row["sku"]]
    if not number(row["link_gb_s_bidirectional_per_gpu"]):
        return 1
    return whole(row["gpus_per_baseboard"]) or (BRIDGED_PAIR_SIZE if row["form_factor"] == "PCIe" else 8)


def gpu_from_catalog_row(row: Mapping[str, str]) -> GpuSpec:
    """A row of gpus.csv as the engine's GpuSpec; link figures there are both directions, here one."""
    domain = scale_up_domain_size(row)
    generation = whole(row["pcie_gen"]) or DEFAULT_PCIE_GENERATION
    lanes = whole(row["pcie_lanes"]) or FULL_PCIE_LANES
    return GpuSpec(
        sku=row["sku"],
        name=row["model_name"],
        vendor=row["vendor"],
        architecture=row["architecture"],
        memory_bytes=(whole(row["memory_visible_mib"]) or 0) * MEBI,
        memory_label=f"{row['memory_gb']} GB",
        memory_bytes_per_second=number(row["memory_bandwidth_gb_s"]) * GIGA,
        dense_peak_flops_per_second=dense_peaks(row),
        scale_up_bytes_per_second=number(row["link_gb_s_bidirectional_per_gpu"]) * GIGA / 2 if domain > 1 else 0.0,
        scale_up_domain_size=domain,
        pcie_bytes_per_second=PCIE_X16_BYTES_PER_SECOND[generation] * lanes / FULL_PCIE_LANES,
        tdp_watts=number(row["tdp_w"]),
    )


@lru_cache(maxsize=1)
def catalog_gpus() -> dict[str, GpuSpec]:
    """Every GPU of the catalogue's file by SKU."""
    return {row["sku"]: gpu_from_catalog_row(row) for row in csv_rows(GPUS_CSV)}


@lru_cache(maxsize=1)
def gpu_aliases() -> dict[str, dict[str, str]]:
    """Rows of gpu-aliases.csv by label."""
    return {row["label"]: row for row in csv_rows(ALIASES_CSV)}


@lru_cache(maxsize=256)
def gpu_by_label(label: str) -> tuple[GpuSpec, str] | None:
    """The card of an evidence label and a note on what was assumed; None for a label nobody knows.

    A label without a SKU has its memory (and where known power, bandwidth, peak) from the alias file; what it lacks is
    taken from a stand-in and said so.
    """
    alias = gpu_aliases().get(label)
    if alias is None:
        gpu = catalog_gpus().get(label)
        return (gpu, "") if gpu else None
    note = ""
    gpu = catalog_gpus().get(alias["sku"]) if alias["sku"] else None
    if gpu is None:
        stand_in = catalog_gpus()[UNKNOWN_CARD_STAND_IN]
        gpu = replace(stand_in, sku="", name=label, memory_label=label, scale_up_bytes_per_second=0.0)
        gpu = replace(gpu, scale_up_domain_size=1)
        if not alias["override_bf16_dense_tflops"]:
            note = f"gpu: only the memory of {label!r} is known, its speed is that of {UNKNOWN_CARD_STAND_IN}"
    if alias["override_memory_visible_mib"]:
        gpu = replace(gpu, memory_bytes=(whole(alias["override_memory_visible_mib"]) or 0) * MEBI)
    if alias["override_tdp_w"]:
        gpu = replace(gpu, tdp_watts=number(alias["override_tdp_w"]))
    if alias["override_bandwidth_gb_s"]:
        gpu = replace(gpu, memory_bytes_per_second=number(alias["override_bandwidth_gb_s"]) * GIGA)
    if alias["override_bf16_dense_tflops"]:
        peak = number(alias["override_bf16_dense_tflops"]) * TERA
        gpu = replace(gpu, dense_peak_flops_per_second={Precision.BF16: peak, Precision.FP16: peak})
    if not gpu.memory_bytes_per_second and gpu.sku in REPORTED_BANDWIDTH_GB_S:
        gpu = replace(gpu, memory_bytes_per_second=REPORTED_BANDWIDTH_GB_S[gpu.sku] * GIGA)
        note = "gpu: memory bandwidth as reported, not in the catalogue"
    if "DGX-2" in label:
        gpu = replace(gpu, scale_up_domain_size=16)
    return gpu, note


def default_gpus_per_server(gpu: GpuSpec) -> int:
    """GPUs of the usual server: 4 in an NVL72 tray, 16 in a DGX-2, else 8."""
    if gpu.sku in RACK_DOMAIN_SIZES:
        return 4
    return max(8, gpu.scale_up_domain_size)


# --- links ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class LinkReading:
    """What an interconnect text says: Gbit/s per GPU (None: nothing usable), kind, and the rule that read it."""

    gbit_per_second_per_gpu: float | None
    kind: str
    rule: str


_COUNTED = re.compile(
    r"(?P<count>\d+)\s*x\s*(?P<name>[A-Za-z][\w\-./() ]*?)?\s*\(?(?P<rate>\d+)\s*"
    r"(?:G(?:b(?:e|ps|/s|/sec|it/s)?)?\b(?!B)|Gbps|GbE)",
    re.IGNORECASE,
)
_COUNTED_OMNIPATH = re.compile(r"(?P<count>\d+)\s*x\s*Omni-?Path\s*(?P<rate>\d+)", re.IGNORECASE)
_COUNTED_PORT_NAME = re.compile(r"(?P<count>\d+)\s*x\s*(?P<name>HDR|NDR|EDR|XDR)\b", re.IGNORECASE)
_PLAIN = re.compile(r"(?P<rate>\d+)\s*(?:Gb(?:e|ps|/s|/sec)?|Gbps)(?![A-Za-z])", re.IGNORECASE)
_PORT_GBIT = {"EDR": 100.0, "HDR": 200.0, "NDR": 400.0, "XDR": 800.0}
_NETWORK_WORDS = re.compile(r"roce|rdma|infiniband|\bib\b|arista|tomahawk", re.IGNORECASE)
_INTERNAL_BYTES = re.compile(r"\d+(?:\.\d+)?\s*[GT]B/s(?:ec)?")  # GB/s with a capital B: links inside a server


def _network_part(text: str) -> str:
    """The part of `inside | outside` that names the network; without a bar the whole text."""
    if "|" not in text:
        return text
    inside, outside = text.split("|", 1)
    if not _PLAIN.search(_INTERNAL_BYTES.sub(" ", outside)) and "gbe" in inside.lower():
        return inside  # some systems name the network first
    return outside


def _training_items(text: str) -> list[str]:
    """Parts of a list of ports that carry training traffic: those labelled storage or management alone are left out."""
    items = []
    for item in re.split(r",|;|\+|\band\b", text):
        label = item.split(":", 1)[0].lower() if ":" in item else ""
        if ("storage" in label or "management" in label) and "compute" not in label:
            continue
        items.append(item)
    return items


def _server_ports(items: list[str]) -> tuple[float, float] | None:
    """(sum rate, port rate) of one server's training ports: the largest `count x rate` item."""
    best: tuple[float, float] | None = None
    for item in items:
        for pattern in (_COUNTED, _COUNTED_OMNIPATH, _COUNTED_PORT_NAME):
            match = pattern.search(item)
            if not match:
                continue
            groups = match.groupdict()
            rate = number(groups.get("rate")) or _PORT_GBIT.get((groups.get("name") or "").upper(), 0.0)
            if rate >= SMALLEST_TRAINING_PORT_GBIT:
                best = max(best or (0.0, 0.0), (int(groups["count"]) * rate, rate))
                break
    return best


def read_interconnect(text: str, gpus_per_server: int) -> LinkReading:
    """Scale-out rate per GPU that an interconnect text states.

    Rules in order: `N x R` ports a server -> N R / GPUs; `R ... per GPU` -> R; `R ... node` or a bare `R Gbps` -> the
    rate of a server, shared; `R` beside RoCE/RDMA -> one port of a GPU. Ports under 100 Gbit/s, storage and
    management ports, and GB/s figures (links inside the server) say nothing about training traffic.
    """
    kind = "roce" if re.search(r"roce|ethernet|gbe", text, re.IGNORECASE) else "infiniband"
    if re.search(r"infiniband|\bib\b|\bHDR\b|\bNDR\b|\bXDR\b", text, re.IGNORECASE):
        kind = "infiniband"
    items = _training_items(_INTERNAL_BYTES.sub(" ", _network_part(text)))
    network = ", ".join(items)
    ports = _server_ports(items)
    if ports:
        rate = min(ports[0] / gpus_per_server, ports[1])  # a GPU drives one port
        return LinkReading(gbit_per_second_per_gpu=rate, kind=kind, rule="ports of a server, shared")
    match = _PLAIN.search(network)
    if match and number(match["rate"]) >= SMALLEST_TRAINING_PORT_GBIT and "|" not in text:
        rate = number(match["rate"])
        if re.search(r"per gpu", network, re.IGNORECASE):
            return LinkReading(gbit_per_second_per_gpu=rate, kind=kind, rule="rate per GPU")
        if re.search(r"node", network, re.IGNORECASE) or not _NETWORK_WORDS.search(network):
            return LinkReading(gbit_per_second_per_gpu=rate / gpus_per_server, kind=kind, rule="rate of a server")
        return LinkReading(gbit_per_second_per_gpu=rate, kind=kind, rule="one port per GPU")
    return LinkReading(gbit_per_second_per_gpu=None, kind=kind, rule="")


def default_port_gbit(gpu: GpuSpec) -> float:
    """Scale-out rate per GPU that its generation usually has, Gbit/s."""
    if gpu.sku in DEFAULT_PORT_GBIT:
        return DEFAULT_PORT_GBIT[gpu.sku]
    return DEFAULT_PORT_GBIT_BY_ARCHITECTURE.get(gpu.architecture, SMALLEST_TRAINING_PORT_GBIT)


def fabric_of(text: str, gpu: GpuSpec, gpus_per_server: int) -> tuple[FabricSpec, str]:
    """The fabric of a row and a note where the text did not give it."""
    reading = read_interconnect(text, gpus_per_server)
    gbit = reading.gbit_per_second_per_gpu
    note = ""
    if gbit is None:
        gbit = default_port_gbit(gpu)
        note = f"interconnect: {gbit:g} Gbit/s per GPU, usual for the GPU's generation"
    rate = bytes_per_second_from_gbit(gbit)
    return FabricSpec(scale_out_bytes_per_second_per_gpu=rate, kind=reading.kind), note
