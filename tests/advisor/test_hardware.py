"""Catalogue rows as engine specs, and GPUs asked for by name."""

from __future__ import annotations

from datetime import date

import pytest

from advisor.book_rows import load_books
from advisor.engine.specs import Precision
from advisor.hardware import fabric_spec, hardware_options, load_parts, selectable_gpus, spec_in_server
from advisor.part_facts import find_gpu
from advisor.server_build import servers_for

pytestmark = pytest.mark.usefixtures("catalog")
H100, A100_40, H20 = "nvidia-h100-sxm5-80gb", "nvidia-a100-sxm4-40gb", "nvidia-h20-96gb"


class TestGpuSpec:
    def test_peaks_are_dense_and_the_sparse_ones_stand_apart(self):
        # NVIDIA H100 datasheet: 989.4 TFLOPS BF16 dense, 1 978.9 with 2:4 sparsity
        part = load_parts().gpus[H100]
        assert part.spec.dense_peak_flops_per_second[Precision.BF16] == pytest.approx(989.4e12)
        assert part.sparse_peak_flops_per_second[Precision.BF16] == pytest.approx(1978.9e12, rel=1e-4)

    def test_links_are_per_direction_and_memory_is_what_the_driver_shows(self):
        # NVLink 4: 900 GB/s both directions; MLPerf system files: 81 559 MiB on an 80 GB H100
        spec = load_parts().gpus[H100].spec
        assert spec.scale_up_bytes_per_second == pytest.approx(450e9)
        assert spec.scale_up_domain_size == 8
        assert spec.memory_bytes == 81559 * 2**20

    def test_a_card_without_a_direct_link_has_no_domain(self):
        # L40S has no NVLink (datasheet)
        spec = load_parts().gpus["nvidia-l40s-48gb"].spec
        assert (spec.scale_up_bytes_per_second, spec.scale_up_domain_size) == (0.0, 1)

    def test_a_server_of_four_closes_the_links_over_four(self):
        part = load_parts().gpus[H100]
        assert spec_in_server(part, 4).scale_up_domain_size == 4
        assert spec_in_server(part, 8) is part.spec

    def test_a_rack_keeps_its_own_domain(self):
        # GB200 NVL72: trays of 4 GPUs, one NVLink domain of 72
        part = load_parts().gpus["nvidia-gb200-nvl72-gpu"]
        assert spec_in_server(part, 4).scale_up_domain_size == part.spec.scale_up_domain_size == 72


class TestFabric:
    @pytest.mark.parametrize(
        ("sku", "gbit"),
        # facts, section 5: A100 8 x 200 HDR; H100 8 x 400 NDR; B300 8 x 800 XDR; one NIC per GPU
        [("nvidia-a100-sxm4-80gb", 200), (H100, 400), ("nvidia-b300-sxm-270gb", 800)],
    )
    def test_board_gpus_get_a_nic_each_at_the_rate_of_their_platform(self, sku, gbit):
        parts = load_parts()
        gpu = parts.gpus[sku]
        fabric = fabric_spec(parts, gpu, servers_for(parts, gpu)[0])
        assert fabric.scale_out_bytes_per_second_per_gpu == pytest.approx(gbit * 1e9 / 8)


class TestSelection:
    def test_every_sizeable_gpu_with_an_orderable_server_is_offered(self):
        parts = load_parts()
        offered = {gpu.sku for gpu in selectable_gpus(parts)}
        assert {H100, A100_40, H20, "amd-mi300x-192gb"} <= offered
        # no BF16 in hardware; announced only; trays of racks are not orderable
        assert not offered & {"nvidia-v100-sxm2-32gb", "nvidia-b100-sxm", "nvidia-gb200-nvl72-gpu"}

    def test_one_option_for_each_gpu(self):
        parts = load_parts()
        options = hardware_options(parts, selectable_gpus(parts))
        skus = [option.gpu.sku for option in options]
        assert len(skus) == len(set(skus)) == len(selectable_gpus(parts))

    def test_a_size_that_fills_no_large_server_takes_a_smaller_one(self):
        parts = load_parts()
        (option,) = hardware_options(parts, [parts.gpus[A100_40]], gpu_count=4)
        assert option.gpus_per_server == 4

    def test_where_both_prices_are_asked_for_one_alone_does_not_count(self):
        # demo_price_rules, section 6: A100 40GB has a rental price, and no purchase price can be formed
        parts, books = load_parts(), load_books(date(2026, 11, 30))
        rental, purchase = books["rental", "CNY"], books["purchase", "CNY"]
        gpus = [parts.gpus[A100_40], parts.gpus[H100]]
        rented = hardware_options(parts, gpus, rental=rental, term_months=12)
        both = hardware_options(parts, gpus, rental=rental, purchase=purchase, term_months=12)
        assert all(option.cost_per_gpu_hour for option in rented)
        assert both[0].cost_per_gpu_hour is None
        assert both[1].cost_per_gpu_hour == rented[1].cost_per_gpu_hour

    def test_air_cooled_rooms_get_no_liquid_cooled_server(self):
        parts = load_parts()
        servers = servers_for(parts, parts.gpus["nvidia-b200-sxm-180gb"], cooling="air")
        assert servers
        assert all(server.cooling.startswith("air") for server in servers)


class TestNames:
    def test_a_sku_is_itself(self):
        part, check = find_gpu(load_parts(), H100)
        assert part is not None
        assert (part.sku, check) == (H100, None)

    def test_a_memory_size_that_does_not_exist_gives_the_nearest_part_and_the_reason(self):
        # H100 comes with 80 and 94 GB; of its generation the board part nearest to 160 GB has 141 GB
        part, check = find_gpu(load_parts(), "H100 160GB")
        assert part is not None
        assert check is not None
        assert part.sku == "nvidia-h200-sxm5-141gb"
        assert check.code == "gpu_memory_does_not_exist"
        assert check.figures["real_memory_labels"] == "80 GB, 94 GB"

    def test_what_resembles_nothing_is_unknown(self):
        part, check = find_gpu(load_parts(), "toaster 9000")
        assert part is None
        assert check is not None
        assert check.code == "gpu_unknown"
