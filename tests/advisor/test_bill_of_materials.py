"""The whole cluster as parts."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.advisor.test_prices import _bill

pytestmark = pytest.mark.usefixtures("catalog")


def _counts(bill):
    counts = Counter()
    for line in bill.lines:
        counts[line["kind"]] += line["quantity"]
    return counts


def test_a_cluster_has_every_kind_of_part():
    _parts, bill = _bill(servers=32, spares=1)
    counts = _counts(bill)
    assert counts["server"] == 32
    assert counts["gpu"] == 256
    assert counts["cpu"] == 64
    assert counts["spare_server"] == 1
    assert {
        "memory",
        "ssd",
        "nic",
        "switch",
        "cable",
        "optic",
        "storage",
        "management_node",
        "rack",
        "pdu",
        "service",
    } <= set(counts)


def test_every_line_says_why_and_by_which_rule():
    _parts, bill = _bill(servers=32)
    assert [line["sku"] for line in bill.lines if not line["reason"] or not line["source_rule"]] == []


def test_parts_inside_belong_to_the_server():
    _parts, bill = _bill()
    inside = {line["kind"] for line in bill.lines if line["part_of"] == "supermicro-as-8125gs-tnhr"}
    assert inside >= {"gpu", "cpu", "memory", "ssd", "nic"}
    assert not inside & {"server", "switch", "rack", "service"}


def test_every_sku_is_in_the_catalogue():
    parts, bill = _bill(servers=32)
    tables = (
        parts.gpus, parts.servers, parts.cpus, parts.memory, parts.ssds, parts.nics, parts.switches, parts.cables,
        parts.storage, parts.racks, parts.management, parts.services,
    )  # fmt: skip
    assert [line["sku"] for line in bill.lines if not any(line["sku"] in table for table in tables)] == []


def test_a_lone_server_has_no_network_and_no_cluster_services():
    _parts, bill = _bill(servers=1, spares=0)
    counts = _counts(bill)
    assert not {"switch", "management_node", "spare_server", "optic"} & set(counts)
    assert {line["sku"] for line in bill.lines if line["kind"] == "service"} == {
        "svc-acceptance",
        "svc-warranty-3y-onsite",
    }


def test_regulated_data_adds_isolation():
    _parts, bill = _bill(data_sensitivity="regulated")
    assert "svc-data-isolation" in {line["sku"] for line in bill.lines}


def test_racks_hold_the_servers():
    _parts, bill = _bill(servers=32)
    plan = bill.facility.plan
    assert plan is not None
    assert plan.rack_count is not None
    assert plan.rack_count * plan.servers_per_rack >= 32
