"""Contradictions between the fields of a scenario; every cross-field rule lives here once.

The engine knows codes and figures; the edge turns them into sentences.
"""

from __future__ import annotations

import math

from advisor.engine.machine import compute_precision, dense_peak
from advisor.engine.specs import (
    ClusterSpec,
    Layout,
    LayoutRequest,
    ModelSpec,
    Problem,
    Recipe,
    Recomputation,
    RecomputedPart,
    TrainingPlan,
)

_EXPERT_PARTS = (RecomputedPart.MOE, RecomputedPart.MOE_ACTIVATION)


def batch_moved(*, asked: int, used: int) -> Problem:
    """The batch in sequences is another one than asked for, so that the replicas share it evenly."""
    field = "/training/global_batch_size"
    return Problem(field=field, code="batch_moved", params={"asked": asked, "used": used}, severity="note")


def no_admissible_layout(gpu_count: int, global_batch_size: int) -> Problem:
    """Nothing that the request leaves open divides the GPUs and the batch."""
    params: dict[str, float | int | str | None] = {"gpu_count": gpu_count, "global_batch_size": global_batch_size}
    return Problem(field="/layout", code="no_admissible_layout", params=params)


def schedule_checks(model: ModelSpec, layout: Layout, micro_batch_count: int) -> list[Problem]:
    """What Megatron-LM's interleaved schedule asks of a layout (arXiv:2104.04473, section 2.2) and does not get.

    The layout is estimated as stated: published runs place embedding, head and extra layers by hand.
    """
    p, v = layout.pipeline_parallel, layout.virtual_stage_count
    if p == 1 or v == 1:
        return []
    checks = []
    chunks = p * v
    if model.layer_count % chunks and (model.layer_count + 2) % chunks:
        params: dict[str, float | int | str | None] = {"layer_count": model.layer_count, "chunk_count": chunks}
        field = "/layout/virtual_stage_count"
        checks.append(Problem(field=field, code="uneven_virtual_stages", params=params, severity="check"))
    if micro_batch_count % p:
        params = {"micro_batch_count": micro_batch_count, "pipeline_parallel": p}
        field = "/layout/virtual_stage_count"
        checks.append(Problem(field=field, code="uneven_interleaving", params=params, severity="check"))
    return checks


def _recomputed_part_problems(model: ModelSpec, plan: TrainingPlan, request: LayoutRequest) -> list[Problem]:
    """Parts that nothing recomputes: without selective recomputation, in other recipes, of layers the model lacks."""
    parts, field = plan.recomputed_parts, "/layout/recomputed_parts"
    if not parts:
        return []
    if request.recomputation is not Recomputation.SELECTIVE:
        return [Problem(field=field, code="parts_need_selective")]
    if plan.recipe is not Recipe.MEGATRON:
        return [Problem(field=field, code="parts_need_megatron", params={"recipe": plan.recipe.value})]
    has_dense_layers = not model.is_moe or model.dense_layer_count > 0 or model.moe_layer_interval > 1
    lacking = [
        part.value
        for part in parts
        if (part in _EXPERT_PARTS and not model.is_moe)
        or (part is RecomputedPart.MLP and not has_dense_layers)
        or (part is RecomputedPart.SHARED_EXPERTS and not model.shared_expert_count)
        or (part is RecomputedPart.MLA_UP_PROJECTION and not model.uses_mla)
    ]
    if not lacking:
        return []
    return [Problem(field=field, code="parts_not_in_model", params={"parts": ", ".join(lacking)})]


def find_problems(model: ModelSpec, plan: TrainingPlan, cluster: ClusterSpec, request: LayoutRequest) -> list[Problem]:
    """Contradictions between fields, before anything is computed. Every cross-field rule of a scenario lives here."""
    problems: list[Problem] = []
    if dense_peak(cluster.gpu, compute_precision(plan)) is None:
        offered = ", ".join(sorted(p.value for p in cluster.gpu.dense_peak_flops_per_second))
        problems.append(
            Problem(
                field="/training/precision",
                code="unsupported_precision",
                params={"gpu": cluster.gpu.name, "precision": plan.precision.value, "offered": offered},
            )
        )
    problems += _recomputed_part_problems(model, plan, request)
    t, p, c = request.tensor_parallel, request.pipeline_parallel, request.context_parallel
    v, x = request.virtual_stage_count, request.expert_parallel
    # experts are split over ranks of one stage
    expert_split = x * (request.expert_tensor_parallel or 1) if x and x > 1 else 1
    product = math.lcm((t or 1) * (p or 1) * (c or 1), (p or 1) * expert_split)
    if cluster.gpu_count and cluster.gpu_count % product:
        problems.append(
            Problem(
                field="/layout",
                code="layout_not_divisible",
                params={"gpu_count": cluster.gpu_count, "product": product},
            )
        )
    if t and model.head_count % t:
        problems.append(
            Problem(
                field="/layout/tensor_parallel",
                code="heads_not_divisible",
                params={"tensor_parallel": t, "head_count": model.head_count},
            )
        )
    if t and model.ffn_size and model.ffn_size % t:
        problems.append(
            Problem(
                field="/layout/tensor_parallel",
                code="ffn_not_divisible",
                params={"tensor_parallel": t, "ffn_size": model.ffn_size},
            )
        )
    replicas = cluster.gpu_count // ((t or 1) * (p or 1))
    shard = request.shard_group_size
    # with a group size left open, layouts whose replicas the shard groups divide are searched
    if shard and cluster.gpu_count and ((t and p and replicas % shard) or cluster.gpu_count % shard):
        problems.append(
            Problem(
                field="/layout/shard_group_size",
                code="shard_group_not_divisible",
                params={"shard_group_size": shard, "replicas": replicas},
            )
        )
    # chunks of an interleaved schedule may hold the embedding or the head alone (arXiv:2407.21783, section 3.3.2)
    stages = p * v if p and v and v > 1 else p
    if stages and stages > model.layer_count + (2 if stages != p else 0):
        problems.append(
            Problem(
                field="/layout/pipeline_parallel",
                code="more_stages_than_layers",
                params={"pipeline_parallel": stages, "layer_count": model.layer_count},
            )
        )
    if x and x > 1 and (not model.is_moe or model.expert_count % x):
        problems.append(
            Problem(
                field="/layout/expert_parallel",
                code="experts_not_divisible",
                params={"expert_parallel": x, "expert_count": model.expert_count},
            )
        )
    return problems
