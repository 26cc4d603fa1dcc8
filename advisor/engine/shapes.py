"""From a bare parameter count to a plausible architecture: interpolate real models, then solve for the FFN width.

Hidden size and depth are interpolated in log-log between published models; a small grid around them is solved for the
FFN width that meets the count, and the admissible shape nearest to the interpolated one is taken. Head counts are
multiples of 8 (so that tensor parallel 8 divides them) and FFN widths multiples of 128 from about 1 B parameters on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np

from advisor.engine.parameters import active_parameter_count as counted_active
from advisor.engine.parameters import parameter_count as counted_total
from advisor.engine.specs import ModelSpec

MIN_PARAMETER_COUNT = 1e6
MAX_PARAMETER_COUNT = 1e14

# (parameters, layers, hidden size) of published dense models: GPT-2 124M, Qwen2.5-0.5B, Llama 3.2 1B and 3B,
# Llama 3 8B, Qwen2.5 14B, Llama 3 70B, GPT-3 175B, Llama 3.1 405B, and the 1 T shape of arXiv:2104.04473.
DENSE_POINTS = (
    (1.24e8, 12, 768),
    (4.94e8, 24, 896),
    (1.236e9, 16, 2048),
    (3.213e9, 28, 3072),
    (8.03e9, 32, 4096),
    (1.477e10, 48, 5120),
    (7.055e10, 80, 8192),
    (1.746e11, 96, 12288),
    (4.059e11, 126, 16384),
    (1.008e12, 128, 25600),
)
# (active parameters, layers, hidden size) of published mixtures: Qwen1.5-MoE, Qwen3-30B-A3B, gpt-oss-120b,
# Mixtral 8x7B, DeepSeek-V2, DeepSeek-V3, Mixtral 8x22B, Grok-1.
MOE_POINTS = (
    (2.7e9, 24, 2048),
    (3.3e9, 48, 2048),
    (5.1e9, 36, 2880),
    (1.29e10, 32, 4096),
    (2.1e10, 60, 5120),
    (3.7e10, 61, 7168),
    (3.9e10, 56, 6144),
    (8.6e10, 64, 6144),
)
# Experts of a layer and experts per token: the usual are preferred, others taken when nothing else meets the counts.
EXPERT_COUNTS = (4, 8, 16, 32, 64, 128, 160, 256, 384, 512, 1024)
EXPERTS_PER_TOKEN = (1, 2, 3, 4, 5, 6, 7, 8)
USUAL_EXPERTS_PER_TOKEN = (2, 4, 6, 8)

VOCABULARY_SIZES = (128256, 50304, 32000, 8192, 2048, 512, 128)
LARGE_MODEL = 8e8  # from here on heads of 128, multiples of 8
TIED_BELOW = 4e9  # published models below about 4 B share embedding and head
FFN_STEP = 128
SMALL_FFN_STEP = 8
EXPERT_FFN_STEP = 32  # experts of published mixtures are as narrow as 512
TYPICAL_FFN_RATIO = 3.5  # Llama 3
MAX_TOTAL_ERROR = 0.009
MAX_ACTIVE_ERROR = 0.03
KV_HEAD_COUNT = 8
LAYER_STEP_PENALTY = 0.1
UNUSUAL_EXPERTS_PENALTY = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """What is fixed before the grid is searched."""

    layers: float
    hidden: float
    head_size: int
    head_step: int
    ffn_step: int
    vocab_size: int
    tied: bool


def _interpolate(count: float, points: Sequence[tuple[float, int, int]]) -> tuple[float, float]:
    """(layers, hidden size) at a count: linear in the logs, carried on beyond the table at its mean slope."""
    x = np.log([point[0] for point in points])
    target = float(np.log(count))
    values = []
    for column in (1, 2):
        y = np.log([point[column] for point in points])
        inside = float(np.interp(target, x, y))
        slope = float((y[-1] - y[0]) / (x[-1] - x[0]))
        inside += slope * (min(0.0, target - float(x[0])) + max(0.0, target - float(x[-1])))
        values.append(float(np.exp(inside)))
    return values[0], values[1]


def _frame(count: float, points: Sequence[tuple[float, int, int]], total: float) -> _Frame:
    layers, hidden = _interpolate(count, points)
    is_large = total >= LARGE_MODEL
    head_size = 128 if is_large else 64 if total >= 2e7 else 16
    tied = total < TIED_BELOW
    budget = 0.3 * count  # embedding and head may take so much of the model
    copies = 1 if tied else 2
    vocab_size = next((size for size in VOCABULARY_SIZES if size * hidden * copies <= budget), VOCABULARY_SIZES[-1])
    return _Frame(
        layers=layers,
        hidden=hidden,
        head_size=head_size,
        head_step=8 if is_large else 1,
        ffn_step=FFN_STEP if is_large else SMALL_FFN_STEP,
        vocab_size=vocab_size,
        tied=tied,
    )


def _grid(frame: _Frame) -> tuple[np.ndarray, np.ndarray]:
    """Layers and heads around the interpolated shape, as flat arrays of the same length."""
    middle_heads = max(1, round(frame.hidden / frame.head_size / frame.head_step))
    low_heads, high_heads = max(1, int(middle_heads * 0.5)), int(middle_heads * 1.8) + 2
    heads = np.arange(low_heads, high_heads + 1, dtype=np.float64) * frame.head_step
    low_layers, high_layers = max(1, int(frame.layers * 0.5)), int(frame.layers * 1.8) + 2
    layers = np.arange(low_layers, high_layers + 1, dtype=np.float64)
    grid_layers, grid_heads = np.meshgrid(layers, heads, indexing="ij")
    return grid_layers.ravel(), grid_heads.ravel()


def _kv_heads(heads: np.ndarray) -> np.ndarray:
    return np.where(heads >= 2 * KV_HEAD_COUNT, float(KV_HEAD_COUNT), heads)


def _fixed_parameters(layers: np.ndarray, heads: np.ndarray, frame: _Frame) -> np.ndarray:
    """Everything but the FFN: attention, norms, embedding, head."""
    hidden = heads * frame.head_size
    attention = 2 * hidden * hidden + 2 * hidden * _kv_heads(heads) * frame.head_size
    copies = 1 if frame.tied else 2
    result: np.ndarray = layers * (attention + 2 * hidden) + copies * frame.vocab_size * hidden + hidden
    return result


def _shape_penalty(layers: np.ndarray, heads: np.ndarray, frame: _Frame) -> np.ndarray:
    hidden = heads * frame.head_size
    penalty = np.abs(np.log(layers / frame.layers)) + np.abs(np.log(hidden / frame.hidden))
    # pipelines divide layers best in fours
    result: np.ndarray = penalty + np.where((layers > 8) & (layers % 4 != 0), LAYER_STEP_PENALTY, 0.0)
    return result


def _rounded(width: np.ndarray, step: int) -> np.ndarray:
    result: np.ndarray = np.maximum(step, np.round(width / step) * step)
    return result


def _dense(total: float) -> ModelSpec:
    frame = _frame(total, DENSE_POINTS, total)
    layers, heads = _grid(frame)
    hidden = heads * frame.head_size
    fixed = _fixed_parameters(layers, heads, frame)
    ffn = _rounded((total - fixed) / (layers * 3 * hidden), frame.ffn_step)
    error = np.abs((fixed + layers * 3 * hidden * ffn) / total - 1)
    penalty = _shape_penalty(layers, heads, frame) + np.abs(np.log(ffn / (TYPICAL_FFN_RATIO * hidden))) + 10 * error
    penalty = np.where(error <= MAX_TOTAL_ERROR, penalty, penalty + 1e3 + 1e3 * error)
    best = int(np.argmin(penalty))
    return ModelSpec(
        name="inferred",
        layer_count=int(layers[best]),
        hidden_size=int(hidden[best]),
        ffn_size=int(ffn[best]),
        head_count=int(heads[best]),
        kv_head_count=int(_kv_heads(heads)[best]),
        head_size=frame.head_size,
        vocab_size=frame.vocab_size,
        tied_embeddings=frame.tied,
        source="inferred from published models by log interpolation",
    )


def _mixture(total: float, active: float) -> ModelSpec:
    frame = replace(_frame(active, MOE_POINTS, total), ffn_step=EXPERT_FFN_STEP)
    layers, heads = _grid(frame)
    hidden = heads * frame.head_size
    base = _shape_penalty(layers, heads, frame)
    best: tuple[float, int, int, int, int] | None = None
    for expert_count, per_token in product(EXPERT_COUNTS, EXPERTS_PER_TOKEN):
        if per_token >= expert_count:
            continue
        fixed = _fixed_parameters(layers, heads, frame) + layers * hidden * expert_count
        ffn = _rounded((total - fixed) / (layers * expert_count * 3 * hidden), frame.ffn_step)
        expert = layers * 3 * hidden * ffn
        total_error = np.abs((fixed + expert_count * expert) / total - 1)
        active_error = np.abs((fixed + per_token * expert) / active - 1)
        # experts together are usually 1 to 4 times as wide as the model, as a dense FFN would be
        width = np.abs(np.log(per_token * ffn / (2.5 * hidden)))
        penalty = base + 0.5 * width + 10 * total_error + 10 * active_error
        penalty = penalty + (0.0 if per_token in USUAL_EXPERTS_PER_TOKEN else UNUSUAL_EXPERTS_PENALTY)
        excess = np.maximum(0.0, total_error - MAX_TOTAL_ERROR) + np.maximum(0.0, active_error - MAX_ACTIVE_ERROR)
        penalty = penalty + np.where(excess > 0, 1e3 + 1e3 * excess, 0.0)
        index = int(np.argmin(penalty))
        if best is None or float(penalty[index]) < best[0]:
            best = (float(penalty[index]), index, expert_count, per_token, int(ffn[index]))
    if best is None:  # the table of choices is never empty
        raise ValueError("no expert count to choose from.")
    _, index, expert_count, per_token, ffn_size = best
    return ModelSpec(
        name="inferred",
        layer_count=int(layers[index]),
        hidden_size=int(hidden[index]),
        ffn_size=ffn_size,
        head_count=int(heads[index]),
        kv_head_count=int(_kv_heads(heads)[index]),
        head_size=frame.head_size,
        vocab_size=frame.vocab_size,
        tied_embeddings=frame.tied,
        expert_count=expert_count,
        experts_per_token=per_token,
        expert_ffn_size=ffn_size,
        source="inferred from published mixtures by log interpolation",
    )


def _check(total: float, active: float | None) -> None:
    for name, value in (("parameter_count", total), ("active_parameter_count", active)):
        if value is None:
            continue
        if not MIN_PARAMETER_COUNT <= value <= MAX_PARAMETER_COUNT:  # NaN fails too
            raise ValueError(
                f"{name} is {value}; it must lie between {MIN_PARAMETER_COUNT:g} and {MAX_PARAMETER_COUNT:g}."
            )
    if active is not None and active > total:
        raise ValueError(f"active_parameter_count {active:g} exceeds parameter_count {total:g}.")


@lru_cache(maxsize=1024)
def model_from_parameter_count(parameter_count: float, active_parameter_count: float | None = None) -> ModelSpec:
    """A plausible architecture with that many parameters.

    Parameters
    ----------
    parameter_count : float
        All parameters. [1]
    active_parameter_count : float, optional
        Parameters used per token; clearly fewer than all makes a mixture of experts. [1]

    Returns
    -------
    ModelSpec
        Counted total within 1 % of the request, active within 3 %, wherever the ratio allows it.

    Raises
    ------
    ValueError
        If a count is out of bounds, or more is active than there is.

    References
    ----------
    Shapes of the tables: config.json of the named models and arXiv:2104.04473, table 1.
    """
    _check(parameter_count, active_parameter_count)
    if active_parameter_count is None or active_parameter_count >= 0.97 * parameter_count:
        return _dense(parameter_count)
    return _mixture(parameter_count, active_parameter_count)


def total_error_fraction(model: ModelSpec, parameter_count: float) -> float:
    """How far the model's own count lies from a requested one, as a fraction of it."""
    return counted_total(model) / parameter_count - 1


def active_error_fraction(model: ModelSpec, active_parameter_count: float) -> float:
    """How far the model's own active count lies from a requested one, as a fraction of it."""
    return counted_active(model) / active_parameter_count - 1
