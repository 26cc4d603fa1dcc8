"""The checks of one configuration: every compatibility rule over its parts, and what its GPU needs said."""

from __future__ import annotations

from dataclasses import replace

from advisor.answers import CheckAnswer
from advisor.bill_of_materials import Bill
from advisor.catalog_language import is_chinese
from advisor.check_words import check_answer
from advisor.engine import compatibility
from advisor.engine import parts as facts
from advisor.engine.compatibility_software import overclocking, workload_fit
from advisor.engine.specs import Precision, TrainingPlan
from advisor.facility_parts import build_watts
from advisor.part_facts import (
    candidates,
    cpu_facts,
    gpu_facts,
    memory_facts,
    nic_facts,
    rack_facts,
    server_facts,
    ssd_facts,
    switch_facts,
)
from advisor.parts import GpuPart, Parts
from advisor.source_words import field_text, source_text

COMPUTE_POOR_BELOW = 0.5  # share of the dense rate of its generation's board parts with no more memory


def configuration_checks(
    parts: Parts, bill: Bill, plan: TrainingPlan, *, workload: str, cuda: str | None, destination: str | None
) -> list[CheckAnswer]:
    """Every rule over the parts of a configuration, the blocking ones first, then what its GPU needs said."""
    build = bill.build
    others = candidates(parts.revision)
    described = compatibility.Build(
        server=replace(server_facts(build.server), max_watts=build_watts(build)),
        gpu=gpu_facts(build.gpu),
        gpu_count=build.gpu_count,
        server_count=bill.request.server_count,
        cpu=cpu_facts(build.cpu) if build.cpu else None,
        cpu_count=build.cpu_count,
        memory=memory_facts(build.memory) if build.memory else None,
        memory_count=build.memory_count,
        ssd=ssd_facts(build.ssd) if build.ssd else None,
        ssd_count=build.ssd_count,
        nic=nic_facts(build.nic) if build.nic else None,
        nic_count=build.nic_count,
        switch=switch_facts(bill.network.switch) if bill.network.switch else None,
        rack=rack_facts(bill.facility.rack) if bill.facility.rack else None,
        servers_per_rack=bill.facility.plan.servers_per_rack if bill.facility.plan else 1,
        cuda=cuda,
        host_memory_need_bytes=bill.request.host_bytes_needed,
    )
    found = [*compatibility.build_checks(described, others), overclocking(described.gpu)]
    workload_check = workload_fit(workload, plan.precision, plan.recipe)
    if workload_check is not None:
        found.append(workload_check)
    found += _gpu_notes(parts, build.gpu, destination)
    order = compatibility.SEVERITIES.index
    return [check_answer(check, parts) for check in sorted(found, key=lambda check: order(check.severity))]


def _gpu_notes(parts: Parts, gpu: GpuPart, destination: str | None) -> list[facts.Check]:
    notes = []
    rate, best = _dense_against_generation(parts, gpu)
    if rate is not None and best is not None and rate < COMPUTE_POOR_BELOW * best[1]:
        notes.append(
            facts.Check(
                code="gpu_compute_poor",
                severity="note",
                rule="T3",
                parts=(gpu.sku, best[0].sku),
                figures={
                    "dense_flops_per_second": rate,
                    "reference_flops_per_second": best[1],
                    "share_fraction": rate / best[1],
                    "memory_bytes": gpu.spec.memory_bytes,
                    "reference_memory_bytes": best[0].spec.memory_bytes,
                },
            )
        )
    if gpu.export_note:
        is_controlled_there = destination in ("CN", "MO", "HK")
        notes.append(
            facts.Check(
                code="export_status" if is_controlled_there or destination is None else "export_status_elsewhere",
                severity="check" if is_controlled_there else "note",
                rule="export",
                parts=(gpu.sku,),
                figures={"note": source_text(gpu.export_note), "destination": destination or ""},
                nearest=_domestic(parts, gpu) if is_controlled_there else None,
            )
        )
    if gpu.status == "eol":
        notes.append(facts.Check(code="gpu_end_of_life", severity="check", rule="status", parts=(gpu.sku,)))
    unverified = [name for name in gpu.unverified_fields if name != "us_export_note"]
    if unverified:
        notes.append(
            facts.Check(
                code="unverified_figures",
                severity="note",
                rule="source",
                parts=(gpu.sku,),
                figures={"fields": ("、" if is_chinese() else ", ").join(field_text(name) for name in unverified)},
            )
        )
    return notes


def _dense_against_generation(parts: Parts, gpu: GpuPart) -> tuple[float | None, tuple[GpuPart, float] | None]:
    """Dense BF16 rate of the GPU, and of the fastest GPU board part of its architecture with no more memory."""
    rate = gpu.spec.dense_peak_flops_per_second.get(Precision.BF16)
    alike = [
        (other, other.spec.dense_peak_flops_per_second[Precision.BF16])
        for other in parts.gpus.values()
        if other.spec.architecture == gpu.spec.architecture
        and other.form_factor == gpu.form_factor
        and other.spec.memory_bytes <= gpu.spec.memory_bytes
        and Precision.BF16 in other.spec.dense_peak_flops_per_second
    ]
    return rate, max(alike, key=lambda pair: pair[1], default=None)


def _domestic(parts: Parts, gpu: GpuPart) -> str | None:
    """The alternative made in China that comes nearest in memory; some cannot be sized, which its page says."""
    domestic = [part for part in parts.gpus.values() if part.vendor == "Huawei"]
    nearest = min(domestic, key=lambda part: abs(part.spec.memory_bytes - gpu.spec.memory_bytes), default=None)
    return nearest.sku if nearest else None
