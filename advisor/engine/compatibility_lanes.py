"""PCIe lanes of GPUs, NICs and drives: by switch uplink on boards with PCIe switches, by socket elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

from advisor.engine.parts import Check, CpuPart, GpuPart, ServerPart, nearest_part, pcie_bytes_per_second

GPU_LANES = NIC_LANES = UPLINK_LANES = 16
NVME_LANES = 4
# Four PCIe switches serve eight GPUs and their eight NICs on the usual boards, an uplink of x16 each [1, 2]_.
GPUS_PER_SWITCH = 2
# Lanes per socket that two EPYC sockets give up for three links between them (x16 each); a fourth is possible.
EPYC_INTERCONNECT_LANES = 48


def usable_pcie_lanes(cpu: CpuPart, cpu_count: int) -> int:
    """PCIe lanes of all sockets for devices; two EPYC give up 48 each for the links between them (256 - 96 = 160)."""
    is_epyc_pair = cpu_count == 2 and cpu.socket.startswith("SP")
    return cpu_count * (cpu.pcie_lanes - (EPYC_INTERCONNECT_LANES if is_epyc_pair else 0))


def pcie_lanes(
    gpu: GpuPart,
    gpu_count: int,
    cpu: CpuPart,
    cpu_count: int,
    server: ServerPart,
    *,
    nic_count: int,
    ssd_count: int,
    cpus: Iterable[CpuPart] = (),
    servers: Iterable[ServerPart] = (),
) -> Check | None:
    """M1: devices against the lanes that they hang on, with the part that would pass.

    References
    ----------
    .. [1] "Inside the High-Performance GPU Server: A100/A800 & H100 topologies" (besthub.dev, read 2026-11-30): four
       PCIe switches, eight GPUs, eight NICs.
    .. [2] Topology matrix of an 8-GPU B200 server (the-dsvolk.github.io/ai-perf, read 2026-11-30): two GPUs and two
       NICs share a switch (PIX).
    """
    if server.has_pcie_switch:
        return _by_uplink(gpu, gpu_count, cpu, cpu_count, server, nic_count, ssd_count, cpus)
    return _by_socket(gpu, gpu_count, cpu, cpu_count, server, nic_count, ssd_count, servers)


def _by_uplink(
    gpu: GpuPart,
    gpu_count: int,
    cpu: CpuPart,
    cpu_count: int,
    server: ServerPart,
    nic_count: int,
    ssd_count: int,
    cpus: Iterable[CpuPart],
) -> Check | None:
    """Uplinks, drives and the NICs beyond one a GPU reach the sockets; the rest stays behind its switch.

    Nearest: a processor of the same socket with the lanes.
    """
    switch_count = -(-gpu_count // GPUS_PER_SWITCH)
    gpus_here = min(GPUS_PER_SWITCH, gpu_count)
    nics_here = -(-min(nic_count, gpu_count) // switch_count)
    wanted = switch_count * UPLINK_LANES + max(nic_count - gpu_count, 0) * NIC_LANES + ssd_count * NVME_LANES
    given = usable_pcie_lanes(cpu, cpu_count)
    generation = min(gpu.pcie_generation, server.pcie_generation or gpu.pcie_generation, cpu.pcie_generation)
    figures: dict[str, float | int | str | None] = {
        "lanes_wanted": wanted,
        "lanes_given": given,
        "switch_count": switch_count,
        "gpus_per_switch": gpus_here,
        "nics_per_switch": nics_here,
        "uplink_lanes": UPLINK_LANES,
        "oversubscription": gpus_here * GPU_LANES / UPLINK_LANES,
        "gpu_host_bytes_per_second": pcie_bytes_per_second(generation, UPLINK_LANES) / gpus_here,
    }
    parts = (cpu.sku, server.sku)
    if wanted <= given:
        return Check(code="pcie_lanes_switched", severity="note", rule="M1", parts=parts, figures=figures)
    nearest = nearest_part(
        cpus,
        lambda other: (
            other.socket == cpu.socket
            and other.max_socket_count >= cpu_count
            and usable_pcie_lanes(other, cpu_count) >= wanted
        ),
        lambda other: abs(other.core_count - cpu.core_count),
    )
    return Check(
        code="pcie_uplinks_exceeded",
        severity="blocks",
        rule="M1",
        parts=parts,
        figures=figures,
        nearest=nearest.sku if nearest else None,
    )


def _by_socket(
    gpu: GpuPart,
    gpu_count: int,
    cpu: CpuPart,
    cpu_count: int,
    server: ServerPart,
    nic_count: int,
    ssd_count: int,
    servers: Iterable[ServerPart],
) -> Check | None:
    """Devices spread over the sockets, each to the emptier one; the fuller one must have the lanes.

    Nearest: a server with PCIe switches that takes the GPU.
    """
    loads = [0] * cpu_count
    for lane_count in gpu_count * [GPU_LANES] + nic_count * [NIC_LANES] + ssd_count * [NVME_LANES]:
        loads[loads.index(min(loads))] += lane_count
    wanted, given = max(loads), usable_pcie_lanes(cpu, cpu_count) // cpu_count
    if wanted <= given:
        return None
    nearest = nearest_part(
        servers,
        lambda other: bool(other.has_pcie_switch) and gpu.sku in other.supported_gpu_skus,
        lambda other: abs(other.gpu_slot_count - gpu_count),
    )
    is_known = server.has_pcie_switch is False
    return Check(
        code="pcie_lanes_exceeded" if is_known else "pcie_lanes_unconfirmed",
        severity="blocks" if is_known else "check",
        rule="M1",
        parts=(cpu.sku, server.sku),
        figures={
            "lanes_wanted": wanted,
            "lanes_given": given,
            "gpu_count": gpu_count,
            "nic_count": nic_count,
            "ssd_count": ssd_count,
            "socket_count": cpu_count,
        },
        nearest=nearest.sku if nearest else None,
    )
