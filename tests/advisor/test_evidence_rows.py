"""Published rows become the scenario that their source describes; blanks are filled by rules that are named."""

from __future__ import annotations

from collections import defaultdict

import pytest

from advisor.engine.parameters import parameter_count
from advisor.engine.specs import AttentionKernel, Method, Optimizer, Precision, Recipe, Recomputation
from advisor.evidence import calibration_runs, read_memory, read_runs
from advisor.evidence_labels import (
    dispatch_of,
    gathers_fp8_weights,
    lora_targets_of,
    precision_of,
    recipe_of,
    recomputation_of,
    recomputed_parts_of,
    sharding_of,
    stops_recomputation_early,
)
from advisor.evidence_memory import memory_from_row
from advisor.evidence_models import parameter_count_in_name, usual_head_count
from advisor.evidence_runs import default_batch_tokens, run_from_row


@pytest.fixture(scope="module")
def runs():
    return {row.id: row for row in read_runs()}


@pytest.fixture(scope="module")
def memories():
    return {row.id: row for row in read_memory()}


def test_every_public_row_is_read(runs, memories):
    assert (len(runs), len(memories)) == (1022, 431)
    reasons = {row.skipped for row in runs.values()}
    assert reasons == {None, "no_throughput"}
    assert {row.skipped for row in memories.values()} == {None}
    assert sum(row.full_layout for row in runs.values()) == 595


def test_groups_hold_the_layout_together(runs):
    for row in calibration_runs(list(runs.values())):
        scenario, layout = row.scenario, row.scenario.layout
        product = layout.tensor_parallel * layout.pipeline_parallel * layout.context_parallel
        assert scenario.cluster.gpu_count % product == 0, row.id
        assert scenario.model.head_count % layout.tensor_parallel == 0, row.id
        assert layout.pipeline_parallel <= scenario.model.layer_count, row.id
        assert row.published_tokens_per_second_per_gpu > 0
        assert scenario.plan.precision in scenario.cluster.gpu.dense_peak_flops_per_second, row.id


def test_a_megatron_row(runs):
    """arXiv:2205.05198, table 5: 175B on 64 A100, tensor 8, pipeline 8, interleaved by 3, full recompute baseline."""
    row = next(
        row
        for row in runs.values()
        if row.group == "megatron2022/GPT/A100"
        and row.scenario.model.layer_count == 96
        and row.scenario.layout.recomputation is Recomputation.FULL
    )
    scenario, layout = row.scenario, row.scenario.layout
    assert (scenario.cluster.gpu_count, scenario.plan.global_batch_size) == (64, 64)
    assert (layout.tensor_parallel, layout.pipeline_parallel, layout.virtual_stage_count) == (8, 8, 3)
    assert layout.micro_batch_size == 1
    assert not layout.uses_sequence_parallel
    assert scenario.plan.attention is AttentionKernel.EAGER
    assert scenario.plan.precision is Precision.FP16
    assert scenario.plan.recipe is Recipe.MEGATRON
    assert parameter_count(scenario.model) == pytest.approx(175e9, rel=0.005)


def test_an_internevo_row_shards_over_eight(runs):
    row = next(row for row in runs.values() if row.source == "internevo" and row.scenario.layout.shard_group_size == 8)
    assert row.scenario.layout.zero_stage == 1
    assert row.scenario.cluster.fabric.scale_out_bytes_per_second_per_gpu == pytest.approx(50e9 / 8)


def test_an_h100_is_in_no_nvl72_rack(runs):
    rows = [row for row in runs.values() if row.gpu_label == "H100-80GB-SXM" and row.source == "megatron-bridge"]
    assert rows
    for row in rows:
        assert row.scenario.cluster.gpus_per_server == 8
        assert row.scenario.cluster.gpu.scale_up_domain_size == 8


def test_rack_rows_have_a_domain_of_72(runs):
    rows = [row for row in runs.values() if row.gpu_label == "GB200-NVL72"]
    assert {row.scenario.cluster.gpu.scale_up_domain_size for row in rows} == {72}
    assert {row.scenario.cluster.gpus_per_server for row in rows} == {4}


