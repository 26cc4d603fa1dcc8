"""Management nodes by the catalogue's rules, racks, power strips and power."""

from __future__ import annotations

import pytest

from advisor.facility_parts import build_watts, management_count, rack_for
from advisor.hardware import load_parts
from advisor.server_build import server_build


class TestManagementCount:
    @pytest.mark.parametrize(
        ("rule", "servers", "expected"),
        # rules as the catalogue's management nodes carry them, counted by hand
        [
            ("2 per cluster from 4 GPU servers; 1 below", 1, 0),
            ("2 per cluster from 4 GPU servers; 1 below", 3, 1),
            ("2 per cluster from 4 GPU servers; 1 below", 4, 2),
            ("2 per cluster from 4 GPU servers (high availability); +1 per 64 GPU servers", 63, 2),
            ("2 per cluster from 4 GPU servers (high availability); +1 per 64 GPU servers", 128, 4),
            ("1 per cluster from 8 GPU servers", 7, 0),
            ("1 per cluster from 8 GPU servers", 8, 1),
            ("1 per InfiniBand fabric; 2 from 64 GPU servers", 2, 1),
            ("1 per InfiniBand fabric; 2 from 64 GPU servers", 64, 2),
            ("2 per cluster when the storage system has no own gateway", 8, 2),
        ],
    )
    def test_follows_the_rule(self, rule, servers, expected):
        assert management_count(rule, servers, has_infiniband=True, has_storage_gateway=False) == expected

    def test_no_fabric_manager_without_infiniband(self):
        rule = "1 per InfiniBand fabric; 2 from 64 GPU servers"
        assert management_count(rule, 64, has_infiniband=False, has_storage_gateway=True) == 0

    def test_a_rule_that_is_not_understood_gives_no_number(self):
        assert management_count("as many as you like", 8, has_infiniband=True, has_storage_gateway=True) is None

    @pytest.mark.usefixtures("catalog")
    def test_every_rule_of_the_catalogue_is_understood(self):
        for part in load_parts().management.values():
            count = management_count(part.quantity_rule, 64, has_infiniband=True, has_storage_gateway=False)
            assert count is not None, part.sku


@pytest.mark.usefixtures("catalog")
class TestPower:
    def test_the_makers_figure_counts(self):
        # DGX H100 user guide: 10.2 kW
        parts = load_parts()
        build = server_build(parts, parts.gpus["nvidia-h100-sxm5-80gb"], parts.servers["nvidia-dgx-h100"])
        assert build_watts(build) == 10200

    def test_without_one_the_rule_counts_these_very_parts(self):
        # facts, section 9: 1.55 x (GPUs + CPUs) + 25 W per pair of modules and NIC
        parts = load_parts()
        build = server_build(parts, parts.gpus["nvidia-h100-sxm5-80gb"], parts.servers["supermicro-as-8125gs-tnhr"])
        assert build.cpu is not None
        assert build.cpu.tdp_watts is not None
        nics = build.nic_count + (1 if build.front_end_nic else 0)
        by_hand = 1.55 * (8 * 700 + 2 * build.cpu.tdp_watts) + 25 * (build.memory_count // 2 + nics)
        assert build_watts(build) == pytest.approx(by_hand)

    def test_a_rack_takes_two_servers_where_one_does(self):
        # 10.2 kW servers: the 12 kW class takes one, the 22 kW class two
        parts = load_parts()
        several, one = rack_for(parts, 10200, 8, "air", 4), rack_for(parts, 10200, 8, "air", 1)
        assert several is not None
        assert one is not None
        assert (several.usable_watts, one.usable_watts) == (22000, 12000)

    def test_liquid_cooled_servers_get_liquid_cooled_racks(self):
        rack = rack_for(load_parts(), 14000, 4, "liquid", 4)
        assert rack is not None
        assert rack.cooling.startswith("liquid")
