"""What people ask in public threads about memory and time, asked through the API, with the right answer worked out.

16 bytes a parameter are mixed-precision AdamW (2 weight + 2 gradient + 4 master + 8 moments), 18 with 32-bit gradients,
8 pure 16-bit AdamW. Parameter counts are those of the models' cards.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

A100 = "nvidia-a100-sxm4-80gb"
A100_40 = "nvidia-a100-sxm4-40gb"
H100 = "nvidia-h100-sxm5-80gb"
A40 = "nvidia-a40-48gb"
RTX4090 = "nvidia-rtx4090-24gb"
ONE_RANK_A_MODEL = {"tensor_parallel": 1, "pipeline_parallel": 1, "context_parallel": 1, "expert_parallel": 1}
SHARDED = {**ONE_RANK_A_MODEL, "zero_stage": 3}

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalog")]


def ask(
    model: str | dict[str, Any], gpu: str, gpu_count: int | None, layout: dict[str, Any] | None = None, **training: Any
) -> dict[str, Any]:
    """The estimate of a fine-tune (or what `method` says) of a preset or a stated model."""
    values = {"method": "full_finetune", "recipe": "deepspeed", "sequence_length": 2048, "global_batch_size": 32}
    body = {
        "model": {"preset": model} if isinstance(model, str) else model,
        "training": values | training,
        "cluster": {"gpu": gpu} | ({"gpu_count": gpu_count} if gpu_count else {}),
        "layout": layout or {},
    }
    response = Client().post("/api/v1/estimates", json.dumps(body), content_type="application/json")
    assert response.status_code == 200, response.content.decode()
    answer: dict[str, Any] = response.json()
    return answer


def states_of_one_gpu(answer: dict[str, Any]) -> float:
    memory = answer["memory_per_gpu"]
    total: float = memory["weight_bytes"] + memory["gradient_bytes"] + memory["optimizer_bytes"]
    return total


def fits(answer: dict[str, Any]) -> bool:
    return bool(answer["memory_per_gpu"]["fits"])


class TestFullFineTuning:
    def test_a_7b_model_holds_108_gb_before_any_activation(self):
        alone = ask("llama-7b", A100, 1)
        assert states_of_one_gpu(alone) == pytest.approx(108e9, rel=0.005)
        assert not fits(alone)
        shared = ask("llama-7b", A100, 2, SHARDED)
        assert states_of_one_gpu(shared) == pytest.approx(54e9, rel=0.005)

    @pytest.mark.parametrize("gpu_count", [4, 8])
    def test_a_7b_model_on_40_gb_cards_with_offload(self, gpu_count):
        # tatsu-lab/stanford_alpaca issue 280: FSDP and CPU offload run on 8 cards, and on 4 with two samples
        answer = ask(
            "llama-7b", A100_40, gpu_count, {**SHARDED, "micro_batch_size": 2},
            recipe="fsdp", offload="parameters", sequence_length=512, global_batch_size=128,
        )  # fmt: skip
        assert fits(answer)
        assert states_of_one_gpu(answer) == 0, "weights, gradients and moments are in host memory"

    def test_a_70b_model_on_eight_cards_of_80_gb(self):
        # axolotl issue 1439: 16 bytes a parameter are about 140 GB a card
        answer = ask("llama-3-70b", A100, 8, SHARDED)
        assert not fits(answer)
        assert states_of_one_gpu(answer) == pytest.approx(141e9, rel=0.005)
        assert fits(ask("llama-3-70b", A100, 8, SHARDED, offload="parameters"))

    def test_the_same_with_an_eight_bit_optimizer_and_16_bit_weights(self):
        # the same thread: 6 bytes a parameter are 53 GB a card
        answer = ask("llama-3-70b", A100, 8, SHARDED, recipe="pure_bf16", optimizer="adamw_8bit")
        assert states_of_one_gpu(answer) == pytest.approx(53e9, rel=0.02)  # block constants of the 8-bit states
        assert fits(answer)

    def test_a_70b_model_in_pure_16_bit(self):
        # torchtune issue 863: 141 + 141 GB, 564 GB with both moments, 70.6 GB on each of eight
        answer = ask("llama-3-70b", A100, 8, SHARDED, recipe="pure_bf16")
        memory = answer["memory_per_gpu"]
        assert 8 * memory["weight_bytes"] == pytest.approx(141e9, rel=0.005)
        assert 8 * memory["gradient_bytes"] == pytest.approx(141e9, rel=0.005)
        assert states_of_one_gpu(answer) == pytest.approx(70.6e9, rel=0.005)

    def test_states_that_fit_in_total_are_not_enough(self):
        # a 72B model against 16 x 80 GB = 1 280 GB: 1 163 GB of states, and the rest of every card decides
        answer = ask("qwen2-72b", A100, 16, SHARDED, sequence_length=4096)
        assert 16 * states_of_one_gpu(answer) == pytest.approx(16 * 72.7e9, rel=0.005)
        assert 16 * states_of_one_gpu(answer) < 16 * answer["memory_per_gpu"]["available_bytes"]
        assert not fits(answer)

    def test_qwen_32b_at_32k_on_two_cards(self):
        # simplescaling/s1 issue 106: no; its authors recommend 16 H100 of 80 GB
        settings = {"recipe": "fsdp", "sequence_length": 32768, "global_batch_size": 16}
        answer = ask("qwen2.5-32b", A100, 2, **settings)
        assert not fits(answer)
        (problem,) = [row for row in answer["problems"] if row["code"] == "does_not_fit"]
        assert problem["params"]["model_state_bytes"] == pytest.approx(524e9, rel=0.005)
        assert fits(ask("qwen2.5-32b", H100, 16, **settings))

    def test_a_13b_model_needs_no_eight_cards_but_more_than_two_of_40_gb(self):
        # lm-sys/FastChat issue 346: 320 GB in total were enough
        assert fits(ask("llama-13b", A100, 4, SHARDED))
        answer = ask("llama-13b", A100_40, 2, SHARDED)
        assert not fits(answer)
        assert 2 * states_of_one_gpu(answer) == pytest.approx(208e9, rel=0.005)

    def test_llama_2_70b_with_megatron_on_one_server_and_on_four(self):
        # epfLLM/Megatron-LLM issue 52: 18 bytes are 155 GB a card; TP 8, PP 4 on 32 cards runs
        one = ask("llama-2-70b", A100, 8, {"tensor_parallel": 8}, recipe="megatron", gradient_dtype="fp32")
        assert not fits(one)
        assert states_of_one_gpu(one) == pytest.approx(155e9, rel=0.005)
        layout = {"tensor_parallel": 8, "pipeline_parallel": 4}
        assert fits(ask("llama-2-70b", A100, 32, layout, recipe="megatron", gradient_dtype="fp32"))

    def test_a_90b_model_in_full_and_with_adapters(self):
        # huggingface/trl issue 2294: 180 GB a card in full; a sharded frozen base is 22.5 GB a card
        model = {"parameters": "90B"}
        full = ask(model, A100, 8, SHARDED)
        assert states_of_one_gpu(full) == pytest.approx(180e9, rel=0.01)
        assert not fits(full)
        adapters = ask(model, A100, 8, SHARDED, method="lora", recipe="fsdp")
        assert adapters["memory_per_gpu"]["weight_bytes"] == pytest.approx(22.5e9, rel=0.02)  # with the adapters
        assert fits(adapters)

    def test_offload_moves_the_limit_to_host_memory(self):
        # axolotl issue 1439 and Qwen3 issue 804: 72.7e9 x 16 = 1.16 TB; hosts of 800 GB and of 1 TB were too small
        body = {
            "model": {"preset": "qwen2-72b"},
            "training": {"method": "full_finetune", "recipe": "deepspeed", "offload": "parameters", "tokens": "1B"},
            "hardware": {"gpus": [A100], "gpu_count": 8},
        }
        response = Client().post("/api/v1/recommendations", json.dumps(body), content_type="application/json")
        best = response.json()["recommended"]
        (line,) = [row for row in best["bill_of_materials"] if row["kind"] == "memory"]
        module = Client().get(f"/api/v1/memory-modules/{line['sku']}").json()
        assert module["capacity_bytes"] * line["quantity"] > 1.16e12


class TestWhatIsForgotten:
    @pytest.mark.parametrize("gpu_count", [1, 8, 64])
    def test_data_parallel_ranks_each_hold_the_frozen_base(self, gpu_count):
        layout = {**ONE_RANK_A_MODEL, "zero_stage": 1}
        answer = ask("mixtral-8x7b", A100, gpu_count, layout, method="lora", recipe="megatron", global_batch_size=64)
        assert 93.4e9 <= answer["memory_per_gpu"]["weight_bytes"] <= 1.02 * 93.4e9  # 46.7e9 x 2, and the adapters
        assert not fits(answer)

    def test_full_sharding_divides_the_frozen_base(self):
        answer = ask("mixtral-8x7b", A100, 8, SHARDED, method="lora", recipe="fsdp")
        assert answer["memory_per_gpu"]["weight_bytes"] == pytest.approx(93.4e9 / 8, rel=0.02)  # with the adapters
        assert fits(answer)

    def test_a_65b_model_on_one_48_gb_card_in_four_bit(self):
        # arXiv:2305.14314: one 48 GB card at micro-batch 1; 4 bit + 0.127 bit of constants are 33.6 GB, and
        # embedding and head stay in 16 bit: 2 x 32 000 x 8 192 x 1.5 bytes more; adapters of rank 16 add up to 0.8 GB
        answer = ask("llama-65b", A40, 1, {"micro_batch_size": 1}, method="qlora", sequence_length=528)
        assert fits(answer)
        assert 34.4e9 <= answer["memory_per_gpu"]["weight_bytes"] <= 34.4e9 + 0.9e9
        wider = ask("llama-65b", A40, 1, {"micro_batch_size": 16}, method="qlora", sequence_length=528)
        assert not fits(wider)

    def test_logits_of_a_large_vocabulary_at_long_context(self):
        # 10 000 tokens x 262 208 x 4 bytes are 10.5 GB a copy, and two to three copies live
        answer = ask("gemma-3-12b", A100, 1, {"micro_batch_size": 1}, method="lora", sequence_length=10000,
                     global_batch_size=8, fused_loss=False)  # fmt: skip
        assert 2 * 10.4e9 <= answer["memory_per_gpu"]["logits_bytes"] <= 3 * 10.5e9
        fused = ask("gemma-3-12b", A100, 1, {"micro_batch_size": 1}, method="lora", sequence_length=10000,
                    global_batch_size=8, fused_loss=True)  # fmt: skip
        assert fused["memory_per_gpu"]["logits_bytes"] < 10.5e9, "a fused loss holds less than one 32-bit copy"

    def test_an_8b_model_with_adapters_on_a_24_gb_card(self):
        # meta-pytorch/torchtune issue 856: 4 096 tokens fit, 8 192 with two samples do not
        def on_4090(sequence_length: int, micro_batch_size: int) -> bool:
            layout = {"micro_batch_size": micro_batch_size}
            settings = {"method": "lora", "recipe": "pure_bf16", "sequence_length": sequence_length}
            return fits(ask("llama-3-8b", RTX4090, 1, layout, **settings))

        assert on_4090(4096, 1)
        assert not on_4090(8192, 2)

    def test_a_70b_model_with_adapters_in_16_and_in_4_bit(self):
        # meta-llama/llama-cookbook issue 332: not 8 to 16 GB, but 141 GB and 35 GB of weights alone
        plain = ask("llama-3-70b", H100, 1, {"micro_batch_size": 1}, method="lora", sequence_length=512)
        assert plain["memory_per_gpu"]["weight_bytes"] == pytest.approx(141e9, rel=0.01)
        four_bit = ask("llama-3-70b", RTX4090, 1, {"micro_batch_size": 1}, method="qlora", sequence_length=512)
        assert four_bit["memory_per_gpu"]["weight_bytes"] > 35e9
        assert not fits(four_bit)
        # the same thread: FSDP and adapters train on eight cards of 48 GB
        assert fits(ask("llama-3-70b", A40, 8, SHARDED, method="lora", recipe="fsdp"))


class TestBytesOfAParameter:
    @pytest.mark.parametrize(("gradient_dtype", "each"), [("bf16", 16), ("fp32", 18)])
    @pytest.mark.parametrize("recipe", ["megatron", "deepspeed"])
    def test_sixteen_or_eighteen(self, recipe, gradient_dtype, each):
        # huggingface/accelerate issue 2659
        answer = ask("llama-7b", A100, 1, {"zero_stage": 0}, recipe=recipe, gradient_dtype=gradient_dtype)
        assert states_of_one_gpu(answer) == pytest.approx(each * 6.738e9, rel=0.001)

    @pytest.mark.parametrize(
        ("zero_stage", "shared", "divided"), [(0, 16, 0), (1, 4, 12), (2, 2, 14), (3, 0, 16)]
    )  # fmt: skip
    def test_what_each_stage_divides(self, zero_stage, shared, divided):
        # deepspeedai/DeepSpeed issue 5102: stage 2 is 2P + 14P/N, not 4P + 16P/N
        answer = ask("llama-7b", A100, 8, {**SHARDED, "zero_stage": zero_stage, "micro_batch_size": 1})
        assert states_of_one_gpu(answer) == pytest.approx((shared + divided / 8) * 6.738e9, rel=0.001)

    def test_a_70b_model_is_564_gb_in_16_bit_and_1129_gb_mixed(self):
        # huggingface/blog issue 2245: 300 GB is about loading
        for recipe, total in (("pure_bf16", 564e9), ("deepspeed", 1129e9)):
            answer = ask("llama-3.1-70b", A100, 8, SHARDED, recipe=recipe)
            assert 8 * states_of_one_gpu(answer) == pytest.approx(total, rel=0.005)


class TestTime:
    @pytest.mark.parametrize(
        ("model", "tokens", "gpu", "gpu_count", "peak"),
        [
            ("llama-65b", "1.4T", A100, 2048, 312e12),
            ({"parameters": "130B"}, "400B", A100_40, 768, 312e12),
            ("llama-3.1-70b", "15T", H100, 256, 989.4e12),
        ],
        ids=["65B", "130B", "70B"],
    )
    def test_days_are_the_work_over_peak_share_and_goodput(self, model, tokens, gpu, gpu_count, peak):
        # GPUs = 6 N D / (peak x MFU x seconds): no hidden constant, and the work is 6 N D with attention on top
        batch = 3 * gpu_count
        answer = ask(
            model, gpu, gpu_count, method="pretrain", recipe="megatron", tokens=tokens, global_batch_size=batch
        )
        time, flops = answer["time"], answer["flops"]
        rate = gpu_count * peak * time["mfu"]
        productive = time["training_seconds"] * time["goodput"]
        assert productive == pytest.approx(flops["total_model_flops"] / rate, rel=0.001)  # the last step is whole
        assert 0.9 < flops["total_model_flops"] / flops["six_n_d_flops"] < 1.15
        assert fits(answer)

    def test_a_65b_model_on_2048_a100_takes_weeks(self):
        # arXiv:2302.13971: about 21 days for 1.4 T tokens
        answer = ask("llama-65b", A100, 2048, method="pretrain", recipe="megatron", tokens="1.4T",
                     global_batch_size=2048)  # fmt: skip
        assert answer["time"]["training_seconds"] / 86_400 == pytest.approx(21, rel=0.15)

    @pytest.mark.parametrize(
        ("gpu", "gpu_count", "hours"),
        [(A100_40, 8, 96), (RTX4090, 1, 45 * 24)],  # karpathy/nanoGPT issue 363: measured; worked out at 35 %
        ids=["8 A100", "one 4090"],
    )
    def test_gpt_2_on_300_billion_tokens(self, gpu, gpu_count, hours):
        # its config/train_gpt2.py: 12 sequences a micro-batch, 40 of them a step; every 1 000 steps one GPU evaluates
        # 2 x 200 micro-batches forward, a third of a training one each, while the others wait
        answer = ask("gpt2-124m", gpu, gpu_count, {"micro_batch_size": 12}, method="pretrain", recipe="fsdp",
                     tokens="300B", sequence_length=1024, global_batch_size=480)  # fmt: skip
        evaluation = 400 / 3 / (40 / gpu_count * 1000)
        assert answer["time"]["training_seconds"] * (1 + evaluation) / 3600 == pytest.approx(hours, rel=0.15)

    def test_a_batch_with_an_odd_factor_finds_its_large_micro_batches(self):
        # 480 sequences on 8 GPUs are 60 each: 12 or more at a time, not 4, keep an A100 at work
        answer = ask("gpt2-124m", A100_40, 8, method="pretrain", recipe="fsdp", tokens="300B", sequence_length=1024,
                     global_batch_size=480)  # fmt: skip
        assert answer["layout"]["micro_batch_size"] >= 12
        assert answer["layout"]["global_batch_size"] == 480
