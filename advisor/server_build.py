"""Which server takes the GPU, and what goes into it: CPUs, memory on every channel, drives, NICs.

Every choice is a rule over catalogue figures; the reason says which one and with what numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from advisor.engine.units import GIGA, TERA, bytes_per_second_from_gbit
from advisor.figures import format_gib
from advisor.parts import CpuPart, GpuPart, MemoryPart, NicPart, Parts, ServerPart, SsdPart, form_factors

# Planning rules, shown with every line they make. Sources in the `source_rule` texts below.
CORES_PER_GPU = 8  # data loading and one launcher process per GPU; planning value of this catalogue
PCIE_GPUS_PER_NIC = 4  # PCIe servers: one NIC for each half of an 8-GPU server, on its own CPU or switch
MIN_DRIVES = 2
MAX_MODULES_PER_CHANNEL = 2
STANDARD_GPUS_PER_SERVER = 8
FRONT_END_NIC_SKU = "nvidia-cx6dx-2p-100-eth"
PCIE_5 = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A part, how many one server holds, and why."""

    sku: str
    kind: str
    name: str
    quantity: int
    reason: str
    source_rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerBuild:
    """One server, populated. `compute_nic_count` counts the ports of the training fabric."""

    server: ServerPart
    gpu: GpuPart
    gpu_count: int
    cpu: CpuPart | None
    cpu_count: int
    memory: MemoryPart | None
    memory_count: int
    ssd: SsdPart | None
    ssd_count: int
    nic: NicPart | None
    nic_count: int
    front_end_nic: NicPart | None
    chosen: tuple[Chosen, ...]

    @property
    def memory_bytes(self) -> float:
        return self.memory.capacity_bytes * self.memory_count if self.memory else 0.0

    @property
    def fabric_bytes_per_second_per_gpu(self) -> float:
        return self.nic.bytes_per_second * self.nic_count / self.gpu_count if self.nic else 0.0


def gpus_in(server: ServerPart, gpu: GpuPart) -> int:
    """GPUs that one server gets: the whole board, or a power of two of a PCIe server (10 slots hold 8)."""
    if gpu.is_module:
        return server.gpu_slots
    return int(2 ** math.floor(math.log2(min(server.gpu_slots, STANDARD_GPUS_PER_SERVER))))


def servers_for(
    parts: Parts, gpu: GpuPart, *, gpus_per_server: int | None = None, cooling: str | None = None
) -> tuple[ServerPart, ...]:
    """Orderable servers for the GPU, best first: in a reference build, figures complete, then low power and SKU."""
    build_servers = {build.server_sku for build in parts.builds.values() if build.gpu_sku == gpu.sku}
    fitting = [
        server
        for server in parts.orderable_servers(gpu.sku)
        if (gpus_per_server is None or gpus_in(server, gpu) == gpus_per_server) and _is_cooled(server, cooling)
    ]
    return tuple(sorted(fitting, key=lambda server: _server_rank(server, gpu, server.sku in build_servers)))


def _is_cooled(server: ServerPart, cooling: str | None) -> bool:
    """A room with liquid cooling takes air-cooled servers too; a room with air takes no liquid-cooled ones."""
    return cooling != "air" or server.cooling.startswith("air")


def _server_rank(server: ServerPart, gpu: GpuPart, in_build: bool) -> tuple[bool, bool, bool, int, float, str]:
    slots = server.nic_slots if server.nic_slots is not None else server.onboard_nic_count
    has_nic_places = slots >= gpus_in(server, gpu) if gpu.is_module else True
    missing = sum(value is None for value in (server.rack_units, server.max_watts, server.nvme_bays))
    return (
        server.pcie_generation < min(gpu.pcie_generation, PCIE_5),
        not in_build,
        not has_nic_places,
        missing,
        server.max_watts or math.inf,
        server.sku,
    )


