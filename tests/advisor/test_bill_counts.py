"""Counts of whole clusters, worked out again here: switches, cables, optics, ports, racks, power strips, power.

Reference: rail-optimised and non-blocking with 64-port switches of 400 Gbit/s. A group of 32 servers fills half the
ports of one leaf a rail; as many links go up as come down; 512 GPUs in servers of eight are 64 servers, 16 leaf and 8
spine switches, 4 096 are 128, 128 and 64 core, 16 384 are 512, 512 and 256.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest
from django.utils import translation

from advisor.bill_of_materials import Bill, BillRequest, bill_of_materials
from advisor.engine.specs import ModelSpec, TrainingPlan
from advisor.hardware import load_parts
from advisor.server_build import gpus_in, servers_for
from advisor.storage_parts import storage_sizes

pytestmark = pytest.mark.usefixtures("catalog")
DATA = Path(__file__).resolve().parents[2] / "catalog" / "data"
BOARDS = (
    "nvidia-h100-sxm5-80gb",
    "nvidia-h200-sxm5-141gb",
    "nvidia-h20-96gb",
    "nvidia-b200-sxm-180gb",
    "amd-mi300x-192gb",
)
CARDS = "nvidia-rtx6000-ada-48gb"
COUNTS = (8, 64, 512, 4096, 16384)
PORTS = 64
# boards have a NIC a GPU; a PCIe server one for four GPUs
PORTS_PER_SERVER = dict.fromkeys(BOARDS, 8) | {CARDS: 2}
MODEL = ModelSpec(
    name="7B",
    layer_count=32,
    hidden_size=4096,
    ffn_size=11008,
    head_count=32,
    kv_head_count=32,
    head_size=128,
    vocab_size=32000,
)
PLAN = TrainingPlan(tokens=1e12, sequence_length=4096, global_batch_size=1024)


def bill_for(gpu_sku: str, gpu_count: int) -> Bill:
    parts = load_parts()
    gpu = parts.gpus[gpu_sku]
    server = servers_for(parts, gpu)[0]
    assert gpus_in(server, gpu) == 8
    sizes = storage_sizes(MODEL, PLAN, unique_tokens=1e12, tokens_per_second=3e5, interval_seconds=1800)
    request = BillRequest(
        gpu=gpu,
        server=server,
        server_count=gpu_count // 8,
        spare_server_count=1 if gpu_count > 8 else 0,
        sizes=sizes,
        training_seconds=1e6,
    )
    return bill_of_materials(parts, request)


def switches_by_hand(endpoints: int, servers: int, ports_per_server: int) -> tuple[int, int, int]:
    """Leaf, spine and core switches of full groups."""
    if servers == 1:
        return 0, 0, 0
    if endpoints <= PORTS:
        return 1, 0, 0
    leaves = math.ceil(servers / (PORTS // 2)) * ports_per_server
    if endpoints <= PORTS * PORTS // 2:
        return leaves, leaves // 2, 0
    return leaves, leaves, leaves // 2


@pytest.mark.parametrize("gpu_count", COUNTS)
@pytest.mark.parametrize("gpu", [*BOARDS, CARDS])
def test_switches_cables_and_optics(gpu: str, gpu_count: int) -> None:
    bill, servers = bill_for(gpu, gpu_count), gpu_count // 8
    endpoints = servers * PORTS_PER_SERVER[gpu] if servers > 1 else 0
    leaf, spine, core = switches_by_hand(endpoints, servers, PORTS_PER_SERVER[gpu])
    answer = bill.network.answer
    assert (answer["leaf_count"], answer["spine_count"], answer["core_count"]) == (leaf, spine, core)
    quantity = _quantities(bill)
    assert sum(_of_kind(bill, "server").values()) == servers
    if not endpoints:
        assert not bill.network.lines
        return
    assert quantity["nvidia-qm9700"] == leaf + spine + core
    tiers = 1 + bool(spine) + bool(core)
    fibre = sum(count for sku, count in quantity.items() if sku.startswith("mfp7e10"))
    assert fibre == endpoints * tiers  # one fibre a link, as many links at every tier
    assert quantity["mma4z00-ns400"] == endpoints  # one optic a NIC port
    # twin-port cages: one end of every server link, both ends of every link between switches
    assert quantity["mma4z00-ns"] == endpoints // 2 + (tiers - 1) * endpoints


@pytest.mark.parametrize("gpu_count", COUNTS)
@pytest.mark.parametrize("gpu", [*BOARDS, CARDS])
def test_racks_power_strips_and_power(gpu: str, gpu_count: int) -> None:
    bill, servers = bill_for(gpu, gpu_count), gpu_count // 8
    plan, rack = bill.facility.plan, bill.facility.rack
    assert plan is not None
    assert rack is not None
    rows = {row["sku"]: row for row in _rows("racks")}
    usable = float(rows[rack.sku]["usable_kw"]) * 1000
    server_watts = plan.server_max_watts / servers
    per_rack = min(
        int(usable // server_watts), int(rows[rack.sku]["rack_units"]) // (bill.build.server.rack_units or 1)
    )
    others = plan.it_max_watts - plan.server_max_watts
    least = math.ceil(servers / per_rack)
    racks = _of_kind(bill, "rack")[rack.sku]
    assert least <= racks <= least + math.ceil(others / usable) + 1
    assert racks * usable >= plan.it_max_watts
    (strip, strips), *_none = _of_kind(bill, "pdu").items()
    circuit = float(rows[strip]["circuit_kw_80_percent"]) * 1000
    each_feed = math.ceil(usable / circuit)
    assert strips == 2 * each_feed * racks  # N+N: either feed carries the rack alone
    # switches at their printed power
    watts = {row["sku"]: float(row["power_w"]) for row in _rows("switches")}
    # of the training network, the front end and the management network
    switches = sum(watts[line["sku"]] * line["quantity"] for line in bill.lines if line["kind"] == "switch")
    assert plan.network_max_watts == pytest.approx(switches)
    assert plan.facility_max_watts == pytest.approx(1.4 * plan.it_max_watts)


@pytest.mark.parametrize(("gpu_count", "is_full"), [(512, True), (56, False)])
def test_a_fabric_manager_without_a_free_port_is_said_before_the_order(gpu_count: int, is_full: bool) -> None:
    """512 ports fill the lower halves of 16 leaves; 56 leave 8 of one switch free."""
    with translation.override("en"):
        (manager,) = (line for line in bill_for(BOARDS[0], gpu_count).lines if line["sku"] == "mgmt-ufm-1")
    assert ("Every port of the fabric is taken" in manager["reason"]) is is_full


@pytest.mark.parametrize("gpu_count", COUNTS[1:])
@pytest.mark.parametrize("gpu", [BOARDS[0], CARDS])
def test_front_end_and_management_networks(gpu: str, gpu_count: int) -> None:
    bill, servers = bill_for(gpu, gpu_count), gpu_count // 8
    quantity = _quantities(bill)
    nodes = sum(_of_kind(bill, "management_node").values())
    # two ports of 100 Gbit/s a node; the PCIe server has two slots beside its cards, both with training NICs
    ports = 2 * nodes + (0 if gpu == CARDS else 2 * servers)
    # the shared storage reads through ports of 12.5 GB/s
    read_gb_s = {row["sku"]: float(row["read_gb_s"]) for row in _rows("storage") if row["read_gb_s"]}
    ports += sum(count * max(2, math.ceil(read_gb_s[sku] / 12.5)) for sku, count in _of_kind(bill, "storage").items())
    # two switches of 64 ports carry 128; beyond, half of a leaf's ports go up: as many links at every tier
    leaves = math.ceil(ports / 32)
    if ports <= 128:
        assert (quantity["nvidia-sn4600c"], quantity["mfa1a00-c010"]) == (2, ports)
    elif leaves <= 64:  # each spine has a port for every leaf
        assert quantity["mfa1a00-c010"] == 2 * ports
        spines = quantity["nvidia-sn4600c"] - leaves
        assert math.ceil(ports / 64) <= spines <= 32
    else:
        assert quantity["mfa1a00-c010"] == 3 * ports
        assert quantity["nvidia-sn4600c"] >= leaves + math.ceil(ports / 32) + math.ceil(ports / 64)
    # a BMC port each, a port a switch, two power strips a server at most
    managed = servers + nodes + bill.network.answer["switch_count"] + quantity["nvidia-sn4600c"] + 2 * servers
    assert quantity["cat6-1g-3m"] == managed
    assert quantity["nvidia-sn2201"] == math.ceil(managed / 48)


@pytest.mark.parametrize("gpu", [*BOARDS, CARDS])
def test_every_line_of_a_large_cluster_has_reason_and_rule(gpu: str) -> None:
    bill = bill_for(gpu, 512)
    kinds = {line["kind"] for line in bill.lines}
    assert {
        "server",
        "gpu",
        "cpu",
        "memory",
        "ssd",
        "nic",
        "switch",
        "optic",
        "cable",
        "storage",
        "rack",
        "pdu",
    } <= kinds
    assert {"management_node", "spare_server", "service"} <= kinds
    assert all(line["reason"] and line["source_rule"] and line["quantity"] > 0 for line in bill.lines)
    inside = {line["kind"]: line["quantity"] for line in bill.lines if line["part_of"]}
    assert inside["gpu"] == 512


def _rows(name: str) -> list[dict[str, str]]:
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _quantities(bill: Bill) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in bill.lines:
        found[line["sku"]] = found.get(line["sku"], 0) + line["quantity"]
    return found


def _of_kind(bill: Bill, kind: str) -> dict[str, int]:
    return {line["sku"]: line["quantity"] for line in bill.lines if line["kind"] == kind}
