"""What each pipeline stage and each rank holds: layers, micro-batches in flight, parameters and their shard groups.

Symbols: t p c x n v m as in `candidates`.

References
----------
.. [1] D. Narayanan et al., arXiv:2104.04473, section 2.2 (1F1B and its interleaved form).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from advisor.engine.candidates import Candidates, FloatArray, StageLayers, stage_layers
from advisor.engine.workload import Workload


@dataclass(frozen=True, slots=True)
class Stage:
    """What one pipeline stage holds: layers of both kinds, in-flight share, and whether it has embedding and head."""

    dense_layers: FloatArray
    moe_layers: FloatArray
    in_flight: FloatArray  # micro-batches whose activations are kept, per layer
    has_embedding: FloatArray
    has_head: FloatArray
    has_head_copy: FloatArray  # a head matrix of its own (untied, or tied but on another stage than the embedding)
    number: FloatArray
    exists: FloatArray


def stages(work: Workload, cand: Candidates) -> tuple[Stage, ...]:
    p, v, m = cand.pipeline_parallel, cand.virtual_stage_count, cand.micro_batch_count
    layers: StageLayers = stage_layers(work.layer_count, work.dense_layer_count, work.moe_share, p)
    one = np.ones_like(p)
    zero = np.zeros_like(p)
    single = (p == 1).astype(np.float64)

    def in_flight(stage: FloatArray) -> FloatArray:
        # 1F1B holds p - i micro-batches on stage i; interleaved 2(p - i - 1) + (v - 1)p + 1 chunks of 1/v each [1]
        chunks = np.where(v > 1, 2 * (p - stage - 1) + (v - 1) * p + 1, p - stage)
        return np.minimum(m * v, chunks) / v

    untied = 0.0 if work.tied_embeddings else 1.0
    first = Stage(layers.dense_first, layers.moe_first, in_flight(zero), one, single, single * untied, zero, one)
    middle = Stage(layers.dense_middle, layers.moe_middle, in_flight(one), zero, zero, zero, one, layers.has_middle)
    last = Stage(layers.dense_last, layers.moe_last, in_flight(p - 1), zero, one, one, p - 1, 1 - single)
    return first, middle, last


@dataclass(frozen=True, slots=True)
class PerRank:
    """Parameters of one layer on one rank, and the sizes of the groups that shard them."""

    dense_layer: FloatArray
    moe_layer: FloatArray
    experts: FloatArray
    expert_shard: FloatArray
    shard: FloatArray


def per_rank(work: Workload, cand: Candidates) -> PerRank:
    t, x = cand.tensor_parallel, cand.expert_parallel
    replicas = cand.data_parallel * cand.context_parallel
    expert_divisor = x * cand.expert_tensor_parallel
    norms = work.layer_norm_parameters
    return PerRank(
        dense_layer=(work.dense_layer_parameters - norms) / t + norms,
        moe_layer=(max(work.moe_layer_parameters - norms, 0.0)) / t + (norms if work.expert_count else 0.0),
        experts=work.expert_parameters / expert_divisor,
        # experts are replicated over the ranks that do not split them; never less than one
        expert_shard=np.where(x > 1, np.maximum(replicas * t / expert_divisor, 1.0), cand.shard_group_size),
        shard=cand.shard_group_size,
    )