def compute_nic(
    parts: Parts, gpu: GpuPart, server: ServerPart, *, kind: str = "infiniband"
) -> tuple[NicPart | None, int]:
    """NIC of the training fabric and how many one server takes.

    GPU boards take one per GPU; PCIe servers one per four GPUs, as far as the slots reach. The rate is what the
    server's PCIe generation feeds: 200 Gbit/s on generation 4, 400 on 5, 800 where the board carries such NICs.
    """
    gpu_count = gpus_in(server, gpu)
    if server.onboard_nic_sku in parts.nics and server.onboard_nic_count:
        return parts.nics[server.onboard_nic_sku], server.onboard_nic_count
    wanted = gpu_count if gpu.is_module else max(1, gpu_count // PCIE_GPUS_PER_NIC)
    count = min(wanted, server.nic_slots) if server.nic_slots else wanted
    rate = bytes_per_second_from_gbit(400.0 if server.pcie_generation >= PCIE_5 else 200.0)
    protocols = ("Ethernet", "VPI") if kind == "roce" else ("VPI", "InfiniBand")
    fitting = [
        nic
        for nic in parts.nics.values()
        if nic.port_count == 1
        and nic.port_bytes_per_second == rate
        and nic.pcie_generation <= max(server.pcie_generation, 1)
        and nic.protocol in protocols
    ]
    named = {sku for build in parts.builds.values() for sku in build.part_skus}
    fitting.sort(key=lambda nic: (nic.sku not in named, nic.power_watts or math.inf, nic.sku))
    return (fitting[0] if fitting else None), count


def server_build(
    parts: Parts,
    gpu: GpuPart,
    server: ServerPart,
    *,
    local_bytes_needed: float = 0.0,
    host_bytes_needed: float = 0.0,
    is_clustered: bool = True,
    priced_skus: frozenset[str] = frozenset(),
    network_kind: str = "infiniband",
) -> ServerBuild:
    """Populate one server.

    `local_bytes_needed` is what its drives must hold, `host_bytes_needed` what loading or offloading needs in host
    memory beside the rule. `priced_skus` breaks ties in favour of parts that a quote can carry.
    """
    named = frozenset(
        sku for build in parts.builds.values() if build.server_sku == server.sku for sku in build.part_skus
    )
    gpu_count = gpus_in(server, gpu)
    chosen: list[Chosen] = [_gpu_line(gpu, server, gpu_count)]
    cpu, cpu_line = _cpu(parts, server, gpu_count, named, priced_skus)
    memory, memory_count, memory_line = _memory(
        parts, server, cpu, gpu.spec.memory_bytes * gpu_count, host_bytes_needed, named, priced_skus
    )
    ssd, ssd_count, ssd_line = _drives(parts, server, local_bytes_needed, named, priced_skus)
    nic, nic_count = compute_nic(parts, gpu, server, kind=network_kind)
    chosen += [line for line in (cpu_line, memory_line, ssd_line) if line]
    if nic and is_clustered:
        chosen.append(_nic_line(gpu, server, nic, nic_count, gpu_count))
    front_end = _front_end_nic(parts, server, nic_count if is_clustered else 0)
    if front_end:
        chosen.append(
            Chosen(
                sku=front_end.sku,
                kind="nic",
                name=front_end.name,
                quantity=1,
                reason=_("Storage and management network, apart from the training fabric."),
                source_rule=_("One front-end NIC a server where a slot is free."),
            )
        )
    return ServerBuild(
        server=server,
        gpu=gpu,
        gpu_count=gpu_count,
        cpu=cpu,
        cpu_count=server.cpu_sockets if cpu else 0,
        memory=memory,
        memory_count=memory_count,
        ssd=ssd,
        ssd_count=ssd_count,
        nic=nic if is_clustered else None,
        nic_count=nic_count if is_clustered and nic else 0,
        front_end_nic=front_end,
        chosen=tuple(chosen),
    )


def _gpu_line(gpu: GpuPart, server: ServerPart, gpu_count: int) -> Chosen:
    if gpu.is_module:
        reason = _("The GPU board of %(server)s holds %(count)d GPUs, all or none.")
    else:
        reason = _("%(count)d of the GPU slots of %(server)s, a power of two for the parallel groups.")
    return Chosen(
        sku=gpu.sku,
        kind="gpu",
        name=gpu.name,
        quantity=gpu_count,
        reason=reason % {"server": server.name, "count": gpu_count},
        source_rule=_("GPU slots of the server in the catalogue."),
    )


def _rank_named(sku: str, named: frozenset[str], priced: frozenset[str]) -> tuple[bool, bool]:
    return sku not in named, sku not in priced


def _cpu(
    parts: Parts, server: ServerPart, gpu_count: int, named: frozenset[str], priced: frozenset[str]
) -> tuple[CpuPart | None, Chosen | None]:
    if server.fixed_cpu_sku in parts.cpus:
        cpu = parts.cpus[server.fixed_cpu_sku]
        reason = _("%(server)s ships with this CPU only.") % {"server": server.name}
    else:
        needed = CORES_PER_GPU * gpu_count
        fitting = [
            cpu
            for cpu in parts.cpus.values()
            if cpu.family_code in server.cpu_family_codes
            and (not server.cpu_socket_type or cpu.socket == server.cpu_socket_type)
            and cpu.max_sockets >= server.cpu_sockets
            and cpu.core_count * server.cpu_sockets >= needed
        ]
        if not fitting:
            return None, None
        cpu = min(
            fitting,
            key=lambda cpu: (*_rank_named(cpu.sku, named, priced), cpu.core_count, cpu.tdp_watts or math.inf, cpu.sku),
        )
        reason = _("%(cores)d cores in %(sockets)d sockets for %(gpus)d GPUs; the rule asks for %(needed)d.") % {
            "cores": cpu.core_count * server.cpu_sockets,
            "sockets": server.cpu_sockets,
            "gpus": gpu_count,
            "needed": needed,
        }
    return cpu, Chosen(
        sku=cpu.sku,
        kind="cpu",
        name=cpu.name,
        quantity=server.cpu_sockets,
        reason=reason,
        source_rule=_("At least %(cores)d CPU cores a GPU for data loading (planning rule); all sockets filled.")
        % {"cores": CORES_PER_GPU},
    )


def _memory(
    parts: Parts,
    server: ServerPart,
    cpu: CpuPart | None,
    gpu_memory_bytes: float,
    host_bytes_needed: float,
    named: frozenset[str],
    priced: frozenset[str],
) -> tuple[MemoryPart | None, int, Chosen | None]:
    """The smallest even population (1 or 2 modules on every channel) that reaches the GPUs' memory."""
    channels = server.cpu_sockets * server.memory_channels_per_socket
    if not channels:
        return None, 0, None
    needed = max(gpu_memory_bytes, host_bytes_needed)
    slots = server.dimm_slots or channels
    speed = cpu.memory_transfers_per_second if cpu else None
    options = [
        (module, channels * per_channel)
        for module in parts.memory.values()
        if module.memory_type == server.memory_type
        and (not server.memory_module or module.memory_module == server.memory_module)
        and module.transfers_per_second is not None
        for per_channel in range(1, MAX_MODULES_PER_CHANNEL + 1)
        if channels * per_channel <= slots
        and (
            server.max_memory_bytes is None or module.capacity_bytes * channels * per_channel <= server.max_memory_bytes
        )
    ]
    if not options:
        return None, 0, None

    def rank(option: tuple[MemoryPart, int]) -> tuple[bool, float, bool, bool, float, float, int, str]:
        module, count = option
        total = module.capacity_bytes * count
        rate = module.transfers_per_second or 0.0
        return (
            total < needed,
            -total if total < needed else 0.0,
            *_rank_named(module.sku, named, priced),
            abs(rate - speed) if speed else 0.0,
            total,
            count,
            module.sku,
        )

    module, count = min(options, key=rank)
    figures = {
        "count": count,
        "channels": channels,
        "size": module.capacity_label,
        "total": format_gib(module.capacity_bytes * count),
        "gpu": format_gib(gpu_memory_bytes),
        "need": format_gib(needed),
    }
    if module.capacity_bytes * count >= needed > gpu_memory_bytes:
        reason = _(
            "%(count)d x %(size)s, even over %(channels)d channels: %(total)s against %(need)s that loading, "
            "checkpoints and offloaded states need."
        )
    elif module.capacity_bytes * count >= needed:
        reason = _("%(count)d x %(size)s, even over %(channels)d channels: %(total)s against %(gpu)s of GPU memory.")
    else:
        reason = _(
            "%(count)d x %(size)s on %(channels)d channels, the most it takes: %(total)s, under %(gpu)s of GPU memory."
        )
    return (
        module,
        count,
        Chosen(
            sku=module.sku,
            kind="memory",
            name=module.name,
            quantity=count,
            reason=reason % figures,
            source_rule=_("Host memory at least the GPUs' memory; every channel carries the same modules."),
        ),
    )


def _drives(
    parts: Parts, server: ServerPart, needed: float, named: frozenset[str], priced: frozenset[str]
) -> tuple[SsdPart | None, int, Chosen | None]:
    """Drives of the server's PCIe generation, at least two, for the local share of data and checkpoints."""
    generation = min(server.pcie_generation, PCIE_5)
    in_bays = [drive for drive in parts.ssds.values() if _fits_bays(drive, server)]
    fitting = [drive for drive in in_bays if drive.pcie_generation == generation]
    if not fitting:
        fitting = [drive for drive in in_bays if drive.pcie_generation <= generation]
    if not fitting:
        return None, 0, None
    bays = server.nvme_bays or STANDARD_GPUS_PER_SERVER

    def rank(drive: SsdPart) -> tuple[bool, bool, bool, float, str]:
        count = _drive_count(drive, needed)
        return count > bays, *_rank_named(drive.sku, named, priced), count * drive.capacity_bytes, drive.sku

    drive = min(fitting, key=rank)
    count = min(_drive_count(drive, needed), bays)
    reason = _("%(count)d x %(size).2f TB hold this server's share of %(needed).2f TB: data in use and one checkpoint.")
    return (
        drive,
        count,
        Chosen(
            sku=drive.sku,
            kind="ssd",
            name=drive.name,
            quantity=count,
            reason=reason % {"count": count, "size": drive.capacity_bytes / TERA, "needed": needed / TERA},
            source_rule=_("At least two drives, of the server's PCIe generation."),
        ),
    )


def _fits_bays(drive: SsdPart, server: ServerPart) -> bool:
    """By form factor; bays that the maker does not describe take any drive."""
    bays = form_factors(server.nvme_form_factor)
    return not bays or bool(bays & form_factors(drive.form_factor))


def _drive_count(drive: SsdPart, needed: float) -> int:
    return max(MIN_DRIVES, math.ceil(needed / drive.capacity_bytes))


def _nic_line(gpu: GpuPart, server: ServerPart, nic: NicPart, count: int, gpu_count: int) -> Chosen:
    gbit = nic.port_bytes_per_second * 8 / GIGA
    figures = {
        "ports": nic.port_count * count,
        "rate": gbit,
        "per_gpu": nic.bytes_per_second * count * 8 / GIGA / gpu_count,
    }
    return Chosen(
        sku=nic.sku,
        kind="nic",
        name=nic.name,
        quantity=count,
        reason=_("%(ports)d ports x %(rate)g Gbit/s a server, %(per_gpu)g Gbit/s a GPU.") % figures,
        source_rule=(
            _("One NIC per GPU on GPU boards (HGX reference architectures).")
            if gpu.is_module
            else _("One NIC per four GPUs in PCIe servers, as far as the slots reach.")
        ),
    )


def _front_end_nic(parts: Parts, server: ServerPart, used_slots: int) -> NicPart | None:
    if server.nic_slots is not None and server.nic_slots <= used_slots and not server.onboard_nic_count:
        return None
    return parts.nics.get(FRONT_END_NIC_SKU)


def skus(build: ServerBuild) -> Iterable[str]:
    """SKUs inside the server, the server itself first."""
    yield build.server.sku
    for line in build.chosen:
        yield line.sku
