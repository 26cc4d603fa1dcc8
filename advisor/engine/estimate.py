"""The one composition: Scenario -> Estimate. The scalar answer is the array path with one candidate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from advisor.engine import flops, parameters, reliability, training_time
from advisor.engine.calibration import Calibration, by_family
from advisor.engine.candidates import Candidates, concatenate, from_layout
from advisor.engine.evaluate import BLOCK_SIZE, Evaluated, evaluate
from advisor.engine.fitting import available_bytes, model_state_bytes, smallest_gpu_count_that_fits
from advisor.engine.layout_pool import Kind, LayoutPool, best_layouts
from advisor.engine.layouts import batch_for_gpus, enumerate_layouts, micro_batch_count
from advisor.engine.machine import Machine, domain_size, machine
from advisor.engine.memory import reserved_factor
from advisor.engine.pilot import pilot_rescaling
from advisor.engine.problems import batch_moved, find_problems, no_admissible_layout, schedule_checks
from advisor.engine.specs import (
    Assumption,
    ClusterSpec,
    Estimate,
    FlopsEstimate,
    Layout,
    LayoutRequest,
    MemoryEstimate,
    ModelSpec,
    Origin,
    Problem,
    Recomputation,
    Scenario,
    TimeEstimate,
    TrainingPlan,
)
from advisor.engine.workload import Workload, workload

MEMORY_PARTS = (
    "weight_bytes",
    "gradient_bytes",
    "optimizer_bytes",
    "activation_bytes",
    "logits_bytes",
    "buffer_bytes",
    "allocated_bytes",
    "reserved_bytes",
    "overhead_bytes",
    "total_bytes",
)


class ScenarioError(ValueError):
    """The scenario contradicts itself; `problems` say where."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(f"{problem.field}: {problem.code}" for problem in problems))
        self.problems = problems


def is_fully_stated(request: LayoutRequest) -> bool:
    return None not in (
        request.tensor_parallel,
        request.pipeline_parallel,
        request.micro_batch_size,
        request.zero_stage,
        request.recomputation,
        request.context_parallel,
        request.expert_parallel,
    ) and (request.virtual_stage_count is not None or request.pipeline_parallel == 1)


def stated_candidates(model: ModelSpec, plan: TrainingPlan, cluster: ClusterSpec, request: LayoutRequest) -> Candidates:
    """The candidate of a layout that is stated in full; two where only the split of single experts is left open."""
    one = _stated_candidate(plan, cluster, request)
    t, x = request.tensor_parallel or 1, request.expert_parallel or 1
    ranks = t * (request.context_parallel or 1) * int(one.data_parallel[0])
    is_open = request.expert_tensor_parallel is None and model.is_moe and t > 1 and x > 1
    if not is_open or ranks % (t * x):
        return one
    return concatenate([one, _stated_candidate(plan, cluster, replace(request, expert_tensor_parallel=t))])


def _stated_candidate(plan: TrainingPlan, cluster: ClusterSpec, request: LayoutRequest) -> Candidates:
    t, p, c = request.tensor_parallel or 1, request.pipeline_parallel or 1, request.context_parallel or 1
    n = cluster.gpu_count // (t * p * c)
    b = request.micro_batch_size or 1
    count = micro_batch_count(plan.global_batch_size, np.array([float(n)]), np.array([float(b)]))
    layout = Layout(
        tensor_parallel=t,
        pipeline_parallel=p,
        data_parallel=n,
        context_parallel=c,
        expert_parallel=request.expert_parallel or 1,
        expert_tensor_parallel=request.expert_tensor_parallel or 1,
        virtual_stage_count=request.virtual_stage_count or 1,
        micro_batch_size=b,
        zero_stage=request.zero_stage if request.zero_stage is not None else 1,
        recomputation=request.recomputation or Recomputation.NONE,
        recomputed_layer_fraction=(
            request.recomputed_layer_fraction if request.recomputed_layer_fraction is not None else 1.0
        ),
        uses_sequence_parallel=request.uses_sequence_parallel is not False and t > 1,
        shard_group_size=min(request.shard_group_size, n * c) if request.shard_group_size else None,
    )
    return from_layout(layout, int(count[0]))


def open_recomputation(request: LayoutRequest) -> tuple[LayoutRequest, bool]:
    """The request to enumerate, and whether the share of recomputed layers is still to be found for each layout."""
    if request.recomputation is not None:
        return request, False
    return replace(request, recomputed_layer_fraction=0.0), True


def best_index(evaluated: Evaluated, candidates: Candidates, budget_bytes: float) -> int:
    """Fastest candidate that fits (least step time per sequence), else the one that needs least memory."""
    fits = evaluated.memory.total_bytes <= budget_bytes
    if not np.any(fits):
        return int(np.argmin(evaluated.memory.total_bytes))
    per_sequence = evaluated.time.step_seconds / candidates.global_batch_size
    return int(np.argmin(np.where(fits, per_sequence, np.inf)))


