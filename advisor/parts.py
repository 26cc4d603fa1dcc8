"""What the catalogue offers, as frozen records in base units: the one picture that sizing and pricing work from.

`advisor.hardware` fills it from the database, once per catalogue revision. Nothing here knows the database.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType

from advisor.engine.specs import GpuSpec, Precision


def form_factors(text: str) -> frozenset[str]:
    """`U.2/U.3 2.5in` or `U.2 / E3.S` as {"U.2", "U.3"} or {"U.2", "E3.S"}; a U.3 drive fits a U.2 bay's successor."""
    return frozenset(word for word in re.findall(r"[A-Z]\d?\.\w+|E\d\.\w", text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What every part has in common. `unverified_fields` names the columns whose source could not be opened."""

    sku: str
    name: str
    vendor: str = ""
    source: str = ""
    notes: str = ""
    unverified_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPart(Part):
    spec: GpuSpec
    sparse_peak_flops_per_second: MappingProxyType[Precision, float]
    link_type: str
    form_factor: str
    memory_type: str
    pcie_generation: int
    pcie_lanes: int
    gpus_per_baseboard: int | None
    compute_capability: str
    min_cuda: str
    export_note: str
    status: str
    is_sizeable: bool
    not_sizeable_reason: str

    @property
    def is_consumer_card(self) -> bool:
        """GeForce cards have no peer-to-peer (software stacks of the catalogue) and no licence for data centres."""
        return "GeForce" in self.name

    @property
    def is_module(self) -> bool:
        """Sits on a GPU board (SXM, OAM): the board takes all its GPUs or none."""
        return self.form_factor.upper() != "PCIE"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPart(Part):
    is_orderable: bool
    gpu_form_factor: str
    gpu_slots: int
    gpu_skus: frozenset[str]
    cpu_sockets: int
    cpu_family_codes: tuple[str, ...]
    fixed_cpu_sku: str
    cpu_socket_type: str
    memory_type: str
    memory_module: str
    dimm_slots: int
    max_memory_bytes: float | None
    memory_channels_per_socket: int
    pcie_generation: int
    has_pcie_switch: bool | None
    nvme_bays: int | None
    nvme_form_factor: str
    nic_slots: int | None
    onboard_nic_sku: str
    onboard_nic_count: int
    rack_units: int | None
    max_watts: float | None  # the maker's, or derived for the hottest GPU that it takes
    is_watts_derived: bool
    power_factor: float | None
    psu_count: int | None
    psu_watts: float | None
    psu_redundancy: str
    cooling: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuPart(Part):
    family_code: str
    socket: str
    max_sockets: int
    core_count: int
    memory_type: str
    memory_channels: int
    memory_transfers_per_second: float
    pcie_generation: int
    pcie_lanes: int
    tdp_watts: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPart(Part):
    memory_type: str
    memory_module: str
    capacity_label: str
    capacity_bytes: float
    transfers_per_second: float | None
    bytes_per_second: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SsdPart(Part):
    capacity_bytes: float
    pcie_generation: int
    form_factor: str
    read_bytes_per_second: float | None
    write_bytes_per_second: float | None
    power_watts: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NicPart(Part):
    protocol: str
    port_count: int
    port_bytes_per_second: float
    ib_generation: str
    has_rdma: bool
    pcie_generation: int
    pcie_lanes: int
    power_watts: float | None

    @property
    def bytes_per_second(self) -> float:
        return self.port_count * self.port_bytes_per_second


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchPart(Part):
    protocol: str
    port_count: int
    port_bytes_per_second: float
    ports_by_bytes_per_second: MappingProxyType[float, int]
    rack_units: int | None
    power_watts: float | None

    def ports_at(self, bytes_per_second: float) -> int:
        """Ports that the switch has at this rate, breakout included."""
        if bytes_per_second == self.port_bytes_per_second:
            return self.port_count
        return self.ports_by_bytes_per_second.get(bytes_per_second, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CablePart(Part):
    kind: str  # DAC, DAC splitter, AOC, transceiver, fibre ...
    protocol: str
    link_count: int
    link_bytes_per_second: float
    reach_metres: float | None
    end_a: str
    end_b: str
    power_watts: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoragePart(Part):
    kind: str
    read_bytes_per_second: float | None
    write_bytes_per_second: float | None
    capacity_bytes: float | None
    unit: str
    rack_units: int | None
    power_watts: float | None
    basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RackPart(Part):
    kind: str  # rack | pdu
    rack_units: int | None
    cooling: str
    usable_watts: float | None
    feed_count: int | None
    circuit_watts: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagementPart(Part):
    role: str
    name_zh: str
    rack_units: int
    power_watts: float | None
    quantity_rule: str
    quantities: MappingProxyType[str, int]  # the parts inside one node


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePart(Part):
    category: str
    name_zh: str
    scope: str
    scope_zh: str
    unit: str
    bases: tuple[str, ...]
    fraction_of: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftwarePart(Part):
    architecture: str
    compute_capability: str
    toolkit: str
    min_toolkit: str
    recommended_toolkit: str
    min_driver_branch: str
    recommended_driver_branch: str
    min_framework: str
    recommended_framework: str
    collective_library: str
    operating_systems: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPart:
    """A reference build: `kind` claim is the article's own text, corrected is what can be ordered."""

    code: str
    tier_code: str
    kind: str
    origin: str
    name: str
    name_zh: str
    gpu_sku: str
    gpu_text: str
    gpus_per_server: int | None
    server_sku: str
    server_count: int | None  # None: the text says "many"
    host_memory_text: str
    memory_text: str
    ssd_text: str
    nic_text: str
    conflict: str
    conflict_zh: str
    notes: str
    part_skus: frozenset[str]  # CPU, memory, drive, NIC, switch and storage that the build names


@dataclass(frozen=True, slots=True, kw_only=True)
class TierPart:
    code: str
    name: str
    name_zh: str
    lower_parameter_count: float
    upper_parameter_count: float | None
    claim_build_code: str
    reference_build_code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The catalogue at one revision."""

    revision: str
    gpus: MappingProxyType[str, GpuPart]
    servers: MappingProxyType[str, ServerPart]
    cpus: MappingProxyType[str, CpuPart]
    memory: MappingProxyType[str, MemoryPart]
    ssds: MappingProxyType[str, SsdPart]
    nics: MappingProxyType[str, NicPart]
    switches: MappingProxyType[str, SwitchPart]
    cables: MappingProxyType[str, CablePart]
    storage: MappingProxyType[str, StoragePart]
    racks: MappingProxyType[str, RackPart]
    management: MappingProxyType[str, ManagementPart]
    services: MappingProxyType[str, ServicePart]
    software: tuple[SoftwarePart, ...]
    tiers: tuple[TierPart, ...]
    builds: MappingProxyType[str, BuildPart]

    def orderable_servers(self, gpu_sku: str) -> tuple[ServerPart, ...]:
        """Servers that can be ordered and take this GPU, in the order of their SKU."""
        return tuple(
            server
            for _, server in sorted(self.servers.items())
            if server.is_orderable and gpu_sku in server.gpu_skus and server.gpu_slots > 0
        )
