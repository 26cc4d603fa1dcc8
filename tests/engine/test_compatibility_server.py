from __future__ import annotations

from dataclasses import replace

import pytest

from advisor.engine import compatibility_server as rules
from tests.engine.catalogue_parts import CANDIDATES, CPUS, GPUS, SERVERS

A100 = GPUS["nvidia-a100-sxm4-80gb"]
H100 = GPUS["nvidia-h100-sxm5-80gb"]
L40S = GPUS["nvidia-l40s-48gb"]
DGX_A100 = SERVERS["nvidia-dgx-a100-640gb"]
DGX_H100 = SERVERS["nvidia-dgx-h100"]
XE9680 = SERVERS["dell-poweredge-xe9680"]
R760XA = SERVERS["dell-poweredge-r760xa"]
EPYC_9554 = CPUS["amd-epyc-9554"]
XEON_8558 = CPUS["intel-xeon-8558"]


class TestGpuInServer:
    @pytest.mark.parametrize(("gpu", "server"), [(A100, DGX_A100), (A100, XE9680), (H100, XE9680), (L40S, R760XA)])
    def test_listed_pairs_fit(self, gpu, server):
        assert rules.gpu_in_server(gpu, server) is None

    def test_other_form_factor_names_both_and_a_server_that_takes_it(self):
        check = rules.gpu_in_server(L40S, DGX_H100, CANDIDATES.servers)
        assert (check.code, check.severity, check.parts) == ("gpu_form_factor", "blocks", (L40S.sku, DGX_H100.sku))
        assert check.figures == {"gpu_form_factor": "PCIe", "server_form_factors": "SXM5"}
        assert L40S.sku in SERVERS[check.nearest].supported_gpu_skus

    def test_same_form_factor_but_not_listed(self):
        check = rules.gpu_in_server(GPUS["nvidia-h200-sxm5-141gb"], DGX_H100)
        assert (check.code, check.nearest) == ("gpu_not_supported", None)


class TestGpuSlots:
    def test_more_cards_than_places(self):
        check = rules.gpu_slots(L40S, 8, R760XA, CANDIDATES.servers)
        assert (check.code, check.figures) == ("gpu_slots_exceeded", {"gpu_count": 8, "gpu_slot_count": 4})
        assert SERVERS[check.nearest].gpu_slot_count >= 8

    def test_an_eight_gpu_board_comes_full(self):
        assert rules.gpu_slots(H100, 4, DGX_H100).code == "gpu_board_not_full"
        assert rules.gpu_slots(H100, 8, DGX_H100) is None

    def test_cards_are_placed_one_by_one(self):
        assert rules.gpu_slots(L40S, 2, R760XA) is None

    def test_four_gpu_board_server(self):
        # XE8545 carries a 4-GPU board of A100
        xe8545 = SERVERS["dell-poweredge-xe8545"]
        assert rules.gpu_slots(GPUS["nvidia-a100-sxm4-40gb"], 4, xe8545) is None


class TestLinkGeneration:
    def test_a100_in_xe9680_links_at_generation_4(self):
        check = rules.gpu_link_generation(A100, XE9680)
        assert (check.code, check.severity) == ("gpu_links_below_server", "note")
        assert check.figures["link_bytes_per_second"] == pytest.approx(31e9)

    def test_a_newer_gpu_in_an_older_server_must_be_confirmed(self):
        check = rules.gpu_link_generation(H100, DGX_A100)
        assert (check.code, check.severity) == ("server_links_below_gpu", "check")

    def test_equal_generations_and_unknown_ones_say_nothing(self):
        assert rules.gpu_link_generation(H100, DGX_H100) is None
        assert rules.gpu_link_generation(H100, replace(DGX_H100, pcie_generation=None)) is None


class TestDirectLink:
    def test_rtx_6000_ada_has_no_nvlink(self):
        check = rules.gpu_link_wanted(GPUS["nvidia-rtx6000-ada-48gb"], "NVLink", CANDIDATES.gpus)
        assert (check.code, check.severity) == ("gpu_link_missing", "blocks")
        assert str(GPUS[check.nearest].link_type).startswith("NVLink")

    def test_a100_has(self):
        assert rules.gpu_link_wanted(A100, "NVLink") is None


class TestPlatform:
    """DGX A100 and its kind are DDR4 and PCIe 4.0; XE9680 takes A100 with DDR5 and PCIe 5.0."""

    def test_ddr5_in_dgx_a100(self):
        check = rules.platform_wanted(DGX_A100, "DDR5", None, CANDIDATES.servers)
        assert (check.severity, check.figures["server_memory_type"]) == ("blocks", "DDR4")
        assert A100.sku in SERVERS[check.nearest].supported_gpu_skus
        assert SERVERS[check.nearest].memory_type == "DDR5"

    def test_pcie_5_in_dgx_a100(self):
        check = rules.platform_wanted(DGX_A100, None, 5, CANDIDATES.servers)
        assert check.figures["server_pcie_generation"] == 4
        assert SERVERS[check.nearest].pcie_generation >= 5

    def test_xe9680_has_both(self):
        assert rules.platform_wanted(XE9680, "DDR5", 5) is None

    def test_unknown_generation_is_refused(self):
        with pytest.raises(ValueError, match="generation 9"):
            rules.platform_wanted(XE9680, None, 9)


class TestCpu:
    def test_socket(self):
        check = rules.cpu_in_server(EPYC_9554, 2, XE9680, CANDIDATES.cpus)
        assert (check.code, check.figures) == ("cpu_socket_mismatch", {"cpu_socket": "SP5", "server_socket": "LGA4677"})
        assert CPUS[check.nearest].socket == "LGA4677"

    def test_fits(self):
        assert rules.cpu_in_server(XEON_8558, 2, XE9680) is None

    def test_fixed_processor(self):
        check = rules.cpu_in_server(CPUS["amd-epyc-7763"], 2, DGX_A100, CANDIDATES.cpus)
        assert (check.code, check.nearest) == ("cpu_fixed", "amd-epyc-7742")

    def test_too_many(self):
        assert rules.cpu_in_server(XEON_8558, 4, XE9680).code == "cpu_sockets_exceeded"

    def test_family_not_listed_must_be_confirmed(self):
        # Turin sits in the same socket as Genoa
        check = rules.cpu_in_server(CPUS["amd-epyc-9575f"], 2, SERVERS["supermicro-as-8125gs-tnhr"], CANDIDATES.cpus)
        assert (check.code, check.severity) == ("cpu_family_not_listed", "check")

    def test_cores(self):
        # 2 x 48 = 96 for 8 GPUs at 8 cores: enough; at 16 it needs 128
        assert rules.cpu_cores(XEON_8558, 2, 8, 8) is None
        check = rules.cpu_cores(XEON_8558, 2, 8, 16, CANDIDATES.cpus)
        assert check.figures["cores_wanted"] == 128
        assert CPUS[check.nearest].core_count >= 64


class TestGrowth:
    def test_boards_grow_by_servers_only(self):
        assert rules.growth(H100, 8, DGX_H100).code == "growth_by_servers_only"

    def test_card_servers_grow_inside(self):
        check = rules.growth(L40S, 2, R760XA)
        assert (check.code, check.figures["free_gpu_slots"]) == ("growth_inside", 2)
        # a full one still takes newer cards in place of the old
        full = rules.growth(L40S, 4, R760XA)
        assert (full.code, full.figures["free_gpu_slots"]) == ("growth_inside", 0)
