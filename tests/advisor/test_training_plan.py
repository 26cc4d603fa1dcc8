"""From a checked request to the engine's job."""

from __future__ import annotations

import pytest

from advisor.engine.parameters import parameter_count
from advisor.engine.specs import Method, Recipe
from advisor.input_types import InputError
from advisor.inputs import parse_estimate_request
from advisor.training_plan import job_from, preset_model

pytestmark = pytest.mark.usefixtures("catalog")


def _job(model=None, workload="general", proposes_tokens=False, **training):
    body = {"model": model or {"parameters": "7B"}, "training": training, "cluster": {"gpu": "nvidia-h100-sxm5-80gb"}}
    return job_from(parse_estimate_request(body), workload=workload, proposes_tokens=proposes_tokens)


def test_pretraining_runs_on_megatron_and_fine_tuning_on_others():
    assert _job().plan.recipe is Recipe.MEGATRON
    assert _job(method="full_finetune").plan.recipe is Recipe.DEEPSPEED
    assert _job(method="lora").plan.recipe is Recipe.PURE_BF16


def test_a_stated_recipe_is_no_assumption():
    names = {item.name for item in _job(recipe="fsdp").assumptions}
    assert "recipe" not in names


@pytest.mark.parametrize(
    ("parameters", "tokens"),
    # published runs: 0.5 M at 1 B, 4 M at 7 to 70 B, 16 M at 405 B
    [("1B", 0.5e6), ("7B", 4e6), ("70B", 4e6), ("405B", 16e6)],
)
def test_the_batch_grows_with_the_model(parameters, tokens):
    plan = _job({"parameters": parameters}).plan
    assert plan.global_batch_size * plan.sequence_length == pytest.approx(tokens, rel=0.1)


def test_a_batch_in_tokens_becomes_sequences():
    assert _job(global_batch_tokens="4194304").plan.global_batch_size == 1024


def test_fine_tuning_takes_small_batches():
    assert _job(method="full_finetune").plan.global_batch_size == 128
    assert _job(method="lora").plan.global_batch_size == 16


def test_tokens_are_proposed_for_pretraining_only():
    assert _job(proposes_tokens=True).plan.tokens == pytest.approx(20 * 7e9, rel=0.01)
    assert _job(proposes_tokens=True, method="lora").plan.tokens is None
    assert _job().plan.tokens is None


def test_workloads_change_memory_and_gradients():
    assert _job(workload="generative").plan.memory_headroom_fraction == pytest.approx(0.1)
    assert _job(workload="numeric_sensitive").plan.gradient_bytes_per_parameter == 4
    assert _job(workload="numeric_sensitive", gradient_dtype="bf16").plan.gradient_bytes_per_parameter == 2


def test_a_plan_is_for_the_method():
    assert _job(method="qlora").plan.method is Method.QLORA


@pytest.mark.parametrize(
    ("preset", "published"),
    # parameter counts as published with the weights
    [("llama-3-70b", 70_553_706_496), ("gpt2-124m", 124_439_808)],
)
def test_presets_have_their_published_counts(preset, published):
    assert parameter_count(preset_model(preset)) == pytest.approx(published, rel=0.005)


def test_an_unknown_preset_is_refused():
    with pytest.raises(InputError) as caught:
        preset_model("no-such-model")
    assert caught.value.errors[0].code == "unknown_preset"
