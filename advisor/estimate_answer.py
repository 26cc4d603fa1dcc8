"""An engine Estimate in the contract's shape."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields

from advisor.answers import (
    ClusterAnswer,
    EstimateAnswer,
    FlopsAnswer,
    LayoutAnswer,
    MemoryAnswer,
    Params,
    ProblemAnswer,
    TimeAnswer,
)
from advisor.engine import ENGINE_VERSION
from advisor.engine.machine import compute_precision
from advisor.engine.specs import (
    Assumption,
    DeploymentProfile,
    Estimate,
    ModelSpec,
    Problem,
    TrainingPlan,
)
from advisor.engine.units import BITS_PER_BYTE, GIGA
from advisor.parts import GpuPart
from advisor.problem_words import assumption_answers, problem_answer
from advisor.state_words import cluster_memory_text, states_text


def finite(value: float | None) -> float | None:
    """A number that JSON can carry; what is not finite is unknown, never 0."""
    return value if value is not None and math.isfinite(value) else None


def model_answer(model: ModelSpec, parameter_count: float, active_parameter_count: float) -> Params:
    answer: Params = {
        "parameter_count": int(parameter_count),
        "active_parameter_count": int(active_parameter_count),
    }
    for item in fields(model):
        value = getattr(model, item.name)
        answer[item.name] = value.value if item.name == "kind" else value
    return answer


def training_answer(plan: TrainingPlan, tokens_origin: str) -> Params:
    return {
        "tokens": plan.tokens,
        "tokens_origin": tokens_origin,
        "method": plan.method.value,
        "precision": plan.precision.value,
        "optimizer": plan.optimizer.value,
        "recipe": plan.recipe.value,
        "attention": plan.attention.value,
        "sequence_length": plan.sequence_length,
        "offload": plan.offload,
        "memory_headroom_fraction": plan.memory_headroom_fraction,
        "lora_rank": plan.lora.rank if plan.lora else None,
        "asked_global_batch_size": plan.global_batch_size,
    }


def deployment_answer(profile: DeploymentProfile) -> Params:
    return {
        "profile": profile.code,
        "throughput_loss": profile.throughput_loss_fraction,
        "scale_up_bandwidth_factor": profile.scale_up_bandwidth_factor,
        "scale_out_bandwidth_factor": profile.scale_out_bandwidth_factor,
        "latency_factor": profile.latency_factor,
        "interruption_rate_factor": profile.interruption_rate_factor,
    }


def estimate_answer(
    estimate: Estimate,
    *,
    gpu: GpuPart,
    revision: str,
    tokens_origin: str,
    assumptions: Iterable[Assumption] = (),
    problems: Iterable[ProblemAnswer] = (),
) -> EstimateAnswer:
    """The contract's section 3. `assumptions` and `problems` come before the engine's own."""
    scenario = estimate.scenario
    return EstimateAnswer(
        model=model_answer(scenario.model, estimate.parameter_count, estimate.active_parameter_count),
        training=training_answer(scenario.plan, tokens_origin),
        cluster=_cluster_answer(estimate, gpu),
        layout=_layout_answer(estimate),
        memory_per_gpu=_memory_answer(estimate),
        flops=FlopsAnswer(
            model_flops_per_token=estimate.flops.model_flops_per_token,
            hardware_flops_per_token=estimate.flops.hardware_flops_per_token,
            total_model_flops=estimate.flops.total_model_flops,
            six_n_d_flops=estimate.flops.six_n_d_flops,
        ),
        time=_time_answer(estimate),
        problems=[*problems, *(problem_answer(problem, _words(estimate, problem)) for problem in estimate.problems)],
        assumptions=assumption_answers((*assumptions, *estimate.assumptions)),
        evaluated_layout_count=estimate.evaluated_layout_count,
        engine_version=ENGINE_VERSION,
        catalog_revision=revision,
    )


def _words(estimate: Estimate, problem: Problem) -> dict[str, str]:
    """States and memory of a job that does not fit, as people quote them."""
    states = problem.params.get("model_state_bytes")
    if problem.code != "does_not_fit" or not isinstance(states, (int, float)):
        return {}
    scenario = estimate.scenario
    return {
        "states": states_text(scenario.plan, estimate.parameter_count, float(states)),
        "memory": cluster_memory_text(scenario.cluster.gpu, scenario.cluster.gpu_count),
    }


def _cluster_answer(estimate: Estimate, gpu: GpuPart) -> ClusterAnswer:
    cluster = estimate.scenario.cluster
    precision = compute_precision(estimate.scenario.plan)
    rate = cluster.fabric.scale_out_bytes_per_second_per_gpu
    return ClusterAnswer(
        gpu=gpu.sku,
        gpu_name=gpu.name,
        gpu_count=cluster.gpu_count,
        gpus_per_server=cluster.gpus_per_server,
        server_count=math.ceil(cluster.gpu_count / cluster.gpus_per_server),
        scale_out_bytes_per_second_per_gpu=rate,
        scale_out_gbit_per_second_per_gpu=rate * BITS_PER_BYTE / GIGA,
        scale_out_kind=cluster.fabric.kind,
        dense_peak_flops_per_second_per_gpu=gpu.spec.dense_peak_flops_per_second.get(precision),
        sparse_peak_flops_per_second_per_gpu=gpu.sparse_peak_flops_per_second.get(precision),
        deployment=deployment_answer(cluster.deployment),
    )


def _layout_answer(estimate: Estimate) -> LayoutAnswer:
    layout = estimate.layout
    return LayoutAnswer(
        tensor_parallel=layout.tensor_parallel,
        pipeline_parallel=layout.pipeline_parallel,
        data_parallel=layout.data_parallel,
        context_parallel=layout.context_parallel,
        expert_parallel=layout.expert_parallel,
        expert_tensor_parallel=layout.expert_tensor_parallel,
        virtual_stage_count=layout.virtual_stage_count,
        micro_batch_size=layout.micro_batch_size,
        micro_batch_count=estimate.micro_batch_count,
        zero_stage=layout.zero_stage,
        recomputation=layout.recomputation.value,
        recomputed_layer_fraction=layout.recomputed_layer_fraction,
        recomputed_parts=[part.value for part in estimate.scenario.plan.recomputed_parts],
        uses_sequence_parallel=layout.uses_sequence_parallel,
        shard_group_size=layout.shard_group_size,
        gpu_count=layout.gpu_count,
        global_batch_size=estimate.global_batch_size,
        global_batch_tokens=estimate.global_batch_size * estimate.scenario.plan.sequence_length,
    )


def _memory_answer(estimate: Estimate) -> MemoryAnswer:
    memory = estimate.memory
    return MemoryAnswer(
        weight_bytes=memory.weight_bytes,
        gradient_bytes=memory.gradient_bytes,
        optimizer_bytes=memory.optimizer_bytes,
        activation_bytes=memory.activation_bytes,
        logits_bytes=memory.logits_bytes,
        buffer_bytes=memory.buffer_bytes,
        allocated_bytes=memory.allocated_bytes,
        reserved_bytes=memory.reserved_bytes,
        overhead_bytes=memory.overhead_bytes,
        total_bytes=memory.total_bytes,
        available_bytes=memory.available_bytes,
        fits=memory.fits,
        pipeline_stage=memory.pipeline_stage,
    )


def _time_answer(estimate: Estimate) -> TimeAnswer:
    """Times of the layout; a run that does not fit has no training time."""
    time = estimate.time
    runs = estimate.memory.fits
    return TimeAnswer(
        step_seconds=finite(time.step_seconds),
        compute_seconds=finite(time.compute_seconds),
        exposed_communication_seconds=finite(time.exposed_communication_seconds),
        bubble_seconds=finite(time.bubble_seconds),
        optimizer_seconds=finite(time.optimizer_seconds),
        tokens_per_second=finite(time.tokens_per_second),
        tokens_per_second_per_gpu=finite(time.tokens_per_second_per_gpu),
        model_flops_per_second_per_gpu=finite(time.model_flops_per_second_per_gpu),
        mfu=finite(time.mfu),
        hfu=finite(time.hfu),
        step_count=time.step_count,
        training_seconds=finite(time.training_seconds) if runs else None,
        goodput=finite(time.goodput),
        training_seconds_low=finite(time.training_seconds_low) if runs else None,
        training_seconds_high=finite(time.training_seconds_high) if runs else None,
        error_band_fraction=finite(time.error_band_fraction),
        interruptions_expected=finite(time.interruptions_expected) if runs else None,
        checkpoint_interval_seconds=finite(time.checkpoint_interval_seconds),
    )
