"""Growth of a present cluster towards a target: what it does today, what to add, what stays, what cannot grow (M6)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date

from django.utils import timezone
from django.utils.translation import gettext as _

from advisor.answers import ProblemAnswer
from advisor.bill_of_materials import Bill
from advisor.book_rows import load_books
from advisor.calibration_data import current_calibration
from advisor.check_words import check_message
from advisor.configuration import Setting, bill_for
from advisor.engine import ENGINE_VERSION
from advisor.engine import compatibility_server as rules
from advisor.engine.estimate import ScenarioError, estimate
from advisor.engine.specs import ClusterSpec, Estimate, LayoutRequest, Scenario
from advisor.engine.units import SECONDS_PER_DAY
from advisor.figures import format_count, format_days
from advisor.hardware import fabric_spec, load_parts, spec_in_server
from advisor.input_types import InputError, InputFault
from advisor.market_answers import UpgradeAnswer, UpgradeSideAnswer, UpgradeStepAnswer
from advisor.part_facts import candidates, gpu_facts, server_facts
from advisor.parts import GpuPart, Parts, ServerPart
from advisor.prices import money
from advisor.requested_gpu import refused, requested_gpu
from advisor.server_build import gpus_in, servers_for
from advisor.services import scenario_search
from advisor.training_plan import job_from
from advisor.upgrade_cost import added_cost
from advisor.upgrade_inputs import CheckedUpgrade
from advisor.upgrade_steps import ADD, CANNOT_GROW, Growth, growth_steps


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cluster:
    gpu: GpuPart
    server: ServerPart
    gpu_count: int
    gpus_per_server: int
    estimate: Estimate
    bill: Bill

    @property
    def server_count(self) -> int:
        return math.ceil(self.gpu_count / self.gpus_per_server)


def cluster_upgrade(*, checked: CheckedUpgrade, on: date | None = None) -> UpgradeAnswer:
    """What the present cluster does with the job, and the way to one that meets the target.

    Raises
    ------
    InputError
        For an unknown preset, GPU or server, a server that does not take the GPU, or a hostile config.
    """
    parts, day = load_parts(), on or timezone.localdate()
    setting = Setting(
        parts=parts,
        books=load_books(day),
        checked=checked.search,
        job=job_from(checked.search, workload=checked.search.workload, proposes_tokens=True, revision=parts.revision),
        on=day,
        term_months=checked.search.term_months,
    )
    gpu, notes = requested_gpu(parts, checked.gpu, "/present/gpu")
    server = _present_server(parts, gpu, checked.server)
    per_server = min(checked.gpus_per_server or gpus_in(server, gpu), gpus_in(server, gpu))
    _check_places(parts, gpu, server, checked)
    present = _cluster(setting, gpu, server, checked.gpu_count, per_server)
    target_gpu, target_notes = requested_gpu(parts, checked.target_gpu or gpu.sku, "/target/gpu")
    is_enough = _meets(setting, present, checked)
    if is_enough and target_gpu.sku == gpu.sku and not checked.target_gpu_count:
        return _answer(checked, setting, present, None, [*notes, *target_notes], is_enough)
    target, problems = _target(setting, checked, present, target_gpu)
    return _answer(checked, setting, present, target, [*notes, *target_notes, *problems], is_enough)


def _present_server(parts: Parts, gpu: GpuPart, sku: str | None) -> ServerPart:
    if sku is None:
        usual = next(iter(servers_for(parts, gpu)), None)
        if usual is None:
            text = _("No orderable server of the catalogue takes %(gpu)s; name the server.") % {"gpu": gpu.name}
            raise InputError((_fault("/present/server", "server_missing", text),))
        return usual
    server = parts.servers.get(sku)
    if server is None:
        near = ", ".join(found.sku for found in servers_for(parts, gpu)[:3])
        text = _("There is no server “%(sku)s” in the catalogue. Servers for %(gpu)s: %(near)s.")
        raise InputError(
            (_fault("/present/server", "unknown_server", text % {"sku": sku[:60], "gpu": gpu.name, "near": near}),)
        )
    conflict = rules.gpu_in_server(gpu_facts(gpu), server_facts(server), candidates(parts.revision).servers)
    if conflict is not None:
        raise InputError((_fault("/present/server", conflict.code, check_message(conflict, parts)),))
    return server


def _check_places(parts: Parts, gpu: GpuPart, server: ServerPart, checked: CheckedUpgrade) -> None:
    asked = checked.gpus_per_server
    if asked is None:
        return
    conflict = rules.gpu_slots(gpu_facts(gpu), asked, server_facts(server), candidates(parts.revision).servers)
    if conflict is not None:
        raise InputError((_fault("/present/gpus_per_server", conflict.code, check_message(conflict, parts)),))


def _fault(pointer: str, code: str, text: str) -> InputFault:
    return InputFault(pointer=pointer, code=code, params={}, message=text)


def _cluster(setting: Setting, gpu: GpuPart, server: ServerPart, gpu_count: int, per_server: int) -> _Cluster:
    cluster = ClusterSpec(
        gpu=spec_in_server(gpu, per_server),
        gpu_count=gpu_count,
        gpus_per_server=per_server,
        fabric=fabric_spec(setting.parts, gpu, server),
        deployment=setting.checked.deployment,
    )
    scenario = Scenario(model=setting.job.model, plan=setting.job.plan, cluster=cluster, layout=LayoutRequest())
    try:
        found = estimate(scenario, calibration=current_calibration())
    except ScenarioError as error:
        raise refused(error.problems) from error
    bill, _plan = bill_for(setting, found, gpu, server, math.ceil(gpu_count / per_server))
    return _Cluster(gpu=gpu, server=server, gpu_count=gpu_count, gpus_per_server=per_server, estimate=found, bill=bill)


def _meets(setting: Setting, cluster: _Cluster, checked: CheckedUpgrade) -> bool:
    """Whether the present cluster does the job: it fits, and within the deadline where there is one."""
    if not cluster.estimate.memory.fits:
        return False
    seconds, deadline = cluster.estimate.time.training_seconds, checked.search.deadline_seconds
    return deadline is None or seconds is None or seconds <= deadline


def _target(
    setting: Setting, checked: CheckedUpgrade, present: _Cluster, gpu: GpuPart
) -> tuple[_Cluster | None, list[ProblemAnswer]]:
    """The cluster to have: the count that is stated, else what the search finds for the deadline, never less GPUs."""
    is_same = gpu.sku == present.gpu.sku
    server = present.server if is_same or gpu.sku in present.server.gpu_skus else None
    if server is None:
        server = next(iter(servers_for(setting.parts, gpu)), None)
        if server is None:
            text = _("No orderable server of the catalogue takes %(gpu)s.") % {"gpu": gpu.name}
            raise InputError((_fault("/target/gpu", "server_missing", text),))
    per_server = gpus_in(server, gpu)
    count = checked.target_gpu_count
    if count is None:
        answer = scenario_search(checked=replace(checked.search, gpus=(gpu.sku,)), on=setting.on)
        if answer["recommended"] is None:
            return None, answer["problems"]
        count = answer["recommended"]["gpu_count"]
    if is_same:
        count = max(count, present.gpu_count)
    whole = math.ceil(count / per_server) * per_server  # servers are bought whole
    return _cluster(setting, gpu, server, max(whole, count), per_server), []


def _answer(
    checked: CheckedUpgrade,
    setting: Setting,
    present: _Cluster,
    target: _Cluster | None,
    problems: list[ProblemAnswer],
    is_enough: bool,
) -> UpgradeAnswer:
    goal = target or present
    growth = _growth(checked, present, goal)
    steps = growth_steps(growth) if target is not None else []
    book = setting.book("purchase") if target is not None else None
    added = added_cost(setting.parts, book, growth.target, steps)
    grown = rules.growth(gpu_facts(present.gpu), present.gpus_per_server, server_facts(present.server))
    return UpgradeAnswer(
        present=_side(present),
        target=_side(target) if target else None,
        meets_target=is_enough,
        steps=steps,
        growth_inside=[check_message(grown, setting.parts)],
        cannot_grow=[step["reason"] for step in steps if step["action"] == CANNOT_GROW],
        added_cost=None if added.amount is None else money(added.amount, setting.checked.currency),
        added_cost_is_complete=not added.missing,
        added_cost_missing=list(added.missing),
        advice=_advice(present, target, steps, is_enough),
        problems=problems,
        engine_version=ENGINE_VERSION,
        catalog_revision=setting.parts.revision,
    )


def _growth(checked: CheckedUpgrade, present: _Cluster, target: _Cluster) -> Growth:
    is_same = present.gpu.sku == target.gpu.sku
    is_swap = not is_same and target.server.sku == present.server.sku and not target.gpu.is_module
    free = (gpus_in(present.server, present.gpu) - present.gpus_per_server) * present.server_count
    wanted = max(target.gpu_count - present.gpu_count, 0)
    memory = present.bill.build.memory
    sold = memory.capacity_bytes * present.bill.build.memory_count if memory else None
    return Growth(
        gpu=present.gpu,
        server=present.server,
        present_gpu_count=present.gpu_count,
        present_server_count=present.server_count,
        target_gpu_count=target.gpu_count,
        target_server_count=max(target.server_count, present.server_count) if is_same else target.server_count,
        present=present.bill,
        target=target.bill,
        cards_inside=min(free, wanted) if is_same and not present.gpu.is_module else 0,
        is_other_pool=not is_same and not is_swap,
        is_card_swap=is_swap,
        target_gpu=target.gpu,
        present_memory_bytes=checked.host_memory_bytes if checked.host_memory_bytes is not None else sold,
    )


def _side(cluster: _Cluster) -> UpgradeSideAnswer:
    seconds = cluster.estimate.time.training_seconds if cluster.estimate.memory.fits else None
    network, power = cluster.bill.network.answer, cluster.bill.facility.plan
    return UpgradeSideAnswer(
        gpu=cluster.gpu.sku,
        gpu_name=cluster.gpu.name,
        gpu_count=cluster.gpu_count,
        server=cluster.server.sku,
        server_name=cluster.server.name,
        server_count=cluster.server_count,
        fits=cluster.estimate.memory.fits,
        training_days=None if seconds is None else seconds / SECONDS_PER_DAY,
        it_watts=power.it_max_watts if power else None,
        rack_count=power.rack_count if power else None,
        leaf_count=network["leaf_count"],
        spine_count=network["spine_count"],
        core_count=network["core_count"],
    )


def _advice(present: _Cluster, target: _Cluster | None, steps: list[UpgradeStepAnswer], is_enough: bool) -> str:
    seconds = present.estimate.time.training_seconds
    figures = {
        "count": format_count(present.gpu_count),
        "gpu": present.gpu.name,
        "days": format_days(seconds) if seconds is not None and present.estimate.memory.fits else "—",
    }
    if target is None and is_enough:
        return _("Nothing has to be added: the present %(count)s x %(gpu)s do the job in %(days)s.") % figures
    if target is None:
        return _("No number of these GPUs meets the target; see what would have to change.")
    goal = target.estimate.time.training_seconds
    added = sum(step["change"] for step in steps if step["kind"] == "server" and step["action"] == ADD)
    figures |= {
        "goal": format_count(target.gpu_count),
        "new": target.gpu.name,
        "servers": format_count(added),
        "then": format_days(goal) if goal is not None and target.estimate.memory.fits else "—",
    }
    if not target.estimate.memory.fits:
        return _("%(goal)s x %(new)s do not hold the job: more GPUs, or such with more memory.") % figures
    if added:
        return (
            _("Add %(servers)s servers: %(goal)s x %(new)s do the job in %(then)s, today it takes %(days)s.") % figures
        )
    return _("%(goal)s x %(new)s in the present servers do the job in %(then)s, today it takes %(days)s.") % figures
