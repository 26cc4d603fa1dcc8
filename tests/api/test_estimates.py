"""`POST /api/v1/estimates`: the answer's shape, and one problem shape for everything that is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client, override_settings

from advisor.api.examples import ESTIMATE_EXAMPLE, FINE_TUNING_EXAMPLE

URL = "/api/v1/estimates"
PROBLEM_NAMES = {"type", "title", "status", "detail", "instance", "code", "request_id"}

pytestmark = pytest.mark.django_db


def post(body: Any, language: str = "en", **options: Any):
    content = body if isinstance(body, (bytes, str)) else json.dumps(body)
    options.setdefault("content_type", "application/json")
    return Client().post(URL, content, headers={"accept-language": language}, **options)


def assert_problem(response, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status
    assert response["Content-Type"] == "application/problem+json"
    body = response.json()
    assert set(body) >= PROBLEM_NAMES
    assert (body["status"], body["code"], body["instance"]) == (status, code, response.request["PATH_INFO"])
    assert body["request_id"] == response["X-Request-Id"]
    return body


@pytest.mark.usefixtures("catalog")
class TestAnswer:
    def test_has_the_names_of_the_contract(self):
        answer = post(ESTIMATE_EXAMPLE).json()
        assert {"parameter_count", "active_parameter_count", "layer_count", "hidden_size"} <= set(answer["model"])
        assert answer["layout"]["data_parallel"] == 16  # 512 / (8 x 4)
        assert answer["layout"]["micro_batch_count"] == 64  # 1024 sequences / (16 x 1)
        memory = answer["memory_per_gpu"]
        parts = ("weight", "gradient", "optimizer", "activation", "logits", "buffer")
        assert sum(memory[f"{part}_bytes"] for part in parts) == pytest.approx(memory["allocated_bytes"])
        assert memory["reserved_bytes"] + memory["overhead_bytes"] == pytest.approx(memory["total_bytes"])
        assert memory["fits"] is (memory["total_bytes"] <= memory["available_bytes"])
        assert answer["flops"]["six_n_d_flops"] == pytest.approx(6 * answer["model"]["parameter_count"] * 1.4e12)
        time = answer["time"]
        assert time["training_seconds"] == pytest.approx(time["step_count"] * time["step_seconds"] / time["goodput"])
        assert answer["engine_version"]
        assert answer["catalog_revision"]

    def test_carries_request_id_versions_and_leave_for_other_sites(self):
        response = post(ESTIMATE_EXAMPLE)
        assert response["Access-Control-Allow-Origin"] == "*"
        assert response["X-Engine-Version"] == response.json()["engine_version"]
        assert response["X-Catalog-Revision"] == response.json()["catalog_revision"]
        assert response["X-Request-Id"]
        assert not response.cookies

    def test_a_loss_divides_the_step_time_by_exactly_its_rest(self):
        plain = post(ESTIMATE_EXAMPLE).json()["time"]
        body = json.loads(json.dumps(ESTIMATE_EXAMPLE))
        body["cluster"]["deployment"] = {"profile": "virtualized", "throughput_loss": 0.2}
        lossy = post(body).json()["time"]
        assert lossy["step_seconds"] == pytest.approx(plain["step_seconds"] / 0.8, rel=1e-12)
        assert lossy["goodput"] == pytest.approx(plain["goodput"], rel=1e-12)

    def test_tokens_left_out_gives_memory_and_step_time(self):
        answer = post({"model": {"parameters": "7B"}, "cluster": {"gpu_count": 8}}).json()
        assert answer["time"]["training_seconds"] is None
        assert answer["flops"]["total_model_flops"] is None
        assert answer["memory_per_gpu"]["weight_bytes"] > 0

    def test_a_data_set_states_its_conversion(self):
        body = {
            "model": {"parameters": "7B"},
            "training": {"tokens": {"gigabytes": 500, "language": "zh"}},
            "cluster": {"gpu_count": 64},
        }
        answer = post(body).json()
        assert answer["training"]["tokens"] == 100e9
        assert any(row["name"] == "bytes_per_token_zh" for row in answer["assumptions"])

    def test_does_not_fit_is_an_answer(self):
        body = {"model": {"parameters": "405B"}, "cluster": {"gpu": "nvidia-h100-sxm5-80gb", "gpu_count": 8}}
        response = post(body)
        assert response.status_code == 200
        answer = response.json()
        assert answer["memory_per_gpu"]["fits"] is False
        assert "does_not_fit" in {problem["code"] for problem in answer["problems"]}

    def test_the_fine_tuning_example(self):
        answer = post(FINE_TUNING_EXAMPLE).json()
        assert answer["training"]["tokens"] == 1_228_800_000  # 50 000 x 8 192 x 3

    def test_the_same_question_is_answered_with_the_same_bytes(self):
        first, second = post(ESTIMATE_EXAMPLE), post(json.dumps(ESTIMATE_EXAMPLE, indent=3, sort_keys=True))
        assert first.content == second.content

    def test_numbers_do_not_depend_on_the_language(self):
        english, chinese = post(ESTIMATE_EXAMPLE, "en").json(), post(ESTIMATE_EXAMPLE, "zh-Hans").json()
        assert english["time"] == chinese["time"]
        assert english["memory_per_gpu"] == chinese["memory_per_gpu"]


class TestRefused:
    def test_unusable_values_are_named(self):
        response = post({"model": {"parameters": "8x7B"}, "training": {"tokens": "1,4T"}, "colour": 1})
        body = assert_problem(response, 422, "invalid_request")
        assert [(error["pointer"], error["code"]) for error in body["errors"]] == [
            ("/model/parameters", "quantity_product"),
            ("/training/tokens", "quantity_decimal_comma"),
            ("/colour", "unknown_field"),
        ]
        assert all(error["detail"] for error in body["errors"])

    def test_the_language_changes_words_and_never_codes(self):
        english = post({"model": {"parameters": 0}}, "en").json()
        chinese = post({"model": {"parameters": 0}}, "zh-Hans").json()
        assert english["errors"][0]["code"] == chinese["errors"][0]["code"] == "out_of_range"
        assert english["errors"][0]["detail"] != chinese["errors"][0]["detail"]
        assert "参数" in chinese["errors"][0]["detail"]

    @pytest.mark.parametrize(
        "content",
        [
            b"{",
            b"\xff\xfe",
            b'{"model": NaN}',
            b'{"model": Infinity}',
            b"[" * 60_000,
            b'{"a":' * 30 + b"1" + b"}" * 30,
            b'{"model": 1, "model": 2}',
            b'{"model": "\\ud800"}',
            b'{"model": ' + b"9" * 5_000 + b"}",
            b"'model'",
        ],
    )
    def test_what_is_not_json(self, content):
        body = assert_problem(post(content), 400, "parse_error")
        assert "Traceback" not in body["detail"]

    def test_too_large(self):
        assert_problem(post(b'{"model": "' + b"x" * 66_000 + b'"}'), 413, "too_large")

    @pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "text/xml"])
    def test_another_media_type(self, kind):
        assert_problem(post("model=7B", content_type=kind), 415, "unsupported_media_type")

    def test_another_accept(self):
        response = Client().post(URL, "{}", content_type="application/json", headers={"accept": "text/csv"})
        assert_problem(response, 406, "not_acceptable")

    @pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
    def test_another_method(self, method):
        response = getattr(Client(), method)(URL)
        assert_problem(response, 405, "method_not_allowed")
        assert "POST" in response["Allow"]

    @pytest.mark.parametrize("path", ["/api/v1/estimate", "/api/v1/", "/api/v2/estimates", "/api/nothing"])
    @pytest.mark.parametrize("method", ["get", "post"])
    def test_an_address_that_does_not_exist(self, path, method):
        assert_problem(getattr(Client(), method)(path), 404, "not_found")

    @pytest.mark.usefixtures("catalog")
    @pytest.mark.parametrize(
        ("change", "pointer"),
        [
            ({"model": {"preset": "no-such-model"}}, "/model/preset"),
            ({"cluster": {"gpu": "qqqq"}}, "/cluster/gpu"),
            ({"model": {"config": {"hidden_size": "x"}}}, "/model/config"),
            ({"model": {"architecture": {}}}, "/model/architecture"),
        ],
    )
    def test_what_the_catalogue_does_not_know(self, change, pointer):
        body = assert_problem(post({"model": {"parameters": "7B"}, **change}), 422, "invalid_request")
        assert body["errors"][0]["pointer"].startswith(pointer)

    @override_settings(API_REQUESTS_PER_MINUTE=2)
    def test_too_many_requests(self):
        for _ in range(2):
            assert post({}).status_code == 422
        response = post({})
        assert_problem(response, 429, "throttled")
        assert response["RateLimit-Policy"] == '"address";q=2;w=60'
        assert response["RateLimit"].startswith('"address";r=0;t=')
        assert 1 <= int(response["Retry-After"]) <= 60

    def test_no_inside_is_shown_when_we_fail(self, monkeypatch):
        def fail(**_options: Any) -> None:
            raise RuntimeError("SELECT secret FROM /srv/file.py")

        monkeypatch.setattr("advisor.api.views.scenario_estimate", fail)
        response = Client(raise_request_exception=False).post(
            URL, json.dumps({"model": {"parameters": "7B"}}), content_type="application/json"
        )
        body = assert_problem(response, 500, "internal_error")
        assert "secret" not in json.dumps(body)

    def test_a_database_that_is_down(self, monkeypatch):
        def fail(**_options: Any) -> None:
            raise OperationalError("connection to server at 10.0.0.1 failed")

        monkeypatch.setattr("advisor.api.views.scenario_estimate", fail)
        response = post({"model": {"parameters": "7B"}})
        body = assert_problem(response, 503, "database_unavailable")
        assert response["Retry-After"] == "5"
        assert "10.0.0.1" not in json.dumps(body)


@pytest.mark.parametrize("server_count", [17, 34, 59])
def test_any_number_of_servers_is_answered(client, catalog, server_count):
    cluster = {"gpu": "nvidia-h100-sxm5-80gb", "gpu_count": 8 * server_count}
    body = {"model": {"parameters": "30B"}, "training": {"tokens": "1T", "global_batch_size": 256}, "cluster": cluster}
    answer = client.post("/api/v1/estimates", body, content_type="application/json").json()
    (note,) = [problem for problem in answer["problems"] if problem["code"] == "batch_moved"]
    assert note["severity"] == "note"
    assert answer["layout"]["global_batch_size"] == note["params"]["used"]
    assert answer["layout"]["global_batch_size"] % answer["layout"]["data_parallel"] == 0
    link = f"/api/v1/recommendations?v=1&parameters=30B&tokens=1T&global_batch_size=256&gpu={cluster['gpu']}"
    found = client.get(f"{link}&gpu_count={8 * server_count}").json()
    assert found["recommended"]["gpu_count"] == 8 * server_count
    told = [*found["problems"], *found["recommended"]["estimate"]["problems"]]
    assert [p["params"]["used"] for p in told if p["code"] == "batch_moved"] == [note["params"]["used"]]
    assert found["recommended"]["estimate"]["time"]["mfu"] == pytest.approx(answer["time"]["mfu"])


def test_recomputed_parts_are_echoed_or_refused_by_name(client, catalog):
    body: dict[str, Any] = {
        "model": {"preset": "llama-3-70b"},
        "cluster": {"gpu": "nvidia-h100-sxm5-80gb", "gpu_count": 64},
        "layout": {
            "tensor_parallel": 4,
            "pipeline_parallel": 4,
            "context_parallel": 1,
            "expert_parallel": 1,
            "virtual_stage_count": 1,
            "micro_batch_size": 1,
            "zero_stage": 1,
            "recomputation": "selective",
        },
    }

    def answer(parts: list[str]) -> dict[str, Any]:
        content = {**body, "layout": {**body["layout"], "recomputed_parts": parts}}
        return client.post("/api/v1/estimates", content, content_type="application/json").json()

    whole, less = answer([]), answer(["mlp"])
    assert less["layout"]["recomputed_parts"] == ["mlp"]
    assert less["memory_per_gpu"]["activation_bytes"] < whole["memory_per_gpu"]["activation_bytes"]
    (fault,) = answer(["mlp", "moe", "mla_up_proj"])["errors"]
    assert (fault["pointer"], fault["code"]) == ("/layout/recomputed_parts", "parts_not_in_model")
    assert fault["params"] == {"parts": "moe, mla_up_proj"}


def test_more_servers_are_not_slower_for_the_batch(client, catalog):
    rates = []
    for server_count in range(56, 65):
        cluster = {"gpu": "nvidia-h100-sxm5-80gb", "gpu_count": 8 * server_count}
        training = {"tokens": "100B", "global_batch_size": 1024}
        body = {"model": {"parameters": "7B"}, "training": training, "cluster": cluster}
        answer = client.post("/api/v1/estimates", body, content_type="application/json").json()
        rates.append(answer["time"]["tokens_per_second"])
    assert rates == sorted(rates)
