"""Storage of one run."""

from __future__ import annotations

import pytest

from advisor.engine.specs import TrainingPlan
from advisor.hardware import load_parts
from advisor.storage_parts import storage_choice, storage_sizes
from tests.advisor.jobs import LLAMA_2_7B

PLAN = TrainingPlan(tokens=1e12, sequence_length=4096, global_batch_size=1024)
SEVEN_B = 6_738_415_616  # Llama 2 7B, parameters as published with its weights


def _sizes(**changes):
    values = {"unique_tokens": 1e12, "tokens_per_second": 1e6, "interval_seconds": 1800.0}
    return storage_sizes(LLAMA_2_7B, PLAN, **(values | changes))


def test_a_checkpoint_has_14_bytes_a_parameter():
    # 2 (16-bit weight) + 12 (32-bit master and two averages), arXiv:1910.02054
    assert _sizes().checkpoint_bytes == pytest.approx(14 * SEVEN_B)


def test_three_are_kept_beside_the_data():
    # vocabulary of 32 000: 2 bytes a token
    sizes = _sizes()
    assert sizes.dataset_bytes == pytest.approx(2e12)
    assert sizes.capacity_bytes == pytest.approx(2e12 + 3 * 14 * SEVEN_B)


def test_rates_follow_throughput_and_interval():
    sizes = _sizes()
    assert sizes.read_bytes_per_second == pytest.approx(2e6)
    assert sizes.write_bytes_per_second == pytest.approx(14 * SEVEN_B / 1800)


def test_real_time_training_reads_what_arrives_as_well():
    assert _sizes(real_time=True).read_bytes_per_second > _sizes().read_bytes_per_second


def test_images_are_read_by_their_bytes():
    assert _sizes(workload="multimodal").read_bytes_per_second > 100 * _sizes().read_bytes_per_second


def test_unknown_tokens_leave_the_data_set_unknown():
    assert _sizes(unique_tokens=None).dataset_bytes is None


@pytest.mark.usefixtures("catalog")
class TestChoice:
    def test_one_server_that_holds_it_all_needs_no_shared_storage(self):
        choice = storage_choice(load_parts(), _sizes(), server_count=1, local_bytes=15e12)
        assert choice.answer["placement"] == "local"
        assert choice.lines == ()

    def test_several_servers_share_what_must_outlive_one(self):
        choice = storage_choice(load_parts(), _sizes(), server_count=8, local_bytes=15e12)
        assert choice.answer["placement"] == "distributed"
        (line,) = choice.lines
        assert line["sku"] == choice.answer["system"]

    def test_a_system_is_taken_with_all_three_figures_published(self):
        system = storage_choice(load_parts(), _sizes(), server_count=8, local_bytes=0.0).system
        assert system is not None
        assert system.capacity_bytes
        assert system.read_bytes_per_second
        assert system.write_bytes_per_second

    def test_more_data_takes_more_units(self):
        few = storage_choice(load_parts(), _sizes(), server_count=8, local_bytes=0.0)
        many = storage_choice(load_parts(), _sizes(unique_tokens=1e15), server_count=8, local_bytes=0.0)
        assert many.count > few.count
