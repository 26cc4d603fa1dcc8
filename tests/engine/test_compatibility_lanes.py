"""Lanes by switch uplink on boards, by socket elsewhere; sums by hand on real parts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from advisor.engine import compatibility_lanes as rules
from tests.engine.catalogue_parts import CANDIDATES, CPUS, GPUS, SERVERS

EPYC_9554, XEON_8558 = CPUS["amd-epyc-9554"], CPUS["intel-xeon-8558"]
H100, L40S = GPUS["nvidia-h100-sxm5-80gb"], GPUS["nvidia-l40s-48gb"]
XE9680, R760XA = SERVERS["dell-poweredge-xe9680"], SERVERS["dell-poweredge-r760xa"]
ADA_SERVER = SERVERS["supermicro-as-4125gs-tnrt"]


def lanes(gpu, gpu_count, cpu, server, nic_count, ssd_count, cpu_count=2):
    return rules.pcie_lanes(
        gpu,
        gpu_count,
        cpu,
        cpu_count,
        server,
        nic_count=nic_count,
        ssd_count=ssd_count,
        cpus=CANDIDATES.cpus,
        servers=CANDIDATES.servers,
    )


class TestUsable:
    def test_two_epyc_leave_160(self):
        # catalogue: "160 usable lanes on two sockets (3 xGMI links; 128 with 4)"
        assert rules.usable_pcie_lanes(EPYC_9554, 2) == 160
        assert rules.usable_pcie_lanes(EPYC_9554, 1) == 128

    def test_two_xeon_have_160(self):
        assert rules.usable_pcie_lanes(XEON_8558, 2) == 160


class TestSockets:
    def test_four_cards_fit(self):
        # each socket: 2 x 16 + 1 x 16 + 2 x 4 = 56 of 80
        assert lanes(L40S, 4, XEON_8558, R760XA, 2, 4) is None

    def test_too_many_without_a_switch(self):
        # each socket: 2 x 16 + 4 x 16 + 4 x 4 = 112 against 80
        check = lanes(L40S, 4, XEON_8558, R760XA, 8, 8)
        assert (check.code, check.severity) == ("pcie_lanes_exceeded", "blocks")
        assert (check.figures["lanes_wanted"], check.figures["lanes_given"]) == (112, 80)
        nearest = SERVERS[check.nearest]
        assert nearest.has_pcie_switch
        assert L40S.sku in nearest.supported_gpu_skus

    def test_the_fuller_socket_decides(self):
        # eight cards and a NIC: 4 x 16 + 16 = 80 on one socket, the drives go to the other, 64 + 2 x 4 = 72
        direct = replace(ADA_SERVER, has_pcie_switch=False)
        assert lanes(L40S, 8, EPYC_9554, direct, 1, 2) is None
        # a second NIC fills the other one too; the first drive is one too many: 84
        check = lanes(L40S, 8, EPYC_9554, direct, 2, 1)
        assert (check.code, check.figures["lanes_wanted"]) == ("pcie_lanes_exceeded", 84)

    def test_an_unknown_switch_must_be_confirmed(self):
        # each socket: 4 x 16 + 1 x 16 + 2 x 4 = 88 against 80
        check = lanes(L40S, 8, EPYC_9554, ADA_SERVER, 2, 4)
        assert (check.code, check.severity) == ("pcie_lanes_unconfirmed", "check")
        assert check.figures["lanes_wanted"] == 88


class TestUplinks:
    def test_gpus_and_their_nics_stay_behind_the_switch(self):
        # four uplinks of x16 and 8 drives of x4: 64 + 32 = 96 of 160
        check = lanes(H100, 8, XEON_8558, XE9680, 8, 8)
        assert (check.code, check.severity) == ("pcie_lanes_switched", "note")
        assert (check.figures["lanes_wanted"], check.figures["lanes_given"]) == (96, 160)
        assert (check.figures["switch_count"], check.figures["nics_per_switch"]) == (4, 2)
        assert check.figures["oversubscription"] == 2

    def test_two_gpus_share_an_uplink_to_the_host(self):
        # PCIe 5.0 x16 is 63 GB/s one way: 31.5 for each of two GPUs
        check = lanes(H100, 8, XEON_8558, XE9680, 8, 8)
        assert check.figures["gpu_host_bytes_per_second"] == pytest.approx(31.5e9)

    def test_an_a100_halves_it(self):
        # the GPU links at generation 4: 31 GB/s
        check = lanes(GPUS["nvidia-a100-sxm4-80gb"], 8, XEON_8558, XE9680, 8, 8)
        assert check.figures["gpu_host_bytes_per_second"] == pytest.approx(15.5e9)

    def test_further_nics_and_drives_can_exceed_the_sockets(self):
        # 4 x 16 uplinks + 4 further NICs x 16 + 16 drives x 4 = 192 against 160
        check = lanes(H100, 8, XEON_8558, XE9680, 12, 16)
        assert (check.code, check.severity) == ("pcie_uplinks_exceeded", "blocks")
        assert check.figures["lanes_wanted"] == 192
        if check.nearest:
            assert rules.usable_pcie_lanes(CPUS[check.nearest], 2) >= 192

    def test_nearest_is_a_processor_of_the_socket_with_the_lanes(self):
        few = replace(XEON_8558, sku="few-lanes", pcie_lanes=40)
        check = lanes(H100, 8, few, XE9680, 8, 8)
        assert (check.figures["lanes_wanted"], check.figures["lanes_given"]) == (96, 80)
        assert CPUS[check.nearest].socket == XEON_8558.socket
