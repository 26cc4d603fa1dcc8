from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.engine.acceptance import (
    AcceptanceInputs,
    acceptance_tests,
    across_bus_bytes_per_second,
    is_passed,
)
from advisor.engine.measured_rates import BUS_FRACTIONS, FP8_MATMUL_FRACTIONS, MATMUL_FRACTIONS, by_sku
from tests.engine.catalogue_parts import GPUS

H100 = AcceptanceInputs(
    gpu_sku="nvidia-h100-sxm5-80gb",
    gpu_count=512,
    gpus_per_server=8,
    gpu_memory_bytes=81559 * 2**20,
    bf16_dense_flops_per_second=989.4e12,
    fp8_dense_flops_per_second=1978.9e12,
    scale_up_bytes_per_second=450e9,
    scale_out_bytes_per_second_per_gpu=50e9,
    storage_read_bytes_per_second=5e9,
    storage_write_bytes_per_second=98e9,
    checkpoint_bytes=980e9,
    tokens_per_second=500e3,
    error_band_fraction=0.15,
    server_max_watts=10200,
    interruptions_per_gpu_second=2e-5 / 3600,
)


def _by_code(inputs):
    return {test.code: test for test in acceptance_tests(inputs)}


class TestMatmul:
    def test_h100_is_what_was_measured_less_five_percent(self):
        # mamf-finder: 794.5 TFLOPS on H100 SXM
        test = _by_code(H100)["matmul_bf16"]
        assert test.threshold == pytest.approx(794.5e12 * 0.95, rel=0.002)
        assert test.source

    def test_fp8_only_when_the_job_uses_it(self):
        # 1402.6 TFLOPS measured
        assert "matmul_fp8" not in _by_code(H100)
        found = _by_code(replace(H100, uses_fp8=True))["matmul_fp8"]
        assert found.threshold == pytest.approx(1402.6e12 * 0.95, rel=0.002)

    @pytest.mark.parametrize("sku", ["nvidia-h20-96gb", "nvidia-l40s-48gb", "nvidia-rtx5090-32gb"])
    def test_parts_without_a_measurement_are_recorded(self, sku):
        test = _by_code(replace(H100, gpu_sku=sku))["matmul_bf16"]
        assert (test.comparison, test.threshold) == ("record", None)
        assert is_passed(test, 1e15) is None

    def test_longest_start_of_the_sku(self):
        assert by_sku({"a": 1.0, "a-b": 2.0}, "a-b-c") == 2.0
        assert by_sku({"a": 1.0}, "b") is None

    @pytest.mark.parametrize("table", [MATMUL_FRACTIONS, FP8_MATMUL_FRACTIONS, BUS_FRACTIONS])
    def test_every_entry_names_a_catalogue_part(self, table):
        for start in table:
            assert any(sku.startswith(start) for sku in GPUS), start


class TestBusBandwidth:
    def test_in_one_h100_server(self):
        # 480 GB/s measured with reduction in the switch
        assert _by_code(H100)["bus_bandwidth_in_server"].threshold == pytest.approx(480e9 * 0.95, rel=0.01)

    def test_in_one_a100_server(self):
        # 234.9 GB/s measured
        a100 = replace(H100, gpu_sku="nvidia-a100-sxm4-80gb", scale_up_bytes_per_second=300e9)
        assert _by_code(a100)["bus_bandwidth_in_server"].threshold == pytest.approx(234.9e9 * 0.95, rel=0.01)

    def test_four_servers_of_b200_as_published(self):
        # 4 x 8 B200, 50 GB/s a GPU: 382 GB/s at 16 GiB
        assert across_bus_bytes_per_second(50e9, 4, 8, 837e9) == pytest.approx(382e9, rel=0.02)

    def test_in_server_links_bound_a_pair(self):
        # 50 x 0.73 x 15 / 1 = 547 GB/s by the NICs, 235 inside
        assert across_bus_bytes_per_second(50e9, 2, 8, 235e9) == 235e9

    def test_one_server_has_no_test_across(self):
        found = _by_code(replace(H100, gpu_count=8))
        assert "bus_bandwidth_across_servers" not in found
        assert "rdma_per_nic" not in found
        with pytest.raises(ValueError, match="at least 2"):
            across_bus_bytes_per_second(50e9, 1, 8, 480e9)

    def test_rdma_of_one_nic(self):
        assert _by_code(H100)["rdma_per_nic"].threshold == pytest.approx(50e9 * 0.97 * 0.98)
        # four NICs for eight GPUs at 25 GB/s a GPU are the same cards
        half = replace(H100, scale_out_bytes_per_second_per_gpu=25e9, nics_per_server=4)
        assert _by_code(half)["rdma_per_nic"].threshold == pytest.approx(50e9 * 0.97 * 0.98)

    def test_cards_without_direct_link_are_recorded(self):
        cards = replace(H100, gpu_sku="nvidia-l40s-48gb", scale_up_bytes_per_second=None)
        found = _by_code(cards)
        assert found["bus_bandwidth_in_server"].comparison == "record"
        # PCIe inside the servers bounds it, and nobody has published by how much
        assert found["bus_bandwidth_across_servers"].comparison == "record"

    def test_boards_without_a_measurement_are_bounded_by_the_lowest_published_share(self):
        # H20: 450 GB/s a GPU, 0.76 of it = 342; four servers by their NICs: 50 x 0.73 x 31 / 3 = 377
        h20 = _by_code(replace(H100, gpu_sku="nvidia-h20-96gb"))
        assert h20["bus_bandwidth_in_server"].comparison == "record"
        assert h20["bus_bandwidth_across_servers"].threshold == pytest.approx(342e9 * 0.95)

    def test_one_gpu_a_server_is_bounded_by_its_nic(self):
        single = replace(H100, gpus_per_server=1, gpu_count=4, scale_up_bytes_per_second=None)
        found = _by_code(single)
        assert "bus_bandwidth_in_server" not in found
        # (n - 1) / (k - 1) = 1: the NIC's rate
        assert found["bus_bandwidth_across_servers"].threshold == pytest.approx(50e9 * 0.73 * 0.95)


