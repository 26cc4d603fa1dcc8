"""One configuration of the answer: a candidate of the search with its parts, power, storage, checks and prices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from advisor.answers import BothPricesAnswer, ConfigurationAnswer, PricesAnswer, ProblemAnswer
from advisor.bill_of_materials import Bill, BillRequest, bill_of_materials
from advisor.engine import storage as storage_rules
from advisor.engine.power import PowerPlan
from advisor.engine.reliability import (
    DEFAULT_REPAIR,
    DEFAULT_RESTART,
    HARDWARE_FRACTION,
    ReliabilityInputs,
    ReliabilityPlan,
    assumed_number,
    interruption_rate,
    reliability_plan,
)
from advisor.engine.specs import Candidate, Estimate, Method
from advisor.engine.units import SECONDS_PER_DAY, SECONDS_PER_HOUR
from advisor.engine.workload import state_bytes
from advisor.estimate_answer import estimate_answer, finite
from advisor.hand_over import acceptance_answers, launch_configuration
from advisor.input_types import CheckedRecommendation
from advisor.nearest_run import nearest_run
from advisor.part_checks import configuration_checks
from advisor.parts import GpuPart, Parts, ServerPart
from advisor.price_books import Book, priced_part_skus
from advisor.prices import money, purchase_prices, rental_prices, run_cost
from advisor.programme import programme_answer
from advisor.server_build import servers_for
from advisor.software_answer import recommended_toolkit, software_answer
from advisor.storage_parts import StorageSizes, storage_sizes
from advisor.training_plan import Job

Market = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What all configurations of one answer share."""

    parts: Parts
    books: Mapping[Market, Book]
    checked: CheckedRecommendation
    job: Job
    on: date
    term_months: int

    def book(self, basis: str) -> Book | None:
        return self.books.get((basis, self.checked.currency))


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """The answer of a configuration, with the engine's results that later parts of the answer rest on."""

    answer: ConfigurationAnswer
    estimate: Estimate
    power: PowerPlan | None


def configured(setting: Setting, candidate: Candidate) -> Configured:
    parts, checked = setting.parts, setting.checked
    estimate = candidate.estimate
    gpu = parts.gpus[candidate.option.gpu.sku]
    gpus_per_server = candidate.option.gpus_per_server
    server = servers_for(parts, gpu, gpus_per_server=gpus_per_server, cooling=checked.cooling)[0]
    server_count = math.ceil(estimate.scenario.cluster.gpu_count / gpus_per_server)
    bill, plan = bill_for(setting, estimate, gpu, server, server_count)
    rental, rental_problems = rental_prices(
        parts,
        bill,
        setting.book("rental"),
        setting.book("purchase"),
        term_months=setting.term_months,
        on=setting.on,
        currency=checked.currency,
    )
    purchase, purchase_problems = purchase_prices(
        parts, bill, setting.book("purchase"), on=setting.on, currency=checked.currency
    )
    answer = _answer(setting, candidate, bill, plan, rental, purchase, [*rental_problems, *purchase_problems])
    return Configured(answer=answer, estimate=estimate, power=bill.facility.plan)


def bill_for(
    setting: Setting, estimate: Estimate, gpu: GpuPart, server: ServerPart, server_count: int
) -> tuple[Bill, ReliabilityPlan]:
    """Parts of so many of these servers for the job as estimated, and the failures that decide the spares."""
    checked = setting.checked
    sizes = storage_sizes(
        setting.job.model,
        setting.job.plan,
        unique_tokens=setting.job.unique_tokens,
        tokens_per_second=finite(estimate.time.tokens_per_second),
        interval_seconds=finite(estimate.time.checkpoint_interval_seconds),
        workload=checked.workload,
        real_time=checked.real_time,
    )
    plan = _reliability(estimate, sizes, estimate.scenario.cluster.gpus_per_server)
    request = _bill_request(setting, gpu, server, server_count, estimate, sizes, plan.spare_server_count)
    return bill_of_materials(setting.parts, request), plan


def interruption_rate_of(estimate: Estimate) -> float:
    """Interruptions per GPU and second of the estimate's own cluster and profile."""
    cluster = estimate.scenario.cluster
    rate = assumed_number(interruption_rate(cluster.gpu.architecture, cluster.gpu.name))
    return rate * cluster.deployment.interruption_rate_factor


def _reliability(estimate: Estimate, sizes: StorageSizes, gpus_per_server: int) -> ReliabilityPlan:
    """Spares and the spread of interruptions; goodput and interval are the estimate's own."""
    cluster, time = estimate.scenario.cluster, estimate.time
    write = sizes.write_bytes_per_second or sizes.checkpoint_bytes / SECONDS_PER_HOUR
    return reliability_plan(
        ReliabilityInputs(
            gpu_count=cluster.gpu_count,
            gpus_per_server=gpus_per_server,
            training_seconds_without_loss=(time.training_seconds or 0.0) * time.goodput,
            checkpoint_bytes=sizes.checkpoint_bytes,
            write_bytes_per_second=write,
            interruptions_per_gpu_second=interruption_rate_of(estimate),
            restart_seconds=assumed_number(DEFAULT_RESTART),
            interval_seconds=finite(time.checkpoint_interval_seconds),
            repair_seconds=assumed_number(DEFAULT_REPAIR),
            hardware_fraction=assumed_number(HARDWARE_FRACTION),
        )
    )


