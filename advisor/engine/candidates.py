"""Candidate layouts as arrays, and how layers fall on pipeline stages.

Symbols in formulas: t, p, c, x, n, v, b, m = tensor, pipeline, context, expert, data parallel sizes, virtual stages,
micro-batch size and count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from advisor.engine.specs import RECOMPUTATION_CODES, Layout, Recomputation

FloatArray = NDArray[np.float64]
RECOMPUTATION_BY_CODE = {code: name for name, code in RECOMPUTATION_CODES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Layouts of one job; every field has the same shape (N,), in float64 (exact for counts below 2**53)."""

    tensor_parallel: FloatArray
    pipeline_parallel: FloatArray
    context_parallel: FloatArray
    expert_parallel: FloatArray
    expert_tensor_parallel: FloatArray  # ranks that split one expert: t without expert groups, else 1 or t
    data_parallel: FloatArray
    virtual_stage_count: FloatArray
    micro_batch_size: FloatArray
    micro_batch_count: FloatArray
    zero_stage: FloatArray
    recomputation: FloatArray  # RECOMPUTATION_CODES
    recomputed_fraction: FloatArray  # share of the layers that are recomputed in full; 0 unless `recomputation` is full
    uses_sequence_parallel: FloatArray  # 0 or 1
    shard_group_size: FloatArray  # ranks that share one sharded copy of the weights (HSDP), n * c when not HSDP

    def __len__(self) -> int:
        return int(self.tensor_parallel.shape[0])

    @property
    def gpu_count(self) -> FloatArray:
        return self.tensor_parallel * self.pipeline_parallel * self.context_parallel * self.data_parallel

    @property
    def global_batch_size(self) -> FloatArray:
        return self.data_parallel * self.micro_batch_size * self.micro_batch_count

    @property
    def expert_replicas(self) -> FloatArray:
        """Ranks that hold the same routed experts: those of one stage over what splits the experts, at least 1."""
        ranks = self.tensor_parallel * self.context_parallel * self.data_parallel
        return np.maximum(ranks / (self.expert_parallel * self.expert_tensor_parallel), 1.0)

    def take(self, index: NDArray[np.int64] | slice) -> Candidates:
        return Candidates(**{name: getattr(self, name)[index] for name in Candidates.__slots__})

    def layout(self, index: int) -> Layout:
        """Candidate `index` as a Layout."""
        shard = int(self.shard_group_size[index])
        replicas = int(self.data_parallel[index] * self.context_parallel[index])
        return Layout(
            tensor_parallel=int(self.tensor_parallel[index]),
            pipeline_parallel=int(self.pipeline_parallel[index]),
            data_parallel=int(self.data_parallel[index]),
            context_parallel=int(self.context_parallel[index]),
            expert_parallel=int(self.expert_parallel[index]),
            expert_tensor_parallel=int(self.expert_tensor_parallel[index]),
            virtual_stage_count=int(self.virtual_stage_count[index]),
            micro_batch_size=int(self.micro_batch_size[index]),
            zero_stage=int(self.zero_stage[index]),
            recomputation=RECOMPUTATION_BY_CODE[int(self.recomputation[index])],
            recomputed_layer_fraction=(
                float(self.recomputed_fraction[index])
                if self.recomputation[index] == RECOMPUTATION_CODES[Recomputation.FULL]
                else 1.0
            ),
            uses_sequence_parallel=bool(self.uses_sequence_parallel[index]),
            shard_group_size=shard if shard != replicas else None,
        )


def concatenate(parts: list[Candidates]) -> Candidates:
    return Candidates(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in Candidates.__slots__}
    )


