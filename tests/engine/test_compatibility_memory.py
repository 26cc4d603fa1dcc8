from __future__ import annotations

from dataclasses import replace

import pytest

from advisor.engine import compatibility_memory as rules
from tests.engine.catalogue_parts import CANDIDATES, CPUS, GPUS, MEMORIES, SERVERS, SSDS

DGX_A100 = SERVERS["nvidia-dgx-a100-640gb"]
DGX_H100 = SERVERS["nvidia-dgx-h100"]
XE9680 = SERVERS["dell-poweredge-xe9680"]
DDR4 = MEMORIES["ddr4-3200-rdimm-64g"]
DDR5 = MEMORIES["ddr5-4800-rdimm-64g"]
XEON = CPUS["intel-xeon-8558"]
H100 = GPUS["nvidia-h100-sxm5-80gb"]
A100_40 = GPUS["nvidia-a100-sxm4-40gb"]


class TestType:
    def test_ddr5_in_dgx_a100_conflicts_and_names_the_ddr4_module(self):
        check = rules.memory_type(DDR5, DGX_A100, CANDIDATES.memories)
        assert (check.code, check.severity) == ("memory_type_mismatch", "blocks")
        assert check.parts == ("ddr5-4800-rdimm-64g", "nvidia-dgx-a100-640gb")
        assert check.nearest == "ddr4-3200-rdimm-64g"

    def test_ddr5_in_xe9680_fits(self):
        assert rules.memory_type(DDR5, XE9680) is None


class TestChannels:
    def test_two_modules_on_sixteen_channels_are_uneven(self):
        check = rules.memory_channels(DDR5, 20, XEON, 2, XE9680)
        assert check.figures == {"module_count": 20, "channel_count": 16, "even_module_count": 32}

    @pytest.mark.parametrize("module_count", [16, 32])
    def test_full_channels_are_even(self, module_count):
        assert rules.memory_channels(DDR5, module_count, XEON, 2, XE9680) is None

    def test_twelve_channel_socket(self):
        # EPYC 9004 has 12 channels: 16 modules on two sockets are uneven, 24 not
        epyc, server = CPUS["amd-epyc-9554"], SERVERS["supermicro-as-8125gs-tnhr"]
        assert rules.memory_channels(DDR5, 16, epyc, 2, server).nearest == "24 x ddr5-4800-rdimm-64g"
        assert rules.memory_channels(DDR5, 24, epyc, 2, server) is None

    def test_next_even_count_stays_within_the_slots(self):
        check = rules.memory_channels(DDR5, 30, XEON, 2, replace(XE9680, dimm_slot_count=31))
        assert check.figures["even_module_count"] == 16


class TestCapacity:
    @pytest.mark.parametrize(
        ("host_bytes", "gpu", "count"),
        [
            # the articles' builds: 64-128 GB beside 8 x 40 GB, 512 GB beside 8 x 80 GB, 1 TB beside 8 x 141 GB
            (128e9, "nvidia-a100-sxm4-40gb", 8),
            (512e9, "nvidia-h100-sxm5-80gb", 8),
            (1024e9, "nvidia-h200-sxm5-141gb", 8),
            (512e9, "nvidia-h20-96gb", 8),
        ],
    )
    def test_under_total_gpu_memory_is_flagged(self, host_bytes, gpu, count):
        check = rules.memory_capacity(host_bytes, GPUS[gpu], count)
        assert (check.code, check.severity) == ("host_memory_below_gpu_memory", "check")

    def test_figures_of_8_h200(self):
        check = rules.memory_capacity(1024e9, GPUS["nvidia-h200-sxm5-141gb"], 8)
        assert check.figures["gpu_memory_bytes"] == pytest.approx(1128e9)
        assert check.nearest == "1128 GB"

    def test_under_the_need_of_the_job_blocks(self):
        assert rules.memory_capacity(700e9, H100, 8, need_bytes=900e9).severity == "blocks"

    def test_enough(self):
        assert rules.memory_capacity(1024e9, A100_40, 8) is None

    def test_slots_and_maximum(self):
        assert rules.memory_slots(DDR5, 33, DGX_H100).code == "memory_slots_exceeded"
        assert rules.memory_slots(DDR5, 32, DGX_H100) is None
        assert rules.memory_maximum(DDR5, 33, DGX_H100).figures["max_memory_bytes"] == pytest.approx(2048e9)
        assert rules.memory_maximum(DDR5, 32, DGX_H100) is None


class TestBandwidth:
    def test_sixteen_channels_of_ddr5_feed_eight_links(self):
        # 16 x 38.4 = 614 GB/s against 8 x 63 = 504
        assert rules.memory_bandwidth(DDR5, 16, XEON, 2, H100, 8) is None

    def test_a_module_without_a_published_rate_says_nothing(self):
        assert rules.memory_bandwidth(replace(DDR5, bytes_per_second=None), 4, XEON, 2, H100, 8) is None

    def test_four_modules_do_not(self):
        check = rules.memory_bandwidth(DDR5, 4, XEON, 2, H100, 8)
        assert check.figures["memory_bytes_per_second"] == pytest.approx(153.6e9)
        assert check.figures["gpu_bytes_per_second"] == pytest.approx(504e9)


class TestDrives:
    def test_generation_5_drive_in_dgx_a100_runs_at_4(self):
        check = rules.ssd_generation(SSDS["kioxia-cm7-r-7680"], DGX_A100, CANDIDATES.ssds)
        assert (check.code, check.severity) == ("ssd_generation_above_server", "check")
        # x4 of generation 4: 31 / 4 GB/s, half of what the drive reads
        assert check.figures["link_bytes_per_second"] == pytest.approx(7.75e9)
        assert SSDS[check.nearest].pcie_generation == 4

    def test_generation_4_drive_in_a_generation_5_server_is_fine(self):
        assert rules.ssd_generation(SSDS["samsung-pm9a3-7680"], XE9680) is None

    def test_form_factor(self):
        u2_only = replace(SSDS["kioxia-cm7-r-7680"], form_factors=frozenset({"U.2"}))
        tray = replace(XE9680, nvme_form_factors=frozenset({"E1.S"}))
        assert rules.ssd_bays(u2_only, 4, tray).code == "ssd_form_factor"

    def test_bays(self):
        check = rules.ssd_bays(SSDS["kioxia-cm7-r-7680"], 12, XE9680)
        assert (check.code, check.figures) == ("ssd_bays_exceeded", {"ssd_count": 12, "bay_count": 8})
        assert rules.ssd_bays(SSDS["kioxia-cm7-r-7680"], 8, XE9680) is None
