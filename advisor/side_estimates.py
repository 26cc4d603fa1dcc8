"""The recommended job estimated again: on reference builds, with a first guess of a layout, under the other profile."""

from __future__ import annotations

from dataclasses import fields, replace
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from advisor.answers import (
    ConfigurationAnswer,
    DeploymentComparisonAnswer,
)
from advisor.book_rows import cloud_offers
from advisor.calibration_data import current_calibration
from advisor.comparison import (
    Sides,
    bare_price,
    bare_profile,
    cloud_price,
    compared_profile,
    deployment_comparison,
    must_be_bare_metal,
)
from advisor.configuration import Configured, Setting
from advisor.engine.estimate import ScenarioError, estimate
from advisor.engine.search_types import SearchResult
from advisor.engine.specs import (
    ClusterSpec,
    DeploymentProfile,
    Estimate,
    Layout,
    LayoutRequest,
    Recomputation,
    Scenario,
)
from advisor.engine.units import SECONDS_PER_DAY, SECONDS_PER_HOUR
from advisor.explain import (
    faq,
)
from advisor.figures import format_percent, format_si_count
from advisor.hardware import fabric_spec, spec_in_server
from advisor.prices import money, run_cost
from advisor.server_build import servers_for
from catalog.money import format_money


def stated_layout(layout: Layout) -> LayoutRequest:
    """A found layout as a request, every field of it: the same layout is then estimated under another profile."""
    return LayoutRequest(**{item.name: getattr(layout, item.name) for item in fields(LayoutRequest)})


def estimate_again(
    scenario: Scenario, *, layout: LayoutRequest, deployment: DeploymentProfile | None = None
) -> Estimate | None:
    """The scenario with another layout or profile; None where it contradicts itself."""
    cluster = scenario.cluster if deployment is None else replace(scenario.cluster, deployment=deployment)
    try:
        return estimate(replace(scenario, cluster=cluster, layout=layout), calibration=current_calibration())
    except ScenarioError:
        return None


def estimate_on_build(setting: Setting, sku: str, gpu_count: int, gpus_per_server: int) -> Estimate | None:
    """The job on a reference build, best layout, bare metal."""
    gpu = setting.parts.gpus.get(sku)
    if gpu is None or not gpu.is_sizeable:
        return None
    servers = servers_for(setting.parts, gpu)
    if not servers:
        return None
    cluster = ClusterSpec(
        gpu=spec_in_server(gpu, gpus_per_server),
        gpu_count=gpu_count,
        gpus_per_server=gpus_per_server,
        fabric=fabric_spec(setting.parts, gpu, servers[0]),
    )
    scenario = Scenario(model=setting.job.model, plan=setting.job.plan, cluster=cluster)
    return estimate_again(scenario, layout=LayoutRequest())


def tuning_gain(setting: Setting, item: Configured) -> dict[str, Any] | None:
    """What the layout is worth (C7): recommended against a first guess on the same GPUs, in days and money.

    First guess: tensor parallel over the whole server, micro-batch 1, full recomputation, no interleaving.
    """
    scenario = item.estimate.scenario
    width = min(scenario.cluster.gpus_per_server, scenario.cluster.gpu_count)
    guess = LayoutRequest(
        tensor_parallel=width, micro_batch_size=1, virtual_stage_count=1, recomputation=Recomputation.FULL
    )
    default = estimate_again(scenario, layout=guess)
    mine, other = item.estimate.time.training_seconds, default.time.training_seconds if default else None
    if default is None or mine is None or other is None or not default.memory.fits:
        return None
    gained = other - mine
    hours = scenario.cluster.gpu_count * gained / SECONDS_PER_HOUR
    saved = run_cost(setting.book("rental"), scenario.cluster.gpu.sku, max(hours, 0.0), setting.term_months)
    text = _(
        "Against a first guess (tensor parallel %(width)d, micro-batch 1, full recomputation) the layout saves "
        "%(share)s of the time."
    )
    return {
        "default_training_days": other / SECONDS_PER_DAY,
        "training_days": mine / SECONDS_PER_DAY,
        "gain_fraction": gained / other,
        "saved_days": gained / SECONDS_PER_DAY,
        "saved_gpu_hours": hours,
        "saved": None if saved is None else money(saved, setting.checked.currency),
        "service": "svc-tuning" if "svc-tuning" in setting.parts.services else None,
        "text": text % {"width": width, "share": format_percent(gained / other)},
    }


def compared_sides(
    setting: Setting, item: Configured, result: SearchResult, tier_code: str | None
) -> DeploymentComparisonAnswer | None:
    scenario, layout = item.estimate.scenario, stated_layout(item.estimate.layout)
    profile = compared_profile(setting.checked.deployment)
    bare = estimate_again(scenario, layout=layout, deployment=bare_profile())
    virtual = estimate_again(scenario, layout=layout, deployment=profile)
    if bare is None or virtual is None:
        return None
    checked, sku = setting.checked, scenario.cluster.gpu.sku
    book = setting.book("rental")
    bare_seconds, virtual_seconds = bare.time.training_seconds, virtual.time.training_seconds
    count = scenario.cluster.gpu_count
    bare_hours = None if bare_seconds is None else count * bare_seconds / SECONDS_PER_HOUR
    virtual_hours = None if virtual_seconds is None else count * virtual_seconds / SECONDS_PER_HOUR
    reasons = must_be_bare_metal(
        tier_code=tier_code,
        real_time=checked.real_time,
        data_sensitivity=checked.data_sensitivity,
        profile_code=checked.deployment.code,
    )
    sides = Sides(
        bare=bare,
        virtual=virtual,
        bare_price=bare_price(
            run_cost(book, sku, bare_hours, setting.term_months),
            checked.currency,
            setting.term_months,
            book.as_of.isoformat() if book else None,
        ),
        virtual_price=cloud_price(
            cloud_offers(setting.parts.revision),
            gpu_sku=sku,
            currency=checked.currency,
            gpu_hours=virtual_hours,
            term_months=setting.term_months,
            exchange_rate=_rate(setting),
        ),
        facility_watts=item.power.facility_average_watts if item.power else None,
    )
    answer = deployment_comparison(sides, workload_reasons=reasons, loss=profile.throughput_loss_fraction, faq=[])
    answer["faq"] = faq(
        item.answer, scaling=result.scaling, advice=answer["advice"], budget_text=budget_text(setting, item.answer)
    )
    return answer


def _rate(setting: Setting) -> Decimal | None:
    """CNY per USD of the books in force; a book of cloud prices holds both currencies as published and has none."""
    own = [book for basis in ("rental", "purchase") if (book := setting.book(basis)) is not None]
    return next((book.exchange_rate for book in (*own, *setting.books.values()) if book.exchange_rate), None)


def budget_text(setting: Setting, answer: ConfigurationAnswer) -> str:
    """What a given sum trains on this configuration: tokens in proportion to GPU-hours."""
    cost, tokens = answer["run_cost"], setting.job.plan.tokens
    if cost is None or tokens is None:
        return _("A small cluster is enough to start where the model's states fit; see the smallest cluster above.")
    whole = Decimal(cost["amount"])
    budget = setting.checked.budget[0] if setting.checked.budget else whole / 10
    share = float(min(budget / whole, Decimal(1))) if whole else 1.0
    return _("%(budget)s pay %(share)s of this run: %(tokens)s tokens.") % {
        "budget": format_money(budget, cost["currency"]),
        "share": format_percent(share),
        "tokens": format_si_count(tokens * share),
    }