def test_cut_down_models_keep_their_latent_attention(runs):
    row = next(row for row in runs.values() if row.group == "simumax/DeepSeek-V3/B200")
    model = row.scenario.model
    assert model.layer_count == 4
    assert (model.kv_lora_rank, model.q_lora_rank, model.v_head_size) == (512, 1536, 128)  # arXiv:2412.19437, 4.2
    assert any("latent attention" in note for note in row.completed)


def test_not_established_precision_is_no_calibration_row(runs):
    doubtful = [row for row in runs.values() if "not established" in row.precision_label]
    assert len(doubtful) == 59
    assert {row.precision for row in doubtful} == {"not established"}
    kept = {row.id for row in calibration_runs(list(runs.values()))}
    assert not kept & {row.id for row in doubtful}
    assert not any(runs[id_].unmodelled or runs[id_].note_cause for id_ in kept)


def test_causes_that_only_the_notes_name(runs):
    noted = {row.id for row in runs.values() if row.note_cause == "expert_capacity"}
    assert noted == {"xtuner-14", "xtuner-15", "xtuner-16", "xtuner-17"}
    assert {row.note_cause for row in runs.values()} == {"", "expert_capacity", "token_drop", "known_regression"}


def test_muon_is_read_from_the_notes(runs):
    kimi = [row for row in runs.values() if row.group.startswith("megatron-bridge/Kimi-K2")]
    assert kimi
    assert {row.scenario.plan.optimizer for row in kimi} == {Optimizer.MUON}


def test_blank_row_is_skipped_with_a_reason():
    row = run_from_row(defaultdict(str, {"id": "x", "gpu": "Cray-1"}))
    assert row.skipped == "unknown_gpu"
    row = run_from_row(defaultdict(str, {"id": "x", "gpu": "H100-80GB-SXM"}))
    assert row.skipped == "unknown_model"


@pytest.mark.parametrize("junk", ["", "x", "-1", "0", "1e400", "nan", "9" * 400, "½"])
def test_junk_in_any_cell_never_raises(junk):
    names = [
        *("gpu", "model", "params_total", "params_active", "n_layers", "hidden", "ffn_hidden", "n_heads", "n_kv_heads"),
        *("vocab", "n_experts", "top_k", "seq_len", "n_gpus", "gpus_per_node", "interconnect", "precision", "tp"),
        *("pp", "vpp", "cp", "ep", "zero_or_fsdp", "sequence_parallel", "recompute", "micro_batch", "framework"),
        *("global_batch_seqs", "published_step_time_s", "preset", "head_size", "year"),
    ]
    good = {
        "id": "x",
        "gpu": "H100-80GB-SXM",
        "preset": "llama-3-8b",
        "seq_len": "8192",
        "n_gpus": "8",
        "tp": "1",
        "pp": "1",
        "throughput_tokens_per_s_per_gpu": "1000",
        "group": "a/b/c",
    }
    for name in names:
        row = run_from_row(defaultdict(str, {**good, name: junk}))
        assert row.skipped is not None or row.scenario is not None
    everything = run_from_row(defaultdict(lambda: junk))
    assert everything.skipped
    assert memory_from_row(defaultdict(lambda: junk)).skipped


@pytest.mark.parametrize(
    ("label", "precision"),
    [
        ("BF16", Precision.BF16),
        ("BF16 (bf16, MP PURE)", Precision.BF16),
        ("FP8 (config)", Precision.FP8),
        ("FP8-MX", Precision.MXFP8),
        ("MXFP8", Precision.MXFP8),
        ("FP8-CS", Precision.FP8),
        ("FP8 (32x32 granularity, per source note)", Precision.FP8),
        ("NVFP4 (config)", Precision.FP4),
        ("FP16 mixed", Precision.FP16),
        ("not established (FP8 or NVFP4)", Precision.FP8),
        ("not established (BF16 assumed)", Precision.BF16),
        ("BF16 with fp32 grad accumulation", Precision.BF16),
        ("FP16 mixed (1B: BF16)", Precision.FP16),
        ("", Precision.BF16),
    ],
)
def test_precision_labels(label, precision):
    assert precision_of(label, 7e9)[0] is precision


