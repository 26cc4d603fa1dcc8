"""Step time term by term: one rate is 1, the others are out of the way, and the expected seconds are sums by hand.

The model is SMALL: 16 tokens a sequence, 576 matrix weights a layer, 4 layers, hidden state 2 * 16 * 8 = 256 bytes.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from advisor.engine.specs import AttentionKernel, LoraSpec, Method, Recipe, Recomputation
from advisor.engine.timing import step_time
from advisor.engine.workload import workload
from tests.engine.cases import plan
from tests.engine.round_numbers import SMALL, candidate, constants, held, rates

MIXTURE = replace(SMALL, expert_count=4, experts_per_token=2, expert_ffn_size=4)
NO_EXCHANGE = constants(expert_exposed_fraction=0.0, expert_exposed_fraction_scale_out=0.0)
LORA = {"method": Method.LORA, "lora": LoraSpec(rank=1, targets=("q",))}


def time(layout, machine, model=SMALL, states=None, calibration=None, **job):
    training = plan(sequence_length=16, **job)
    arrays = step_time(
        workload(model, training), training, layout, machine, states or held(), calibration or constants()
    )
    return {name: float(getattr(arrays, name)[0]) for name in arrays.__dataclass_fields__}


def step(layout, machine, **rest):
    return time(layout, machine, **rest)["step_seconds"]


GEMM = rates(gemm_flops_per_second=1)
MICRO_BATCH = 16 * 6 * 576 * 4  # tokens, 2 operations forward and 4 backward, weights of a layer, layers


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, MICRO_BATCH),
        ({"micro_batch_count": 3}, 3 * MICRO_BATCH),
        ({"micro_batch_size": 2}, 2 * MICRO_BATCH),
        ({"tensor_parallel": 2}, MICRO_BATCH / 2),
        ({"context_parallel": 2}, MICRO_BATCH / 2),
        ({"recomputation": Recomputation.FULL}, MICRO_BATCH * 8 / 6),
        ({"recomputation": Recomputation.FULL, "recomputed_layer_fraction": 0.5}, MICRO_BATCH * 7 / 6),
        ({"recomputation": Recomputation.SELECTIVE}, MICRO_BATCH),
    ],
)
def test_matrix_multiplications(changes, expected):
    assert step(candidate(**changes), GEMM) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        ({"recipe": Recipe.FSDP}, 8 - 2 * 128 / 576),  # the product of 8 x 16 weights is not asked for again
        ({"recipe": Recipe.FSDP, "stops_recomputation_early": False}, 8),
        ({"stops_recomputation_early": True}, 8 - 2 * 128 / 576),
    ],
)
def test_early_stopping_leaves_out_the_last_product_of_a_repeated_layer(job, expected):
    layout = candidate(recomputation=Recomputation.FULL)
    assert step(layout, GEMM, **job) == pytest.approx(MICRO_BATCH * expected / 6, rel=1e-12)


def test_frozen_matrices_have_one_backward_pass():
    assert step(candidate(), GEMM, **LORA) == pytest.approx(MICRO_BATCH * 4 / 6, rel=1e-12)


def test_attention_core_costs_two_and_a_half_times_as_much_backward():
    # arXiv:2307.08691, section 3.1: five matrix products backward against two forward
    machine = rates(attention_flops_per_second=1, attention_backward_flops_per_second=1)
    assert step(candidate(), machine) == pytest.approx(16 * 256 * 3.5 * 4, rel=1e-12)
    again = step(candidate(recomputation=Recomputation.SELECTIVE), machine)
    assert again == pytest.approx(16 * 256 * 4.5 * 4, rel=1e-12)


def test_head_is_three_multiplications_and_two_when_frozen():
    machine = rates(head_flops_per_second=1)
    assert step(candidate(), machine) == pytest.approx(16 * 3 * 2 * 256, rel=1e-12)
    assert step(candidate(), machine, **LORA) == pytest.approx(16 * 2 * 2 * 256, rel=1e-12)


@pytest.mark.parametrize(
    ("layers", "virtual", "expected"),
    [
        (4, 1, 4 * 2 + 2),  # in layers: four micro-batches of two, and a bubble of (p - 1) / v stages
        (4, 2, 4 * 2 + 1),
        (5, 1, 4 * 3 + 2.5),  # 3 and 2 layers: the slower stage sets the pace, the bubble is that of the mean
    ],
)
def test_two_stages(layers, virtual, expected):
    layout = candidate(4, pipeline_parallel=2, virtual_stage_count=virtual)
    parts = time(layout, GEMM, model=replace(SMALL, layer_count=layers))
    layer = 16 * 6 * 576
    assert parts["step_seconds"] == pytest.approx(layer * expected, rel=1e-12)
    assert parts["compute_seconds"] == pytest.approx(layer * 4 * -(-layers // 2), rel=1e-12)


@pytest.mark.parametrize(("virtual", "expected"), [(1, 4 * 512 + 512), (2, 4 * 1024 + 1024 / 2)])
def test_stages_pass_the_hidden_state_once_each_way_and_chunk(virtual, expected):
    layout = candidate(4, pipeline_parallel=2, virtual_stage_count=virtual)
    machine = rates(scale_out_bytes_per_second=1, domain_size=1)
    assert step(layout, machine) == pytest.approx(expected, rel=1e-12)


def test_tensor_ranks_all_reduce_twice_a_layer_and_direction():
    # arXiv:2104.04473, section 3.2: an all-reduce is two shifts of (t - 1) / t of the hidden state: 4 * 128 bytes
    machine = rates(scale_up_bytes_per_second=1)
    assert step(candidate(tensor_parallel=2), machine) == pytest.approx(4 * (512 + 512), rel=1e-12)
    full = candidate(tensor_parallel=2, recomputation=Recomputation.FULL)
    assert step(full, machine) == pytest.approx(4 * (512 + 512 + 512), rel=1e-12)


def test_context_ranks_pass_keys_and_values_around():
    # 8 tokens a rank, keys and values of width 4 in 16 bit: 128 bytes forward, their gradients too on the way back
    machine = rates(scale_up_bytes_per_second=1)
    assert step(candidate(context_parallel=2), machine) == pytest.approx(4 * (128 + 256), rel=1e-12)
    # three passes of 4 tokens' 64 bytes on four ranks
    assert step(candidate(context_parallel=4), machine) == pytest.approx(4 * (3 * 64 + 3 * 128), rel=1e-12)


def test_latent_attention_passes_keys_and_values_of_their_own_sizes():
    # 8 tokens a rank, 2 heads with keys of 4 and values of 2: 12 wide in 16 bit
    latent = replace(SMALL, kv_lora_rank=2, qk_nope_head_size=2, qk_rope_head_size=2, v_head_size=2)
    machine = rates(scale_up_bytes_per_second=1)
    assert step(candidate(context_parallel=2), machine, model=latent) == pytest.approx(4 * (96 + 192) * 2, rel=1e-12)


def test_context_ranks_stand_a_tensor_group_apart():
    # tensor groups fill the servers of four: the ring crosses servers; each tensor rank has a quarter of 128 bytes
    machine = rates(scale_out_bytes_per_second=1, domain_size=4)
    layout = candidate(tensor_parallel=4, context_parallel=2)
    assert step(layout, machine) == pytest.approx(4 * (32 + 64), rel=1e-12)


def test_dispatch_and_combine_inside_a_domain():
    # 16 tokens * 2 experts * 8 wide * 2 bytes = 512, half of it for the other rank; there and back, both directions
    layout = candidate(data_parallel=2, expert_parallel=2)
    machine = rates(scale_up_bytes_per_second=1)
    assert step(layout, machine, model=MIXTURE) == pytest.approx(4 * 4 * 256, rel=1e-12)


def test_a_token_crosses_once_to_each_domain_that_has_one_of_its_experts():
    # two picks among two domains reach 2 * (1 - 1/4) = 1.5 of them, half of those away: 0.75 copies of 256 bytes
    layout = candidate(data_parallel=2, expert_parallel=2)
    machine = rates(scale_out_bytes_per_second=1, domain_size=1, is_dispatch_deduplicated=1)
    assert step(layout, machine, model=MIXTURE) == pytest.approx(4 * 4 * 0.75 * 256, rel=1e-12)


def test_a_plain_exchange_sends_a_token_to_each_of_its_experts():
    # two picks, half of them away: 256 bytes each way; the constant of deduplicating kernels says nothing about it
    layout = candidate(data_parallel=2, expert_parallel=2)
    machine = rates(scale_out_bytes_per_second=1, domain_size=1)
    calibration = constants(expert_exposed_fraction_scale_out=0.25)
    assert step(layout, machine, model=MIXTURE, calibration=calibration) == pytest.approx(4 * 4 * 256, rel=1e-12)


def test_exchanges_beside_other_micro_batches_leave_a_share_to_wait_for():
    layout = candidate(data_parallel=2, expert_parallel=2)
    machine = rates(scale_out_bytes_per_second=1, domain_size=1, dispatch_exposed_fraction=0.25)
    assert step(layout, machine, model=MIXTURE) == pytest.approx(4 * 4 * 256 / 4, rel=1e-12)


def test_whole_experts_halve_the_tensor_exchange_of_their_layers():
    # attention still all-reduces (256 bytes each way), the experts exchange tokens instead
    machine = rates(scale_up_bytes_per_second=1)
    whole = candidate(tensor_parallel=2, expert_parallel=2, expert_tensor_parallel=1)
    split = candidate(tensor_parallel=2)
    assert step(whole, machine, model=MIXTURE, calibration=NO_EXCHANGE) == pytest.approx(4 * (256 + 256), rel=1e-12)
    assert step(split, machine, model=MIXTURE, calibration=NO_EXCHANGE) == pytest.approx(4 * (512 + 512), rel=1e-12)


def test_split_experts_gather_every_copy_of_a_token():
    # attention 256 bytes each way; both experts' copies (2 * 256 bytes) gathered and scattered over two ranks: 2 * 256
    machine = rates(scale_up_bytes_per_second=1)
    layout = candidate(tensor_parallel=2, data_parallel=2, expert_parallel=2, expert_tensor_parallel=2)
    assert step(layout, machine, model=MIXTURE, calibration=NO_EXCHANGE) == pytest.approx(
        4 * 2 * (256 + 512), rel=1e-12
    )


ACROSS = rates(scale_out_bytes_per_second=1, domain_size=1)


@pytest.mark.parametrize(("zero_stage", "expected"), [(0, 8 * 750), (1, 6 * 750), (2, 6 * 750 + 4 * 4 * 750)])
def test_gradients_and_weights_move(zero_stage, expected):
    # 3/4 of 1000 parameters: fp32 gradients reduced and 16-bit weights gathered; all-reduced without sharding. ZeRO 2
    # keeps no whole gradient: it scatters after each of the five micro-batches (arXiv:1910.02054, section 5.2)
    layout = candidate(5, data_parallel=4, zero_stage=zero_stage)
    assert step(layout, ACROSS, states=held(1000)) == pytest.approx(expected, rel=1e-12)


def test_experts_are_reduced_over_the_ranks_that_hold_the_same_ones():
    # 600 parameters over four ranks; 400 of experts, of which two ranks each hold the same
    layout = candidate(data_parallel=4, expert_parallel=2)
    seconds = step(
        layout,
        replace(ACROSS, dispatch_exposed_fraction=0.0),
        model=MIXTURE,
        states=held(1000, 400),
    )
    assert seconds == pytest.approx(6 * 600 * 3 / 4 + 6 * 400 / 2, rel=1e-12)


def test_experts_on_the_ranks_of_one_tensor_group_are_reduced_without_data_parallelism():
    # four tensor ranks, experts over two of them: each half is held twice
    machine = rates(scale_up_bytes_per_second=1, tensor_exposed_fraction=0.0)
    layout = candidate(tensor_parallel=4, expert_parallel=2)
    seconds = step(layout, machine, model=MIXTURE, states=held(1000, 400), calibration=NO_EXCHANGE)
    assert seconds == pytest.approx(6 * 400 / 2, rel=1e-12)


@pytest.mark.parametrize(
    ("pipeline", "virtual", "micro_batches", "hidden"),
    [(1, 1, 8, 1000), (4, 4, 8, 3000), (4, 4, 2, 2000), (4, 1, 8, 1000)],
)
def test_the_last_micro_batches_hide_the_reduction(pipeline, virtual, micro_batches, hidden):
    # a micro-batch takes 1000 s; interleaving finishes (v - 1) p / v of them early, never more than there are
    layout = candidate(micro_batches, data_parallel=4, pipeline_parallel=pipeline, virtual_stage_count=virtual)
    calibration = constants(
        micro_batch_overhead_seconds=1000.0,
        data_overlap_fraction=1.0,
        data_exposed_fraction=0.1,
        pipeline_exposed_fraction=0.0,
    )
    parts = time(layout, ACROSS, states=held(1000), calibration=calibration)
    assert parts["exposed_communication_seconds"] == pytest.approx(4500 - hidden, rel=1e-12)


def test_full_sharding_gathers_twice_and_scatters_once_a_micro_batch():
    # 592 parameters: 2 * 592 * 3/4 = 888 bytes forward and again backward, 4 * 592 * 3/4 = 1776 of gradients
    layout = candidate(2, data_parallel=4, zero_stage=3)
    assert step(layout, ACROSS) == pytest.approx(2 * 4 * (888 + 888 + 1776), rel=1e-12)


def test_weights_gathered_in_fp8_are_half_the_bytes_and_gradients_stay():
    layout = candidate(2, data_parallel=4, zero_stage=3)
    assert step(layout, ACROSS, gathers_fp8_weights=True) == pytest.approx(2 * 4 * (444 + 444 + 1776), rel=1e-12)


def test_full_sharding_of_a_frozen_base_scatters_nothing():
    layout = candidate(data_parallel=4, zero_stage=3)
    assert step(layout, ACROSS, **LORA) == pytest.approx(4 * (888 + 888), rel=1e-12)
    # NF4 with double quantization: 0.5 byte and 0.127 bit a weight (arXiv:2305.14314, section 3)
    quantized = step(layout, ACROSS, **(LORA | {"method": Method.QLORA}))
    assert quantized == pytest.approx(4 * (888 + 888) * (0.5 + 0.127 / 8) / 2, rel=1e-12)


def test_hybrid_sharding_gathers_inside_servers_and_all_reduces_shards_between_them():
    # two servers of two: gathers of half of 2 * 592 bytes and the scatter of 4 * 592 at the server's rate of 2; each
    # GPU all-reduces its own 296 parameters with its one partner at its own port's rate of 1
    layout = candidate(data_parallel=4, zero_stage=3, shard_group_size=2)
    machine = rates(scale_up_bytes_per_second=2, scale_out_bytes_per_second=1, domain_size=2)
    assert step(layout, machine) == pytest.approx(4 * (296 + 296 + 592 + 1184), rel=1e-12)


def test_shards_of_one_rank_are_plain_replicas():
    layout = candidate(data_parallel=2, zero_stage=3, shard_group_size=1)
    assert step(layout, ACROSS) == pytest.approx(4 * 4 * 592, rel=1e-12)


def test_experts_that_no_other_rank_holds_are_not_gathered():
    # router and attention of a mixture's layer: 192 + 16 + 8 * 4 = 240 parameters, gathered over two ranks
    layout = candidate(data_parallel=2, zero_stage=3, expert_parallel=2)
    seconds = step(layout, replace(ACROSS, dispatch_exposed_fraction=0.0), model=MIXTURE)
    assert seconds == pytest.approx(4 * (240 + 240 + 480), rel=1e-12)


def test_overlap_hides_gathers_behind_compute():
    # a layer computes 16 * 2 * 576 = 18 432 s forward and twice that backward: more than its gathers take
    layout = candidate(data_parallel=4, zero_stage=3)
    machine = rates(scale_out_bytes_per_second=1, domain_size=1, gemm_flops_per_second=1)
    hidden = time(layout, machine, calibration=constants(fsdp_overlap_fraction=1.0))
    assert hidden["exposed_communication_seconds"] == 0


def test_a_repeated_forward_hides_what_the_backward_pass_gathers_and_scatters():
    # slow links: forward hides 18 432 s of its 27 648 s; backward and the forward again hide 55 296 s of 82 944
    layout = candidate(data_parallel=4, zero_stage=3, recomputation=Recomputation.FULL)
    machine = rates(scale_out_bytes_per_second=888 / 27_648, domain_size=1, gemm_flops_per_second=1)
    waits = time(layout, machine, calibration=constants(fsdp_overlap_fraction=1.0))
    expected = 4 * (27_648 - 18_432 + 27_648 * 3 - 18_432 * 3)
    assert waits["exposed_communication_seconds"] == pytest.approx(expected, rel=1e-12)


def test_weights_travel_while_tensor_ranks_wait_for_each_other():
    # two tensor ranks all-reduce 4 * 256 / 2 = 512 s a direction inside; 296 parameters a rank: 444 s to gather,
    # 444 + 888 s in the backward pass, of which 512 s each time go by meanwhile
    layout = candidate(tensor_parallel=2, data_parallel=4, zero_stage=3)
    machine = rates(scale_up_bytes_per_second=1, scale_out_bytes_per_second=1, domain_size=2)
    waits = time(layout, machine, calibration=constants(fsdp_overlap_fraction=1.0))
    assert waits["exposed_communication_seconds"] == pytest.approx(4 * (2 * 512 + 444 + 888 - 512), rel=1e-12)


STEP = rates(memory_bytes_per_second=1)


@pytest.mark.parametrize(("zero_stage", "expected"), [(0, 30 * 1000), (1, 30 * 250), (3, 30 * 250)])
def test_optimizer_reads_and_writes_its_shard(zero_stage, expected):
    # master and two moments read and written (24), gradient read (4), weight written (2)
    layout = candidate(data_parallel=4, zero_stage=zero_stage)
    assert time(layout, STEP, states=held(1000))["optimizer_seconds"] == pytest.approx(expected, rel=1e-12)


def test_optimizer_of_experts_is_sharded_over_those_that_hold_the_same():
    layout = candidate(data_parallel=4, expert_parallel=4)
    parts = time(layout, STEP, model=MIXTURE, states=held(1000, 400))
    assert parts["optimizer_seconds"] == pytest.approx(30 * (600 / 4 + 400), rel=1e-12)


@pytest.mark.parametrize(
    ("offload", "zero_stage", "expected"),
    [
        ("optimizer", 1, 6 * 250),  # gradients down, weights up
        ("parameters", 1, 6 * 250 + 3 * 4 * 1000),  # and 16-bit weights for both passes of three micro-batches
        ("parameters", 3, 6 * 250 + 3 * 4 * 250),  # arXiv:2104.07857, section 6.1: each link carries its shard
    ],
)
def test_offloaded_states_cross_the_host_link(offload, zero_stage, expected):
    layout = candidate(3, data_parallel=4, zero_stage=zero_stage)
    machine = rates(host_bytes_per_second=1)
    parts = time(layout, machine, states=held(1000), offload=offload)
    assert parts["optimizer_seconds"] == pytest.approx(expected, rel=1e-12)


def test_the_host_sets_the_pace_of_tiny_layers():
    calibration = constants(layer_host_seconds=3.0, moe_layer_host_seconds=5.0)
    assert step(candidate(), rates(), calibration=calibration) == pytest.approx(4 * (3 + 3), rel=1e-12)
    assert step(candidate(), rates(), model=MIXTURE, calibration=calibration) == pytest.approx(4 * 10, rel=1e-12)
    captured = rates(launch_factor=0.5)
    assert step(candidate(), captured, calibration=calibration) == pytest.approx(4 * 3, rel=1e-12)


def test_waits_for_others_run_beside_the_hosts_work():
    # each direction waits 512 s for the other tensor rank: the host's 600 s leave 88 s of idling, and 500 s none
    machine = rates(scale_up_bytes_per_second=1)
    layout = candidate(tensor_parallel=2)
    assert step(layout, machine, calibration=constants(layer_host_seconds=600.0)) == pytest.approx(4 * 2 * 600)
    assert step(layout, machine, calibration=constants(layer_host_seconds=500.0)) == pytest.approx(4 * 2 * 512)


def test_kernels_take_longer_where_the_framework_adds_its_own():
    assert step(candidate(), replace(GEMM, kernel_overhead_factor=1.5)) == pytest.approx(1.5 * MICRO_BATCH, rel=1e-12)


def test_stragglers_grow_with_every_doubling_of_domains():
    calibration = constants(straggler_fraction_per_doubling=0.1)
    layout = candidate(data_parallel=32)  # four domains of eight
    assert step(layout, GEMM, calibration=calibration) == pytest.approx(1.2 * MICRO_BATCH, rel=1e-12)


def test_eager_attention_moves_the_scores():
    # eight passes over 2 heads * 16 keys in 16 bit: 512 bytes a token forward, twice that backward
    machine = rates(memory_bytes_per_second=1)
    flash = step(candidate(), machine, recipe=Recipe.MEGATRON)
    eager = step(candidate(), machine, attention=AttentionKernel.EAGER)
    assert eager - flash == pytest.approx(16 * 512 * 3 * 4, rel=1e-9)
