"""Launch configuration and acceptance tests of a recommended layout, from the engine in the contract's shape."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from advisor.bill_of_materials import Bill
from advisor.engine.acceptance import AcceptanceInputs, AcceptanceTest, acceptance_tests
from advisor.engine.launch import LaunchRequest, launch
from advisor.engine.specs import Estimate, Precision
from advisor.engine.units import GIGA, MEGA
from advisor.figures import (
    format_duration,
    format_flops_rate,
    format_gb,
    format_gib,
    format_percent,
    format_si_count,
    format_significant,
    format_watts,
)
from advisor.source_words import source_text

TEST_NAMES: dict[str, str | Promise] = {
    "gpu_memory_visible": _lazy("GPU memory that the driver shows"),
    "uncorrectable_memory_errors": _lazy("Uncorrectable GPU memory errors"),
    "matmul_bf16": _lazy("Matrix product rate of each GPU, BF16"),
    "matmul_fp8": _lazy("Matrix product rate of each GPU, FP8"),
    "matmul_spread": _lazy("Spread of the matrix product rate between GPUs"),
    "bus_bandwidth_in_server": _lazy("All-reduce bus bandwidth inside a server"),
    "rdma_per_nic": _lazy("RDMA rate of each NIC, point to point"),
    "bus_bandwidth_across_servers": _lazy("All-reduce bus bandwidth across servers"),
    "storage_read": _lazy("Storage read rate, all servers at once"),
    "storage_write": _lazy("Storage write rate, all servers at once"),
    "checkpoint_written_and_restored": _lazy("Checkpoint written, and training resumed from it"),
    "job_tokens_per_second": _lazy("Throughput of the job itself"),
    "server_power": _lazy("Power of a server under load"),
    "clocks_throttled": _lazy("Seconds of throttled clocks during burn-in"),
    "burn_in_hours": _lazy("Hours of burn-in under load"),
    "burn_in_interruptions": _lazy("Interruptions during burn-in"),
}


def launch_configuration(estimate: Estimate) -> dict[str, Any] | None:
    """Files and command for the framework of the recipe; None where the layout cannot be written for it."""
    scenario, time = estimate.scenario, estimate.time
    interval = time.checkpoint_interval_seconds
    steps = None if not interval or time.step_seconds <= 0 else max(1, round(interval / time.step_seconds))
    request = LaunchRequest(
        model=scenario.model,
        plan=replace(scenario.plan, global_batch_size=estimate.global_batch_size),
        layout=estimate.layout,
        gpus_per_server=scenario.cluster.gpus_per_server,
        save_interval_steps=steps,
    )
    try:
        written = launch(request)
    except ValueError:
        return None
    return {
        "framework": written.framework,
        "command": written.command,
        "files": [{"name": item.name, "text": item.text} for item in written.files],
        "environment": dict(written.environment),
        "notes": list(written.notes),
    }


def acceptance_answers(estimate: Estimate, bill: Bill, interruptions_per_gpu_second: float) -> list[dict[str, Any]]:
    """Tests before hand-over with thresholds from the catalogue, published measurements and this estimate (S3)."""
    scenario, gpu, build = estimate.scenario, bill.build.gpu, bill.build
    storage = bill.storage.answer
    inputs = AcceptanceInputs(
        gpu_sku=gpu.sku,
        gpu_count=scenario.cluster.gpu_count,
        gpus_per_server=scenario.cluster.gpus_per_server,
        gpu_memory_bytes=float(gpu.spec.memory_bytes),
        bf16_dense_flops_per_second=gpu.spec.dense_peak_flops_per_second.get(Precision.BF16),
        fp8_dense_flops_per_second=gpu.spec.dense_peak_flops_per_second.get(Precision.FP8),
        uses_fp8=scenario.plan.precision in (Precision.FP8, Precision.MXFP8),
        scale_up_bytes_per_second=gpu.spec.scale_up_bytes_per_second or None,
        scale_out_bytes_per_second_per_gpu=build.fabric_bytes_per_second_per_gpu or None,
        nics_per_server=build.nic_count or None,
        storage_read_bytes_per_second=storage.get("read_bytes_per_second"),
        storage_write_bytes_per_second=storage.get("write_bytes_per_second"),
        checkpoint_bytes=storage.get("checkpoint_bytes"),
        tokens_per_second=estimate.time.tokens_per_second,
        error_band_fraction=estimate.time.error_band_fraction,
        server_max_watts=bill.facility.answer.get("server_max_watts"),
        interruptions_per_gpu_second=interruptions_per_gpu_second,
    )
    return [_test_answer(test) for test in acceptance_tests(inputs)]


def _test_answer(test: AcceptanceTest) -> dict[str, Any]:
    return {
        "code": test.code,
        "name": str(TEST_NAMES[test.code]),
        "scope": test.scope,
        "comparison": test.comparison,
        "threshold": test.threshold,
        "threshold_text": _threshold_text(test),
        "unit": test.unit,
        "tool": re.sub(r"(?<=\d) x (?=\d)", "\u00a0×\u00a0", test.tool),
        "source": source_text(test.source),
    }


def _threshold_text(test: AcceptanceTest) -> str:
    if test.threshold is None or test.comparison == "record":
        return _("record the result")
    value = test.threshold
    shown = {
        "FLOP/s": lambda: format_flops_rate(value),
        "B/s": lambda: f"{format_gb(value)}/s" if value >= GIGA / 10 else f"{format_significant(value / MEGA)} MB/s",
        "B": lambda: format_gib(value),
        "W": lambda: format_watts(value),
        "s": lambda: format_duration(value) if value else "0 s",
        "h": lambda: f"{format_significant(value)} h",
        "1/s": lambda: _("%(rate)s tokens a second") % {"rate": format_si_count(value)},
    }.get(test.unit, lambda: _plain(test.code, value))()
    template = _("at least %(value)s") if test.comparison == "at_least" else _("at most %(value)s")
    return template % {"value": shown}


def _plain(code: str, value: float) -> str:
    return format_percent(value) if code == "matmul_spread" else f"{value:g}"
