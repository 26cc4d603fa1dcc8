"""Enumerate the admissible layouts of a job on given cluster sizes, as arrays.

Admissible: tensor groups inside one scale-up domain that divide heads and FFN width; stages and virtual stages no more
than layers; context ranks only for sequences that leave each a useful length; expert groups that divide the experts;
data-parallel groups that the global batch feeds. No Python loop runs over candidates: axes are crossed with masks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from advisor.engine.candidates import Candidates, FloatArray
from advisor.engine.specs import (
    RECOMPUTATION_CODES,
    AttentionKernel,
    LayoutRequest,
    ModelSpec,
    Recipe,
    Recomputation,
    TrainingPlan,
)

MAX_TENSOR_PARALLEL = 64
MAX_PIPELINE_PARALLEL = 128
MAX_EXPERT_PARALLEL = 64  # the widest of published pretraining layouts, two rows apart; wider ones can be stated
MIN_TOKENS_PER_CONTEXT_RANK = 4096
MICRO_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)
ODD_FACTORS = (3, 5, 15)  # of a global batch; larger ones leave steps of a few micro-batches out, never a size
MAX_MICRO_BATCH_TOKENS = 131_072  # longer kernels gain nothing from there on
# the batch may move by this much so that it divides; more would change the training recipe
BATCH_TOLERANCE_FRACTION = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutAxes:
    """Values each axis may take, after the request's fixed ones."""

    tensor_parallel: FloatArray
    pipeline_parallel: FloatArray
    context_parallel: FloatArray
    expert_parallel: FloatArray
    virtual_stage_count: FloatArray
    micro_batch_size: FloatArray
    zero_stage: FloatArray
    recomputation: FloatArray
    recomputed_fraction: FloatArray  # one for each of `recomputation`


# shares of the layers that are recomputed where neither none nor all is asked for
PARTIAL_FRACTIONS = (0.25, 0.5, 0.75)


def _powers_of_two(limit: float) -> list[int]:
    return [2**k for k in range(int(np.log2(limit)) + 1)] if limit >= 1 else [1]


def _axis(fixed: int | None, values: list[int]) -> FloatArray:
    return np.array([fixed] if fixed is not None else values, dtype=np.float64)


def _micro_batch_sizes(plan: TrainingPlan) -> list[int]:
    """Powers of two, and multiples by odd factors of the batch: 480 sequences on 8 ranks are 2 x 30, not 15 x 4."""
    factors = [1] + [odd for odd in ODD_FACTORS if plan.global_batch_size % odd == 0]
    multiples = sorted({b * odd for b in MICRO_BATCH_SIZES for odd in factors if b * odd <= MICRO_BATCH_SIZES[-1]})
    sizes = [b for b in multiples if b * plan.sequence_length <= MAX_MICRO_BATCH_TOKENS]
    return [b for b in sizes if b <= plan.global_batch_size] or [1]


def zero_stages(plan: TrainingPlan) -> list[int]:
    """Sharding that the recipe's frameworks offer."""
    return {
        Recipe.MEGATRON: [1, 3],  # distributed optimizer, or Megatron-FSDP
        Recipe.FSDP: [3],
        Recipe.DEEPSPEED: [1, 2, 3],
        Recipe.PURE_BF16: [0, 3],
    }[plan.recipe]


def layout_axes(model: ModelSpec, plan: TrainingPlan, request: LayoutRequest, domain_size: int) -> LayoutAxes:
    """Axes for one kind of GPU; `domain_size` GPUs share the scale-up links."""
    heads_divide = [
        t
        for t in _powers_of_two(min(domain_size, MAX_TENSOR_PARALLEL))
        if model.head_count % t == 0 and (model.ffn_size % t == 0 or model.ffn_size == 0)
    ]
    stages = [p for p in range(1, min(model.layer_count, MAX_PIPELINE_PARALLEL) + 1) if _is_smooth(p)]
    experts = [x for x in range(1, min(model.expert_count, MAX_EXPERT_PARALLEL) + 1) if model.expert_count % x == 0]
    virtual = [v for v in (1, 2, 3, 4, 5, 6, 8, 10, 12) if v <= model.layer_count]
    kinds, shares = recomputation_choices(plan, request)
    return LayoutAxes(
        tensor_parallel=_axis(request.tensor_parallel, heads_divide),
        pipeline_parallel=_axis(request.pipeline_parallel, stages),
        context_parallel=_axis(
            request.context_parallel, _powers_of_two(max(plan.sequence_length / MIN_TOKENS_PER_CONTEXT_RANK, 1))
        ),
        expert_parallel=_axis(request.expert_parallel, experts or [1]),
        virtual_stage_count=_axis(request.virtual_stage_count, virtual),
        micro_batch_size=_axis(request.micro_batch_size, _micro_batch_sizes(plan)),
        zero_stage=_axis(request.zero_stage, zero_stages(plan)),
        recomputation=np.array(kinds, dtype=np.float64),
        recomputed_fraction=np.array(shares, dtype=np.float64),
    )


