"""All rules over one build: which parts do not fit, why, and what would. Rules live in the modules by subject."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.engine import compatibility_lanes as lane_rules
from advisor.engine import compatibility_memory as memory_rules
from advisor.engine import compatibility_network as network_rules
from advisor.engine import compatibility_server as server_rules
from advisor.engine import compatibility_site as site_rules
from advisor.engine import compatibility_software as software_rules
from advisor.engine.parts import (
    CablePart,
    Check,
    CpuPart,
    GpuPart,
    MemoryPart,
    NicPart,
    RackPart,
    ServerPart,
    SsdPart,
    SwitchPart,
)
from advisor.engine.storage import required_cpu_cores

SEVERITIES = ("blocks", "check", "note")


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One server kind with its parts, and what joins and houses it. None: not chosen yet, its rules are left out."""

    server: ServerPart
    gpu: GpuPart
    gpu_count: int  # in one server
    server_count: int = 1
    cpu: CpuPart | None = None
    cpu_count: int = 2
    memory: MemoryPart | None = None
    memory_count: int = 0
    ssd: SsdPart | None = None
    ssd_count: int = 0
    nic: NicPart | None = None
    nic_count: int = 0
    switch: SwitchPart | None = None
    cable: CablePart | None = None
    cable_metres: float = 0.0
    rack: RackPart | None = None
    servers_per_rack: int = 1
    cuda: str | None = None
    oversubscription: float = 1.0
    host_memory_need_bytes: float = 0.0
    wanted_memory_type: str | None = None
    wanted_pcie_generation: int | None = None
    wanted_link: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Parts among which the nearest that would pass is looked for."""

    gpus: tuple[GpuPart, ...] = ()
    servers: tuple[ServerPart, ...] = ()
    cpus: tuple[CpuPart, ...] = ()
    memories: tuple[MemoryPart, ...] = ()
    ssds: tuple[SsdPart, ...] = ()
    nics: tuple[NicPart, ...] = ()
    switches: tuple[SwitchPart, ...] = ()
    cables: tuple[CablePart, ...] = ()
    racks: tuple[RackPart, ...] = ()


NO_CANDIDATES = Candidates()


def build_checks(build: Build, candidates: Candidates = NO_CANDIDATES) -> tuple[Check, ...]:
    """Every check of a build, the blocking ones first.

    Parameters
    ----------
    build : Build
        Parts and counts.
    candidates : Candidates
        The catalogue, for the nearest parts.

    Returns
    -------
    tuple of Check
        Empty where all parts fit and nothing is worth a note.
    """
    found = (
        *_server_checks(build, candidates),
        *_memory_checks(build, candidates),
        *_network_checks(build, candidates),
        *_site_checks(build, candidates),
    )
    if build.cuda is not None:
        found = (*found, software_rules.cuda_minimum(build.gpu, build.cuda))
    present = [check for check in found if check is not None]
    return tuple(sorted(present, key=lambda check: SEVERITIES.index(check.severity)))


def _server_checks(build: Build, candidates: Candidates) -> tuple[Check | None, ...]:
    gpu, server = build.gpu, build.server
    found: list[Check | None] = [
        server_rules.gpu_in_server(gpu, server, candidates.servers),
        server_rules.gpu_slots(gpu, build.gpu_count, server, candidates.servers),
        server_rules.gpu_link_generation(gpu, server, candidates.servers),
        server_rules.platform_wanted(
            server, build.wanted_memory_type, build.wanted_pcie_generation, candidates.servers
        ),
        server_rules.growth(gpu, build.gpu_count, server),
    ]
    if build.wanted_link is not None:
        found.append(server_rules.gpu_link_wanted(gpu, build.wanted_link, candidates.gpus))
    if build.cpu is not None:
        cores = required_cpu_cores(1)
        found += [
            server_rules.cpu_in_server(build.cpu, build.cpu_count, server, candidates.cpus),
            server_rules.cpu_cores(build.cpu, build.cpu_count, build.gpu_count, cores, candidates.cpus),
            lane_rules.pcie_lanes(
                gpu,
                build.gpu_count,
                build.cpu,
                build.cpu_count,
                server,
                nic_count=build.nic_count,
                ssd_count=build.ssd_count,
                cpus=candidates.cpus,
                servers=candidates.servers,
            ),
        ]
    return tuple(found)


def _memory_checks(build: Build, candidates: Candidates) -> tuple[Check | None, ...]:
    found: list[Check | None] = []
    server, memory, cpu = build.server, build.memory, build.cpu
    if memory is not None:
        found += [
            memory_rules.memory_type(memory, server, candidates.memories),
            memory_rules.memory_slots(memory, build.memory_count, server, candidates.memories),
            memory_rules.memory_maximum(memory, build.memory_count, server),
            memory_rules.memory_capacity(
                memory.capacity_bytes * build.memory_count, build.gpu, build.gpu_count, build.host_memory_need_bytes
            ),
        ]
    if memory is not None and cpu is not None:
        found += [
            memory_rules.memory_channels(memory, build.memory_count, cpu, build.cpu_count, server),
            memory_rules.memory_bandwidth(
                memory, build.memory_count, cpu, build.cpu_count, build.gpu, build.gpu_count, candidates.memories
            ),
        ]
    if build.ssd is not None:
        found += [
            memory_rules.ssd_generation(build.ssd, server, candidates.ssds),
            memory_rules.ssd_bays(build.ssd, build.ssd_count, server, candidates.ssds),
        ]
    return tuple(found)


def _network_checks(build: Build, candidates: Candidates) -> tuple[Check | None, ...]:
    nic, switch = build.nic, build.switch
    if nic is None:
        return ()
    found: list[Check | None] = [
        network_rules.nic_slots(nic, build.nic_count, build.server, candidates.nics),
        network_rules.nic_pcie_rate(nic, build.server, candidates.nics),
        network_rules.nics_per_gpu(nic, build.nic_count, build.gpu_count),
    ]
    if switch is not None:
        endpoints = build.server_count * build.nic_count * nic.port_count
        found += [
            network_rules.nic_and_switch(nic, switch, candidates.switches),
            network_rules.switch_reach(
                switch, nic.bits_per_second_per_port, endpoints, build.oversubscription, candidates.switches
            ),
            network_rules.roce(nic, switch, candidates.nics),
        ]
    if build.cable is not None:
        found.append(network_rules.cable_between(build.cable, nic, build.cable_metres, candidates.cables))
    return tuple(found)


def _site_checks(build: Build, candidates: Candidates) -> tuple[Check | None, ...]:
    found: list[Check | None] = [site_rules.psu_redundancy(build.server, candidates.servers)]
    if build.rack is not None:
        found += [
            site_rules.cooling(build.server, build.rack, candidates.racks),
            site_rules.rack_power(build.server, build.servers_per_rack, build.rack, candidates.racks),
            site_rules.rack_space(build.server, build.servers_per_rack, build.rack, candidates.racks),
        ]
    return tuple(found)