class TestJobAndStorage:
    def test_storage_rates_are_those_of_the_plan(self):
        found = _by_code(H100)
        assert (found["storage_read"].threshold, found["storage_write"].threshold) == (5e9, 98e9)
        assert found["checkpoint_written_and_restored"].threshold == pytest.approx(10.0)

    def test_what_was_sold_goes_before_a_small_need(self):
        # an appliance of 90 GB/s read and 65 GB/s write beside needs of 5 and 1
        sold = replace(
            H100,
            storage_write_bytes_per_second=1e9,
            stated_read_bytes_per_second=90e9,
            stated_write_bytes_per_second=65e9,
        )
        found = _by_code(sold)
        assert found["storage_read"].threshold == pytest.approx(85.5e9)
        assert found["storage_write"].threshold == pytest.approx(61.75e9)
        assert found["checkpoint_written_and_restored"].threshold == pytest.approx(980 / 61.75)
        # a need above what is stated stays the threshold
        assert _by_code(replace(sold, storage_write_bytes_per_second=98e9))["storage_write"].threshold == 98e9

    def test_tokens_allow_the_error_band(self):
        test = _by_code(H100)["job_tokens_per_second"]
        assert test.threshold == pytest.approx(425e3)
        assert is_passed(test, 430e3) is True
        assert is_passed(test, 420e3) is False

    def test_limits_from_above(self):
        test = _by_code(H100)["server_power"]
        assert is_passed(test, 10100) is True
        assert is_passed(test, 10300) is False

    def test_missing_figures_leave_tests_out(self):
        bare = AcceptanceInputs(gpu_sku="x", gpu_count=8, gpus_per_server=8, gpu_memory_bytes=1.0)
        codes = set(_by_code(bare))
        assert {"storage_read", "storage_write", "job_tokens_per_second", "server_power"}.isdisjoint(codes)
        assert {"gpu_memory_visible", "burn_in_hours", "matmul_bf16"} <= codes


class TestTools:
    @pytest.mark.parametrize(
        ("sku", "program"),
        [
            ("nvidia-h100-sxm5-80gb", "nccl-tests all_reduce_perf"),
            ("amd-mi300x-192gb", "rccl-tests all_reduce_perf"),
            ("intel-gaudi3-128gb", "hccl_demo"),
            ("huawei-ascend-910b3-64gb", "hccl_test all_reduce_test"),
        ],
    )
    def test_programs_are_the_makers(self, sku, program):
        assert _by_code(replace(H100, gpu_sku=sku))["bus_bandwidth_in_server"].tool == program

    def test_programs_are_names_without_prose(self):
        # what is shown in every language as it stands
        for test in acceptance_tests(H100):
            assert len(test.tool.split()) <= 6


class TestBurnIn:
    def test_hours_and_chance(self):
        # 512 x 48 h x 2e-5 = 0.49: P(X <= 1) = 0.913, P(X <= 2) = 0.986
        found = _by_code(H100)
        assert found["burn_in_hours"].threshold == 48
        assert found["burn_in_interruptions"].threshold == 2

    @pytest.mark.parametrize("changes", [{"gpu_count": 0}, {"gpus_per_server": 0}, {"burn_in_hours": 0}])
    def test_nonsense_is_refused(self, changes):
        with pytest.raises(ValueError, match="must be"):
            acceptance_tests(replace(H100, **changes))


@given(st.integers(1, 20000), st.sampled_from([1, 4, 8, 72]), st.floats(0, 0.9))
def test_every_test_has_a_code_a_source_and_a_positive_or_zero_threshold(gpu_count, per_server, band):
    tests = acceptance_tests(replace(H100, gpu_count=gpu_count, gpus_per_server=per_server, error_band_fraction=band))
    assert len({test.code for test in tests}) == len(tests)
    for test in tests:
        assert test.source
        assert test.threshold is None or test.threshold >= 0