def _offloaded_bytes(estimate: Estimate, weight_bytes: float) -> float:
    """What the hosts hold instead of the GPUs, of the whole job; adapters are too small to count. [B]"""
    plan = estimate.scenario.plan
    if plan.offload == "none":
        return 0.0
    if plan.method in (Method.LORA, Method.QLORA):
        return weight_bytes if plan.offload == "parameters" else 0.0
    states = state_bytes(plan)
    held = states.optimizer + (states.weight + states.gradient if plan.offload == "parameters" else 0.0)
    return estimate.parameter_count * held


def _bill_request(
    setting: Setting,
    gpu: GpuPart,
    server: ServerPart,
    server_count: int,
    estimate: Estimate,
    sizes: StorageSizes,
    spare_server_count: int,
) -> BillRequest:
    gpus_per_server = estimate.scenario.cluster.gpus_per_server
    host = storage_rules.host_memory(
        gpu_memory_bytes_per_server=float(gpu.spec.memory_bytes * gpus_per_server),
        server_count=server_count,
        checkpoint_size_bytes=sizes.checkpoint_bytes,
        weight_bytes=sizes.weight_bytes,
        is_asynchronous=setting.job.plan.offload == "none",  # what rests in the host is written from there
        offload_bytes=_offloaded_bytes(estimate, sizes.weight_bytes) / server_count,
    )
    return BillRequest(
        gpu=gpu,
        server=server,
        server_count=server_count,
        spare_server_count=spare_server_count if server_count > 1 else 0,
        sizes=sizes,
        host_bytes_needed=host.need_bytes,
        training_seconds=finite(estimate.time.training_seconds),
        data_sensitivity=setting.checked.data_sensitivity,
        priced_skus=priced_part_skus(setting.parts, setting.book("purchase")),
        pue=setting.checked.ownership.pue,
    )


def _answer(
    setting: Setting,
    candidate: Candidate,
    bill: Bill,
    plan: ReliabilityPlan,
    rental: PricesAnswer | None,
    purchase: PricesAnswer | None,
    price_problems: list[ProblemAnswer],
) -> ConfigurationAnswer:
    parts, checked, estimate = setting.parts, setting.checked, candidate.estimate
    gpu, server = bill.build.gpu, bill.build.server
    shown = estimate_answer(
        estimate,
        gpu=gpu,
        revision=parts.revision,
        tokens_origin=checked.tokens_origin,
        assumptions=setting.job.assumptions,
    )
    seconds = shown["time"]["training_seconds"]
    hours = None if seconds is None else shown["cluster"]["gpu_count"] * seconds / SECONDS_PER_HOUR
    cost = run_cost(setting.book("rental"), gpu.sku, hours, setting.term_months)
    nearest = nearest_run(estimate)
    toolkit = recommended_toolkit(parts, gpu)
    return ConfigurationAnswer(
        labels=list(candidate.labels),
        gpu=gpu.sku,
        gpu_name=gpu.name,
        gpu_count=shown["cluster"]["gpu_count"],
        server=server.sku,
        server_name=server.name,
        server_count=bill.request.server_count,
        spare_server_count=bill.request.spare_server_count,
        gpus_per_server=bill.build.gpu_count,
        training_days=_days(seconds),
        training_days_low=_days(shown["time"]["training_seconds_low"]),
        training_days_high=_days(shown["time"]["training_seconds_high"]),
        meets_deadline=_meets(seconds, checked.deadline_seconds),
        gpu_hours=hours,
        estimate=shown,
        bill_of_materials=list(bill.lines),
        network=bill.network.answer,
        storage=bill.storage.answer,
        power=bill.facility.answer,
        reliability=_reliability_answer(estimate, plan, bill),
        software=software_answer(parts, gpu, launch_configuration(estimate)),
        acceptance=acceptance_answers(estimate, bill, interruption_rate_of(estimate)),
        nearest_run=nearest,
        checks=configuration_checks(
            parts,
            bill,
            estimate.scenario.plan,
            workload=checked.workload,
            cuda=toolkit,
            destination=checked.destination,
        ),
        prices=BothPricesAnswer(rental=rental, purchase=purchase),
        price_problems=price_problems,
        run_cost=None if cost is None else money(cost, checked.currency),
        lead_days=checked.lead_seconds / SECONDS_PER_DAY,
        finish_days=None if seconds is None else _days(checked.lead_seconds + seconds),
        programme=programme_answer(
            checked.programme_factor,
            shown["time"],
            shown["cluster"]["gpu_count"],
            cost_of=lambda hours: run_cost(setting.book("rental"), gpu.sku, hours, setting.term_months),
            currency=checked.currency,
        ),
        tuning=None,
        upgrade=[],
        reasons=list(bill.missing),
    )


def _days(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / SECONDS_PER_DAY


def _meets(seconds: float | None, deadline_seconds: float | None) -> bool | None:
    """None without a deadline or without a time: there is nothing to meet, or nothing known."""
    if deadline_seconds is None or seconds is None:
        return None
    return seconds <= deadline_seconds


def _reliability_answer(estimate: Estimate, plan: ReliabilityPlan, bill: Bill) -> dict[str, Any]:
    time = estimate.time
    return {
        "interruptions_expected": finite(time.interruptions_expected),
        "interruptions_low": plan.interruptions_low,
        "interruptions_high": plan.interruptions_high,
        "mean_seconds_between_interruptions": finite(plan.mean_seconds_between_interruptions),
        "checkpoint_interval_seconds": finite(time.checkpoint_interval_seconds),
        "checkpoint_seconds": finite(plan.checkpoint_seconds),
        "checkpoint_write_seconds": finite(plan.checkpoint_write_seconds),
        "goodput": finite(time.goodput),
        "lost_seconds": (None if time.training_seconds is None else finite(time.training_seconds * (1 - time.goodput))),
        "spare_server_count": bill.request.spare_server_count,
    }