def best_candidate(
    work: Workload, plan: TrainingPlan, cand: Candidates, rates: Machine, calibration: Calibration, budget_bytes: float
) -> tuple[int, Evaluated]:
    """`best_index` of all candidates and the values of that one; those of the others are not kept.

    Raises ValueError when there are no candidates.
    """
    best, values, key = -1, None, (True, np.inf)
    for start in range(0, len(cand), BLOCK_SIZE):
        block = cand.take(slice(start, start + BLOCK_SIZE))
        evaluated = evaluate(work, plan, block, rates, calibration, budget_bytes)
        index = best_index(evaluated, block, budget_bytes)
        total = float(evaluated.memory.total_bytes[index])
        per_sequence = float(evaluated.time.step_seconds[index] / block.global_batch_size[index])
        own = (total > budget_bytes, total if total > budget_bytes else per_sequence)
        if values is None or own < key:
            best, values, key = start + index, evaluated.take(np.array([index])), own
    if values is None:
        raise ValueError("There are no candidates.")
    return best, values


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Candidates of a scenario, their values, which one is taken, and how many layouts were in question."""

    candidates: Candidates
    evaluated: Evaluated
    index: int
    rates: Machine
    layout_count: int
    budget_bytes: float

    @property
    def global_batch_size(self) -> int:
        return int(self.candidates.global_batch_size[self.index])

    @property
    def preference(self) -> tuple[bool, float]:
        """Less is better: what fits before what does not, then the time a sequence, or the bytes needed."""
        total = float(self.evaluated.memory.total_bytes[self.index])
        if total > self.budget_bytes:
            return True, total
        return False, float(self.evaluated.time.step_seconds[self.index]) / self.global_batch_size


def settle(scenario: Scenario, work: Workload, calibration: Calibration) -> Settled | None:
    """The layout that is taken; None when none is admissible."""
    model, plan, cluster, request = scenario.model, scenario.plan, scenario.cluster, scenario.layout
    budget = available_bytes(cluster.gpu, plan)
    rates = machine(cluster.gpu, cluster.gpus_per_server, cluster.fabric, plan, cluster.deployment, calibration)
    is_stated = is_fully_stated(request)
    if is_stated:
        candidates = stated_candidates(model, plan, cluster, request)
    else:
        found = _fastest_open(scenario, work, calibration, rates, budget)
        if found is not None:
            return found
        # nothing fits: the layout that needs least says by how much
        domain = domain_size(cluster.gpu, cluster.gpus_per_server)
        candidates = enumerate_layouts(model, plan, request, [cluster.gpu_count], domain)
    if len(candidates) == 0:
        return None
    layout_count = len(candidates)
    if is_stated:
        evaluated = evaluate(work, plan, candidates, rates, calibration, budget)
        # whole experts where they fit, as stated; split ones only where whole ones do not
        keeps_first = bool(evaluated.memory.total_bytes[0] <= budget)
        index = 0 if keeps_first else best_index(evaluated, candidates, budget)
    else:
        best, evaluated = best_candidate(work, plan, candidates, rates, calibration, budget)
        candidates, index = candidates.take(slice(best, best + 1)), 0
    return Settled(
        candidates=candidates,
        evaluated=evaluated,
        index=index,
        rates=rates,
        layout_count=layout_count,
        budget_bytes=budget,
    )


def _fastest_open(
    scenario: Scenario, work: Workload, calibration: Calibration, rates: Machine, budget: float
) -> Settled | None:
    """The fastest fitting layout of a request that leaves something open; None where nothing fits."""
    cluster = scenario.cluster
    request, has_open_share = open_recomputation(scenario.layout)
    domain = domain_size(cluster.gpu, cluster.gpus_per_server)
    candidates = enumerate_layouts(scenario.model, scenario.plan, request, [cluster.gpu_count], domain)
    pool = LayoutPool(work, scenario.plan, candidates, calibration, tries_shares=has_open_share)
    (best,) = best_layouts(pool, [Kind(rates=rates, budget_bytes=budget, sizes=(cluster.gpu_count,))])
    if best is None:
        return None
    return Settled(
        candidates=best.candidates,
        evaluated=best.evaluated,
        index=0,
        rates=rates,
        layout_count=best.layout_count,
        budget_bytes=budget,
    )


def estimate(scenario: Scenario, *, calibration: Calibration) -> Estimate:
    """Memory, step time and training time of a job on a stated cluster; what the layout leaves open is searched.

    Raises
    ------
    ScenarioError
        If the scenario contradicts itself (precision the GPU lacks, group sizes that do not divide, no admissible
        layout). A job that does not fit is no error: `memory.fits` is False and a Problem says what would fit.
    """
    model, plan, cluster, request = scenario.model, scenario.plan, scenario.cluster, scenario.layout
    problems = find_problems(model, plan, cluster, request)
    if problems:
        raise ScenarioError(tuple(problems))
    work = workload(model, plan)
    if cluster.gpu_count == 0:
        smallest = smallest_gpu_count_that_fits(
            model, plan, work, request, cluster.gpu, cluster.gpus_per_server, calibration
        )
        if smallest is None:
            raise ScenarioError((Problem(field="/cluster", code="fits_no_size", params={"gpu": cluster.gpu.name}),))
        cluster = replace(cluster, gpu_count=smallest)
        scenario = replace(scenario, cluster=cluster)
    settled = settle(scenario, work, calibration)
    if not is_fully_stated(request) and (settled is None or settled.global_batch_size != plan.global_batch_size):
        # no layout shares the batch as it is; those that share it nearly may be few and slow (61 servers: 17 replicas)
        moved = batch_for_gpus(plan.global_batch_size, cluster.gpu_count)
        other = settle(replace(scenario, plan=replace(plan, global_batch_size=moved)), work, calibration)
        if settled is None or (other is not None and other.preference < settled.preference):
            settled = other
    if settled is None:
        raise ScenarioError((no_admissible_layout(cluster.gpu_count, plan.global_batch_size),))
    answer = assemble(scenario, work, settled.candidates, settled.evaluated, settled.index, settled.rates, calibration)
    return replace(answer, evaluated_layout_count=settled.layout_count)


def assemble(
    scenario: Scenario,
    work: Workload,
    candidates: Candidates,
    evaluated: Evaluated,
    index: int,
    rates: Machine,
    calibration: Calibration,
) -> Estimate:
    """Candidate `index` of the arrays as a full Estimate."""
    model, plan, cluster = scenario.model, scenario.plan, scenario.cluster
    layout = candidates.layout(index)
    batch = int(candidates.global_batch_size[index])
    memory = memory_estimate(evaluated, index, available_bytes(cluster.gpu, plan))
    recomputation = Recomputation(layout.recomputation)
    counts = FlopsEstimate(
        model_flops_per_token=work.model_flops_per_token,
        hardware_flops_per_token=flops.hardware_flops_per_token(
            model, plan, recomputation, layout.recomputed_layer_fraction
        ),
        total_model_flops=None if plan.tokens is None else work.model_flops_per_token * plan.tokens,
        six_n_d_flops=None if plan.tokens is None else flops.six_n_d_flops(model, plan.tokens),
    )
    time = time_estimate(scenario, work, evaluated, index, batch, counts, rates, calibration)
    problems: list[Problem] = []
    if not memory.fits:
        problems.append(does_not_fit(scenario, work, memory, calibration))
    problems += schedule_checks(model, layout, int(candidates.micro_batch_count[index]))
    if batch != plan.global_batch_size:
        problems.append(batch_moved(asked=plan.global_batch_size, used=batch))
    return Estimate(
        scenario=scenario,
        layout=layout,
        parameter_count=work.parameter_count,
        active_parameter_count=parameters.active_parameter_count(model),
        micro_batch_count=int(candidates.micro_batch_count[index]),
        global_batch_size=batch,
        memory=memory,
        flops=counts,
        time=time,
        problems=tuple(problems),
        assumptions=assumptions(cluster, plan, layout, calibration),
        evaluated_layout_count=len(candidates),
    )


def memory_estimate(evaluated: Evaluated, index: int, budget_bytes: float) -> MemoryEstimate:
    memory = evaluated.memory
    values = {name: float(getattr(memory, name)[index]) for name in MEMORY_PARTS}
    return MemoryEstimate(
        **values,
        available_bytes=budget_bytes,
        fits=values["total_bytes"] <= budget_bytes,
        pipeline_stage=int(memory.pipeline_stage[index]),
    )


def error_band_fraction(cluster: ClusterSpec, model: ModelSpec, calibration: Calibration) -> float:
    """80 % band of the validation residuals of the nearest kind of run: GPU family and dense or MoE, else all.

    A pilot leaves only what pilots have left of the error in published pairs of a small and a large run.
    """
    kind = "moe" if model.is_moe else "dense"
    band = by_family(calibration.error_band_fraction, cluster.gpu.architecture, kind)
    if cluster.pilot is None:
        return band
    left = pilot_rescaling(
        cluster.pilot.predicted_tokens_per_second_per_gpu,
        cluster.pilot.measured_tokens_per_second_per_gpu,
        measured_gpu_count=cluster.pilot.gpu_count,
        gpu_count=cluster.gpu_count,
        log_error_without_pilot=math.log1p(band),
    )
    return math.expm1(left.remaining_log_error)


def time_estimate(
    scenario: Scenario,
    work: Workload,
    evaluated: Evaluated,
    index: int,
    batch: int,
    counts: FlopsEstimate,
    rates: Machine,
    calibration: Calibration,
) -> TimeEstimate:
    plan, cluster = scenario.plan, scenario.cluster
    slower = float(training_time.slowdown(cluster.deployment.throughput_loss_fraction, cluster.pilot))
    step = float(evaluated.time.step_seconds[index]) * slower
    tokens_per_second = batch * plan.sequence_length / step
    per_gpu = tokens_per_second / cluster.gpu_count
    achieved = per_gpu * counts.model_flops_per_token
    rate = training_time.interruptions_per_gpu_second(cluster.gpu, cluster.deployment)
    run = training_time.availability(plan, work, cluster.gpu_count, rate)
    goodput = float(run.goodput)
    step_count = None if plan.tokens is None else math.ceil(plan.tokens / (batch * plan.sequence_length))
    training = None if step_count is None else step_count * step / goodput
    band = error_band_fraction(cluster, scenario.model, calibration)
    low, high = (None, None) if training is None else training_time.range_seconds(training, band, run)
    return TimeEstimate(
        step_seconds=step,
        compute_seconds=float(evaluated.time.compute_seconds[index]) * slower,
        exposed_communication_seconds=float(evaluated.time.exposed_communication_seconds[index]) * slower,
        bubble_seconds=float(evaluated.time.bubble_seconds[index]) * slower,
        optimizer_seconds=float(evaluated.time.optimizer_seconds[index]) * slower,
        tokens_per_second=tokens_per_second,
        tokens_per_second_per_gpu=per_gpu,
        model_flops_per_second_per_gpu=achieved,
        mfu=achieved / rates.dense_peak_flops_per_second,
        hfu=per_gpu * counts.hardware_flops_per_token / rates.dense_peak_flops_per_second,
        step_count=step_count,
        training_seconds=training,
        training_seconds_low=low,
        training_seconds_high=high,
        goodput=goodput,
        error_band_fraction=band,
        interruptions_expected=None if training is None else training / float(run.mean_seconds_between_interruptions),
        checkpoint_interval_seconds=float(run.checkpoint_interval_seconds),
    )


def does_not_fit(scenario: Scenario, work: Workload, memory: MemoryEstimate, calibration: Calibration) -> Problem:
    """Why the job does not fit, and the smallest cluster of the same GPU on which some layout does."""
    cluster, plan = scenario.cluster, scenario.plan
    smallest = smallest_gpu_count_that_fits(
        scenario.model, plan, work, LayoutRequest(), cluster.gpu, cluster.gpus_per_server, calibration
    )
    return Problem(
        field="/layout" if is_fully_stated(scenario.layout) else "/cluster/gpu_count",
        code="does_not_fit",
        params={
            "needed_bytes": memory.total_bytes,
            "available_bytes": memory.available_bytes,
            "model_state_bytes": model_state_bytes(work, plan),
            "cluster_bytes": float(cluster.gpu_count) * cluster.gpu.memory_bytes,
            "gpu": cluster.gpu.name,
            "gpu_count": cluster.gpu_count,
            "smallest_gpu_count": smallest,
        },
    )


def assumptions(
    cluster: ClusterSpec, plan: TrainingPlan, layout: Layout, calibration: Calibration
) -> tuple[Assumption, ...]:
    """Constants that decide the answer, with origin and source."""
    fitted = "calibrated on the published runs listed on the validation page"
    family = cluster.gpu.architecture
    has_own = family in calibration.gemm_efficiency
    return (
        Assumption(
            name="gemm_efficiency",
            value=by_family(calibration.gemm_efficiency, family),
            unit="",
            origin=Origin.PUBLISHED_RUN if has_own else Origin.DERIVED,
            source=fitted if has_own else "no published run on this GPU family: mean of the others",
        ),
        Assumption(
            name="memory_efficiency",
            value=calibration.memory_efficiency,
            unit="",
            origin=Origin.PUBLISHED_RUN,
            source=fitted,
        ),
        Assumption(
            name="scale_out_efficiency",
            value=calibration.scale_out_efficiency,
            unit="",
            origin=Origin.PUBLISHED_RUN,
            source=fitted,
        ),
        Assumption(
            name="reserved_factor",
            value=float(reserved_factor(plan, layout.zero_stage, calibration)),
            unit="",
            origin=Origin.MEASURED,
            source="paired logs of allocated and reserved memory in the public evidence",
        ),
        reliability.interruption_rate(family, cluster.gpu.name),
        reliability.DEFAULT_RESTART,
    )
