"""A customer's pilot: compared with its own prediction, it rescales the cluster's; what cannot be compared is told."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from advisor.answers import ProblemAnswer
from advisor.calibration_data import current_calibration
from advisor.engine.estimate import ScenarioError, estimate
from advisor.engine.specs import (
    Assumption,
    ClusterSpec,
    DeploymentProfile,
    Estimate,
    HardwareOption,
    LayoutRequest,
    Origin,
    Pilot,
    Problem,
    Scenario,
)
from advisor.figures import format_percent
from advisor.input_types import CheckedRecommendation, PilotChoice
from advisor.parts import Parts
from advisor.problem_words import problem_answer
from advisor.requested_gpu import requested_gpu
from advisor.training_plan import Job

POINTER = "/training/pilot/measured_tokens_per_second_per_gpu"
# a prediction is rarely wrong by more than this; beyond it the pilot was another job
PLAUSIBLE_FACTOR = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The pilot beside its prediction; None where there is none to compare with, and a problem says why."""

    pilot: Pilot | None
    problems: tuple[ProblemAnswer, ...] = ()


def compared_pilot(
    choice: PilotChoice, job: Job, cluster: ClusterSpec, layout: LayoutRequest | None = None
) -> Compared:
    """The pilot on the cluster's kind of GPU, in the layout of the request where that divides the pilot's GPUs."""
    count = choice.gpu_count or cluster.gpu_count or cluster.gpus_per_server
    found = _predicted(job, replace(cluster, gpu_count=count, pilot=None), layout or LayoutRequest())
    if found is None or not found.memory.fits:
        problem = Problem(
            field=POINTER,
            code="pilot_does_not_fit",
            params={"gpu_count": count, "gpu": cluster.gpu.name},
            severity="check",
        )
        return Compared(pilot=None, problems=(problem_answer(problem),))
    pilot = Pilot(
        measured_tokens_per_second_per_gpu=choice.tokens_per_second_per_gpu,
        predicted_tokens_per_second_per_gpu=found.time.tokens_per_second_per_gpu,
        gpu_count=count,
    )
    if 1 / PLAUSIBLE_FACTOR <= pilot.rate_factor <= PLAUSIBLE_FACTOR:
        return Compared(pilot=pilot)
    params: dict[str, float | int | str | None] = {
        "measured": pilot.measured_tokens_per_second_per_gpu,
        "predicted": pilot.predicted_tokens_per_second_per_gpu,
    }
    problem = Problem(field=POINTER, code="pilot_far_from_prediction", params=params, severity="check")
    return Compared(pilot=pilot, problems=(problem_answer(problem),))


def _predicted(job: Job, cluster: ClusterSpec, layout: LayoutRequest) -> Estimate | None:
    for request in (layout, LayoutRequest()):
        try:
            scenario = Scenario(model=job.model, plan=job.plan, cluster=cluster, layout=request)
            return estimate(scenario, calibration=current_calibration())
        except ScenarioError:
            continue
    return None


def pilot_assumption(cluster: ClusterSpec) -> Assumption | None:
    """What the pilot did to the answer; None where it plays no part."""
    pilot = cluster.pilot
    if pilot is None:
        return None
    text = _("your pilot on %(count)s × %(gpu)s: %(share)s of the predicted rate, applied to this GPU at every size")
    return Assumption(
        name="measured_tokens_per_second_per_gpu",
        value=pilot.measured_tokens_per_second_per_gpu,
        unit="tokens/s",
        origin=Origin.MEASURED,
        source=text % {"count": pilot.gpu_count, "gpu": cluster.gpu.name, "share": format_percent(pilot.rate_factor)},
    )


def with_pilot(
    parts: Parts,
    checked: CheckedRecommendation,
    job: Job,
    deployment: DeploymentProfile,
    options: tuple[HardwareOption, ...],
) -> tuple[tuple[HardwareOption, ...], list[ProblemAnswer]]:
    """The options with the pilot on its own GPU; a note says that the others are predicted without it."""
    choice = checked.pilot
    if choice is None:
        return options, []
    gpu, problems = requested_gpu(parts, choice.gpu or checked.gpus[0], "/training/pilot/measured_gpu")
    told = list(problems)
    found: list[HardwareOption] = []
    for option in options:
        if option.gpu.sku != gpu.sku:
            found.append(option)
            continue
        cluster = ClusterSpec(
            gpu=option.gpu,
            gpu_count=0,
            gpus_per_server=option.gpus_per_server,
            fabric=option.fabric,
            deployment=deployment,
        )
        compared = compared_pilot(choice, job, cluster)
        told += compared.problems
        found.append(replace(option, pilot=compared.pilot))
    if any(option.gpu.sku != gpu.sku for option in options) or not options:
        note = Problem(field=POINTER, code="pilot_other_gpu", params={"gpu": gpu.name}, severity="note")
        told.append(problem_answer(note))
    return tuple(found), told