def test_the_one_billion_exception():
    assert precision_of("FP16 mixed (1B: BF16)", 1.01e9)[0] is Precision.BF16


@pytest.mark.parametrize(
    ("framework", "vendor", "recipe"),
    [
        ("NeMo / Megatron-Core", "NVIDIA", Recipe.MEGATRON),
        ("Megatron-DeepSpeed", "NVIDIA", Recipe.DEEPSPEED),
        ("llm-foundry/Composer + PyTorch FSDP", "NVIDIA", Recipe.FSDP),
        ("torchtitan", "NVIDIA", Recipe.FSDP),
        ("MaxText/JAX", "NVIDIA", Recipe.FSDP),
        ("NGC PyTorch Release 24.01 Deepspeed N8", "NVIDIA", Recipe.DEEPSPEED),
        ("PyTorch NVIDIA Release 25.09", "NVIDIA", Recipe.MEGATRON),
        ("PyTorch 2.6.0, ROCm 6.4", "AMD", Recipe.FSDP),
        ("InternEvo", "NVIDIA", Recipe.DEEPSPEED),
    ],
)
def test_recipes(framework, vendor, recipe):
    assert recipe_of(framework, vendor)[0] is recipe


@pytest.mark.parametrize(
    ("text", "recipe", "year", "stage", "group"),
    [
        ("FSDP FULL_SHARD", Recipe.FSDP, 2024, 3, None),
        ("FSDP SHARD_GRAD_OP", Recipe.FSDP, 2024, 2, None),
        ("FSDP 64 x DP", Recipe.FSDP, 2025, 3, 64),
        ("FSDP 8", Recipe.FSDP, 2025, 3, 8),
        ("FSDP2", Recipe.FSDP, 2025, 3, None),
        ("HSDP", Recipe.FSDP, 2024, 3, 8),
        ("ZeRO-1 over 8 GPUs", Recipe.DEEPSPEED, 2023, 1, 8),
        ("ZeRO-1 over 4", Recipe.DEEPSPEED, 2023, 1, 4),
        ("ZeRO-1 over all DP", Recipe.DEEPSPEED, 2023, 1, None),
        ("DDP/distributed optimizer (source FSDP=0)", Recipe.MEGATRON, 2026, 1, None),
        ("ZeRO-2", Recipe.DEEPSPEED, 2025, 2, None),
        ("DeepSpeed-ZeRO3 (transformers<5.0 expert loop)", Recipe.DEEPSPEED, 2025, 3, None),
        ("none", Recipe.MEGATRON, 2021, 0, None),
        ("", Recipe.MEGATRON, 2022, 0, None),
        ("", Recipe.MEGATRON, 2025, 1, None),
        ("", Recipe.FSDP, 2025, 3, None),
    ],
)
def test_sharding(text, recipe, year, stage, group):
    sharding, _ = sharding_of(text, recipe, year, 8)
    assert (sharding.zero_stage, sharding.shard_group_size) == (stage, group)


def test_unknown_recomputation_is_left_open():
    assert recomputation_of("unknown")[0] is None
    assert recomputation_of("selective") == (Recomputation.SELECTIVE, "")


@pytest.mark.parametrize(
    ("text", "targets", "embeddings"),
    [
        ("q,v", ("q", "v"), False),
        ("c_attn,c_proj,w1,w2", ("q", "k", "v", "o", "gate", "up", "down"), False),
        ("c_attn,c_proj,w1,w2 + full wte,lm_head", ("q", "k", "v", "o", "gate", "up", "down"), True),
        ("query_key_value", ("q", "k", "v"), False),
        ("q,k,v,proj,mlp,head", ("q", "k", "v", "o", "gate", "up", "down"), False),
        ("all linear", ("q", "k", "v", "o", "gate", "up", "down"), False),
    ],
)
def test_lora_targets(text, targets, embeddings):
    assert lora_targets_of(text) == (targets, embeddings, "")


