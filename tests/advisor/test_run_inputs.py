"""A pilot, a programme and a lead time: what they change, what they leave alone, and what is said about it."""

from __future__ import annotations

from datetime import date

import pytest

from advisor.engine.pilot import pilot_rescaling
from advisor.inputs import InputError, parse_estimate_request, parse_recommendation_request, query_from_body
from advisor.services import scenario_estimate, scenario_search

pytestmark = pytest.mark.usefixtures("catalog")
H100, A100 = "nvidia-h100-sxm5-80gb", "nvidia-a100-sxm4-80gb"
DAY = 86_400


def estimated(pilot=None, gpu=H100, count=256, **training):
    body = {
        "model": {"parameters": "7B"},
        "training": {"tokens": "1T"} | training | ({"pilot": pilot} if pilot else {}),
        "cluster": {"gpu": gpu, "gpu_count": count},
    }
    return scenario_estimate(checked=parse_estimate_request(body))


def recommended(target=None, gpus=(H100, A100), **training):
    body = {
        "model": {"parameters": "7B"},
        "training": {"tokens": "1T"} | training,
        "target": {"deadline_days": 90} | (target or {}),
        "hardware": {"gpus": list(gpus), "max_gpu_count": 512},
    }
    return scenario_search(checked=parse_recommendation_request(body), on=date(2026, 11, 30))


def faults(parse, body):
    with pytest.raises(InputError) as refused:
        parse(body)
    return {fault.code: fault for fault in refused.value.errors}


def codes(answer):
    return {problem["code"] for problem in answer["problems"]}


class TestPilot:
    def test_a_pilot_of_the_cluster_itself_is_what_the_answer_says(self):
        plain = estimated()["time"]["tokens_per_second_per_gpu"]
        time = estimated({"measured_tokens_per_second_per_gpu": 0.8 * plain})["time"]
        assert time["tokens_per_second_per_gpu"] == pytest.approx(0.8 * plain)

    def test_a_small_pilot_rescales_the_large_cluster_and_narrows_its_range(self):
        small, large = estimated(count=64)["time"], estimated()["time"]
        measured = 0.9 * small["tokens_per_second_per_gpu"]
        answer = estimated({"measured_tokens_per_second_per_gpu": measured, "measured_gpu_count": 64})
        time = answer["time"]
        assert time["step_seconds"] == pytest.approx(large["step_seconds"] / 0.9)
        assert time["error_band_fraction"] < large["error_band_fraction"]
        left = pilot_rescaling(
            1.0, 0.9, measured_gpu_count=64, gpu_count=256, log_error_without_pilot=1.0
        ).remaining_log_error
        assert time["error_band_fraction"] == pytest.approx(2.718281828459045**left - 1)
        row = {item["name"]: item for item in answer["assumptions"]}["measured_tokens_per_second_per_gpu"]
        assert row["origin"] == "measured"
        assert "90.0%" in row["source"] or "90%" in row["source"]

    def test_another_gpu_is_left_alone_and_told(self):
        answer = estimated({"measured_tokens_per_second_per_gpu": 100, "measured_gpu": A100})
        assert answer["time"]["step_seconds"] == estimated()["time"]["step_seconds"]
        assert "pilot_other_gpu" in codes(answer)

    def test_far_from_the_prediction_asks_for_a_check(self):
        plain = estimated()["time"]["tokens_per_second_per_gpu"]
        assert "pilot_far_from_prediction" in codes(estimated({"measured_tokens_per_second_per_gpu": 0.4 * plain}))
        assert "pilot_far_from_prediction" not in codes(estimated({"measured_tokens_per_second_per_gpu": plain}))

    def test_a_pilot_too_small_for_the_job_is_left_out(self):
        answer = estimated({"measured_tokens_per_second_per_gpu": 4000, "measured_gpu_count": 1})
        assert answer["time"]["step_seconds"] == estimated()["time"]["step_seconds"]
        assert "pilot_does_not_fit" in codes(answer)

    def test_in_a_search_it_belongs_to_its_gpu(self):
        plain = recommended()
        days = {item["gpu"]: item for item in [plain["recommended"], *plain["alternatives"]]}
        one = estimated(count=8)["time"]["tokens_per_second_per_gpu"]
        answer = recommended(
            pilot={"measured_tokens_per_second_per_gpu": one / 2, "measured_gpu": H100, "measured_gpu_count": 8}
        )
        for item in [answer["recommended"], *answer["alternatives"]]:
            before = days[item["gpu"]]
            slower = item["gpu_hours"] / before["gpu_hours"]
            assert slower == pytest.approx(2.0 if item["gpu"] == H100 else 1.0, rel=0.06)
        assert "pilot_other_gpu" in codes(answer)

    def test_what_is_missing_is_told(self):
        body = {"model": {"parameters": "7B"}, "training": {"pilot": {"measured_gpu_count": 8}}}
        assert "pilot_incomplete" in faults(parse_recommendation_request, body)
        body["training"]["pilot"] = {"measured_tokens_per_second_per_gpu": 100}
        assert "pilot_gpu_missing" in faults(parse_recommendation_request, body)
        body["hardware"] = {"gpus": [H100]}
        assert parse_recommendation_request(body).pilot is not None


