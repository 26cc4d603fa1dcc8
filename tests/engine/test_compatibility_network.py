from __future__ import annotations

from dataclasses import replace

import pytest

from advisor.engine import compatibility_network as rules
from tests.engine.catalogue_parts import CABLES, CANDIDATES, NICS, SERVERS, SWITCHES

DGX_A100 = SERVERS["nvidia-dgx-a100-640gb"]
DGX_H100 = SERVERS["nvidia-dgx-h100"]
CX6_DUAL = NICS["nvidia-cx6-2p-200-vpi"]
CX7 = NICS["nvidia-cx7-1p-400-vpi"]
QM8700, QM9700 = SWITCHES["nvidia-qm8700"], SWITCHES["nvidia-qm9700"]
SN5600 = SWITCHES["nvidia-sn5600"]


class TestGenerationNames:
    def test_400g_hdr_is_ndr(self):
        check = rules.infiniband_name("HDR", 400e9)
        assert (check.code, check.severity, check.nearest) == ("infiniband_generation_rate", "blocks", "NDR")
        assert check.figures["generation_bits_per_second"] == 200e9

    @pytest.mark.parametrize(("name", "rate"), [("EDR", 100e9), ("hdr", 200e9), ("NDR", 400e9), ("XDR", 800e9)])
    def test_right_names(self, name, rate):
        assert rules.infiniband_name(name, rate) is None

    def test_unknown_name_is_refused(self):
        with pytest.raises(ValueError, match="QDR"):
            rules.infiniband_name("QDR", 40e9)


class TestNicAndServer:
    def test_400g_on_generation_4_is_capped_at_31_gigabytes(self):
        check = rules.nic_pcie_rate(CX7, DGX_A100, CANDIDATES.nics)
        assert check.figures["nic_bytes_per_second"] == pytest.approx(50e9)
        assert check.figures["link_bytes_per_second"] == pytest.approx(31e9)
        nearest = NICS[check.nearest]
        assert nearest.port_count * nearest.bits_per_second_per_port == pytest.approx(200e9)

    def test_dual_200g_card_on_generation_4_cannot_be_fed(self):
        assert rules.nic_pcie_rate(CX6_DUAL, DGX_H100).code == "nic_above_pcie"

    def test_400g_on_generation_5_is_fine(self):
        assert rules.nic_pcie_rate(CX7, DGX_H100) is None

    def test_slots(self):
        assert rules.nic_slots(CX7, 11, DGX_H100).figures == {"nic_count": 11, "slot_count": 10}
        assert rules.nic_slots(CX7, 8, DGX_H100) is None

    def test_one_100g_port_for_8_gpus_is_12_and_a_half_each(self):
        nic = NICS["nvidia-cx5-1p-100-vpi"]
        assert rules.nics_per_gpu(nic, 1, 8).figures["bits_per_second_per_gpu"] == pytest.approx(12.5e9)
        assert rules.nics_per_gpu(nic, 8, 8) is None


class TestNicAndSwitch:
    def test_ndr_pair_fits(self):
        assert rules.nic_and_switch(CX7, QM9700) is None

    def test_ndr_nic_on_hdr_switch_runs_at_200(self):
        check = rules.nic_and_switch(CX7, QM8700, CANDIDATES.switches)
        assert (check.code, check.severity) == ("switch_slower_than_nic", "check")
        assert check.figures["switch_bits_per_second"] == 200e9
        assert SWITCHES[check.nearest].infiniband_generation == "NDR"

    def test_ethernet_nic_on_infiniband_switch(self):
        check = rules.nic_and_switch(NICS["broadcom-bcm57608-thor2"], QM9700, CANDIDATES.switches)
        assert (check.code, check.severity) == ("network_protocol_mismatch", "blocks")
        assert SWITCHES[check.nearest].protocol == "Ethernet"

    def test_no_ports_at_the_rate(self):
        slow = replace(CX7, bits_per_second_per_port=100e9)
        assert rules.nic_and_switch(slow, QM9700).code == "switch_has_no_ports_at_rate"

    def test_split_ports_count(self):
        assert rules.nic_and_switch(CX7, SN5600) is None


class TestReach:
    def test_two_tiers_of_64_ports_end_at_2048(self):
        assert rules.switch_reach(QM9700, 400e9, 2048) is None
        check = rules.switch_reach(QM9700, 400e9, 2056, switches=CANDIDATES.switches)
        assert (check.code, check.severity, check.figures["two_tier_limit"]) == ("fabric_three_tiers", "note", 2048)
        assert check.nearest == "nvidia-q3400-ra"

    def test_beyond_three_tiers(self):
        check = rules.switch_reach(QM8700, 200e9, 16001)
        # 40^3 / 4 = 16 000
        assert (check.code, check.figures["three_tier_limit"]) == ("fabric_too_small", 16000)


class TestCables:
    def test_fits(self):
        assert rules.cable_between(CABLES["mcp7y00-n002"], CX7, 2.0) is None

    def test_too_short_names_a_longer_one(self):
        check = rules.cable_between(CABLES["mcp7y00-n002"], CX7, 2.8, CANDIDATES.cables)
        assert check.code == "cable_too_short"
        assert CABLES[check.nearest].reach_metres >= 2.8

    def test_rate(self):
        assert rules.cable_between(CABLES["mcp1650-h002"], CX7, 1.0).code == "cable_rate_mismatch"

    def test_protocol(self):
        ethernet = NICS["intel-e810-cqda2"]
        assert rules.cable_between(CABLES["mcp1650-h002"], ethernet, 1.0).code == "cable_protocol_mismatch"


class TestRoce:
    def test_with_rdma_a_note(self):
        assert rules.roce(NICS["broadcom-bcm57608-thor2"], SN5600).severity == "note"

    def test_without_rdma_blocks(self):
        plain = replace(NICS["intel-e810-cqda2"], has_rdma=False)
        check = rules.roce(plain, SN5600, CANDIDATES.nics)
        assert (check.code, check.severity) == ("nic_without_rdma", "blocks")
        assert NICS[check.nearest].has_rdma

    def test_infiniband_is_another_matter(self):
        assert rules.roce(CX7, QM9700) is None
