"""Fabric, optics and cables of a cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.utils import translation

from advisor.hardware import load_parts
from advisor.network_parts import fabric_switch, front_end_lines, training_network
from advisor.server_build import server_build

pytestmark = pytest.mark.usefixtures("catalog")


def _build(gpu_sku="nvidia-h100-sxm5-80gb", server_sku="supermicro-as-8125gs-tnhr"):
    parts = load_parts()
    return server_build(parts, parts.gpus[gpu_sku], parts.servers[server_sku])


def test_a_scalable_unit_takes_eight_leaves_and_four_spines():
    # DGX SuperPOD, H100: 32 servers = 256 GPUs, 8 leaf and 4 spine switches of 64 x 400G
    network = training_network(load_parts(), _build(), 32)
    assert network.plan is not None
    assert (network.plan.leaf_count, network.plan.spine_count, network.plan.core_count) == (8, 4, 0)
    assert network.answer["switch"] == "nvidia-qm9700"
    assert network.missing == ()


def test_four_servers_share_one_switch_over_copper():
    # 4 servers x 8 ports on one 64-port switch; splitter cables serve two links each
    network = training_network(load_parts(), _build(), 4)
    kinds = {line["kind"]: line["quantity"] for line in network.lines}
    assert kinds["switch"] == 1
    assert kinds["cable"] == 16
    assert "optic" not in kinds


def test_optical_links_have_an_optic_at_each_end():
    network = training_network(load_parts(), _build(), 32)
    by_sku = {}
    for line in network.lines:
        by_sku[line["sku"]] = by_sku.get(line["sku"], 0) + line["quantity"]
    # 256 server links with one single-port optic each; 256 + 256 links end in twin-port cages: 128 + 128 + 128
    assert by_sku["mma4z00-ns400"] == 256
    assert by_sku["mma4z00-ns"] == 384


def test_hdr_clusters_take_hdr_switches_and_active_cables():
    network = training_network(load_parts(), _build("nvidia-a100-sxm4-80gb", "inspur-nf5688m6"), 20)
    assert network.answer["switch"] == "nvidia-qm8700"
    assert {line["sku"][:7] for line in network.lines if line["kind"] == "cable"} == {"mfs1s00"}


def test_a_part_that_the_catalogue_lacks_is_named():
    # the catalogue has no NIC-side optic of 800 Gbit/s
    network = training_network(load_parts(), _build("nvidia-b300-sxm-270gb", "supermicro-sys-822gs-nb3rt"), 16)
    assert any("800" in text for text in network.missing)


def test_roce_takes_an_ethernet_switch():
    parts = load_parts()
    switch = fabric_switch(parts, parts.nics["nvidia-cx7-1p-400-vpi"], kind="roce")
    assert switch is not None
    assert switch.protocol == "Ethernet"


def test_ports_are_told_by_server_and_by_gpu():
    answer = training_network(load_parts(), _build(), 4).answer
    assert (answer["ports_per_server"], answer["gbit_per_second_per_gpu"]) == (8, 400)


def test_a_lone_server_has_neither_fabric_nor_management_switches():
    parts, build = load_parts(), _build()
    assert training_network(parts, build, 1).lines == ()
    assert front_end_lines(parts, build, server_count=1, management_count=0, switch_count=0) == []


def test_front_end_switches_come_in_pairs_at_least():
    parts, build = load_parts(), _build()
    lines = front_end_lines(parts, build, server_count=2, management_count=1, switch_count=1)
    assert next(line["quantity"] for line in lines if line["sku"] == "nvidia-sn4600c") == 2


def test_cables_have_the_plugs_of_both_ends():
    # ConnectX-7 of one port has an OSFP cage: the splitter that ends in 2 x OSFP, not the one for QSFP112
    parts = load_parts()
    copper = next(line for line in training_network(parts, _build(), 4).lines if line["kind"] == "cable")
    assert parts.cables[copper["sku"]].end_b.startswith("2 x OSFP")
    # QM8700 has 40 QSFP56 cages and no twin ports: a straight cable for each of 3 x 8 links
    hdr = training_network(parts, _build("nvidia-a100-sxm4-80gb", "inspur-nf5688m6"), 3)
    cable = next(line for line in hdr.lines if line["kind"] == "cable")
    assert (parts.cables[cable["sku"]].end_a, parts.cables[cable["sku"]].end_b) == ("QSFP56", "QSFP56")
    assert cable["quantity"] == 24


def test_bluefield_takes_qsfp112_plugs():
    parts = load_parts()
    build = replace(_build(), nic=parts.nics["nvidia-bf3-b3140h"])
    optics = {line["sku"]: line["quantity"] for line in training_network(parts, build, 32).lines}
    assert optics["mma1z00-ns400"] == 256
    assert "mma4z00-ns400" not in optics


@pytest.mark.parametrize(
    ("ports", "switches", "cables"),
    [
        (128, 2, 128),  # a port of each pair
        (129, 8, 258),  # 5 leaves of 32 down, 3 spines for 129 links up
        (2048, 64 + 32, 2 * 2048),  # full two tiers of 64-port switches
        (65536, 2048 + 2048 + 1024, 3 * 65536),  # full three tiers
    ],
)
def test_front_end_ports_beyond_a_pair_get_spines(ports, switches, cables):
    parts, build = load_parts(), _build()
    usual = 2 * 2 + 2  # two servers and a management node
    lines = front_end_lines(
        parts, build, server_count=2, management_count=1, switch_count=1, storage_port_count=ports - usual
    )
    quantity = {line["sku"]: line["quantity"] for line in lines}
    assert (quantity["nvidia-sn4600c"], quantity["mfa1a00-c010"]) == (switches, cables)


def test_a_front_end_beyond_three_tiers_is_said():
    parts, build = load_parts(), _build()
    with translation.override("en"):
        lines = front_end_lines(
            parts, build, server_count=2, management_count=1, switch_count=1, storage_port_count=70_000
        )
    switch = next(line for line in lines if line["sku"] == "nvidia-sn4600c")
    assert "the tiers above are to be planned" in switch["reason"]
