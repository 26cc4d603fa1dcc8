"""Facts of single parts as the compatibility rules read them: base units, None where the maker does not say.

These are plain values; the catalogue's rows are turned into them outside the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from advisor.engine.units import GIGA

# One direction of a x16 slot, after encoding; a lane is a sixteenth. PCI-SIG base specifications; the rounded figures
# are those of the ml-engineering network notes. Generation 6 uses flits with error correction.
PCIE_X16_BYTES_PER_SECOND: dict[int, float] = {3: 15.75 * GIGA, 4: 31 * GIGA, 5: 63 * GIGA, 6: 121 * GIGA}

# 4x InfiniBand ports, bit/s (InfiniBand Trade Association roadmap)
INFINIBAND_BITS_PER_SECOND: dict[str, float] = {
    "EDR": 100 * GIGA,
    "HDR": 200 * GIGA,
    "NDR": 400 * GIGA,
    "XDR": 800 * GIGA,
}


def pcie_bytes_per_second(generation: int, lane_count: int) -> float:
    """One-way rate of a PCIe link. [B/s]

    Raises
    ------
    ValueError
        For a generation outside 3 to 6 or a lane count below 1.
    """
    if generation not in PCIE_X16_BYTES_PER_SECOND or lane_count < 1:
        raise ValueError(f"No PCIe link of generation {generation} with {lane_count} lanes.")
    return PCIE_X16_BYTES_PER_SECOND[generation] * lane_count / 16


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPart:
    sku: str
    name: str
    architecture: str
    form_factor: str  # SXM5, PCIe, OAM, module ...
    memory_label_bytes: float  # what the vendor prints, decimal
    memory_bytes: float
    link_type: str | None  # NVLink 4, Infinity Fabric ...; None: PCIe only
    pcie_generation: int
    pcie_lanes: int
    tdp_watts: float
    gpus_per_baseboard: int = 1
    dense_bf16_flops_per_second: float | None = None
    min_cuda: str | None = None
    is_sizeable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPart:
    sku: str
    name: str
    supported_gpu_skus: frozenset[str]
    gpu_slot_count: int
    gpu_form_factors: frozenset[str]
    cpu_socket: str
    cpu_socket_count: int
    cpu_family_codes: frozenset[str]
    memory_type: str
    pcie_generation: int | None
    memory_channels_per_socket: int | None = None
    fixed_cpu_sku: str | None = None
    dimm_slot_count: int | None = None
    max_memory_bytes: float | None = None
    has_pcie_switch: bool | None = None
    nvme_bay_count: int | None = None
    nvme_form_factors: frozenset[str] = frozenset()
    nic_slot_count: int | None = None
    rack_units: float | None = None
    psu_count: int | None = None
    psu_watts: float | None = None
    psu_redundancy: str | None = None  # "4+2", "3+3 (FTR)" ...
    max_watts: float | None = None
    cooling: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuPart:
    sku: str
    name: str
    vendor: str
    socket: str
    family_code: str
    max_socket_count: int
    core_count: int
    memory_type: str
    memory_channel_count: int
    pcie_generation: int
    pcie_lanes: int
    tdp_watts: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPart:
    sku: str
    name: str
    memory_type: str  # DDR4 | DDR5
    module: str
    capacity_bytes: float
    bytes_per_second: float | None = None  # of one module


@dataclass(frozen=True, slots=True, kw_only=True)
class SsdPart:
    sku: str
    name: str
    pcie_generation: int
    form_factors: frozenset[str]
    capacity_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NicPart:
    sku: str
    name: str
    protocol: str  # InfiniBand | Ethernet | VPI
    port_count: int
    bits_per_second_per_port: float
    pcie_generation: int
    pcie_lanes: int
    infiniband_generation: str | None = None
    has_rdma: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchPart:
    """`port_counts`: ports by port rate in bit/s, as the switch can be split."""

    sku: str
    name: str
    protocol: str  # InfiniBand | Ethernet
    port_counts: dict[float, int] = field(default_factory=dict)
    infiniband_generation: str | None = None

    @property
    def max_bits_per_second(self) -> float:
        return max(self.port_counts, default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CablePart:
    sku: str
    name: str
    protocol: str  # InfiniBand | Ethernet | VPI
    link_bits_per_second: float
    reach_metres: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RackPart:
    sku: str
    name: str
    usable_watts: float
    rack_units: int
    cooling: str
    feed_count: int = 2


Figure = float | int | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Outcome of a rule that did not simply pass.

    `severity`: blocks (does not work), check (works with a loss, or must be confirmed), note (worth knowing). `rule` is
    the article's point it answers (M1 to M10, S1 to S3). `parts` are SKUs or names asked for, `figures` the numbers of
    the rule in base units, `nearest` the SKU (or name) of the closest candidate that would pass.
    """

    code: str
    severity: str
    rule: str
    parts: tuple[str, ...]
    figures: dict[str, Figure] = field(default_factory=dict)
    nearest: str | None = None


Part = TypeVar("Part")


def nearest_part(
    candidates: Iterable[Part], passes: Callable[[Part], bool], distance: Callable[[Part], float]
) -> Part | None:
    """The candidate that passes and lies closest; the first of equals, None if none passes."""
    return min((part for part in candidates if passes(part)), key=distance, default=None)
