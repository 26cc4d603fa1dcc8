"""From the present parts to those of the target, part by part: what stays, what is added, what cannot grow (M6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from advisor.answers import LineAnswer
from advisor.bill_of_materials import Bill
from advisor.figures import format_gb
from advisor.market_answers import UpgradeStepAnswer
from advisor.parts import GpuPart, Part, ServerPart
from advisor.source_words import part_text

RULE = "M6"
KEEP, ADD, REPLACE, CANNOT_GROW = "keep", "add", "replace", "cannot_grow"
# a second pool of servers shares what is not bound to a GPU kind
SHARED_KINDS = frozenset({"storage", "management_node"})
_FABRIC_KINDS = frozenset({"switch", "cable", "optic"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Both clusters as parts. `cards_inside` GPUs are put into free places of present servers."""

    gpu: GpuPart
    server: ServerPart
    present_gpu_count: int
    present_server_count: int
    target_gpu_count: int
    target_server_count: int
    present: Bill
    target: Bill
    cards_inside: int
    is_other_pool: bool  # another GPU kind in servers of its own, beside the present ones
    is_card_swap: bool  # another card in the present servers
    target_gpu: GpuPart
    present_memory_bytes: float | None


def growth_steps(growth: Growth) -> list[UpgradeStepAnswer]:
    steps = [*_server_steps(growth), *_memory_steps(growth)]
    steps += _part_steps(growth)
    return steps


def _step(
    action: str, kind: str, part: Part | None, name: str, present: int, target: int, reason: str
) -> UpgradeStepAnswer:
    return UpgradeStepAnswer(
        action=action,
        kind=kind,
        sku=part.sku if part else None,
        name=part_text(name),
        present_quantity=present,
        target_quantity=target,
        change=target - present,
        reason=reason,
        rule=RULE,
    )


def _server_steps(growth: Growth) -> list[UpgradeStepAnswer]:
    gpu, server = growth.gpu, growth.server
    kept, gpus = growth.present_server_count, growth.present_gpu_count
    figures = {
        "servers": kept,
        "server": server.name,
        "gpu": gpu.name,
        "new": growth.target_gpu.name,
        "count": growth.target_server_count,
    }
    if growth.is_card_swap:
        reason = _("The server takes %(new)s too: its cards are exchanged, one for one.") % figures
        return [
            _step(KEEP, "server", server, server.name, kept, kept, _("The servers stay.")),
            _step(REPLACE, "gpu", growth.target_gpu, growth.target_gpu.name, 0, growth.target_gpu_count, reason),
        ]
    if growth.is_other_pool:
        alone = _("The present servers stay as a pool of their own: one job does not mix GPU kinds.")
        board = _("A new GPU generation needs a new board, and so new servers.")
        new_server = growth.target.build.server
        steps = [_step(KEEP, "server", server, server.name, kept, kept, alone)]
        if gpu.is_module:
            steps.append(
                _step(CANNOT_GROW, "gpu", gpu, gpu.name, growth.present_gpu_count, growth.present_gpu_count, board)
            )
        reason = _("%(count)d servers of %(new)s for the job.") % figures
        steps.append(_step(ADD, "server", new_server, new_server.name, 0, growth.target_server_count, reason))
        return steps
    steps = []
    if growth.cards_inside:
        reason = _("Free places in the present servers come first.")
        steps.append(_step(ADD, "gpu", gpu, gpu.name, gpus, gpus + growth.cards_inside, reason))
    elif gpu.is_module:
        reason = (
            _("The board of %(server)s is full and takes no further %(gpu)s: the cluster grows by servers.") % figures
        )
        steps.append(
            _step(CANNOT_GROW, "gpu", gpu, gpu.name, growth.present_gpu_count, growth.present_gpu_count, reason)
        )
    more = growth.target_server_count - kept
    action = ADD if more > 0 else KEEP
    reason = _("Further servers of the same kind.") if more > 0 else _("The servers stay.")
    steps.append(_step(action, "server", server, server.name, kept, growth.target_server_count, reason))
    return steps


def _memory_steps(growth: Growth) -> list[UpgradeStepAnswer]:
    """Modules for the present servers where the job's hosts need more than stands in them."""
    build, given = growth.target.build, growth.present_memory_bytes
    if growth.is_other_pool or given is None or build.memory is None:
        return []
    need = growth.target.request.host_bytes_needed
    servers = growth.present_server_count
    memory = build.memory
    present = round(given / memory.capacity_bytes)
    wanted = build.memory_count
    figures = {"given": format_gb(given), "need": format_gb(max(need, wanted * memory.capacity_bytes))}
    if given >= wanted * memory.capacity_bytes:
        reason = _("%(given)s a server are enough.") % figures
        return [_step(KEEP, "memory", memory, memory.name, present * servers, present * servers, reason)]
    reason = _("%(given)s a server are less than the %(need)s that the rule and this job ask for; every channel alike.")
    return [_step(ADD, "memory", memory, memory.name, present * servers, wanted * servers, reason % figures)]


def _part_steps(growth: Growth) -> list[UpgradeStepAnswer]:
    before, after = _quantities(growth.present.lines), _quantities(growth.target.lines)
    steps = []
    for key in dict.fromkeys([*before, *after]):
        kind, _sku = key
        line = (after.get(key) or before[key])[0]
        present = before[key][1] if key in before else 0
        target = after[key][1] if key in after else 0
        if growth.is_other_pool and kind not in SHARED_KINDS:
            if target:
                steps.append(_line_step(ADD, line, 0, target, line["reason"]))
        else:
            steps.append(_changed(line, present, target))
    return steps


def _changed(line: LineAnswer, present: int, target: int) -> UpgradeStepAnswer:
    if target > present:
        return _line_step(ADD, line, present, target, line["reason"])
    if target == present:
        return _line_step(KEEP, line, present, target, _("Enough for the larger cluster."))
    if target == 0 and line["kind"] in _FABRIC_KINDS:
        reason = _("The larger network is cabled otherwise; these become free.")
        return _line_step(REPLACE, line, present, 0, reason)
    return _line_step(KEEP, line, present, present, _("More than is needed; the rest stays as a spare."))


def _line_step(action: str, line: LineAnswer, present: int, target: int, reason: str) -> UpgradeStepAnswer:
    return UpgradeStepAnswer(
        action=action,
        kind=line["kind"],
        sku=line["sku"],
        name=line["name"],
        present_quantity=present,
        target_quantity=target,
        change=target - present,
        reason=reason,
        rule=RULE,
    )


def _quantities(lines: Iterable[LineAnswer]) -> dict[tuple[str, str], tuple[LineAnswer, int]]:
    """Parts outside the servers by kind and SKU; services are ordered anew, servers are told apart from them."""
    found: dict[tuple[str, str], tuple[LineAnswer, int]] = {}
    for line in lines:
        if line["part_of"] or line["kind"] in ("server", "service"):
            continue
        key = (line["kind"], line["sku"])
        count = found[key][1] if key in found else 0
        found[key] = (line, count + line["quantity"])
    return found
