from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.engine.fabric import (
    FabricRequest,
    fabric_plan,
    leaf_port_split,
    out_of_band_switch_count,
    three_tier_endpoint_limit,
    two_tier_endpoint_limit,
)


def _plan(server_count, ports_per_server=8, radix=64, **changes):
    return fabric_plan(
        FabricRequest(server_count=server_count, ports_per_server=ports_per_server, switch_port_count=radix, **changes)
    )


class TestLimits:
    """Fat-tree sizes of the hardware facts, section 6: k^2/2 and k^3/4."""

    @pytest.mark.parametrize(("radix", "endpoints"), [(40, 800), (64, 2048), (128, 8192), (144, 10368)])
    def test_two_tiers(self, radix, endpoints):
        assert two_tier_endpoint_limit(radix) == endpoints

    def test_three_tiers(self):
        assert three_tier_endpoint_limit(64) == 65536

    @pytest.mark.parametrize(
        ("oversubscription", "split"), [(1.0, (32, 32)), (2.0, (42, 22)), (3.0, (48, 16)), (1000.0, (63, 1))]
    )
    def test_leaf_ports(self, oversubscription, split):
        assert leaf_port_split(64, oversubscription) == split

    @pytest.mark.parametrize(("radix", "oversubscription"), [(1, 1.0), (64, 0.5), (64, float("nan"))])
    def test_nonsense_is_refused(self, radix, oversubscription):
        with pytest.raises(ValueError, match="at least"):
            leaf_port_split(radix, oversubscription)


class TestTwoTiers:
    @pytest.mark.parametrize("group_count", range(1, 9))
    def test_full_groups_take_8n_leaves_and_4n_spines(self, group_count):
        plan = _plan(32 * group_count)
        assert (plan.tier_count, plan.leaf_count, plan.spine_count, plan.core_count) == (
            2,
            8 * group_count,
            4 * group_count,
            0,
        )
        assert plan.free_port_count == 0

    def test_scalable_unit_of_256_gpus(self):
        # DGX SuperPOD H100: 32 servers, 8 leaf, 4 spine; 256 links on each side of the leaves
        plan = _plan(32)
        assert plan.servers_per_group == 32
        assert [(link.kind, link.link_count) for link in plan.links] == [
            ("server_to_leaf", 256),
            ("leaf_to_spine", 256),
        ]

    def test_four_units_less_one_server(self):
        # the published H100 design ends at 127 servers: 32 leaf, 16 spine
        plan = _plan(127)
        assert (plan.leaf_count, plan.spine_count) == (32, 16)

    def test_512_gpus_take_16_leaves_and_8_spines(self):
        # reference build "64 servers of 8 x H100"
        plan = _plan(64)
        assert (plan.leaf_count, plan.spine_count) == (16, 8)

    def test_three_full_groups_are_wired_evenly_with_16_spines(self):
        # 32 uplinks of a leaf: 12 spines do not divide them, 16 do; the published 3-unit design has 24 leaf, 16 spine
        plan = _plan(96)
        assert (plan.spine_count, plan.even_spine_count, plan.is_evenly_wired) == (12, 16, False)

    def test_rails_share_a_leaf_in_a_small_group(self):
        # 16 servers x 8 ports = 128: two rails of 16 fill the 32 down ports of a leaf
        plan = _plan(16)
        assert (plan.rails_per_leaf, plan.leaf_count, plan.spine_count) == (2, 4, 2)

    def test_hdr_radix_40(self):
        # 20 DGX A100 are one group at k = 40: 8 leaves, 4 spines
        plan = _plan(20, radix=40)
        assert (plan.leaf_count, plan.spine_count, plan.group_count) == (8, 4, 1)

    def test_oversubscription_saves_spines(self):
        # 48 down : 16 up; 96 servers x 8 = 768 ports, 2 groups of 48: 16 leaves, 256 uplinks, 4 spines
        plan = _plan(96, oversubscription=3.0)
        assert (plan.group_count, plan.leaf_count, plan.spine_count) == (2, 16, 4)


class TestSmallCases:
    def test_one_server_needs_no_fabric(self):
        plan = _plan(1)
        assert (plan.tier_count, plan.switch_count, plan.cable_count, plan.links) == (0, 0, 0, ())

    @pytest.mark.parametrize("server_count", [2, 4, 8])
    def test_one_switch_up_to_its_ports(self, server_count):
        # reference build: one QM9700 serves 4 servers of 8 ports
        plan = _plan(server_count)
        assert (plan.tier_count, plan.switch_count) == (1, 1)
        assert plan.free_port_count == 64 - 8 * server_count

    def test_one_port_more_makes_two_tiers(self):
        assert _plan(9).tier_count == 2
        assert _plan(65, ports_per_server=1).tier_count == 2


