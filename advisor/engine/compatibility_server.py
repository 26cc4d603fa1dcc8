"""Do GPU, CPU and server fit together: places, sockets, lanes, generations. One function per rule.

Every rule returns None where the parts fit, or where a figure that it needs is not published (then nothing can be
said), else a `Check` with both parts, the figures, and the nearest candidate that would pass.
"""

from __future__ import annotations

from collections.abc import Iterable

from advisor.engine.parts import (
    PCIE_X16_BYTES_PER_SECOND,
    Check,
    CpuPart,
    GpuPart,
    ServerPart,
    nearest_part,
    pcie_bytes_per_second,
)

BOARD_FORM_FACTORS = ("SXM", "OAM")


def gpu_in_server(gpu: GpuPart, server: ServerPart, servers: Iterable[ServerPart] = ()) -> Check | None:
    """M1: the server must list the GPU; form factors tell why it does not. Nearest: a server that takes it."""
    if gpu.sku in server.supported_gpu_skus:
        return None
    nearest = nearest_part(
        servers,
        lambda other: gpu.sku in other.supported_gpu_skus,
        lambda other: abs(other.gpu_slot_count - server.gpu_slot_count),
    )
    fits_mechanically = gpu.form_factor in server.gpu_form_factors
    return Check(
        code="gpu_not_supported" if fits_mechanically else "gpu_form_factor",
        severity="blocks",
        rule="M1",
        parts=(gpu.sku, server.sku),
        figures={
            "gpu_form_factor": gpu.form_factor,
            "server_form_factors": ", ".join(sorted(server.gpu_form_factors)),
        },
        nearest=nearest.sku if nearest else None,
    )


def gpu_slots(gpu: GpuPart, gpu_count: int, server: ServerPart, servers: Iterable[ServerPart] = ()) -> Check | None:
    """M1: not more GPUs than places, and a board of soldered-in places comes full."""
    if gpu_count > server.gpu_slot_count:
        nearest = nearest_part(
            servers,
            lambda other: other.gpu_slot_count >= gpu_count and gpu.sku in other.supported_gpu_skus,
            lambda other: other.gpu_slot_count,
        )
        return Check(
            code="gpu_slots_exceeded",
            severity="blocks",
            rule="M1",
            parts=(gpu.sku, server.sku),
            figures={"gpu_count": gpu_count, "gpu_slot_count": server.gpu_slot_count},
            nearest=nearest.sku if nearest else None,
        )
    if is_board_gpu(gpu) and gpu_count % gpu.gpus_per_baseboard and gpu_count != server.gpu_slot_count:
        return Check(
            code="gpu_board_not_full",
            severity="blocks",
            rule="M1",
            parts=(gpu.sku, server.sku),
            figures={"gpu_count": gpu_count, "gpus_per_baseboard": gpu.gpus_per_baseboard},
            nearest=f"{-(-gpu_count // gpu.gpus_per_baseboard) * gpu.gpus_per_baseboard} x {gpu.sku}",
        )
    return None


def is_board_gpu(gpu: GpuPart) -> bool:
    """SXM and OAM modules sit on a board of fixed size; PCIe cards are placed one by one."""
    return gpu.form_factor.startswith(BOARD_FORM_FACTORS)


def gpu_link_generation(gpu: GpuPart, server: ServerPart, servers: Iterable[ServerPart] = ()) -> Check | None:
    """M1: a link runs at the older of both generations. GPU older: a note; server older: a loss to confirm.

    Nearest: a server of the GPU's generation that takes it; only a slower server needs one.
    """
    if server.pcie_generation is None or gpu.pcie_generation == server.pcie_generation:
        return None
    linked = min(gpu.pcie_generation, server.pcie_generation)
    is_server_older = linked != gpu.pcie_generation
    nearest = None
    if is_server_older:
        nearest = nearest_part(
            servers,
            lambda other: gpu.sku in other.supported_gpu_skus and (other.pcie_generation or 0) >= gpu.pcie_generation,
            lambda other: abs(other.gpu_slot_count - server.gpu_slot_count),
        )
    return Check(
        code="server_links_below_gpu" if is_server_older else "gpu_links_below_server",
        severity="check" if is_server_older else "note",
        rule="M1",
        parts=(gpu.sku, server.sku),
        figures={
            "gpu_pcie_generation": gpu.pcie_generation,
            "server_pcie_generation": server.pcie_generation,
            "link_bytes_per_second": pcie_bytes_per_second(linked, gpu.pcie_lanes),
        },
        nearest=nearest.sku if nearest else None,
    )


def gpu_link_wanted(gpu: GpuPart, wanted_link: str, gpus: Iterable[GpuPart] = ()) -> Check | None:
    """M4: a build that counts on NVLink (or another direct link) needs a GPU that has it. Nearest: by memory."""
    if gpu.link_type and gpu.link_type.lower().startswith(wanted_link.lower()):
        return None
    nearest = nearest_part(
        gpus,
        lambda other: bool(other.link_type) and str(other.link_type).lower().startswith(wanted_link.lower()),
        lambda other: abs(other.memory_bytes - gpu.memory_bytes),
    )
    return Check(
        code="gpu_link_missing",
        severity="blocks",
        rule="M4",
        parts=(gpu.sku, wanted_link),
        figures={"link_type": gpu.link_type, "wanted_link": wanted_link},
        nearest=nearest.sku if nearest else None,
    )


