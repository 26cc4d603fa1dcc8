"""Contradictions between the fields of a scenario; every cross-field rule lives here once.

The engine knows codes and figures; the edge turns them into sentences.
"""

from __future__ import annotations

from advisor.engine.machine import compute_precision, dense_peak
from advisor.engine.specs import ClusterSpec, LayoutRequest, ModelSpec, Problem, TrainingPlan


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
    t, p, c = request.tensor_parallel, request.pipeline_parallel, request.context_parallel
    product = (t or 1) * (p or 1) * (c or 1)
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
    if p and p > model.layer_count:
        problems.append(
            Problem(
                field="/layout/pipeline_parallel",
                code="more_stages_than_layers",
                params={"pipeline_parallel": p, "layer_count": model.layer_count},
            )
        )
    x = request.expert_parallel
    if x and x > 1 and (not model.is_moe or model.expert_count % x):
        problems.append(
            Problem(
                field="/layout/expert_parallel",
                code="experts_not_divisible",
                params={"expert_parallel": x, "expert_count": model.expert_count},
            )
        )
    return problems