class TestProgramme:
    def test_the_programme_stands_beside_the_run(self):
        best = recommended(programme_factor=1.5)["recommended"]
        run = recommended()["recommended"]
        assert best["training_days"] == run["training_days"]
        assert best["run_cost"] == run["run_cost"]
        assert best["programme"]["gpu_hours"] == pytest.approx(1.5 * best["gpu_hours"])
        assert best["programme"]["training_days"] == pytest.approx(1.5 * best["training_days"])
        paid, alone = (float(cost["amount"]) for cost in (best["programme"]["cost"], best["run_cost"]))
        assert paid == pytest.approx(1.5 * alone, abs=0.02)

    def test_left_out_it_is_one_and_said(self):
        answer = recommended()
        row = {item["name"]: item for item in answer["assumptions"]}["programme_factor"]
        assert (row["value"], row["origin"]) == (1.0, "derived")
        assert answer["recommended"]["programme"]["gpu_hours"] == answer["recommended"]["gpu_hours"]

    def test_an_estimate_has_it_when_given(self):
        assert "programme" not in estimated()
        answer = estimated(programme_factor=2)
        assert answer["programme"]["training_days"] == pytest.approx(2 * answer["time"]["training_seconds"] / DAY)

    def test_less_than_the_run_is_refused(self):
        body = {"model": {"parameters": "7B"}, "training": {"programme_factor": 0.5}}
        assert "out_of_range" in faults(parse_estimate_request, body)


class TestLeadTime:
    LEAD = {"delivery_days": 60, "set_up_days": 7, "acceptance_days": "3 days"}

    def test_days_before_training_count_towards_the_deadline(self):
        checked = parse_recommendation_request(
            {"model": {"parameters": "7B"}, "target": {"deadline_days": 90} | self.LEAD}
        )
        assert checked.lead_seconds == 70 * DAY
        assert checked.deadline_seconds == 20 * DAY

    def test_the_answer_finishes_within_the_whole(self):
        best = recommended(self.LEAD)["recommended"]
        assert best["lead_days"] == 70
        assert best["training_days"] <= 20
        assert best["finish_days"] == pytest.approx(70 + best["training_days"])

    def test_a_lead_as_long_as_the_deadline_leaves_nothing(self):
        body = {"model": {"parameters": "7B"}, "target": {"deadline_days": 60, "delivery_days": 60}}
        assert "lead_exceeds_deadline" in faults(parse_recommendation_request, body)


def test_links_carry_them():
    body = {
        "model": {"parameters": "7B"},
        "training": {
            "programme_factor": 1.5,
            "pilot": {"measured_tokens_per_second_per_gpu": 410, "measured_gpu": H100, "measured_gpu_count": 8},
        },
        "target": {"deadline_days": 90, "delivery_days": 30},
    }
    link = query_from_body(body)
    for part in (
        "programme_factor=1.5",
        "measured_tokens_per_second_per_gpu=410",
        f"measured_gpu={H100}",
        "measured_gpu_count=8",
        "delivery_days=30",
    ):
        assert part in link
