"""Every name that outside programs rely on, looked for in real answers of every form of request."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from advisor.api.examples import ESTIMATE_EXAMPLE, RECOMMENDATION_EXAMPLE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalog")]

ESTIMATE = {
    "model": "parameter_count active_parameter_count layer_count hidden_size",
    "layout": "tensor_parallel pipeline_parallel data_parallel micro_batch_size micro_batch_count",
    "memory_per_gpu": "weight_bytes gradient_bytes optimizer_bytes activation_bytes logits_bytes buffer_bytes "
    "allocated_bytes reserved_bytes overhead_bytes total_bytes available_bytes fits pipeline_stage",
    "flops": "model_flops_per_token hardware_flops_per_token total_model_flops six_n_d_flops",
    "time": "step_seconds compute_seconds exposed_communication_seconds bubble_seconds optimizer_seconds "
    "tokens_per_second tokens_per_second_per_gpu model_flops_per_second_per_gpu mfu hfu step_count training_seconds "
    "goodput training_seconds_low training_seconds_high",
    "": "problems assumptions engine_version catalog_revision",
}
RECOMMENDATION = {
    "tier": "code name lower_parameter_count upper_parameter_count reference_build reference_build_suffices reason",
    "requirement": "model_state_bytes total_model_flops sustained_flops_per_second dense_peak_flops_per_second "
    "minimum_gpu_count_for_memory binding_constraint",
    "rent_or_buy": "months rental_cumulative purchase_cumulative break_even_month utilisation_fraction "
    "break_even_utilisation_fraction advice",
    "": "recommended alternatives rejected deployment_comparison evaluated_layout_count problems assumptions "
    "engine_version catalog_revision",
}
CONFIGURATION = {
    "": "labels gpu gpu_count server server_count spare_server_count estimate bill_of_materials network storage power "
    "reliability software acceptance nearest_run checks prices",
    "prices": "rental purchase",
}
SIDE = "training_days gpu_hours interruptions price"
ROWS = {
    "problems": "field code message params",
    "assumptions": "name value unit origin source",
    "rejected": "gpu code message params",
    "bill_of_materials": "sku kind name quantity reason source_rule",
    "checks": "code severity message parts figures",
}
ARCHITECTURE = {
    "layer_count": 32, "hidden_size": 4096, "ffn_size": 14336, "head_count": 32, "kv_head_count": 8, "head_size": 128,
    "vocab_size": 32000, "gated_ffn": True, "tied_embeddings": False, "expert_count": 8, "experts_per_token": 2,
    "expert_ffn_size": 14336, "shared_expert_count": 0, "dense_layer_count": 0,
}  # fmt: skip
CONFIG = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
    "num_attention_heads": 32, "vocab_size": 32000,
}  # fmt: skip
TRAINING = {
    "method": ("pretrain", "continued_pretrain", "full_finetune", "lora", "qlora"),
    "precision": ("bf16", "fp16", "fp8", "fp32"),
    "optimizer": ("adamw", "adamw_8bit", "adafactor", "sgd", "muon", "lion"),
    "recipe": ("megatron", "fsdp", "deepspeed", "pure_bf16"),
    "gradient_dtype": ("bf16", "fp32"),
    "fused_loss": (True, False),
    "attention": ("flash", "eager"),
    "tokens": ({"samples": 50000, "sequence_length": 8192, "epochs": 3}, {"gigabytes": 500, "language": "zh"}, None),
}


def post(route: str, body: dict[str, Any]) -> dict[str, Any]:
    response = Client().post(f"/api/v1/{route}", json.dumps(body), content_type="application/json")
    assert response.status_code == 200, response.content.decode()
    answer: dict[str, Any] = response.json()
    return answer


def assert_names(answer: dict[str, Any], wanted: dict[str, str]) -> None:
    for part, names in wanted.items():
        found = answer[part] if part else answer
        assert set(names.split()) <= set(found), part
    for part, names in ROWS.items():
        for row in answer.get(part, ()):
            assert set(names.split()) <= set(row), part


def assert_estimate(answer: dict[str, Any]) -> None:
    assert_names(answer, ESTIMATE)
    memory = answer["memory_per_gpu"]
    parts = ("weight", "gradient", "optimizer", "activation", "logits", "buffer")
    assert sum(memory[f"{part}_bytes"] for part in parts) == pytest.approx(memory["allocated_bytes"], rel=1e-12)
    assert memory["allocated_bytes"] <= memory["reserved_bytes"]
    assert memory["fits"] is (memory["total_bytes"] <= memory["available_bytes"])
    assert memory["fits"] or "does_not_fit" in {problem["code"] for problem in answer["problems"]}


def variants() -> Iterator[Any]:
    """The contract's own request with one thing changed."""
    for name in ESTIMATE_EXAMPLE["layout"]:
        rest = {key: value for key, value in ESTIMATE_EXAMPLE["layout"].items() if key != name}
        yield pytest.param({"layout": rest}, id=f"without {name}")
        yield pytest.param({"layout": {name: ESTIMATE_EXAMPLE["layout"][name]}}, id=f"only {name}")
    yield pytest.param({"layout": {}}, id="no layout")
    yield pytest.param({"layout": {}, "cluster": {"gpu": "nvidia-h100-sxm5-80gb"}}, id="no count")
    yield pytest.param({"layout": {}, "cluster": {}}, id="no cluster")
    models = (
        {"parameters": "671B", "active_parameters": "37B"}, {"parameters": "700亿"}, {"preset": "llama-3-70b"},
        {"config": CONFIG}, {"architecture": ARCHITECTURE},
    )  # fmt: skip
    for model in models:
        yield pytest.param({"model": model, "layout": {}}, id=next(iter(model)) + str(len(model)))
    for name, values in TRAINING.items():
        for value in values:
            training = ESTIMATE_EXAMPLE["training"] | {name: value}
            yield pytest.param({"training": training, "layout": {}}, id=f"{name}={str(value)[:20]}")


