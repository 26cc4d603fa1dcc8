from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.engine.fabric import FabricRequest
from advisor.engine.growth import fabric_growth, free_server_count


def _request(server_count, ports_per_server=8, radix=64):
    return FabricRequest(server_count=server_count, ports_per_server=ports_per_server, switch_port_count=radix)


class TestFabricGrowth:
    def test_a_second_scalable_unit(self):
        # 32 to 64 servers: 8 leaves and 4 spines more; four spines become eight, so uplinks move
        growth = fabric_growth(_request(32), 32)
        assert (growth.added_leaf_count, growth.added_spine_count, growth.added_core_count) == (8, 4, 0)
        assert growth.added_server_link_count == 256
        assert growth.keeps_server_links
        assert growth.is_recabled

    def test_within_one_switch_nothing_moves(self):
        growth = fabric_growth(_request(4), 4)
        assert (growth.added_leaf_count, growth.added_spine_count, growth.is_recabled) == (0, 0, False)

    def test_beyond_one_switch_rails_part(self):
        # 8 servers on one switch; 16 take 4 leaves of 2 rails: three quarters of the server cables move
        growth = fabric_growth(_request(8), 8)
        assert growth.added_leaf_count == 3
        assert not growth.keeps_server_links
        assert growth.is_recabled

    def test_a_first_fabric_moves_nothing(self):
        growth = fabric_growth(_request(1), 3)
        assert (growth.added_leaf_count, growth.is_recabled, growth.added_server_link_count) == (1, False, 32)

    def test_two_tiers_to_three(self):
        growth = fabric_growth(_request(256), 1)
        assert growth.after.tier_count == 3
        assert growth.added_core_count > 0
        assert growth.is_recabled

    def test_nonsense_is_refused(self):
        with pytest.raises(ValueError, match="at least one"):
            fabric_growth(_request(4), 0)


class TestFreeServers:
    def test_ports_left_on_one_switch(self):
        # 64 ports: 8 servers of 8
        assert free_server_count(_request(5)) == 3
        assert free_server_count(_request(8)) == 0

    def test_the_largest_fabric_has_none(self):
        # k = 8 with 2 ports a server: 64 servers fill three tiers
        assert free_server_count(_request(64, ports_per_server=2, radix=8)) == 0

    def test_full_group_has_none(self):
        assert free_server_count(_request(32)) == 0


@given(st.integers(1, 300), st.integers(1, 300), st.sampled_from([1, 4, 8]))
def test_the_grown_fabric_is_the_planned_one(before, added, ports):
    growth = fabric_growth(_request(before, ports), added)
    assert growth.after.endpoint_count == (before + added) * ports
    assert growth.after.leaf_count <= growth.before.leaf_count + growth.added_leaf_count
    assert growth.added_server_link_count >= added * ports