@pytest.mark.parametrize(
    ("notes", "parts"),
    [
        ("selective modules: moe,layernorm; GBS 16", ("layernorm", "moe")),
        ("VPP 5, DP 2, GBS 32; recompute modules mlp + core_attn", ("core_attn", "mlp")),
        ("modules mla_up_proj+mlp", ("mlp", "mla_up_proj")),
        ("modules none (control [])", ()),
        ("selective modules: []; mock data", ()),
        ("no word of it", ()),
    ],
)
def test_recomputed_parts(notes, parts):
    assert recomputed_parts_of("selective", notes, Recipe.MEGATRON) == parts


@pytest.mark.parametrize(
    ("text", "recipe"), [("full", Recipe.MEGATRON), ("unknown", Recipe.MEGATRON), ("selective", Recipe.FSDP)]
)
def test_parts_are_of_selective_recomputation_in_megatron_alone(text, recipe):
    assert recomputed_parts_of(text, "selective modules: moe", recipe) == ()


def test_batch_by_model_size():
    # 0.5 M tokens at 1 B, 4 M from 7 to 70 B, 16 M at 405 B
    assert default_batch_tokens(1e8) == 0.5e6
    assert default_batch_tokens(7e9) == pytest.approx(4e6)
    assert default_batch_tokens(30e9) == pytest.approx(4e6)
    assert default_batch_tokens(405e9) == pytest.approx(16e6)
    assert default_batch_tokens(1e13) == 16e6


def test_names_that_state_a_size():
    assert parameter_count_in_name("Aquila2-34B") == 34e9
    assert parameter_count_in_name("Qwen1.5-1.8B") == 1.8e9
    assert parameter_count_in_name("GPT-next") == 0


def test_heads_when_none_are_published():
    assert usual_head_count(8192, 8) == 64
    assert usual_head_count(13824, 8) % 8 == 0
    assert 13824 % usual_head_count(13824, 8) == 0


# --- memory -----------------------------------------------------------------------------------------------------------
def test_pure_bf16_states(memories):
    """torchtune and LitGPT bf16-true hold 8 bytes a parameter: weights, gradients and both moments in 16 bit."""
    row = next(
        row
        for row in memories.values()
        if row.method == "full_finetune" and row.framework.startswith("LitGPT") and row.scenario.layout.zero_stage == 0
    )
    plan = row.scenario.plan
    assert plan.recipe is Recipe.PURE_BF16
    assert plan.weight_bytes_per_parameter == 2
    assert plan.gradient_bytes_per_parameter == 2
    assert plan.master_weight_bytes_per_parameter == 0
    assert plan.moment_bytes_per_parameter == 2


def test_fsdp_with_fp32_parameters(memories):
    row = next(row for row in memories.values() if row.source.startswith("torchtitan benchmarks"))
    plan = row.scenario.plan
    assert plan.recipe is Recipe.FSDP
    assert (plan.weight_bytes_per_parameter, plan.master_weight_bytes_per_parameter) == (4, 0)
    assert plan.moment_bytes_per_parameter == 4
    assert plan.gradient_bytes_per_parameter == 4
    assert plan.uses_fused_loss is False
    assert row.measure == "reserved"


def test_megatron_deepspeed_states(memories):
    rows = [row for row in memories.values() if row.source.startswith("BigScience tr11")]
    fp32_gradients = [row for row in rows if row.scenario.plan.gradient_bytes_per_parameter == 4]
    assert fp32_gradients
    for row in fp32_gradients:  # "bf16 weights + fp32 gradient accumulation", fp32 master and Adam
        assert row.scenario.plan.recipe is Recipe.DEEPSPEED
        assert row.scenario.plan.master_weight_bytes_per_parameter == 4
        assert row.scenario.layout.zero_stage == 1
        assert row.scenario.plan.global_batch_size in range(2040, 2049)


def test_unpublished_depth_follows_from_the_count(memories):
    row = next(row for row in memories.values() if row.group.endswith("BLOOM-topology-195B") and row.id == "mem-0381")
    assert parameter_count(row.scenario.model) == pytest.approx(195e9, rel=0.01)
    assert any("layer count" in note for note in row.completed)


