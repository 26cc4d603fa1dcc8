from __future__ import annotations

import json
import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.engine.launch import (
    adapter_configuration,
    deepspeed_configuration,
    launch,
)
from advisor.engine.specs import (
    Layout,
    LoraSpec,
    Method,
    Optimizer,
    Precision,
    Recipe,
    Recomputation,
)
from tests.engine.launch_cases import plan_with as _plan
from tests.engine.launch_cases import request_with as _request


class TestDeepSpeed:
    LAYOUT = Layout(tensor_parallel=1, pipeline_parallel=1, data_parallel=64, micro_batch_size=4, zero_stage=3)

    def test_batch_is_the_product(self):
        found = deepspeed_configuration(_plan(), self.LAYOUT)
        assert found["train_batch_size"] == 1024
        assert found["train_micro_batch_size_per_gpu"] * found["gradient_accumulation_steps"] * 64 == 1024

    def test_file_is_json_with_the_stage(self):
        found = launch(_request(plan=_plan(recipe=Recipe.DEEPSPEED), layout=self.LAYOUT))
        assert found.framework == "deepspeed"
        settings = json.loads(found.files[0].text)
        assert settings["zero_optimization"]["stage"] == 3
        assert settings["bf16"] == {"enabled": True}

    def test_offload(self):
        found = deepspeed_configuration(_plan(offload="parameters"), self.LAYOUT)["zero_optimization"]
        assert found["offload_param"]["device"] == found["offload_optimizer"]["device"] == "cpu"
        only = deepspeed_configuration(_plan(offload="optimizer"), self.LAYOUT)["zero_optimization"]
        assert "offload_param" not in only

    def test_half_precision_and_single_precision(self):
        assert "fp16" in deepspeed_configuration(_plan(precision=Precision.FP16), self.LAYOUT)
        single = deepspeed_configuration(_plan(precision=Precision.FP32), self.LAYOUT)
        assert "fp16" not in single
        assert "bf16" not in single

    def test_adapters_run_here_with_peft(self):
        plan = _plan(method=Method.QLORA, lora=LoraSpec(rank=8, targets=("q", "v")))
        found = launch(_request(plan=plan, layout=self.LAYOUT))
        adapter = json.loads(found.files[1].text)
        assert adapter["peft"]["r"] == 8
        assert adapter["peft"]["target_modules"] == ["q_proj", "v_proj"]
        assert adapter["base_model"]["bnb_4bit_quant_type"] == "nf4"
        assert "base_model" not in adapter_configuration(replace(plan, method=Method.LORA))
        with pytest.raises(ValueError, match="LoRA settings"):
            adapter_configuration(_plan(method=Method.LORA))

    def test_what_the_script_must_do_is_noted(self):
        layout = replace(
            self.LAYOUT, tensor_parallel=2, context_parallel=2, recomputation=Recomputation.FULL, shard_group_size=8
        )
        found = launch(_request(plan=_plan(recipe=Recipe.DEEPSPEED, optimizer=Optimizer.MUON), layout=layout))
        assert {
            "tensor_parallel_needs_zero_2",
            "context_parallel_runs_as_ulysses",
            "enable_gradient_checkpointing_in_script",
            "optimizer_needs_own_code",
        } <= set(found.notes)
        settings = json.loads(found.files[0].text)
        assert settings["tensor_parallel"] == {"autotp_size": 2}
        assert settings["zero_optimization"]["zero_hpz_partition_size"] == 8

    def test_adapters_with_embeddings(self):
        plan = _plan(method=Method.LORA, lora=LoraSpec(trains_embeddings_and_head=True))
        assert adapter_configuration(plan)["peft"]["modules_to_save"] == ["embed_tokens", "lm_head"]

    def test_pipeline_is_a_note(self):
        layout = replace(self.LAYOUT, pipeline_parallel=2)
        assert (
            "pipeline_needs_pipeline_module"
            in launch(_request(plan=_plan(recipe=Recipe.DEEPSPEED), layout=layout)).notes
        )


@given(
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([1, 2, 4, 8, 16]),
    st.sampled_from([1, 2, 16, 64]),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([0, 1, 2, 3]),
    st.sampled_from(list(Recipe)),
)
def test_every_layout_gives_a_readable_file(tensor, pipeline, data, micro, zero, recipe):
    layout = Layout(
        tensor_parallel=tensor,
        pipeline_parallel=pipeline,
        data_parallel=data,
        micro_batch_size=micro,
        zero_stage=zero,
    )
    found = launch(_request(plan=_plan(recipe=recipe), layout=layout))
    text = found.files[0].text
    if found.framework == "torchtitan":
        parallelism = tomllib.loads(text)["parallelism"]
        degrees = [value for name, value in parallelism.items() if name.endswith("_degree") and "expert" not in name]
        product = 1
        for degree in degrees:
            product *= degree
        assert product == layout.gpu_count
    elif found.framework == "deepspeed":
        assert json.loads(text)["train_batch_size"] == 1024
    else:
        assert f"--tensor-model-parallel-size {tensor}" in text