@pytest.mark.parametrize("change", list(variants()))
def test_an_estimate(change):
    assert_estimate(post("estimates", {**copy.deepcopy(ESTIMATE_EXAMPLE), **change}))


@pytest.mark.parametrize("basis", ["rental", "purchase", "compare"])
@pytest.mark.parametrize("profile", ["bare_metal", "virtualized", "virtualized_dedicated", "virtualized_shared"])
def test_a_recommendation(basis, profile):
    body = copy.deepcopy(RECOMMENDATION_EXAMPLE)
    body["commercial"]["basis"] = basis
    body["hardware"]["deployment"] = {"profile": profile}
    body["target"]["budget"]["amount"] = "2000000000"  # buying takes more than a run's rent
    answer = post("recommendations", body)
    assert_names(answer, RECOMMENDATION if basis == "compare" else {"": RECOMMENDATION[""]})
    for side in ("bare_metal", "virtualized"):
        assert set(SIDE.split()) <= set(answer["deployment_comparison"][side])
    for configuration in (answer["recommended"], *answer["alternatives"]):
        assert_names(configuration, CONFIGURATION)
        assert_estimate(configuration["estimate"])
        for prices in configuration["prices"].values():
            assert prices is None or {"lines", "subtotal", "tax", "total", "price_book"} <= set(prices)


def test_the_contracts_own_site_is_answered():
    body = {
        **copy.deepcopy(RECOMMENDATION_EXAMPLE),
        "target": {"deadline_days": 30, "budget": {"amount": "5000000", "currency": "CNY"}},
        "site": {"max_it_kilowatts": 200, "max_racks": 5, "cooling": "air"},
    }
    answer = post("recommendations", body)
    assert answer["recommended"] is None
    assert {problem["code"] for problem in answer["problems"]} & {"relax_deadline", "relax_budget"}


LISTS = "gpus servers cpus memory-modules ssds nics switches storage-systems services tiers model-architectures"


@pytest.mark.parametrize("name", LISTS.split())
def test_a_catalogue_list(name):
    body = Client().get(f"/api/v1/{name}", {"page_size": 1}).json()
    assert len(body["results"]) == 1
    assert body["count"] >= 1
    assert body["engine_version"]
    assert body["catalog_revision"]


@pytest.mark.parametrize(
    ("name", "row", "summary"),
    [
        (
            "validate_runs",
            "id predicted_tokens_per_second_per_gpu published_tokens_per_second_per_gpu relative_error skipped",
            "count skipped median_absolute_error row_median_absolute_error p90_absolute_error floor_p90 bias by_gpu "
            "by_model_kind",
        ),
        (
            "validate_memory",
            "id predicted_peak_bytes published_peak_bytes relative_error predicted_fits published_fits",
            "count skipped fits",
        ),
    ],
)
def test_validation_as_json(name, row, summary):
    out = io.StringIO()
    call_command(name, "--json", stdout=out)
    found = json.loads(out.getvalue())
    assert all(set(row.split()) <= set(line) for line in found["rows"])
    assert set(summary.split()) <= set(found["summary"])
