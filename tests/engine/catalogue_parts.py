"""Real rows of the catalogue files as the facts that the rules read."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from advisor.engine.compatibility import Candidates
from advisor.engine.parts import (
    CablePart,
    CpuPart,
    GpuPart,
    MemoryPart,
    NicPart,
    RackPart,
    ServerPart,
    SsdPart,
    SwitchPart,
)

DATA = Path(__file__).resolve().parents[2] / "catalog" / "data"
Row = dict[str, str]
Part = TypeVar("Part")


def _number(text: str) -> float | None:
    return float(text) if text else None


def _count(text: str) -> int | None:
    return int(float(text)) if text else None


def _rows(name: str) -> list[Row]:
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _words(text: str, separator: str) -> frozenset[str]:
    return frozenset(word.strip() for word in text.split(separator) if word.strip())


def _gpu(row: Row) -> GpuPart:
    return GpuPart(
        sku=row["sku"],
        name=row["model_name"],
        architecture=row["architecture"],
        form_factor=row["form_factor"],
        memory_label_bytes=float(row["memory_gb"]) * 1e9,
        memory_bytes=float(row["memory_visible_mib"]) * 2**20,
        link_type=row["link_type"] if row["link_type"] not in ("", "none") else None,
        pcie_generation=int(row["pcie_gen"] or 4),
        pcie_lanes=int(row["pcie_lanes"] or 16),
        tdp_watts=float(row["tdp_w"] or 0),
        gpus_per_baseboard=int(row["gpus_per_baseboard"] or 1),
        dense_bf16_flops_per_second=(_number(row["bf16_dense_tflops"]) or 0.0) * 1e12,
        min_cuda=row["min_cuda"] or None,
        is_sizeable=row["sizeable"] == "y",
    )


def _server(row: Row) -> ServerPart:
    return ServerPart(
        sku=row["sku"],
        name=row["model_name"],
        supported_gpu_skus=_words(row["supported_gpu_skus"], ";"),
        gpu_slot_count=int(row["gpu_slots"] or 0),
        gpu_form_factors=_words(row["gpu_form_factor"], "/"),
        cpu_socket=row["cpu_socket_type"],
        cpu_socket_count=int(row["cpu_sockets"] or 0),
        cpu_family_codes=_words(row["cpu_family_codes"], ";"),
        fixed_cpu_sku=row["fixed_cpu_sku"] or None,
        memory_type=row["memory_type"],
        memory_channels_per_socket=_count(row["memory_channels_per_socket"]),
        dimm_slot_count=_count(row["dimm_slots"]) or _count(row["dimm_slots_min_derived"]),
        max_memory_bytes=(_number(row["max_memory_gb"]) or 0) * 1e9 or None,
        pcie_generation=_count(row["pcie_gen"]),
        has_pcie_switch={"y": True, "n": False}.get(row["has_pcie_switch"]),
        nvme_bay_count=_count(row["nvme_bays"]),
        nvme_form_factors=frozenset(
            form for form in ("U.2", "U.3", "E3.S", "E1.S", "2.5in") if form in row["nvme_form_factor"]
        ),
        nic_slot_count=_count(row["nic_slots"]) or _count(row["nic_slots_derived"]),
        rack_units=_number(row["rack_units"]),
        psu_count=_count(row["psu_count"]),
        psu_watts=_number(row["psu_w"]),
        psu_redundancy=row["psu_redundancy"] or None,
        max_watts=_number(row["max_power_w"]) or _number(row["max_power_w_derived"]),
        cooling=row["cooling"] or None,
    )


def _cpu(row: Row) -> CpuPart:
    return CpuPart(
        sku=row["sku"],
        name=row["model_name"],
        vendor=row["vendor"],
        socket=row["socket"],
        family_code=row["cpu_family_code"],
        max_socket_count=int(row["max_sockets"] or 1),
        core_count=int(row["cores"]),
        memory_type=row["memory_type"],
        memory_channel_count=int(row["memory_channels"]),
        pcie_generation=int(row["pcie_gen"]),
        pcie_lanes=int(row["pcie_lanes"]),
        tdp_watts=float(row["tdp_w"]),
    )


def _memory(row: Row) -> MemoryPart:
    return MemoryPart(
        sku=row["sku"],
        name=row["model_name"],
        memory_type=row["memory_type"],
        module=row["memory_module"],
        capacity_bytes=float(row["capacity_gb"]) * 1e9,
        bytes_per_second=float(row["bandwidth_gb_s_per_dimm"]) * 1e9 if row["bandwidth_gb_s_per_dimm"] else None,
    )


def _ssd(row: Row) -> SsdPart:
    forms = frozenset(form for form in ("U.2", "U.3", "E3.S", "E1.S") if form in row["form_factor"])
    return SsdPart(
        sku=row["sku"],
        name=row["model_name"],
        pcie_generation=int(row["pcie_gen"]),
        # U.2 and U.3 drives are 2.5 inch drives
        form_factors=forms | (frozenset({"2.5in"}) if forms & {"U.2", "U.3"} else frozenset()),
        capacity_bytes=float(row["capacity_gb"]) * 1e9,
    )


def _nic(row: Row) -> NicPart:
    return NicPart(
        sku=row["sku"],
        name=row["model_name"],
        protocol=row["protocol"],
        port_count=int(row["ports"]),
        bits_per_second_per_port=float(row["speed_gbps_per_port"]) * 1e9,
        infiniband_generation=row["ib_generation"] or None,
        has_rdma=row["rdma"].startswith("yes"),
        pcie_generation=int(row["pcie_gen"]),
        pcie_lanes=int(row["pcie_lanes"]),
    )


def _switch(row: Row) -> SwitchPart:
    splits = {800: "ports_800g", 400: "ports_400g", 200: "ports_200g", 100: "ports_100g"}
    ports = {rate * 1e9: int(row[column]) for rate, column in splits.items() if row[column]}
    return SwitchPart(
        sku=row["sku"],
        name=row["model_name"],
        protocol=row["protocol"],
        infiniband_generation=row["ib_generation"] or None,
        port_counts=ports,
    )


def _cable(row: Row) -> CablePart:
    return CablePart(
        sku=row["sku"],
        name=row["model_name"],
        protocol=row["protocol"],
        link_bits_per_second=float(row["link_speed_gbps"]) * 1e9,
        reach_metres=float(row["reach_m"]),
    )


def _rack(row: Row) -> RackPart:
    return RackPart(
        sku=row["sku"],
        name=row["model_name"],
        usable_watts=float(row["usable_kw"]) * 1e3,
        rack_units=int(row["rack_units"]),
        cooling=row["cooling"],
        feed_count=int(row["feed_count"]),
    )


def _by_sku(name: str, build: Callable[[Row], Part], keep: Callable[[Row], bool] = bool) -> dict[str, Part]:
    return {row["sku"]: build(row) for row in _rows(name) if keep(row)}


GPUS = _by_sku("gpus", _gpu)
SERVERS = _by_sku("servers", _server, lambda row: row["kind"] == "server")
CPUS = _by_sku("cpus", _cpu)
MEMORIES = _by_sku("memory", _memory)
SSDS = _by_sku("ssds", _ssd)
NICS = _by_sku("nics", _nic)
SWITCHES = _by_sku("switches", _switch)
CABLES = _by_sku("optics_cables", _cable, lambda row: bool(row["reach_m"]))
RACKS = _by_sku("racks", _rack, lambda row: row["kind"] == "rack")

CANDIDATES = Candidates(
    gpus=tuple(GPUS.values()),
    servers=tuple(SERVERS.values()),
    cpus=tuple(CPUS.values()),
    memories=tuple(MEMORIES.values()),
    ssds=tuple(SSDS.values()),
    nics=tuple(NICS.values()),
    switches=tuple(SWITCHES.values()),
    cables=tuple(CABLES.values()),
    racks=tuple(RACKS.values()),
)
