"""Searching within a site's power and racks."""

from __future__ import annotations

import pytest

from advisor.engine.specs import FabricSpec, HardwareOption, Target
from advisor.facility_parts import build_watts
from advisor.hardware import hardware_options, load_parts
from advisor.server_build import server_build, servers_for
from advisor.site_search import grouped_by_limit, merged, site_gpu_limits
from tests.advisor.jobs import H100
from tests.advisor.test_preference import _candidate, _result


@pytest.mark.usefixtures("catalog")
class TestLimits:
    def _limit(self, **site):
        parts = load_parts()
        options = hardware_options(parts, [parts.gpus["nvidia-h100-sxm5-80gb"]])
        values = {"max_it_watts": None, "max_racks": None, "cooling": None} | site
        return site_gpu_limits(parts, options, **values)["nvidia-h100-sxm5-80gb"]

    def test_power_counts_the_network_as_a_tenth(self):
        parts = load_parts()
        gpu = parts.gpus["nvidia-h100-sxm5-80gb"]
        watts = build_watts(server_build(parts, gpu, servers_for(parts, gpu)[0]))
        assert watts is not None
        assert self._limit(max_it_watts=200e3) == 8 * int(200e3 // (1.1 * watts))

    def test_racks_hold_a_whole_number_of_servers(self):
        # one 8-GPU Hopper server with its share of the network is over 10 kW: one fits 12 kW, two fit 42 kW racks
        assert self._limit(max_racks=5) % 8 == 0
        assert self._limit(max_racks=10) == 2 * self._limit(max_racks=5) > 0

    def test_a_room_with_less_than_one_server_takes_none(self):
        assert self._limit(max_it_watts=5e3) == 0


def _option(sku):
    return HardwareOption(
        gpu=H100 if sku == "a" else _candidate(sku, 8, 1.0).option.gpu,
        gpus_per_server=8,
        fabric=FabricSpec(scale_out_bytes_per_second_per_gpu=50e9),
    )


def test_options_that_fit_no_server_are_left_out():
    options = [_option("b"), _option("c")]
    groups = grouped_by_limit(options, {"b": 64, "c": 0}, Target())
    assert {limit: [option.gpu.sku for option in group] for limit, group in groups.items()} == {64: ["b"]}


def test_a_size_above_the_limit_is_left_out():
    assert grouped_by_limit([_option("b")], {"b": 64}, Target(gpu_count=128)) == {}


def test_the_cheapest_of_all_groups_leads_and_the_others_say_by_how_much():
    dear = _result(_candidate("dear", 64, 200.0, "recommended", "cheapest"))
    cheap = _result(_candidate("cheap", 32, 100.0, "recommended", "cheapest"))
    result = merged([dear, cheap])
    assert result.recommended is not None
    assert result.recommended.option.gpu.sku == "cheap"
    assert [item.option.gpu.sku for item in result.alternatives] == ["dear"]
    assert result.alternatives[0].labels == ()
    assert [(item.gpu_sku, item.code, item.params["cost_ratio"]) for item in result.rejected] == [
        ("dear", "dearer", 2.0)
    ]
    assert result.evaluated_layout_count == 2


def test_nothing_anywhere_is_nothing():
    result = merged([_result(), _result()])
    assert result.recommended is None
    assert result.evaluated_layout_count == 2
