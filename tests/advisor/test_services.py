"""Estimates through the service: the reference cases, refusals, caching, languages."""

from __future__ import annotations

import json

import pytest
from django.utils import translation

from advisor.input_types import InputError
from advisor.inputs import parse_estimate_request
from advisor.services import scenario_estimate

pytestmark = pytest.mark.usefixtures("catalog")


def _estimate(model="70B", gpu="nvidia-a100-sxm4-80gb", count=8, language="en", **changes):
    body = {
        "model": {"parameters": model} if isinstance(model, str) else model,
        "training": {"tokens": "1.4T"} | changes.pop("training", {}),
        "cluster": {"gpu": gpu, "gpu_count": count} | changes.pop("cluster", {}),
    }
    with translation.override(language):
        return scenario_estimate(checked=parse_estimate_request(body | changes))


def _refusal(**changes):
    with pytest.raises(InputError) as caught:
        _estimate(**changes)
    return caught.value.errors


class TestReferenceCases:
    def test_one_server_of_a100_does_not_hold_70b(self):
        # T2: about 16 bytes x 70 B = 1.12 TB against 8 x 80 GB = 640 GB
        answer = _estimate()
        assert answer["memory_per_gpu"]["fits"] is False
        assert answer["time"]["training_seconds"] is None
        problem = next(item for item in answer["problems"] if item["code"] == "does_not_fit")
        assert "1.12\N{NO-BREAK SPACE}TB" in problem["message"]
        assert "640\N{NO-BREAK SPACE}GB" in problem["message"]
        smallest = problem["params"]["smallest_gpu_count"]
        assert str(smallest) in problem["message"]

    def test_the_smallest_cluster_that_is_named_does_hold_it(self):
        problem = next(item for item in _estimate()["problems"] if item["code"] == "does_not_fit")
        smallest = int(problem["params"]["smallest_gpu_count"])
        assert _estimate(count=smallest)["memory_per_gpu"]["fits"] is True

    def test_four_a100_of_40_gb_train_1b(self):
        # C5, P4: 1 B needs about 18 GB with AdamW in mixed precision
        answer = _estimate("1B", "nvidia-a100-sxm4-40gb", 4, training={"tokens": "20B"}, cluster={"gpus_per_server": 4})
        assert answer["memory_per_gpu"]["fits"] is True
        assert answer["time"]["training_seconds"] > 0

    def test_a_mixture_of_experts_shows_total_and_active(self):
        # DeepSeek-V3, arXiv:2412.19437: 671 B total, 37 B active; a shape is inferred from the two
        model = {"parameters": "671B", "active_parameters": "37B"}
        answer = _estimate(model, "nvidia-h100-sxm5-80gb", 2048)
        assert answer["model"]["parameter_count"] == pytest.approx(671e9, rel=0.01)
        assert answer["model"]["active_parameter_count"] == pytest.approx(37e9, rel=0.02)

    def test_dense_and_sparse_peaks_stand_apart(self):
        # NVIDIA H100 SXM datasheet: 989.4 dense, 1 978.9 with sparsity
        cluster = _estimate("7B", "nvidia-h100-sxm5-80gb", 64)["cluster"]
        assert cluster["dense_peak_flops_per_second_per_gpu"] == pytest.approx(989.4e12)
        assert cluster["sparse_peak_flops_per_second_per_gpu"] == pytest.approx(1978.9e12, rel=1e-4)

    def test_a_fifth_of_throughput_lost_makes_days_longer_by_a_quarter(self):
        lost = {"deployment": {"profile": "virtualized", "throughput_loss": 0.2}}
        bare = _estimate("7B", "nvidia-h100-sxm5-80gb", 64)["time"]["training_seconds"]
        virtual = _estimate("7B", "nvidia-h100-sxm5-80gb", 64, cluster=lost)["time"]["training_seconds"]
        assert virtual / bare == pytest.approx(12.5 / 10)

    def test_a_preset_has_its_published_count(self):
        # Llama 3 70B: 70.6 B parameters
        answer = _estimate({"preset": "llama-3-70b"}, "nvidia-h100-sxm5-80gb", 512)
        assert answer["model"]["parameter_count"] == pytest.approx(70.6e9, rel=0.005)


