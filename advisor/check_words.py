"""Sentences for the compatibility checks: both parts by name, the rule, the figures, and what would pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from advisor.answers import CheckAnswer
from advisor.engine.parts import Check
from advisor.engine.units import GIGA
from advisor.parts import Part, Parts
from advisor.problem_words import filled

CHECKS: dict[str, str | Promise] = {
    "gpu_not_supported": _("%(first)s is not on the list of GPUs that %(second)s takes."),
    "gpu_form_factor": _("%(first)s is a %(gpu_form_factor)s part; %(second)s takes %(server_form_factors)s."),
    "gpu_slots_exceeded": _("%(gpu_count)s x %(first)s are more than the %(gpu_slot_count)s places of %(second)s."),
    "gpu_board_not_full": _(
        "%(gpu_count)s x %(first)s do not fill the board of %(gpus_per_baseboard)s in %(second)s; boards come full."
    ),
    "gpu_links_below_server": _(
        "%(first)s links at PCIe %(gpu_pcie_generation)s in %(second)s, which has PCIe %(server_pcie_generation)s: "
        "%(link_bytes_per_second)s one way."
    ),
    "server_links_below_gpu": _(
        "%(second)s has PCIe %(server_pcie_generation)s only; %(first)s could do PCIe %(gpu_pcie_generation)s "
        "and links at "
        "%(link_bytes_per_second)s one way."
    ),
    "gpu_link_missing": _("%(first)s has no %(wanted_link)s; its GPUs talk through PCIe."),
    "platform_lacks_wanted": _(
        "%(first)s has %(server_memory_type)s and PCIe %(server_pcie_generation)s, not the %(wanted_memory_type)s and "
        "PCIe %(wanted_pcie_generation)s asked for."
    ),
    "growth_by_servers_only": _(
        "%(second)s takes no further %(first)s: this cluster grows by servers; a new GPU generation needs a new board. "
        "Memory and drives can grow inside."
    ),
    "growth_inside_full": _("All GPU places of %(second)s are taken; its memory and drives can grow."),
    "growth_inside": _(
        "%(second)s has %(free_gpu_slots)s free places for further %(first)s; memory and drives can grow too."
    ),
    "cpu_socket_mismatch": _("%(first)s fits %(cpu_socket)s, %(second)s has %(server_socket)s."),
    "cpu_fixed": _("%(second)s ships with %(fixed_cpu)s only, not with %(first)s."),
    "cpu_sockets_exceeded": _("%(cpu_count)s x %(first)s are more than the %(socket_count)s sockets of %(second)s."),
    "cpu_family_not_listed": _(
        "The family %(cpu_family)s of %(first)s is not on the list of %(second)s: %(server_families)s."
    ),
    "cpu_cores_short": _(
        "%(core_count)s cores of %(first)s for %(gpu_count)s GPUs; the rule asks for %(cores_wanted)s."
    ),
    "pcie_lanes_switched": _(
        "%(switch_count)s PCIe switches in %(second)s, %(gpus_per_switch)s GPUs and %(nics_per_switch)s NICs on each: "
        "GPU-to-NIC traffic stays behind the switch, an uplink of x%(uplink_lanes)s leaves each GPU "
        "%(gpu_host_bytes_per_second)s to the host. Uplinks and drives want %(lanes_wanted)s lanes, %(first)s gives "
        "%(lanes_given)s."
    ),
    "pcie_uplinks_exceeded": _(
        "Uplinks of the PCIe switches, further NICs and drives want %(lanes_wanted)s lanes in %(second)s, %(first)s "
        "gives %(lanes_given)s."
    ),
    "pcie_lanes_exceeded": _(
        "%(gpu_count)s GPUs, %(nic_count)s NICs and %(ssd_count)s drives over %(socket_count)s sockets want "
        "%(lanes_wanted)s PCIe lanes of the fuller one, %(first)s gives %(lanes_given)s in %(second)s."
    ),
    "pcie_lanes_unconfirmed": _(
        "%(gpu_count)s GPUs, %(nic_count)s NICs and %(ssd_count)s drives over %(socket_count)s sockets want "
        "%(lanes_wanted)s PCIe lanes of the fuller one, %(first)s gives %(lanes_given)s; whether %(second)s has PCIe "
        "switches is not published."
    ),
    "memory_type_mismatch": _("%(first)s is %(memory_type)s, %(second)s takes %(server_memory_type)s."),
    "memory_slots_exceeded": _(
        "%(module_count)s modules %(first)s are more than the %(slot_count)s slots of %(second)s."
    ),
    "memory_above_maximum": _("%(memory_bytes)s of %(first)s are more than the %(max_memory_bytes)s of %(second)s."),
    "memory_channels_uneven": _(
        "%(module_count)s modules %(first)s do not spread evenly over the %(channel_count)s channels of %(second)s."
    ),
    "host_memory_below_gpu_memory": _(
        "Host memory of %(host_memory_bytes)s is under the %(gpu_memory_bytes)s of %(gpu_count)s x %(first)s; "
        "the rule is "
        "at least as much."
    ),
    "host_memory_below_need": _(
        "Host memory of %(host_memory_bytes)s is under the %(need_bytes)s that loading and checkpoints of this "
        "job need."
    ),
    "memory_bandwidth_short": _(
        "%(channel_count)s channels of %(first)s carry %(memory_bytes_per_second)s; all GPUs together can draw "
        "%(gpu_bytes_per_second)s through PCIe."
    ),
    "ssd_generation_above_server": _(
        "%(first)s is PCIe %(ssd_pcie_generation)s; in %(second)s it runs at PCIe %(server_pcie_generation)s, "
        "%(link_bytes_per_second)s."
    ),
    "ssd_form_factor": _("%(first)s comes as %(ssd_form_factors)s, %(second)s has bays for %(bay_form_factors)s."),
    "ssd_bays_exceeded": _("%(ssd_count)s x %(first)s are more than the %(bay_count)s bays of %(second)s."),
    "infiniband_generation_rate": _("InfiniBand %(first)s is not %(second)s: HDR is 200, NDR 400, XDR 800 Gbit/s."),
    "nic_slots_exceeded": _("%(nic_count)s x %(first)s are more than the %(slot_count)s NIC places of %(second)s."),
    "nic_above_pcie": _("The ports of %(first)s outrun its PCIe link in %(second)s."),
    "nics_shared_by_gpus": _(
        "%(nic_count)s x %(first)s serve %(gpu_count)s GPUs: several GPUs share the rate of one NIC."
    ),
    "network_protocol_mismatch": _("%(first)s and %(second)s speak different protocols."),
    "switch_slower_than_nic": _("%(second)s is slower than the ports of %(first)s; links run at the switch's rate."),
    "switch_has_no_ports_at_rate": _("%(second)s has no ports at the rate of %(first)s."),
    "fabric_three_tiers": _(
        "Two tiers of %(first)s do not reach %(endpoint_count)s ports: a third tier of core switches."
    ),
    "fabric_too_small": _("Three tiers of %(first)s do not reach %(endpoint_count)s ports."),
    "cable_protocol_mismatch": _("%(first)s and %(second)s speak different protocols."),
    "cable_rate_mismatch": _("%(first)s does not run at the rate of %(second)s."),
    "cable_too_short": _("%(first)s reaches %(reach_metres)s m, %(distance_metres)s m are needed."),
    "roce_needs_lossless": _(
        "RoCE between %(first)s and %(second)s needs a lossless set-up (PFC, ECN) of the whole network."
    ),
    "nic_without_rdma": _("%(first)s has no RDMA; training over Ethernet needs it."),
    "psu_redundancy_short": _(
        "%(first)s: with %(spare_count)s of %(psu_count)s supplies lost, %(watts_left)s remain for %(max_watts)s."
    ),
    "psu_fault_tolerant_only": _(
        "%(first)s keeps running with %(spare_count)s of %(psu_count)s supplies lost, but slows its GPUs: "
        "%(watts_left)s "
        "remain for %(max_watts)s."
    ),
    "rack_power_exceeded": _("The servers of one rack draw more than the power of %(second)s."),
    "rack_space_exceeded": _("The servers of one rack need more height than %(second)s has."),
    "cooling_mismatch": _("The cooling of %(first)s does not match %(second)s."),
    "cuda_below_minimum": _("%(first)s needs CUDA %(min_cuda)s at least, not %(cuda)s."),
    "cuda_not_sensible": _(
        "CUDA %(cuda)s knows %(first)s (from %(min_cuda)s on), but current frameworks are built for "
        "%(sensible_cuda)s and later."
    ),
    "operating_system_ended": _("%(first)s is past its end of life."),
    "package_superseded": _("%(first)s is superseded."),
    "precision_against_workload": _("The workload “%(first)s” does not go well with %(second)s."),
    "overclocking_not_priced": _(
        "%(first)s runs within its %(tdp_watts)s: overclocking data-centre GPUs is no gain that vendors "
        "support, and no "
        "figure here counts on it."
    ),
    "model_kind_not_sized": _("“%(first)s” is not sized here: it does not follow the formulas of transformers."),
    "model_kind_unknown": _("“%(first)s” is no model kind known here."),
    "gpu_unknown": _("There is no GPU “%(first)s” in the catalogue."),
    "gpu_memory_does_not_exist": _("There is no “%(first)s”: this GPU exists with %(real_memory_labels)s."),
    "gpu_compute_poor": _(
        "%(first)s has %(dense_flops_per_second)s dense BF16, %(share_fraction)s of %(second)s "
        "(%(reference_flops_per_second)s), "
        "with %(memory_bytes)s of memory against %(reference_memory_bytes)s: it holds large models and trains "
        "them slowly."
    ),
    "export_status": _("Export status of %(first)s: %(note)s. Confirm the licence before an order; not legal advice."),
    "export_status_elsewhere": _(
        "Export status of %(first)s: %(note)s. For delivery to %(destination)s re-check the rules; not legal advice."
    ),
    "gpu_end_of_life": _("%(first)s is out of production: stock or refurbished only, confirm availability."),
    "unverified_figures": _("Figures of %(first)s whose source could not be opened: %(fields)s."),
}
# Figures of the engine's checks come in base units and without the unit at the end of their name.
_RATES = ("cable_bits_per_second", "nic_bits_per_second", "switch_bits_per_second")


def part_name(parts: Parts, sku: str) -> str:
    """Name of a part, or the text itself where it is none."""
    hosts: tuple[Mapping[str, Part], ...] = (parts.gpus, parts.servers, parts.cpus, parts.memory, parts.ssds)
    links: tuple[Mapping[str, Part], ...] = (parts.nics, parts.switches, parts.cables, parts.racks)
    found = next((table[sku] for table in (*hosts, *links) if sku in table), None)
    return found.name if found else sku


def check_message(check: Check, parts: Parts) -> str:
    names = [part_name(parts, sku) for sku in check.parts]
    params: dict[str, Any] = dict(check.figures)
    params |= {"first": names[0] if names else "", "second": names[1] if len(names) > 1 else ""}
    for name in _RATES:
        if isinstance(params.get(name), (int, float)):
            params[name] = f"{params[name] / GIGA:g} Gbit/s"
    text = filled(CHECKS[_wording(check)], params)
    if check.nearest:
        template = (
            _now("%(sentence)s Nearest real part: %(nearest)s.")
            if check.code == "gpu_memory_does_not_exist"
            else _now("%(sentence)s Nearest that would pass: %(nearest)s.")
        )
        text = template % {"sentence": text, "nearest": part_name(parts, check.nearest)}
    return text


def _wording(check: Check) -> str:
    """Key of the sentence: a server that could grow but is full says so instead of "0 free places"."""
    if check.code.startswith("growth_inside") and check.figures.get("free_gpu_slots") == 0:
        return "growth_inside_full"
    return check.code


def check_answer(check: Check, parts: Parts) -> CheckAnswer:
    figures: dict[str, float | int | str | bool | None] = dict(check.figures)
    figures["rule"] = check.rule
    figures["nearest"] = check.nearest
    return CheckAnswer(
        code=check.code,
        severity=check.severity,
        message=check_message(check, parts),
        parts=list(check.parts),
        figures=figures,
    )
