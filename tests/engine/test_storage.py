from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.engine.specs import Method, Optimizer, Precision, Recipe, TrainingPlan
from advisor.engine.storage import (
    StorageNeed,
    StorageOffer,
    checkpoint_bytes,
    checkpoint_bytes_per_parameter,
    dataset_bytes,
    host_memory,
    loader_bytes_per_second,
    required_cpu_cores,
    retention_bytes,
    storage_placement,
    storage_system_count,
    token_bytes,
    write_bytes_per_second,
)


def _plan(**changes) -> TrainingPlan:
    return TrainingPlan(**({"tokens": 1e12, "sequence_length": 4096, "global_batch_size": 1024} | changes))


class TestCheckpoint:
    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({}, 14.0),  # 2 + 4 + 8
            ({"recipe": Recipe.DEEPSPEED}, 14.0),
            ({"precision": Precision.FP8}, 14.0),
            ({"recipe": Recipe.FSDP}, 12.0),  # 4 + 8
            ({"precision": Precision.FP32}, 12.0),
            ({"recipe": Recipe.PURE_BF16}, 6.0),  # 2 + 2 + 2
            ({"optimizer": Optimizer.LION}, 10.0),
            ({"optimizer": Optimizer.SGD}, 10.0),
            ({"optimizer": Optimizer.ADAFACTOR}, 6.0),
            ({"moment_bytes_per_parameter": 4.0}, 10.0),
            ({"master_weight_bytes_per_parameter": 0}, 10.0),
        ],
    )
    def test_bytes_per_parameter(self, changes, expected):
        assert checkpoint_bytes_per_parameter(_plan(**changes)) == expected

    def test_eight_bit_averages(self):
        assert checkpoint_bytes_per_parameter(_plan(optimizer=Optimizer.ADAMW_8BIT)) == pytest.approx(8.0, abs=0.01)

    def test_70b_is_980_gb(self):
        assert checkpoint_bytes(_plan(), 70e9) == pytest.approx(980e9)

    def test_bloom_checkpoint_as_published(self):
        # BLOOM 176B: 2.3 TB with optimizer states, 329 GB of bf16 weights (HF blog "The Technology Behind BLOOM
        # Training"); both hold 2**40 / 2**30 units: 176.2e9 x 14 = 2.467e12 B = 2.24 TiB
        assert checkpoint_bytes(_plan(), 176.247e9) / 2**40 == pytest.approx(2.3, rel=0.04)

    def test_adapters_only(self):
        plan = _plan(method=Method.LORA)
        assert checkpoint_bytes(plan, 70e9, 207e6) == pytest.approx(207e6 * 12)  # 32-bit adapters: 4 + 8
        with pytest.raises(ValueError, match="adapters"):
            checkpoint_bytes(plan, 70e9)

    def test_arrays(self):
        assert checkpoint_bytes(_plan(), np.array([1e9, 2e9])).tolist() == [14e9, 28e9]

    def test_retention(self):
        # 3 x 980 GB and 2 milestones of 140 GB
        assert retention_bytes(980e9, 3, 2, 140e9) == pytest.approx(3220e9)
        with pytest.raises(ValueError, match="at least 2"):
            retention_bytes(980e9, 1, 0, 0.0)


class TestRates:
    def test_synchronous_write_within_the_budget(self):
        # 980 GB every 990 s of training at 1 % of the time: 10 s, 98 GB/s
        assert write_bytes_per_second(980e9, 990.0, 0.01, False) == pytest.approx(98e9)

    def test_asynchronous_write_ends_before_the_next(self):
        assert write_bytes_per_second(980e9, 980.0, 0.01, True) == pytest.approx(1e9)

    @pytest.mark.parametrize(("interval", "fraction"), [(0.0, 0.01), (100.0, 0.0), (100.0, 1.0)])
    def test_nonsense_is_refused(self, interval, fraction):
        with pytest.raises(ValueError, match="must"):
            write_bytes_per_second(1e12, interval, fraction, False)

    def test_loader(self):
        # 1 M tokens a second of 4 bytes, and 50 MB/s of sensor data
        assert loader_bytes_per_second(1e6, 4) == pytest.approx(4e6)
        assert loader_bytes_per_second(1e6, 4, 50e6) == pytest.approx(54e6)