def recomputation_choices(plan: TrainingPlan, request: LayoutRequest) -> tuple[list[int], list[float]]:
    """Codes and shares of recomputed layers to try: what is asked for, else none, a part of the layers, and all."""
    if request.recomputation is not None:
        is_full = request.recomputation is Recomputation.FULL
        share = request.recomputed_layer_fraction if request.recomputed_layer_fraction is not None else 1.0
        return [RECOMPUTATION_CODES[request.recomputation]], [share if is_full else 0.0]
    full = RECOMPUTATION_CODES[Recomputation.FULL]
    kinds, shares = [0], [0.0]
    if plan.attention is AttentionKernel.EAGER:  # with flash attention there is next to nothing to drop selectively
        kinds, shares = [*kinds, RECOMPUTATION_CODES[Recomputation.SELECTIVE]], [*shares, 0.0]
    if request.recomputed_layer_fraction == 0:  # no layer as a whole
        return kinds, shares
    return [*kinds, *(full for _ in PARTIAL_FRACTIONS), full], [*shares, *PARTIAL_FRACTIONS, 1.0]


def _is_smooth(number: int) -> bool:
    """Only 2, 3, 5 and 7 as factors: what whole servers multiply to."""
    for factor in (2, 3, 5, 7):
        while number % factor == 0:
            number //= factor
    return number == 1


def micro_batch_count(
    global_batch_size: float | FloatArray, data_parallel: FloatArray, micro_batch_size: FloatArray
) -> FloatArray:
    """Accumulation steps: the batch rounded to the nearest positive multiple of n b, divided by it."""
    return np.maximum(np.rint(global_batch_size / (data_parallel * micro_batch_size)), 1.0)


def batch_for_gpus(global_batch_size: int, gpu_count: int) -> int:
    """The batch in sequences, moved so that the replicas of `gpu_count` GPUs can share it evenly.

    A multiple of as many replicas as the batch allows without moving by more than an eighth (59 servers of 8 share 944
    sequences instead of 1 024); where none is that near, the nearest.
    """
    best = global_batch_size
    least = math.inf
    for group_size in (2**power for power in range(gpu_count.bit_length())):
        if gpu_count % group_size:
            break
        replicas = gpu_count // group_size
        moved = max(1, round(global_batch_size / replicas)) * replicas
        distance = abs(moved - global_batch_size)
        if distance < least:
            best, least = moved, distance
        if distance * 8 <= global_batch_size:
            break
    return best