def from_layout(layout: Layout, micro_batch_count: int) -> Candidates:
    """One layout as arrays of length 1: the scalar estimate is the array path with one candidate."""
    replicas = layout.data_parallel * layout.context_parallel
    values = {
        "tensor_parallel": layout.tensor_parallel,
        "pipeline_parallel": layout.pipeline_parallel,
        "context_parallel": layout.context_parallel,
        "expert_parallel": layout.expert_parallel,
        "expert_tensor_parallel": (
            layout.expert_tensor_parallel if layout.expert_parallel > 1 else layout.tensor_parallel
        ),
        "data_parallel": layout.data_parallel,
        "virtual_stage_count": layout.virtual_stage_count,
        "micro_batch_size": layout.micro_batch_size,
        "micro_batch_count": micro_batch_count,
        "zero_stage": layout.zero_stage,
        "recomputation": RECOMPUTATION_CODES[Recomputation(layout.recomputation)],
        "recomputed_fraction": (
            layout.recomputed_layer_fraction if layout.recomputation is Recomputation.FULL else 0.0
        ),
        "uses_sequence_parallel": float(layout.uses_sequence_parallel),
        "shard_group_size": layout.shard_group_size or replicas,
    }
    return Candidates(**{name: np.array([value], dtype=np.float64) for name, value in values.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class StageLayers:
    """Dense and mixture-of-experts layers on the first, the second and the last stage (shape (N,) each).

    The last and the first stage also carry head and embedding, so of an uneven split they get the smaller share: with
    L = q p + r, the stages with q layers are the last, the first, then the hindmost (Llama 3 405B, arXiv:2407.21783
    section 3.3.2: 126 layers on 16 stages, first and last one fewer). Layers per stage never grow from the second
    stage on, and 1F1B holds fewer micro-batches on later stages, so first, second and last cover the maximum.
    """

    dense_first: FloatArray
    dense_middle: FloatArray
    dense_last: FloatArray
    moe_first: FloatArray
    moe_middle: FloatArray
    moe_last: FloatArray
    has_middle: FloatArray


def stage_layer_counts(layer_count: int, stage_count: int) -> list[int]:
    """Layers on each of the stages, in order; they sum to `layer_count`. See StageLayers for the rule."""
    base, extra = divmod(layer_count, stage_count)
    order = [stage_count - 1, 0, *range(stage_count - 2, 0, -1)][:stage_count]
    short = set(order[: stage_count - extra])
    return [base + (0 if stage in short else 1) for stage in range(stage_count)]


def stage_layers(
    layer_count: int, dense_layer_count: int, moe_share: float, pipeline_parallel: FloatArray
) -> StageLayers:
    """Array form of stage_layer_counts for the stages that can be the worst.

    Parameters
    ----------
    layer_count, dense_layer_count : int
        All layers; leading layers that are dense in a mixture-of-experts model. [1]
    moe_share : float
        Share of the other layers that has experts: 0 dense, 1 all, 1/2 every second. [1]
    pipeline_parallel : ndarray, shape (N,)
        Stages. [1]
    """
    p = pipeline_parallel
    base = np.floor(layer_count / p)
    extra = layer_count - base * p
    single = p == 1
    first = base + ((extra > 0) & (p - extra <= 1) & ~single)
    last = np.where(single, 0.0, base)  # on one stage everything is "first"; the last stage's extras are added apart
    middle = np.where(p > 2, base + (extra > 0), 0.0)
    has_middle = (p > 2).astype(np.float64)
    if not np.any(moe_share):
        none = np.zeros_like(base)
        return StageLayers(
            dense_first=first,
            dense_middle=middle,
            dense_last=last,
            moe_first=none,
            moe_middle=none,
            moe_last=none,
            has_middle=has_middle,
        )
    leading_first = np.minimum(dense_layer_count, first)
    # on four or more stages some middle stage has no leading dense layer left, and it is the heavier one
    leading_middle = np.where(p == 3, np.minimum(np.maximum(dense_layer_count - first, 0), middle), 0.0)
    leading_last = np.minimum(np.maximum(dense_layer_count - (layer_count - last), 0), last)
    moe_first = (first - leading_first) * moe_share
    moe_middle = (middle - leading_middle) * moe_share
    moe_last = (last - leading_last) * moe_share
    return StageLayers(
        dense_first=first - moe_first,
        dense_middle=middle - moe_middle,
        dense_last=last - moe_last,
        moe_first=moe_first,
        moe_middle=moe_middle,
        moe_last=moe_last,
        has_middle=has_middle,
    )
