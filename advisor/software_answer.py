"""Software of a configuration: the stack of the GPU's architecture, why, and what to watch in operation."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from advisor.parts import GpuPart, Parts, SoftwarePart


def stack_for(parts: Parts, gpu: GpuPart) -> SoftwarePart | None:
    """The row of the GPU's architecture, by compute capability where the architecture has several."""
    rows = [row for row in parts.software if row.architecture == gpu.spec.architecture]
    own = [row for row in rows if row.compute_capability == gpu.compute_capability]
    found = own or [
        row for row in parts.software if row.compute_capability == gpu.compute_capability and row.vendor == gpu.vendor
    ]
    return next(iter((*found, *rows)), None)


def recommended_toolkit(parts: Parts, gpu: GpuPart) -> str | None:
    """CUDA version for the checks; None for other vendors' toolkits."""
    row = stack_for(parts, gpu)
    return row.recommended_toolkit or None if row is not None and row.toolkit == "CUDA" else None


def software_answer(parts: Parts, gpu: GpuPart, launch: dict[str, Any] | None) -> dict[str, Any]:
    row = stack_for(parts, gpu)
    answer: dict[str, Any] = {"launch": launch, "monitoring": monitoring()}
    if row is None:
        return answer | {"reason": _("The catalogue has no software stack for this architecture.")}
    return answer | {
        "sku": row.sku,
        "toolkit": row.toolkit,
        "toolkit_version": row.recommended_toolkit or row.min_toolkit,
        "min_toolkit": row.min_toolkit,
        "driver": row.recommended_driver_branch or row.min_driver_branch,
        "min_driver": row.min_driver_branch,
        "framework": f"PyTorch {row.recommended_framework}" if row.recommended_framework else "PyTorch",
        "min_framework": row.min_framework,
        "collective_library": row.collective_library,
        "operating_system": row.operating_systems,
        "reason": _(
            "%(architecture)s runs from %(toolkit)s %(minimum)s on; %(recommended)s is what current frameworks "
            "are built for. "
            "CentOS Linux is past its end of life; Apex is superseded by native mixed precision and Transformer Engine."
        )
        % {
            "architecture": row.architecture,
            "toolkit": row.toolkit,
            "minimum": row.min_toolkit,
            "recommended": row.recommended_toolkit or row.min_toolkit,
        },
        "notes": row.notes,
        "source": row.source,
    }


def monitoring() -> list[dict[str, str]]:
    """What to watch, with what, and when to act (O1)."""
    rows = (
        (_("GPU temperature, power, clocks, throttling"), "DCGM", _("alarm on thermal or power throttling")),
        (_("GPU utilisation, SM activity, tensor activity"), "DCGM", _("alarm when the job's rate falls by 10 %")),
        (_("GPU memory errors (ECC, row remaps), XID"), "DCGM", _("drain the server on an uncorrectable error")),
        (_("NVLink and PCIe errors and replays"), "DCGM", _("alarm on any growing counter")),
        (
            _("InfiniBand or RoCE: link state, errors, congestion"),
            "UFM, Prometheus",
            _("alarm on a lost link or PFC storm"),
        ),
        (_("CPU, host memory, local drives (wear, free space)"), "node exporter", _("alarm under 10 % free")),
        (
            _("Shared storage: read and write rate, latency, free space"),
            "Prometheus",
            _("alarm when a checkpoint is late"),
        ),
        (
            _("Job: tokens a second, loss, gradient norm, checkpoints"),
            "Grafana",
            _("restart by itself from the last checkpoint"),
        ),
    )
    return [{"what": what, "with": tool, "action": action} for what, tool, action in rows]