class TestDataSet:
    @pytest.mark.parametrize(("vocab_size", "expected"), [(32000, 2), (50257, 2), (65536, 2), (65537, 4), (128256, 4)])
    def test_token_bytes(self, vocab_size, expected):
        assert token_bytes(vocab_size) == expected

    def test_nonsense_is_refused(self):
        with pytest.raises(ValueError, match="vocab_size"):
            token_bytes(0)
        with pytest.raises(ValueError, match="negative"):
            dataset_bytes(-1.0, 4)
        with pytest.raises(ValueError, match="negative"):
            checkpoint_bytes(_plan(), -1.0)

    def test_15_t_tokens_of_4_bytes_are_60_tb(self):
        assert dataset_bytes(15e12, 4) == pytest.approx(60e12)


class TestHostMemory:
    def _host(self, **changes):
        values = {
            "gpu_memory_bytes_per_server": 640e9,
            "server_count": 8,
            "checkpoint_size_bytes": 980e9,
            "weight_bytes": 140e9,
        }
        return host_memory(**(values | changes))

    def test_rule_of_gpu_memory_binds(self):
        host = self._host()
        assert (host.required_bytes, host.binding) == (640e9, "gpu_memory")
        assert host.checkpoint_copy_bytes == pytest.approx(122.5e9)

    def test_offload_binds(self):
        # 64 GiB + 122.5 GB + 600 GB of optimizer state
        host = self._host(offload_bytes=600e9)
        assert host.binding == "need"
        assert host.required_bytes == pytest.approx(64 * 2**30 + 722.5e9)

    def test_synchronous_writing_needs_no_copy(self):
        assert self._host(is_asynchronous=False).checkpoint_copy_bytes == 0

    def test_nonsense_is_refused(self):
        with pytest.raises(ValueError, match="server_count"):
            self._host(server_count=0)

    @given(st.floats(0, 1e13), st.integers(1, 1000), st.floats(0, 1e14), st.floats(0, 1e13))
    def test_never_under_gpu_memory_nor_need(self, gpu, servers, checkpoint, offload):
        host = self._host(
            gpu_memory_bytes_per_server=gpu,
            server_count=servers,
            checkpoint_size_bytes=checkpoint,
            offload_bytes=offload,
        )
        assert host.required_bytes >= max(gpu, host.need_bytes)

    def test_cores(self):
        assert required_cpu_cores(8) == 64
        assert required_cpu_cores(8, 12) == 96
        with pytest.raises(ValueError, match="at least 1"):
            required_cpu_cores(0)


class TestSystems:
    # DDN AI400X2: 90 GB/s read, 65 GB/s write, 500 TB (catalogue of storage systems)
    APPLIANCE = StorageOffer(
        sku="ddn-ai400x2", capacity_bytes=500e12, read_bytes_per_second=90e9, write_bytes_per_second=65e9
    )

    def test_write_decides(self):
        need = StorageNeed(capacity_bytes=60e12, read_bytes_per_second=10e9, write_bytes_per_second=98e9)
        count = storage_system_count(need, self.APPLIANCE)
        assert (count.count, count.binding) == (2, "write")

    def test_capacity_decides(self):
        need = StorageNeed(capacity_bytes=1.2e15, read_bytes_per_second=10e9, write_bytes_per_second=9e9)
        count = storage_system_count(need, self.APPLIANCE)
        assert (count.count, count.binding) == (3, "capacity")

    def test_unpublished_figure_is_named_and_not_guessed(self):
        turbo = StorageOffer(
            sku="ddn-ai400x2-turbo", capacity_bytes=260.9e12, read_bytes_per_second=103.8e9, write_bytes_per_second=None
        )
        need = StorageNeed(capacity_bytes=1e12, read_bytes_per_second=1e9, write_bytes_per_second=1e9)
        count = storage_system_count(need, turbo)
        assert (count.count, count.missing) == (None, ("write",))

    @pytest.mark.parametrize(
        ("server_count", "dataset", "kind", "reason"),
        [
            (1, 1e12, "local", "local_suffices"),
            (1, 40e12, "distributed", "dataset_exceeds_local"),
            (4, 1e12, "distributed", "shared_checkpoint"),
        ],
    )
    def test_placement(self, server_count, dataset, kind, reason):
        placement = storage_placement(server_count, dataset, 3e12, 30.72e12)
        assert (placement.kind, placement.reason) == (kind, reason)
