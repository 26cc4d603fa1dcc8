"""Growing a cluster: what is added and what can be kept when more servers are wanted."""

from __future__ import annotations

from dataclasses import dataclass, replace

from advisor.engine.fabric import FabricPlan, FabricRequest, fabric_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricGrowth:
    """Switches and cables added between two sizes; parts that are left over are kept, so no count is negative.

    `keeps_server_links`: the servers that exist keep their cables to the same leaf. `is_recabled`: links between
    switches move, so the job must stop for it.
    """

    before: FabricPlan
    after: FabricPlan
    added_leaf_count: int
    added_spine_count: int
    added_core_count: int
    added_server_link_count: int
    added_switch_link_count: int
    keeps_server_links: bool
    is_recabled: bool


def _switch_links(plan: FabricPlan) -> int:
    return sum(link.link_count for link in plan.links if link.kind != "server_to_leaf")


def _server_links(plan: FabricPlan) -> int:
    return sum(link.link_count for link in plan.links if link.kind == "server_to_leaf")


def fabric_growth(request: FabricRequest, added_server_count: int) -> FabricGrowth:
    """Fabric before and after more servers of the same kind join.

    A leaf keeps its servers while it serves as many rails as before; when rails that shared a leaf must part, or more
    spines share the uplinks of a leaf, cables move.

    Parameters
    ----------
    request : FabricRequest
        The fabric as it is.
    added_server_count : int
        Servers to come. [1]

    Returns
    -------
    FabricGrowth

    Raises
    ------
    ValueError
        If no server is added, or three tiers do not reach.
    """
    if added_server_count < 1:
        raise ValueError("Growth adds at least one server.")
    before = fabric_plan(request)
    after = fabric_plan(replace(request, server_count=request.server_count + added_server_count))
    # a first fabric moves nothing; a single switch stays as a leaf if every rail still ends on it
    has_fabric = before.tier_count > 0
    keeps_links = not has_fabric or before.rails_per_leaf == after.rails_per_leaf
    is_recabled = has_fabric and (
        not keeps_links
        or (before.spine_count > 0 and before.spine_count != after.spine_count)
        or before.core_count != after.core_count
    )
    return FabricGrowth(
        before=before,
        after=after,
        added_leaf_count=max(after.leaf_count - before.leaf_count, 0),
        added_spine_count=max(after.spine_count - before.spine_count, 0),
        added_core_count=max(after.core_count - before.core_count, 0),
        added_server_link_count=_server_links(after) - _server_links(before),
        added_switch_link_count=max(_switch_links(after) - _switch_links(before), 0),
        keeps_server_links=keeps_links,
        is_recabled=is_recabled,
    )


def free_server_count(request: FabricRequest) -> int:
    """Servers that can still join without another switch or a moved cable (0: the next one changes the fabric)."""
    free = 0
    while True:
        try:
            step = fabric_growth(request, free + 1)
        except ValueError:
            return free
        added = step.added_leaf_count + step.added_spine_count + step.added_core_count
        if added or step.is_recabled:
            return free
        free += 1
