"""Memory floors and the smallest cluster, by sums that can be checked by hand."""

from __future__ import annotations

import pytest

from advisor.calibration_data import current_calibration
from advisor.engine.fitting import (
    available_bytes,
    model_state_bytes,
    server_multiples,
    smallest_gpu_count_that_fits,
    whole_servers,
)
from advisor.engine.specs import LayoutRequest, LoraSpec, Method, Recipe
from advisor.engine.workload import workload
from tests.engine.cases import H100, LLAMA2_7B, LLAMA3_70B, plan

PARAMETERS = 6_738_415_616  # Llama 2 7B, the published checkpoint


def states(**job):
    return model_state_bytes(workload(LLAMA2_7B, plan(**job)), plan(**job))


def smallest(model=LLAMA2_7B, gpu=H100, per_server=8, limit=512, **job):
    training = plan(global_batch_size=64, **job)
    work = workload(model, training)
    return smallest_gpu_count_that_fits(
        model, training, work, LayoutRequest(), gpu, per_server, current_calibration(), limit
    )


def test_reserve_and_headroom_are_taken_from_what_the_driver_shows():
    job = plan(reserve_bytes=559 * 2**20, memory_headroom_fraction=0.1)
    assert available_bytes(H100, job) == pytest.approx(81_000 * 2**20 * 0.9)


@pytest.mark.parametrize(
    ("recipe", "per_parameter"), [(Recipe.MEGATRON, 18), (Recipe.DEEPSPEED, 16), (Recipe.PURE_BF16, 8)]
)
def test_states_per_parameter_by_recipe(recipe, per_parameter):
    # ZeRO, arXiv:1910.02054, section 3.1: 16; Megatron's fp32 main gradients: 18; all in 16 bit: 8
    assert states(recipe=recipe) == per_parameter * PARAMETERS


def test_frozen_base_and_adapters():
    # rank 1 on the query of 32 layers: 32 * (4096 + 4096) weights with gradient and two moments, fp32
    adapters = 32 * 8192 * 16
    lora = LoraSpec(rank=1, targets=("q",))
    assert states(method=Method.LORA, lora=lora) == 2 * PARAMETERS + adapters
    # embedding and head of 32000 x 4096 stay in 16 bit, the rest has 0.5 byte and 0.127 bit (arXiv:2305.14314)
    whole = 2 * 32000 * 4096
    expected = 2 * whole + (0.5 + 0.127 / 8) * (PARAMETERS - whole) + adapters
    assert states(method=Method.QLORA, lora=lora) == pytest.approx(expected, rel=1e-12)


def test_sizes_are_parts_of_one_server_and_whole_servers():
    assert server_multiples(8, 72) == [1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64]
    assert server_multiples(4, 8) == [1, 2, 4, 8]
    assert server_multiples(10, 20) == [1, 2, 4, 10, 20]
    assert server_multiples(1, 2) == [1, 2]


@pytest.mark.parametrize(("count", "per_server", "expected"), [(1, 8, 8), (8, 8, 8), (9, 8, 16), (73, 72, 144)])
def test_whole_servers(count, per_server, expected):
    assert whole_servers(count, per_server) == expected


def test_seven_billion_need_two_cards_of_80_gb_and_adapters_one():
    # 18 bytes * 6.74 B = 121 GB of states against 85.5 GB a card
    assert smallest() == 2
    lora = LoraSpec(rank=16)
    assert smallest(method=Method.LORA, lora=lora, recipe=Recipe.PURE_BF16, sequence_length=1024) == 1


def test_nothing_fits_where_nothing_is_left():
    assert smallest(reserve_bytes=H100.memory_bytes) is None
    assert smallest(memory_headroom_fraction=1.0) is None


def test_a_limit_is_kept():
    # 18 bytes * 70.6 B = 1.27 TB of states: more than one server's 8 * 85.5 GB, less than three hold
    assert smallest(LLAMA3_70B, limit=8) is None
    assert smallest(LLAMA3_70B) in (16, 24)