def test_qlora_rows(memories):
    gptq = next(row for row in memories.values() if "GPTQ" in row.notes)
    assert gptq.scenario.plan.method is Method.QLORA
    assert gptq.scenario.plan.double_quantization
    plain = next(row for row in memories.values() if row.framework == "LitGPT" and row.method == "qlora")
    assert not plain.scenario.plan.double_quantization
    assert plain.scenario.plan.lora.rank > 0


def test_trained_embeddings_are_told_apart(memories):
    flagged = [
        row
        for row in memories.values()
        if row.scenario is not None
        and row.scenario.plan.lora is not None
        and row.scenario.plan.lora.trains_embeddings_and_head
    ]
    assert len(flagged) == 12


def test_unknown_card_is_no_fits_row():
    good = {"id": "x", "preset": "llama-3-8b", "kind": "fits", "method": "lora", "n_gpus": "1", "seq_len": "512"}
    assert memory_from_row(defaultdict(str, good)).skipped == "unknown_card"
    known = memory_from_row(defaultdict(str, {**good, "gpu_mem_gb": "24"}))
    assert known.skipped is None
    assert known.card_bytes == 24 * 2**30


def test_low_rank_and_block_optimizers_free_gradients(memories):
    rows = [row for row in memories.values() if row.framework.startswith(("GaLore", "Q-GaLore", "APOLLO", "BAdam"))]
    assert len(rows) == 9
    for row in rows:
        assert row.scenario.plan.optimizer_in_backward
        assert row.scenario.plan.moment_bytes_per_parameter < 1.3


def test_zero_offload_takes_the_gradients_along(memories):
    row = next(row for row in memories.values() if "ZeRO-Offload" in row.source)
    assert row.scenario.plan.offload == "optimizer"
    assert row.scenario.plan.optimizer_in_backward


def test_memory_causes_that_only_the_notes_name(memories):
    unsloth = [row for row in memories.values() if row.framework == "Unsloth"]
    assert {row.note_cause for row in unsloth} == {"activation_offload"}


def test_recomputation_of_benchmarks_whose_scripts_are_published():
    # NVIDIA/dgxc-benchmarking v25.01.1: paxml_mod_configs.py saves products, maxtext/configure.sh three projections
    assert recomputation_of("unknown", "PaxML/JAX")[0] is Recomputation.SELECTIVE
    assert recomputation_of("unknown", "MaxText/JAX")[0] is Recomputation.FULL
    assert recomputation_of("none", "PaxML/JAX")[0] is Recomputation.NONE


@pytest.mark.parametrize(
    ("framework", "notes", "is_rack", "is_interleaved", "expected"),
    [
        ("Megatron-Core (Pai-Megatron-Patch)", "tp2, ep32, deepep, pp8", False, True, (True, False)),
        ("Megatron-Core (Pai-Megatron-Patch)", "tp2, ep32, pp8", False, True, (False, False)),
        ("Megatron-Bridge", "HybridEP, EP overlap, CUDA graphs", False, False, (True, True)),
        ("Megatron-Bridge / Megatron-Core", "", True, True, (True, False)),
        ("Megatron-Bridge / Megatron-Core", "", False, True, (False, True)),
        ("Megatron-Bridge / Megatron-Core", "", False, False, (False, False)),
        ("NeMo / Megatron-Core", "", False, True, (False, False)),
    ],
)
def test_how_experts_exchange_tokens(framework, notes, is_rack, is_interleaved, expected):
    assert dispatch_of(framework, notes, is_rack, is_interleaved) == expected


def test_weights_travel_in_fp8_with_one_scale_per_tensor_only():
    assert gathers_fp8_weights("torchtitan", "FP8 (float8 tensorwise linear)")
    assert not gathers_fp8_weights("torchtitan", "FP8 (float8 rowwise)")
    assert not gathers_fp8_weights("torchtitan", "BF16")
    assert not gathers_fp8_weights("llm-foundry/Composer + PyTorch FSDP", "FP8 (amp_fp8)")


def test_early_stopping_came_with_pytorch_2_1():
    assert stops_recomputation_early("llm-foundry/Composer + PyTorch FSDP", 2023) is False
    assert stops_recomputation_early("torchtitan", 2024) is None
    assert stops_recomputation_early("MaxText/JAX", 2023) is True