def cpu_in_server(cpu: CpuPart, cpu_count: int, server: ServerPart, cpus: Iterable[CpuPart] = ()) -> Check | None:
    """M1: socket, fixed processor, sockets filled, family in the maker's list. Nearest: by cores."""
    figures = {"cpu_socket": cpu.socket, "server_socket": server.cpu_socket}
    if cpu.socket != server.cpu_socket:
        code, severity = "cpu_socket_mismatch", "blocks"
    elif server.fixed_cpu_sku is not None and cpu.sku != server.fixed_cpu_sku:
        code, severity, figures = "cpu_fixed", "blocks", {"fixed_cpu": server.fixed_cpu_sku}
    elif cpu_count > min(server.cpu_socket_count, cpu.max_socket_count):
        code, severity = "cpu_sockets_exceeded", "blocks"
        limit = min(server.cpu_socket_count, cpu.max_socket_count)
        figures = {"cpu_count": str(cpu_count), "socket_count": str(limit)}
    elif server.cpu_family_codes and cpu.family_code not in server.cpu_family_codes:
        code, severity = "cpu_family_not_listed", "check"
        figures = {"cpu_family": cpu.family_code, "server_families": ", ".join(sorted(server.cpu_family_codes))}
    else:
        return None
    nearest = nearest_part(
        cpus, lambda other: _cpu_fits(other, cpu_count, server), lambda other: abs(other.core_count - cpu.core_count)
    )
    return Check(
        code=code,
        severity=severity,
        rule="M1",
        parts=(cpu.sku, server.sku),
        figures=dict(figures),
        nearest=nearest.sku if nearest else None,
    )


def _cpu_fits(cpu: CpuPart, cpu_count: int, server: ServerPart) -> bool:
    return (
        cpu.socket == server.cpu_socket
        and server.fixed_cpu_sku in (None, cpu.sku)
        and cpu_count <= min(server.cpu_socket_count, cpu.max_socket_count)
        and (not server.cpu_family_codes or cpu.family_code in server.cpu_family_codes)
    )


def cpu_cores(
    cpu: CpuPart, cpu_count: int, gpu_count: int, cores_per_gpu: int, cpus: Iterable[CpuPart] = ()
) -> Check | None:
    """M1: cores for the processes and loaders of the GPUs. Nearest: the smallest of the same socket that has them."""
    given, wanted = cpu.core_count * cpu_count, gpu_count * cores_per_gpu
    if given >= wanted:
        return None
    nearest = nearest_part(
        cpus,
        lambda other: other.socket == cpu.socket and other.core_count * cpu_count >= wanted,
        lambda other: other.core_count,
    )
    return Check(
        code="cpu_cores_short",
        severity="check",
        rule="M1",
        parts=(cpu.sku,),
        figures={"core_count": given, "cores_wanted": wanted, "gpu_count": gpu_count},
        nearest=nearest.sku if nearest else None,
    )


def platform_wanted(
    server: ServerPart,
    wanted_memory_type: str | None,
    wanted_pcie_generation: int | None,
    servers: Iterable[ServerPart] = (),
) -> Check | None:
    """M1, M2: memory type and PCIe generation belong to the server; one that lacks what is asked for does not pass.

    Nearest: a server with both that takes one of the same GPUs.
    """

    def has_both(other: ServerPart) -> bool:
        return wanted_memory_type in (None, other.memory_type) and (
            wanted_pcie_generation is None or (other.pcie_generation or 0) >= wanted_pcie_generation
        )

    if wanted_pcie_generation is not None and wanted_pcie_generation not in PCIE_X16_BYTES_PER_SECOND:
        raise ValueError(f"No PCIe generation {wanted_pcie_generation}.")
    if has_both(server):
        return None
    nearest = nearest_part(
        servers,
        lambda other: has_both(other) and bool(other.supported_gpu_skus & server.supported_gpu_skus),
        lambda other: abs(other.gpu_slot_count - server.gpu_slot_count),
    )
    return Check(
        code="platform_lacks_wanted",
        severity="blocks",
        rule="M2" if wanted_memory_type not in (None, server.memory_type) else "M1",
        parts=(server.sku,),
        figures={
            "server_memory_type": server.memory_type,
            "server_pcie_generation": server.pcie_generation,
            "wanted_memory_type": wanted_memory_type,
            "wanted_pcie_generation": wanted_pcie_generation,
        },
        nearest=nearest.sku if nearest else None,
    )


def growth(gpu: GpuPart, gpu_count: int, server: ServerPart) -> Check:
    """M6: what can grow inside this server. A board takes no more GPUs and a new generation needs a new board.

    Card servers take further cards while places are free, and newer ones in place of the old.
    """
    is_board = is_board_gpu(gpu)
    return Check(
        code="growth_by_servers_only" if is_board else "growth_inside",
        severity="note",
        rule="M6",
        parts=(gpu.sku, server.sku),
        figures={
            "free_gpu_slots": 0 if is_board else max(server.gpu_slot_count - gpu_count, 0),
            "is_board": int(is_board),
        },
    )
