from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.engine.power import (
    Load,
    RackType,
    average_watts,
    derived_server_watts,
    kilowatt_hours,
    power_plan,
    rack_fill,
    servers_within_site,
)

RACK_8 = RackType(sku="rack-42u-air-8", usable_watts=8000, rack_units=42, cooling="air")
RACK_12 = RackType(sku="rack-42u-air-12", usable_watts=12000, rack_units=42, cooling="air")
RACK_22 = RackType(sku="rack-42u-air-22", usable_watts=22000, rack_units=42, cooling="air")
RACK_42 = RackType(sku="rack-48u-air-42", usable_watts=42000, rack_units=48, cooling="air")
DGX_H100 = Load(kind="server", count=32, max_watts=10200, rack_units=8)


class TestServerPower:
    def test_between_idle_and_training(self):
        # 35 % idle, 76 % in training; half of the time (35 + 76) / 2
        assert average_watts(10000, [0.0, 0.5, 1.0]).tolist() == pytest.approx([3500, 5550, 7600])

    @pytest.mark.parametrize(
        ("arguments", "published_watts"),
        [
            # makers' figures: DGX H100 10.2 kW, DGX A100 6.5 kW, DGX B200 14.3 kW
            ((1.55, 8 * 700, 2 * 350, 16, 10), 10200),
            ((1.55, 8 * 400, 2 * 280, 8, 10), 6500),
            ((1.55, 8 * 1000, 2 * 350, 16, 8), 14300),
        ],
        ids=["dgx-h100", "dgx-a100", "dgx-b200"],
    )
    def test_derived_power_is_within_ten_percent_of_the_maker(self, arguments, published_watts):
        assert derived_server_watts(*arguments) == pytest.approx(published_watts, rel=0.10)

    @pytest.mark.parametrize(("load", "idle"), [(-0.1, 0.3), (1.1, 0.3), (0.5, 1.2)])
    def test_nonsense_is_refused(self, load, idle):
        with pytest.raises(ValueError, match="between 0 and 1"):
            average_watts(1000, load, idle_fraction=idle)

    def test_negative_power_is_refused(self):
        with pytest.raises(ValueError, match="negative"):
            average_watts(-1.0, 0.5)
        with pytest.raises(ValueError, match="negative"):
            derived_server_watts(1.5, -1.0, 0.0, 0, 0)


class TestRacks:
    """Rack classes of the catalogue, whose notes say how many servers they take."""

    @pytest.mark.parametrize(
        ("rack", "watts", "units", "count", "limited_by"),
        [
            (RACK_8, 10200, 8, 0, "none"),  # "not enough for one H100 8-GPU server (10.2 kW)"
            (RACK_12, 10200, 8, 1, "power"),  # "one 8-GPU Hopper server"
            (RACK_22, 10200, 8, 2, "power"),  # "two Hopper servers"
            (RACK_22, 14300, 10, 1, "power"),  # "or one B200 server"
            (RACK_42, 10200, 8, 4, "power"),  # "4 DGX H100 = 40.8 kW"
            (RACK_42, 1000, 8, 6, "space"),
        ],
    )
    def test_servers_per_rack(self, rack, watts, units, count, limited_by):
        fill = rack_fill(rack, watts, units)
        assert (fill.devices_per_rack, fill.limited_by) == (count, limited_by)

    def test_nonsense_is_refused(self):
        with pytest.raises(ValueError, match="positive"):
            rack_fill(RACK_42, 0, 8)


class TestPlan:
    SWITCHES = Load(kind="switch", count=12, max_watts=1720, rack_units=1)

    def test_scalable_unit_by_hand(self):
        # 32 x 10.2 kW = 326.4 kW, 12 x 1.72 kW = 20.64 kW; PUE 1.4
        plan = power_plan((DGX_H100, self.SWITCHES), RACK_42, 1.4)
        assert plan.it_max_watts == pytest.approx(347_040)
        assert plan.facility_max_watts == pytest.approx(485_856)
        assert plan.network_max_watts == pytest.approx(20_640)
        # 8 racks of 4 leave 8 x 1.2 = 9.6 kW, the switches need 20.64: one rack more
        assert (plan.servers_per_rack, plan.rack_count) == (4, 9)
        assert plan.energy_joules is None

    def test_energy_of_a_day_at_full_load(self):
        # one 10.2 kW server, 24 h, PUE 1.25: 306 kWh
        load = Load(kind="server", count=1, max_watts=10200, rack_units=8)
        plan = power_plan((load,), RACK_12, 1.25, 86400)
        assert plan.energy_kilowatt_hours == pytest.approx(306)
        assert plan.energy_joules == pytest.approx(306 * 3.6e6)

    def test_average_share_lowers_energy_but_not_racks(self):
        full = power_plan((DGX_H100,), RACK_42, 1.4, 86400)
        mean = power_plan((replace(DGX_H100, average_fraction=0.76),), RACK_42, 1.4, 86400)
        assert mean.energy_joules == pytest.approx(0.76 * full.energy_joules)
        assert mean.rack_count == full.rack_count

    def test_server_too_hot_for_the_rack_gives_no_count(self):
        plan = power_plan((DGX_H100,), RACK_8, 1.4)
        assert (plan.rack_count, plan.rack_limited_by) == (None, "none")

    def test_kilowatt_hour(self):
        assert kilowatt_hours(3.6e6) == 1.0

    def test_pue_below_one_is_refused(self):
        with pytest.raises(ValueError, match="PUE"):
            power_plan((DGX_H100,), RACK_42, 0.9)

    @given(st.integers(1, 500), st.floats(500, 20000), st.integers(1, 12), st.integers(0, 60))
    def test_racks_hold_everything(self, count, watts, units, switches):
        server = Load(kind="server", count=count, max_watts=watts, rack_units=units)
        switch = Load(kind="switch", count=switches, max_watts=1720, rack_units=1)
        plan = power_plan((server, switch), RACK_42, 1.4)
        assert plan.rack_count * RACK_42.usable_watts >= plan.it_max_watts - 1e-3
        assert plan.rack_count * RACK_42.rack_units >= count * units + switches
        assert plan.it_average_watts <= plan.it_max_watts + 1e-6


class TestSite:
    def test_200_kilowatts_and_5_racks(self):
        # 200 / 10.2 = 19 servers by power, 5 x 4 = 20 by racks
        assert servers_within_site(200e3, 5, RACK_42, DGX_H100) == 19
        assert servers_within_site(None, 5, RACK_42, DGX_H100) == 20
        assert servers_within_site(None, None, RACK_42, DGX_H100) is None
