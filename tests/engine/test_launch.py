from __future__ import annotations

import subprocess
import tomllib
from dataclasses import replace

import pytest

from advisor.engine.launch import (
    launch,
    micro_batch_count,
    server_count,
    step_count,
)
from advisor.engine.specs import (
    Layout,
    ModelSpec,
    Optimizer,
    Precision,
    Recipe,
    Recomputation,
    RecomputedPart,
)
from tests.engine.launch_cases import DEEPSEEK, LAYOUT, LLAMA
from tests.engine.launch_cases import arguments_of as _arguments
from tests.engine.launch_cases import plan_with as _plan
from tests.engine.launch_cases import request_with as _request


class TestCounts:
    def test_micro_batches(self):
        # 1024 sequences over 16 replicas, one each time
        assert micro_batch_count(_plan(), LAYOUT) == 64

    def test_batch_that_does_not_divide_is_refused(self):
        with pytest.raises(ValueError, match="no multiple"):
            micro_batch_count(_plan(global_batch_size=1000), LAYOUT)

    def test_steps(self):
        # 1.4e12 / (1024 x 4096) = 333 786.01
        assert step_count(_plan()) == 333_787
        assert step_count(_plan(tokens=None)) is None

    def test_servers(self):
        assert server_count(LAYOUT, 8) == 64