def enumerate_layouts(
    model: ModelSpec,
    plan: TrainingPlan,
    request: LayoutRequest,
    gpu_counts: NDArray[np.int64] | list[int],
    domain_size: int,
) -> Candidates:
    """All admissible candidates for the given cluster sizes, in one set of arrays (possibly empty)."""
    axes = layout_axes(model, plan, request, domain_size)
    sizes = np.asarray(gpu_counts, dtype=np.float64)
    # first cross the group sizes, dropping what does not multiply to the GPU count, then the cheap axes
    g, t, p, c = (
        axis.ravel()
        for axis in np.meshgrid(
            sizes, axes.tensor_parallel, axes.pipeline_parallel, axes.context_parallel, indexing="ij"
        )
    )
    n = g / (t * p * c)
    keep = (n >= 1) & (n == np.floor(n)) & (n <= plan.global_batch_size * (1 + BATCH_TOLERANCE_FRACTION))
    if request.tensor_parallel is None:  # in servers of ten, groups of four would straddle two
        keep &= (np.mod(domain_size, t) == 0) | (g <= domain_size)
    t, p, c, n = _kept(keep, t, p, c, n)
    t, p, c, n, b = _cross(axes.micro_batch_size, t, p, c, n)
    m = micro_batch_count(plan.global_batch_size, n, b)
    if request.micro_batch_size is None:
        moved = np.abs(n * b * m - plan.global_batch_size)
        keep = moved <= BATCH_TOLERANCE_FRACTION * plan.global_batch_size
        t, p, c, n, b, m = _kept(keep, t, p, c, n, b, m)
    t, p, c, n, b, m, v = _cross(axes.virtual_stage_count, t, p, c, n, b, m)
    keep = _schedules(model.layer_count, p, v, m, is_fixed=request.virtual_stage_count is not None)
    t, p, c, n, b, m, v = _kept(keep, t, p, c, n, b, m, v)
    t, p, c, n, b, m, v, x = _cross(axes.expert_parallel, t, p, c, n, b, m, v)
    ranks = t * c * n
    keep = (x <= ranks) & _divides(x, ranks)
    t, p, c, n, b, m, v, x = _kept(keep, t, p, c, n, b, m, v, x)
    splits = np.array([request.expert_tensor_parallel] if request.expert_tensor_parallel else [1.0, 0.0])
    t, p, c, n, b, m, v, x, y = _cross(splits if model.is_moe else np.array([0.0]), t, p, c, n, b, m, v, x)
    # 0 stands for the tensor group's own size, which is also what experts without an expert group are split by
    y = np.where((y == 0) | (x == 1), t, y)
    keep = _divides(x * y, t * c * n)
    if request.expert_tensor_parallel is None and model.is_moe:
        keep[1::2] &= y[1::2] != y[::2]  # t = 1: both ways of splitting experts are the same
    t, p, c, n, b, m, v, x, y = _kept(keep, t, p, c, n, b, m, v, x, y)
    t, p, c, n, b, m, v, x, y, z = _cross(axes.zero_stage, t, p, c, n, b, m, v, x, y)
    if request.zero_stage is None:
        # one rank shards nothing; full sharding beside a pipeline gathers weights for every micro-batch
        keep = ((z < 3) | (p == 1)) & ((n * c > 1) | (z == np.min(axes.zero_stage)))
        t, p, c, n, b, m, v, x, y, z = _kept(keep, t, p, c, n, b, m, v, x, y, z)
    choices = np.arange(axes.recomputation.size, dtype=np.float64)
    t, p, c, n, b, m, v, x, y, z, choice = _cross(choices, t, p, c, n, b, m, v, x, y, z)
    chosen = choice.astype(np.int64)
    r, share = axes.recomputation[chosen], axes.recomputed_fraction[chosen]
    if request.shard_group_size:  # shard groups that do not divide the replicas leave ranks without a copy
        keep = np.mod(n * c, request.shard_group_size) == 0
        t, p, c, n, b, m, v, x, y, z, r, share = _kept(keep, t, p, c, n, b, m, v, x, y, z, r, share)
    sequence = np.ones_like(t) if request.uses_sequence_parallel in (None, True) else np.zeros_like(t)
    shard = np.full_like(t, request.shard_group_size) if request.shard_group_size else n * c
    return Candidates(
        tensor_parallel=t,
        pipeline_parallel=p,
        context_parallel=c,
        expert_parallel=x,
        expert_tensor_parallel=y,
        data_parallel=n,
        virtual_stage_count=v,
        micro_batch_size=b,
        micro_batch_count=m,
        zero_stage=z,
        recomputation=r,
        recomputed_fraction=share,
        uses_sequence_parallel=np.where(t > 1, sequence, 0.0),
        shard_group_size=np.minimum(shard, n * c),
    )


def _cross(values: FloatArray, *axes: FloatArray) -> tuple[FloatArray, ...]:
    """Every row of `axes` with every one of `values`; the new axis comes last."""
    return (*(np.repeat(axis, values.size) for axis in axes), np.tile(values, axes[0].size))


def _kept(keep: NDArray[np.bool_], *axes: FloatArray) -> tuple[FloatArray, ...]:
    """Rows of `axes` that are kept."""
    if np.all(keep):
        return axes
    index = np.flatnonzero(keep)
    return tuple(axis[index] for axis in axes)


def _divides(divisor: FloatArray, number: float | FloatArray) -> NDArray[np.bool_]:
    """Whether whole numbers divide others, which is quicker asked of the quotient than of the remainder."""
    quotient = number / divisor
    return np.asarray(quotient == np.floor(quotient))


def _schedules(
    layer_count: int, pipeline: FloatArray, virtual: FloatArray, count: FloatArray, *, is_fixed: bool
) -> NDArray[np.bool_]:
    """No more stages than layers; interleaving needs equal chunks and whole rounds (arXiv:2104.04473)."""
    fits = pipeline * virtual <= layer_count
    if is_fixed:
        return np.asarray(pipeline <= layer_count)
    # the embedding and the head may stand for one layer each (Llama 3: first and last stage one layer fewer)
    chunks = pipeline * virtual
    is_even = _divides(chunks, layer_count) | _divides(chunks, layer_count + 2)
    interleaved = (pipeline > 1) & is_even & _divides(pipeline, count)
    return np.asarray(fits & ((virtual == 1) | interleaved))
