"""Which of several near-equal candidates is recommended: closer than the prices are known, fewer servers win."""

from __future__ import annotations

import math
from dataclasses import replace

from advisor.engine.search_types import Rejection, SearchResult
from advisor.engine.specs import Candidate

# Costs this close are equal: published rental prices of one GPU differ by more between providers, and the estimate of a
# GPU without published runs by as much.
EQUAL_COST_FRACTION = 0.25


def server_count(candidate: Candidate) -> int:
    return math.ceil(candidate.estimate.scenario.cluster.gpu_count / candidate.option.gpus_per_server)


def preferred(result: SearchResult) -> SearchResult:
    """The result with the fewest servers among the cheapest leading; the cheapest keeps its label."""
    first = result.recommended
    if first is None or first.cost is None:
        return result
    limit = first.cost * (1 + EQUAL_COST_FRACTION)
    near = [item for item in (first, *result.alternatives) if item.cost is not None and item.cost <= limit]
    return led_by(result, min(near, key=lambda item: (server_count(item), item.cost or 0.0)))


def led_by(result: SearchResult, chosen: Candidate) -> SearchResult:
    """The result with another of its candidates leading: requirement and scaling belong to the GPU that leads."""
    first = result.recommended
    if first is None or chosen is first:
        return result
    requirement, scaling = result.view_of[chosen.option.gpu.sku]()
    others = [item for item in (first, *result.alternatives) if item is not chosen]
    return replace(
        result,
        rejected=_rejected_beside(result, chosen),
        recommended=replace(chosen, labels=("recommended", *_without_lead(chosen))),
        alternatives=tuple(replace(item, labels=_without_lead(item)) for item in others),
        requirement=requirement,
        scaling=scaling,
    )


def _rejected_beside(result: SearchResult, chosen: Candidate) -> tuple[Rejection, ...]:
    """Reasons against the others once another leads: ratios are to its cost, and what is cheaper names its servers."""
    first = result.recommended
    if first is None or not first.cost or not chosen.cost:
        return result.rejected
    known = {item.option.gpu.sku: item for item in (first, *result.alternatives)}
    found = [] if (own := _more_servers(first, chosen)) is None else [own]
    for rejection in result.rejected:
        if rejection.gpu_sku == chosen.option.gpu.sku:
            continue
        ratio = rejection.params.get("cost_ratio") if rejection.code == "dearer" else None
        if not isinstance(ratio, float | int):
            found.append(rejection)
            continue
        rebased = ratio * first.cost / chosen.cost
        if rebased > 1:
            found.append(replace(rejection, params=rejection.params | {"cost_ratio": rebased}))
        elif (item := known.get(rejection.gpu_sku)) and (own := _more_servers(item, chosen)) is not None:
            found.append(own)
    return tuple(found)


def _more_servers(item: Candidate, chosen: Candidate) -> Rejection | None:
    more, fewer = server_count(item), server_count(chosen)
    if more <= fewer:
        return None
    gpu = item.option.gpu
    return Rejection(
        gpu_sku=gpu.sku, code="more_servers", params={"gpu": gpu.name, "server_count": more, "recommended_count": fewer}
    )


def _without_lead(candidate: Candidate) -> tuple[str, ...]:
    return tuple(label for label in candidate.labels if label != "recommended")