class TestMegatron:
    def test_layout(self):
        assert {
            "--tensor-model-parallel-size 8",
            "--pipeline-model-parallel-size 4",
            "--num-virtual-stages-per-pipeline-rank 5",
            "--context-parallel-size 1",
            "--sequence-parallel",
            "--use-distributed-optimizer",
            "--micro-batch-size 1",
            "--global-batch-size 1024",
            "--recompute-granularity selective",
        } <= _arguments(_request())

    def test_recomputed_modules(self):
        plan = _plan(recomputed_parts=(RecomputedPart.MLP, RecomputedPart.LAYERNORM))
        assert "--recompute-modules mlp layernorm" in _arguments(_request(plan=plan))
        assert not any("--recompute-modules" in argument for argument in _arguments(_request()))

    def test_collectives_beside_the_products_and_the_dispatcher_of_experts(self):
        usual = _arguments(_request(model=DEEPSEEK, plan=_plan()))
        assert "--moe-token-dispatcher-type alltoall" in usual
        assert not {"--tp-comm-overlap", "--overlap-moe-expert-parallel-comm"} & usual
        plan = _plan(overlaps_tensor_parallel=True, deduplicates_dispatch=True, overlaps_dispatch=True)
        asked = _arguments(_request(model=DEEPSEEK, plan=plan))
        assert {
            "--tp-comm-overlap",
            "--moe-token-dispatcher-type flex",
            "--moe-enable-deepep",
            "--overlap-moe-expert-parallel-comm",
        } <= asked

    def test_model(self):
        assert {
            "--num-layers 80",
            "--hidden-size 8192",
            "--ffn-hidden-size 28672",
            "--num-attention-heads 64",
            "--num-query-groups 8",
            "--group-query-attention",
            "--swiglu",
            "--untie-embeddings-and-output-weights",
            "--disable-bias-linear",
            "--normalization RMSNorm",
            "--position-embedding-type rope",
            "--train-samples 341796875",
        } <= _arguments(_request())

    def test_saving(self):
        assert {"--save-interval 120", "--async-save", "--ckpt-format torch_dist"} <= _arguments(_request())
        assert not any("save" in line for line in _arguments(_request(save_interval_steps=None)))

    def test_mixture_of_experts_with_latent_attention(self):
        layout = Layout(tensor_parallel=1, pipeline_parallel=16, data_parallel=128, expert_parallel=64)
        found = _arguments(_request(model=DEEPSEEK, layout=layout))
        assert {
            "--num-experts 256",
            "--moe-router-topk 8",
            "--moe-ffn-hidden-size 2048",
            "--moe-shared-expert-intermediate-size 2048",
            "--moe-layer-freq '([0]*3+[1]*58)'",
            "--expert-model-parallel-size 64",
            "--multi-latent-attention",
            "--kv-lora-rank 512",
            "--q-lora-rank 1536",
            "--qk-head-dim 128",
            "--qk-pos-emb-head-dim 64",
            "--mtp-num-layers 1",
            # 61 layers on 16 stages: 15 x 4 + 1
            "--decoder-last-pipeline-num-layers 1",
        } <= found
        assert "--group-query-attention" not in found
        assert not any(line.startswith("--kv-channels") for line in found)
        assert "--kv-channels 128" in _arguments(_request())

    def test_uneven_interleaved_stages_are_a_note(self):
        uneven = launch(_request(layout=replace(LAYOUT, virtual_stage_count=3)))
        assert "uneven_stages_need_layout" in uneven.notes

    def test_fully_sharded(self):
        found = launch(_request(layout=replace(LAYOUT, zero_stage=3)))
        text = found.files[0].text
        assert "--data-parallel-sharding-strategy optim_grads_params" in text
        assert "--ckpt-format fsdp_dtensor" in text
        assert "--async-save" not in text
        assert found.environment == {}
        assert launch(_request()).environment == {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}

    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({"precision": Precision.FP16}, "--fp16"),
            ({"precision": Precision.FP8}, "--fp8-format hybrid"),
            ({"precision": Precision.MXFP8}, "--fp8-recipe mxfp8"),
            ({"gradient_bytes_per_parameter": 2}, "--grad-reduce-in-bf16"),
            ({"optimizer": Optimizer.ADAMW_8BIT}, "--exp-avg-dtype fp8"),
            ({"optimizer": Optimizer.SGD}, "--optimizer sgd"),
            ({"precision": Precision.FP4}, "--fp4-recipe nvfp4"),
            ({"offload": "optimizer"}, "--optimizer-cpu-offload"),
            ({"offload": "optimizer"}, "--use-precision-aware-optimizer"),
            ({"uses_fused_loss": True}, "--cross-entropy-loss-fusion"),
        ],
    )
    def test_plan_options(self, changes, expected):
        assert expected in _arguments(_request(plan=_plan(**changes)))

    def test_full_recomputation_and_no_sequence_parallel(self):
        layout = replace(LAYOUT, recomputation=Recomputation.FULL, uses_sequence_parallel=False)
        found = _arguments(_request(layout=layout))
        assert {"--recompute-granularity full", "--recompute-method uniform", "--recompute-num-layers 1"} <= found
        assert "--sequence-parallel" not in found

    def test_plain_feed_forward_with_biases_learned_positions_and_windows(self):
        # GPT-2 124M: tied embeddings, LayerNorm with bias, 1 024 learned positions; the window is Mistral's kind
        model = ModelSpec(
            name="gpt2",
            layer_count=12,
            hidden_size=768,
            ffn_size=3072,
            head_count=12,
            kv_head_count=12,
            head_size=64,
            vocab_size=50257,
            gated_ffn=False,
            tied_embeddings=True,
            learned_position_count=1024,
            has_qkv_bias=True,
            has_output_bias=True,
            has_ffn_bias=True,
            norm_weight_vectors=2,
            sliding_window=512,
            window_period=4,
            window_layers_per_period=3,
        )
        layout = Layout(tensor_parallel=1, pipeline_parallel=1, data_parallel=8)
        found = _arguments(_request(model=model, layout=layout, plan=_plan(sequence_length=1024, dropout=True)))
        assert {
            "--position-embedding-type learned_absolute",
            "--max-position-embeddings 1024",
            "--normalization LayerNorm",
            "--window-size 512,0",
            "--window-attn-skip-freq 4",
        } <= found
        absent = {"--swiglu", "--disable-bias-linear", "--untie-embeddings-and-output-weights", "--add-qkv-bias"}
        assert absent.isdisjoint(found)
        assert "--attention-dropout 0" not in found
        two_of_four = _arguments(_request(model=replace(model, window_layers_per_period=2), layout=layout))
        assert "--window-attn-skip-freq '[1,1,0,0,1,1,0,0,1,1,0,0]'" in two_of_four

    def test_experts_in_every_second_layer(self):
        model = replace(
            DEEPSEEK, dense_layer_count=0, moe_layer_interval=2, layer_count=60, shared_expert_count=0, q_lora_rank=0
        )
        found = _arguments(_request(model=model, layout=replace(LAYOUT, virtual_stage_count=1)))
        assert "--moe-layer-freq 2" in found
        assert not any("shared-expert" in line or "--q-lora-rank" in line for line in found)

    def test_optimizer_outside_the_framework_is_a_note(self):
        assert "optimizer_needs_own_code" in launch(_request(plan=_plan(optimizer=Optimizer.LION))).notes

    def test_command_starts_every_process(self):
        text = launch(_request()).files[0].text
        assert "--nnodes 64 --nproc-per-node 8" in text
        assert "pretrain_gpt.py" in text

    def test_script_passes_every_argument_whole(self, tmp_path):
        """A stand-in torchrun prints its arguments: variables are filled in, brackets and commas stay as they are."""
        layout = Layout(tensor_parallel=1, pipeline_parallel=16, data_parallel=128, expert_parallel=64)
        script = tmp_path / "train.sh"
        script.write_text(launch(_request(model=DEEPSEEK, layout=layout)).files[0].text)
        stand_in = tmp_path / "torchrun"
        stand_in.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
        stand_in.chmod(0o755)
        variables = {
            "PATH": f"{tmp_path}:/usr/bin:/bin",
            "NODE_RANK": "0",
            "MASTER_ADDR": "head",
            "DATA_PATH": "/data/with space",
            "TOKENIZER_PATH": "/tokenizer",
            "LEARNING_RATE": "2e-4",
            "CHECKPOINT_PATH": "/checkpoints",
        }
        ran = subprocess.run(["bash", script], env=variables, capture_output=True, text=True, check=True)
        words = ran.stdout.splitlines()
        assert words[words.index("--moe-layer-freq") + 1] == "([0]*3+[1]*58)"
        assert words[words.index("--data-path") + 1] == "/data/with space"


