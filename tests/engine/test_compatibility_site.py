from __future__ import annotations

from dataclasses import replace

import pytest

from advisor.engine import compatibility_site as rules
from tests.engine.catalogue_parts import CANDIDATES, RACKS, SERVERS

DGX_H100 = SERVERS["nvidia-dgx-h100"]
DGX_B200 = SERVERS["nvidia-dgx-b200"]
XE9680 = SERVERS["dell-poweredge-xe9680"]
RACK_8, RACK_22, RACK_42 = RACKS["rack-42u-air-8"], RACKS["rack-42u-air-22"], RACKS["rack-48u-air-42"]
LIQUID = next(server for server in SERVERS.values() if server.cooling == "liquid" and server.rack_units)


class TestSupplies:
    def test_four_of_six_carry_dgx_h100(self):
        # 4 x 3.3 = 13.2 kW against 10.2
        assert rules.psu_redundancy(DGX_H100) is None

    def test_fault_tolerant_is_a_note(self):
        check = rules.psu_redundancy(XE9680)
        assert (check.code, check.severity) == ("psu_fault_tolerant_only", "note")
        assert check.figures["watts_left"] == pytest.approx(9600)

    def test_too_little_left(self):
        weak = replace(DGX_H100, psu_watts=2500.0)
        check = rules.psu_redundancy(weak)
        assert (check.code, check.figures["watts_left"]) == ("psu_redundancy_short", 10000.0)

    def test_unstated_redundancy_must_bear_one_loss(self):
        server = replace(DGX_H100, psu_redundancy=None, psu_count=4, psu_watts=3300.0)
        assert rules.psu_redundancy(server).figures["watts_left"] == pytest.approx(9900)

    def test_unknown_supplies_say_nothing(self):
        assert rules.psu_redundancy(replace(DGX_H100, psu_watts=None)) is None


class TestRacks:
    def test_one_h100_server_is_too_much_for_8_kilowatts(self):
        check = rules.rack_power(DGX_H100, 1, RACK_8, CANDIDATES.racks)
        assert (check.code, check.severity, check.nearest) == ("rack_power_exceeded", "blocks", "rack-42u-air-12")
        assert check.figures["server_count_that_fits"] == 0

    def test_four_in_42_kilowatts(self):
        assert rules.rack_power(DGX_H100, 4, RACK_42) is None
        assert rules.rack_power(DGX_B200, 4, RACK_42).figures["server_count_that_fits"] == 2

    def test_unknown_power_and_cooling_say_nothing(self):
        unknown = replace(DGX_H100, max_watts=None, cooling=None)
        assert rules.rack_power(unknown, 4, RACK_8) is None
        assert rules.cooling(unknown, RACK_8) is None

    def test_space(self):
        assert rules.rack_space(DGX_H100, 6, RACK_22).figures["server_count_that_fits"] == 5
        assert rules.rack_space(DGX_H100, 5, RACK_22) is None

    def test_cooling(self):
        check = rules.cooling(LIQUID, RACK_42, CANDIDATES.racks)
        assert (check.code, RACKS[check.nearest].cooling) == ("cooling_mismatch", "liquid")
        assert rules.cooling(DGX_H100, RACK_42) is None
        assert rules.cooling(DGX_H100, RACKS["rack-48u-rdhx-50"]) is None