class TestAnswer:
    def test_the_named_parts_sum_to_allocated(self):
        memory = _estimate("7B", "nvidia-h100-sxm5-80gb", 64)["memory_per_gpu"]
        parts = ("weight", "gradient", "optimizer", "activation", "logits", "buffer")
        assert sum(memory[f"{part}_bytes"] for part in parts) == pytest.approx(memory["allocated_bytes"])
        assert memory["allocated_bytes"] <= memory["reserved_bytes"] <= memory["total_bytes"]

    def test_is_plain_json_without_nan(self):
        for count in (8, 64):
            json.dumps(_estimate(count=count), allow_nan=False)

    def test_every_assumption_has_origin_and_source(self):
        assumptions = _estimate()["assumptions"]
        assert assumptions
        assert [item["name"] for item in assumptions if not item["origin"] or not item["source"]] == []

    def test_a_batch_that_was_not_given_is_an_assumption(self):
        names = {item["name"] for item in _estimate()["assumptions"]}
        given = {item["name"] for item in _estimate(training={"global_batch_tokens": "4194304"})["assumptions"]}
        assert "global_batch_tokens" in names
        assert "global_batch_tokens" not in given

    def test_the_network_comes_from_an_orderable_server(self):
        # A100: 8 x 200 Gbit/s HDR a server, one NIC per GPU
        cluster = _estimate()["cluster"]
        assert cluster["scale_out_gbit_per_second_per_gpu"] == pytest.approx(200)

    def test_a_stated_network_counts(self):
        cluster = _estimate(cluster={"scale_out_gbit_per_second_per_gpu": 100})["cluster"]
        assert cluster["scale_out_gbit_per_second_per_gpu"] == pytest.approx(100)

    def test_without_a_count_the_smallest_cluster_is_taken(self):
        answer = _estimate("1B", "nvidia-h100-sxm5-80gb", None, training={"tokens": "20B"})
        assert answer["memory_per_gpu"]["fits"] is True
        assert answer["cluster"]["gpu_count"] == 1


class TestRefusals:
    def test_an_unknown_preset(self):
        (fault,) = _refusal(model={"preset": "no-such-model"})
        assert (fault.pointer, fault.code) == ("/model/preset", "unknown_preset")

    def test_an_unknown_gpu(self):
        (fault,) = _refusal(gpu="toaster 9000")
        assert (fault.pointer, fault.code) == ("/cluster/gpu", "unknown_gpu")

    def test_a_gpu_that_cannot_be_sized_says_why(self):
        (fault,) = _refusal(gpu="nvidia-v100-sxm2-32gb")
        assert fault.code == "gpu_not_sizeable"
        assert "BF16" in fault.message

    def test_a_precision_that_the_gpu_lacks(self):
        # A100 has no FP8
        (fault,) = _refusal(training={"precision": "fp8"})
        assert fault.code == "unsupported_precision"

    @pytest.mark.parametrize(
        "config",
        [
            {},
            {"model_type": "llama", "hidden_size": "many"},
            {"model_type": "llama", "hidden_size": 10**30},
            {"model_type": "no-such-type"},
            {"model_type": ["llama"]},
        ],
    )
    def test_a_hostile_config_is_refused_with_a_sentence(self, config):
        (fault,) = _refusal(model={"config": config})
        assert fault.pointer.startswith("/model/config")
        assert fault.message

    def test_a_wrong_name_gives_the_nearest_part_and_says_so(self):
        answer = _estimate("7B", "H100 160GB", 64)
        assert answer["cluster"]["gpu"] == "nvidia-h200-sxm5-141gb"
        note = next(item for item in answer["problems"] if item["code"] == "nearest_gpu_used")
        assert "H100 160GB" in note["message"]


class TestCache:
    def test_the_same_question_is_not_computed_again(self, monkeypatch):
        first = _estimate()
        monkeypatch.setattr("advisor.services.estimate", lambda *args, **kwargs: pytest.fail("computed again"))
        assert _estimate() == first

    def test_each_language_has_its_own_words(self):
        english, chinese = _estimate(language="en"), _estimate(language="zh-hans")
        assert english["memory_per_gpu"] == chinese["memory_per_gpu"]
        assert english["problems"][0]["message"] != chinese["problems"][0]["message"]