class TestTorchtitan:
    LAYOUT = Layout(tensor_parallel=1, pipeline_parallel=1, data_parallel=128, micro_batch_size=2, zero_stage=3)

    def _job(self, **changes):
        plan = _plan(recipe=Recipe.FSDP, **changes.pop("plan", {}))
        request = _request(plan=plan, layout=replace(self.LAYOUT, **changes.pop("layout", {})), **changes)
        found = launch(request)
        assert found.framework == "torchtitan"
        return tomllib.loads(found.files[0].text), found

    def test_job_file_is_toml_with_the_layout(self):
        job, _ = self._job()
        assert job["parallelism"]["data_parallel_shard_degree"] == 128
        assert job["parallelism"]["data_parallel_replicate_degree"] == 1
        assert job["parallelism"]["fsdp_reshard_after_forward"] == "always"
        assert job["training"] == {
            "local_batch_size": 2,
            "global_batch_size": 1024,
            "seq_len": 4096,
            "mixed_precision_param": "bfloat16",
            "steps": 333_787,
        }
        assert job["checkpoint"] == {
            "enable": True,
            "interval": 120,
            "async_mode": "async_with_pinned_mem",
            "keep_latest_k": 3,
        }

    def test_hybrid_sharding(self):
        job, _ = self._job(layout={"shard_group_size": 8})
        assert job["parallelism"]["data_parallel_shard_degree"] == 8
        assert job["parallelism"]["data_parallel_replicate_degree"] == 16
        with pytest.raises(ValueError, match="does not divide"):
            self._job(layout={"shard_group_size": 7})

    def test_pipeline_gets_all_micro_batches(self):
        job, _ = self._job(layout={"pipeline_parallel": 4, "data_parallel": 32, "virtual_stage_count": 2})
        # 1024 / (32 x 2) = 16 micro-batches of 2; 80 layers in 8 chunks
        assert job["training"]["local_batch_size"] == 32
        assert job["parallelism"]["pipeline_parallel_microbatch_size"] == 2
        assert job["parallelism"]["pipeline_parallel_schedule"] == "Interleaved1F1B"
        assert job["parallelism"]["pipeline_parallel_layers_per_stage"] == 10

    def test_zero_stages(self):
        assert self._job(layout={"zero_stage": 2})[0]["parallelism"]["fsdp_reshard_after_forward"] == "never"
        job, found = self._job(layout={"zero_stage": 0})
        assert job["parallelism"]["data_parallel_replicate_degree"] == 128
        assert "zero_1_runs_as_zero_2" not in found.notes
        assert "zero_1_runs_as_zero_2" in self._job(layout={"zero_stage": 1})[1].notes

    def test_recomputation_and_precision(self):
        job, _ = self._job(layout={"recomputation": Recomputation.SELECTIVE}, plan={"precision": Precision.FP8})
        assert job["activation_checkpoint"] == {"mode": "selective", "selective_ac_option": "op"}
        assert job["quantize"]["linear"]["float8"] == {"enable_fsdp_float8_all_gather": True}

    @pytest.mark.parametrize(("name", "flavor"), [('\U0001f600 x"]\n', "x"), ("模型", "custom"), ("a/b 7B", "a-b-7B")])
    def test_hostile_names_stay_keys(self, name, flavor):
        job, _ = self._job(model=replace(LLAMA, name=name))
        assert job["model"]["flavor"] == flavor

    def test_own_code_is_noted(self):
        _, found = self._job(
            plan={"optimizer": Optimizer.LION, "precision": Precision.FP16},
            layout={"tensor_parallel": 2, "uses_sequence_parallel": False},
        )
        assert {"optimizer_needs_own_code", "precision_needs_own_code", "sequence_parallel_always_on"} <= set(
            found.notes
        )

    def test_pure_16_bit_and_offload(self):
        plan = _plan(recipe=Recipe.PURE_BF16, offload="optimizer")
        job = tomllib.loads(launch(_request(plan=plan, layout=self.LAYOUT)).files[0].text)
        assert job["training"]["dtype"] == "bfloat16"
        assert job["training"]["enable_cpu_offload"] is True

    def test_flavor_is_described(self):
        _, found = self._job()
        assert "80 layers, hidden 8192, heads 64/8 x 128" in found.files[0].text
        assert "register_model_flavor" in found.notes
