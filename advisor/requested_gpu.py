"""The GPU that a request names: the real part, the nearest one with a note, or a refusal."""

from __future__ import annotations

from advisor.answers import ProblemAnswer
from advisor.check_words import check_message
from advisor.engine.specs import Problem
from advisor.input_types import InputError, InputFault
from advisor.part_facts import find_gpu
from advisor.parts import GpuPart, Parts
from advisor.problem_words import problem_message
from advisor.source_words import source_text

DEFAULT_GPU_SKU = "nvidia-h100-sxm5-80gb"


def refused(problems: tuple[Problem, ...]) -> InputError:
    """A scenario that contradicts itself, as faults of the request."""
    return InputError(
        tuple(
            InputFault(
                pointer=problem.field,
                code=problem.code,
                params=dict(problem.params),
                message=problem_message(problem.code, problem.params),
            )
            for problem in problems
        )
    )


def requested_gpu(parts: Parts, text: str | None, pointer: str) -> tuple[GpuPart, list[ProblemAnswer]]:
    """The GPU asked for; a wrong name is answered with the nearest real part and a note that says so.

    Raises
    ------
    InputError
        Where nothing resembles the name, or the part cannot be sized.
    """
    gpu, check = find_gpu(parts, text or DEFAULT_GPU_SKU)
    if gpu is None:
        params = {"gpu": text or DEFAULT_GPU_SKU}
        raise refused((Problem(field=pointer, code="unknown_gpu", params=dict(params)),))
    if not gpu.is_sizeable:
        params = {"gpu": gpu.name, "reason": source_text(gpu.not_sizeable_reason)}
        raise refused((Problem(field=pointer, code="gpu_not_sizeable", params=dict(params)),))
    if check is None:
        return gpu, []
    figures: dict[str, float | int | str | bool | None] = {"asked": text, "nearest": gpu.sku}
    note = ProblemAnswer(
        field=pointer,
        code="nearest_gpu_used",
        message=check_message(check, parts),
        severity="check",
        params=figures,
    )
    return gpu, [note]
