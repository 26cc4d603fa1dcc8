"""What page, API, commands and quotes call: an estimate of a stated cluster, and the search for one.

Both take a checked request and give the contract's dict in the active language, cached by request, engine version,
catalogue revision and language: the same question gives the same numbers at every door.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import date
from typing import cast

from django.core.cache import cache
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from advisor.answers import EstimateAnswer, ProblemAnswer, RecommendationAnswer
from advisor.book_rows import load_books
from advisor.calibration_data import current_calibration
from advisor.engine import ENGINE_VERSION
from advisor.engine.estimate import ScenarioError, estimate
from advisor.engine.specs import (
    Assumption,
    ClusterSpec,
    FabricSpec,
    Origin,
    Problem,
    Scenario,
)
from advisor.engine.units import BITS_PER_BYTE, GIGA
from advisor.estimate_answer import estimate_answer
from advisor.hardware import fabric_spec, load_parts, spec_in_server
from advisor.input_types import CheckedEstimate, CheckedRecommendation
from advisor.nearest_run import nearest_run
from advisor.parts import GpuPart, Parts
from advisor.pilot_answer import POINTER, compared_pilot, pilot_assumption
from advisor.problem_words import problem_answer
from advisor.programme import programme_answer
from advisor.recommendation import recommendation
from advisor.requested_gpu import refused, requested_gpu
from advisor.sensitivity_answer import sensitivity_answer
from advisor.server_build import STANDARD_GPUS_PER_SERVER, gpus_in, servers_for
from advisor.training_plan import Job, job_from

CACHE_SECONDS = 24 * 3600
DEFAULT_SCALE_OUT_GBIT = 400.0


def cache_key(kind: str, checked: object, *extra: str) -> str:
    """Canonical request, engine version, catalogue revision and language in one short key."""
    text = "|".join((kind, repr(checked), ENGINE_VERSION, get_language() or "", *extra))
    return f"advisor:{kind}:{hashlib.sha256(text.encode()).hexdigest()}"


def scenario_estimate(*, checked: CheckedEstimate, is_kept: bool = True) -> EstimateAnswer:
    """One job on one stated cluster (contract, section 3); not kept where the caller keeps what it makes of it.

    Raises
    ------
    InputError
        For an unknown preset or GPU, a hostile config, or a layout that contradicts itself.
    """
    parts = load_parts()
    if not is_kept:
        return _estimate(parts, checked)
    key = cache_key("estimate", checked, parts.revision)
    cached = cache.get(key)
    if cached is not None:
        return cast(EstimateAnswer, cached)
    answer = _estimate(parts, checked)
    cache.set(key, answer, CACHE_SECONDS)
    return answer


def _estimate(parts: Parts, checked: CheckedEstimate) -> EstimateAnswer:
    job = job_from(checked, revision=parts.revision)
    gpu, problems = requested_gpu(parts, checked.gpu, "/cluster/gpu")
    assumed: list[Assumption] = list(job.assumptions)
    if checked.gpu is None:
        assumed.append(Assumption(name="gpu", value=gpu.sku, unit="", origin=Origin.DERIVED, source="no GPU was named"))
    gpus_per_server = checked.gpus_per_server or default_gpus_per_server(parts, gpu)
    fabric, fabric_assumption = _fabric(parts, gpu, checked)
    if fabric_assumption is not None:
        assumed.append(fabric_assumption)
    cluster = ClusterSpec(
        gpu=spec_in_server(gpu, gpus_per_server),
        gpu_count=checked.gpu_count or 0,
        gpus_per_server=gpus_per_server,
        fabric=fabric,
        deployment=checked.deployment,
    )
    told = list(problems)
    if checked.pilot is not None:
        cluster, more = _with_pilot(parts, checked, job, cluster)
        told += more
        assumed += [item] if (item := pilot_assumption(cluster)) is not None else []
    scenario = Scenario(model=job.model, plan=job.plan, cluster=cluster, layout=checked.layout)
    try:
        found = estimate(scenario, calibration=current_calibration())
    except ScenarioError as error:
        raise refused(error.problems) from error
    answer = estimate_answer(
        found,
        gpu=gpu,
        revision=parts.revision,
        tokens_origin=checked.tokens_origin,
        assumptions=assumed,
        problems=[*(problem_answer(problem) for problem in checked.problems), *told],
    )
    answer["nearest_run"] = nearest_run(found)
    if checked.programme_factor > 1:
        answer["programme"] = programme_answer(
            checked.programme_factor, answer["time"], found.scenario.cluster.gpu_count
        )
    if checked.includes_sensitivity:
        answer["sensitivity"] = sensitivity_answer(found)
    return answer


def _with_pilot(
    parts: Parts, checked: CheckedEstimate, job: Job, cluster: ClusterSpec
) -> tuple[ClusterSpec, list[ProblemAnswer]]:
    """The cluster rescaled by the customer's pilot, when that ran on the same GPU."""
    assert checked.pilot is not None  # noqa: S101  (asked before)
    if checked.pilot.gpu is not None:
        measured, told = requested_gpu(parts, checked.pilot.gpu, "/training/pilot/measured_gpu")
        if measured.sku != cluster.gpu.sku:
            note = Problem(field=POINTER, code="pilot_other_gpu", params={"gpu": measured.name}, severity="note")
            return cluster, [*told, problem_answer(note)]
    compared = compared_pilot(checked.pilot, job, cluster, checked.layout)
    return replace(cluster, pilot=compared.pilot), list(compared.problems)


def default_gpus_per_server(parts: Parts, gpu: GpuPart) -> int:
    """Of the first orderable server that takes the GPU, else its board, else eight."""
    servers = servers_for(parts, gpu)
    if servers:
        return gpus_in(servers[0], gpu)
    return gpu.gpus_per_baseboard or STANDARD_GPUS_PER_SERVER


def _fabric(parts: Parts, gpu: GpuPart, checked: CheckedEstimate) -> tuple[FabricSpec, Assumption | None]:
    """The network as stated, else what the NICs of an orderable server give each GPU."""
    given = checked.scale_out_bytes_per_second_per_gpu
    if given is not None:
        return FabricSpec(scale_out_bytes_per_second_per_gpu=given), None
    servers = servers_for(parts, gpu)
    if servers:
        fabric = fabric_spec(parts, gpu, servers[0])
        source = _("NICs of %(server)s in the catalogue") % {"server": servers[0].name}
    else:
        fabric = FabricSpec(scale_out_bytes_per_second_per_gpu=DEFAULT_SCALE_OUT_GBIT * GIGA / BITS_PER_BYTE)
        source = _("one 400 Gbit/s NIC a GPU; no orderable server of the catalogue takes this GPU")
    return fabric, Assumption(
        name="scale_out_gbit_per_second_per_gpu",
        value=fabric.scale_out_bytes_per_second_per_gpu * BITS_PER_BYTE / GIGA,
        unit="Gbit/s",
        origin=Origin.DATASHEET,
        source=source,
    )


def scenario_search(*, checked: CheckedRecommendation, on: date | None = None) -> RecommendationAnswer:
    """Which cluster to take (contract, section 4), priced by the books in force on the day.

    Raises
    ------
    InputError
        For an unknown preset or GPU, or a hostile config.
    """
    day = on or timezone.localdate()
    parts = load_parts()
    key = cache_key("recommendation", checked, parts.revision, day.isoformat())
    cached = cache.get(key)
    if cached is not None:
        return cast(RecommendationAnswer, cached)
    answer = recommendation(parts, load_books(day), checked, on=day)
    cache.set(key, answer, CACHE_SECONDS)
    return answer