class TestThreeTiers:
    def test_one_server_beyond_two_tiers(self):
        assert _plan(256).tier_count == 2
        plan = _plan(257)
        assert plan.tier_count == 3
        assert plan.core_count > 0

    def test_more_rails_than_a_spine_has_ports_is_refused(self):
        # 8 leaves of a group need 8 of the 4 down ports of an 8-port spine
        with pytest.raises(ValueError, match="do not fit the 4 down ports"):
            _plan(40, ports_per_server=8, radix=8)

    def test_full_three_tiers_by_hand(self):
        # k = 8, 2 ports a server: group = 4 servers, 2 leaves; pod = 4 leaves; k^3/4 = 128 ports = 64 servers
        # leaves 128/4 = 32, spines 32, cores (k/2)^2 = 16
        plan = _plan(64, ports_per_server=2, radix=8)
        assert (plan.tier_count, plan.leaf_count, plan.spine_count, plan.core_count) == (3, 32, 32, 16)
        assert plan.free_port_count == 0

    def test_beyond_three_tiers_is_refused(self):
        with pytest.raises(ValueError, match="do not fit three tiers of 8-port switches: at most 128"):
            _plan(65, ports_per_server=2, radix=8)


class TestCables:
    def test_copper_to_servers_optics_between_switches(self):
        # 32 servers: 256 server links in twin-port splitters = 128 cables; 256 fibres to the spines with a twin-port
        # module for two links on both sides = 128 + 128
        plan = _plan(32)
        server, spine = plan.links
        assert (server.cable_count, server.lower_transceiver_count, server.upper_transceiver_count) == (128, 0, 0)
        assert (spine.cable_count, spine.lower_transceiver_count, spine.upper_transceiver_count) == (256, 128, 128)
        assert (plan.cable_count, plan.transceiver_count) == (384, 256)

    def test_optics_to_servers_one_module_per_nic_port(self):
        plan = _plan(4, has_optical_server_links=True)
        (server,) = plan.links
        assert (server.cable_count, server.lower_transceiver_count, server.upper_transceiver_count) == (32, 32, 16)

    def test_single_link_cages(self):
        (server,) = _plan(4, links_per_switch_cage=1).links
        assert server.cable_count == 32

    def test_bisection(self):
        # 256 uplinks of 50 GB/s, half of them cross the middle
        assert _plan(32, port_bytes_per_second=50e9).bisection_bytes_per_second == pytest.approx(128 * 50e9)


class TestManagement:
    def test_48_ports_a_switch(self):
        assert [out_of_band_switch_count(n) for n in (0, 1, 48, 49)] == [0, 1, 1, 2]

    def test_nonsense_is_refused(self):
        with pytest.raises(ValueError, match="negative"):
            out_of_band_switch_count(-1)


@pytest.mark.parametrize("changes", [{"server_count": 0}, {"ports_per_server": 0}, {"links_per_switch_cage": 0}])
def test_nonsense_is_refused(changes):
    request = FabricRequest(server_count=4, ports_per_server=8, switch_port_count=64)
    with pytest.raises(ValueError, match="at least 1"):
        fabric_plan(replace(request, **changes))


@given(
    st.integers(2, 600),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([32, 40, 64, 128, 144]),
    st.sampled_from([1.0, 1.5, 2.0, 3.0]),
)
def test_every_plan_can_be_cabled(server_count, ports, radix, oversubscription):
    plan = _plan(server_count, ports, radix, oversubscription=oversubscription)
    assert plan.links[0].link_count == server_count * ports
    assert plan.free_port_count >= 0
    assert plan.used_port_count + plan.free_port_count == plan.switch_count * radix
    assert plan.switch_count == plan.leaf_count + plan.spine_count + plan.core_count
    if plan.tier_count == 2:
        # every spine must have a port for every leaf, and no leaf more server links than ratio x uplinks
        assert plan.leaf_count <= radix
        assert plan.links[0].link_count <= oversubscription * plan.links[1].link_count + 1e-6
        assert plan.spine_count * radix >= plan.links[1].link_count
