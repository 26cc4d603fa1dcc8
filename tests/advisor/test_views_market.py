"""The pages of rival offers and of upgrades, as a browser without scripts uses them."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from advisor.offer_page import example_offers

pytestmark = pytest.mark.usefixtures("catalog")


def post(path: str, data: dict[str, Any], lang: str = "en") -> Any:
    return Client(headers={"accept-language": lang}).post(path, data)


class TestOffers:
    def test_the_form_takes_the_job_of_a_link(self) -> None:
        content = Client().get("/offers?parameters=70B&tokens=1.4T").content.decode()
        assert 'value="70B"' in content
        assert 'value="1.4T"' in content

    @pytest.mark.parametrize(
        "path", ["/offers?", "/upgrade?", "/upgrade?present_gpu=nvidia-h100-sxm5-80gb&present_gpu_count=64&"]
    )
    def test_the_job_of_a_canonical_link_is_written_as_people_write_it(self, path: str) -> None:
        content = Client().get(f"{path}parameters=7.2e10&tokens=5e10").content.decode()
        assert 'name="parameters" value="72B"' in content
        assert 'name="tokens" value="50B"' in content

    @pytest.mark.parametrize("lang", ["en", "zh-Hans"])
    def test_two_pasted_offers_are_answered_beside_ours(self, lang: str) -> None:
        response = post("/offers", example_offers(), lang)
        content = response.content.decode()
        assert response.status_code == 200
        assert content.count('<th scope="row">') == 2
        answer = response.context["answer"]
        for offer in answer["offers"]:
            assert offer["verdict"] in content
            assert f'<data value="{offer["run"]["compared_run_cost"]["amount"]}">' in content
        # B is 87 000 a server and month for a run under a month: 8 servers
        assert answer["offers"][1]["run"]["run_cost"]["amount"] == "696000.00"

    def test_what_the_text_does_not_tell_is_asked_for_at_its_field(self) -> None:
        response = post("/offers", {"parameters": "7B", "tokens": "100B", "text_2": "64 x H100, call for price"})
        assert response.status_code == 422
        form = response.context["form"]
        assert set(form.errors) == {"amount_2", "currency_2", "price_unit_2"}
        assert "call for price" in response.content.decode()

    def test_an_empty_form_is_refused_with_a_sentence(self) -> None:
        response = post("/offers", {"parameters": "7B", "tokens": "100B"})
        assert response.status_code == 422
        assert "text_1" in response.context["form"].errors

    def test_a_text_cannot_break_out_of_its_field(self) -> None:
        content = post("/offers", {"text_1": "</textarea><script>x</script>"}).content.decode()
        assert "<script>x" not in content


class TestUpgrade:
    QUERY = "present_gpu=nvidia-h100-sxm5-80gb&present_gpu_count=64&parameters=7B&tokens=100B&target_gpu_count=128"

    @pytest.mark.parametrize("lang", ["en", "zh-Hans"])
    def test_the_way_is_shown_part_by_part(self, lang: str) -> None:
        response = Client(headers={"accept-language": lang}).get(f"/upgrade?{self.QUERY}")
        content = response.content.decode()
        assert response.status_code == 200
        for step in response.context["answer"]["steps"]:
            assert step["reason"].replace("'", "&#x27;") in content

    def test_without_a_present_cluster_there_is_only_the_form(self) -> None:
        response = Client().get("/upgrade?parameters=70B")
        assert response.status_code == 200
        assert "answer" not in response.context
        assert 'value="70B"' in response.content.decode()

    def test_a_fault_stands_at_its_field(self) -> None:
        response = Client().get("/upgrade?present_gpu=nvidia-h100-sxm5-80gb&present_gpu_count=x&parameters=7B")
        assert response.status_code == 422
        assert set(response.context["form"].errors) == {"present_gpu_count"}
