"""A config.json on the sizing page: pasted or uploaded, refused without loss, carried by the link of the case."""

from __future__ import annotations

import json
from html import unescape
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import QueryDict
from django.test import Client

from advisor.engine.model_config import model_from_config, reduced_config
from advisor.input_config import MAX_LINK_CHARACTERS, config_of_text, config_text
from advisor.inputs import InputError, body_from_query, query_from_body
from tests.advisor.test_views import Page
from tests.engine.published_configs import BY_PRESET, DBRX, DEEPSEEK_V3, VIT_L16, llama

pytestmark = pytest.mark.django_db
DENSE = {
    **llama(4096, 14336, 32, 32, 8, 128256),
    "_name_or_path": "/home/alice/secret-project",
    "architectures": ["LlamaForCausalLM"],
    "bos_token_id": 128000,
    "rope_scaling": {"factor": 8.0, "rope_type": "llama3"},
    "torch_dtype": "bfloat16",
}
TYPED = {"v": "1", "tokens": "1,000 亿", "deadline_days": "30", "term_months": "24"}


def post(client: Client, text: str = "", file: bytes | None = None, **fields: str):
    data: dict[str, object] = {**TYPED, "config_text": text, **fields}
    if file is not None:
        data["config_file"] = SimpleUploadedFile("config.json", file, "application/json")
    return client.post("/model-config", data, HTTP_ACCEPT_LANGUAGE="en")


def values(response) -> dict[str, str]:
    """What the form's fields hold."""
    page = Page(response)
    fields = {tag["name"]: tag.get("value", "") for name, tag in page.tags if name == "input" and "name" in tag}
    return {name: text for name, text in fields.items() if name in TYPED or name in ("parameters", "preset")}


@pytest.mark.parametrize("door", ["text", "file"])
@pytest.mark.parametrize(
    # parameters as the publishers state them: 8.03B; 671B with 37B active, beside the 11.5B of its extra layer
    ("config", "kind", "layers", "published"),
    [(DENSE, "llama", 32, (8.03e9, None)), (DEEPSEEK_V3, "deepseek_v3", 61, (671e9, 37e9))],
)
def test_a_config_becomes_the_model_of_the_link(loaded_catalog, client, door, config, kind, layers, published):
    text = json.dumps(config, indent=2)
    given = {"text": text} if door == "text" else {"file": b"\xef\xbb\xbf" + text.encode()}
    response = post(client, **given, parameters="70B")
    assert response.status_code == 303
    link = urlsplit(response["Location"])
    query = parse_qs(link.query)
    assert link.path == "/"
    assert query.keys() == {"v", "tokens", "deadline_days", "term_months", "config"}
    assert (query["tokens"], query["term_months"]) == (["1e11"], ["24"])
    carried = json.loads(query["config"][0])
    assert model_from_config(carried) == model_from_config(dict(config, _name_or_path=None))
    assert "secret" not in response["Location"]
    page = Page(client.get(response["Location"], HTTP_ACCEPT_LANGUAGE="en"))
    assert page.all("input", name="config")[0]["value"] == query["config"][0]
    assert f"Model type{kind} yours Layers{layers} Hidden size{config['hidden_size']} Parameters" in page.text
    assert f"the {kind} model of your config.json" in page.text
    assert f"{kind} (config.json)" in page.text
    answer = client.get(f"/api/v1/recommendations?{link.query}").json()
    assert answer["model"]["parameter_count"] == pytest.approx(published[0], rel=0.025)
    if published[1]:
        assert answer["model"]["active_parameter_count"] == pytest.approx(published[1], rel=0.05)
        assert " active" in page.text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("model_type: llama", "The request is not JSON: line 1, column 1."),
        ('{"model_type": "llama", "hidden_size": NaN}', "NaN is not a JSON number"),
        ('{"model_type": "llama", "model_type": "gpt2"}', "“model_type” is given twice"),
        ("[" * 5000, "nested too deeply"),
        (json.dumps({"model_type": "llama", "a": [[[[[[[[[[[[[1]]]]]]]]]]]]]}), "nests deeper than the 12 levels"),
        (json.dumps({"model_type": "llama", "a": [0] * 21_000}), "more entries than the 20,000"),
        ("[1, 2]", "must be an object"),
        (json.dumps({**DENSE, "model_type": "mamba"}), "The model type mamba is not read."),
        (json.dumps({**DENSE, "hidden_size": -4096}), "hidden_size of the model is -4,096"),
        (json.dumps({**DENSE, "hidden_size": "4096"}), "hidden_size of the model must be a number"),
        (json.dumps({**DENSE, "vocab_size": None}), "lacks vocab_size"),
        (json.dumps({**DENSE, "padding": "x" * 66_560}), "over 65536 bytes"),
    ],
    ids=lambda value: value[:40],
)
@pytest.mark.parametrize("door", ["text", "file"])
def test_a_refusal_says_why_and_loses_nothing(loaded_catalog, client, text, sentence, door):
    typed = {"parameters": "7B"}
    response = post(client, **({"text": text} if door == "text" else {"file": text.encode()}), **typed)
    assert response.status_code == 422
    page = Page(response)
    assert not page.unbalanced
    assert sentence in page.text
    assert page.all("a", href="#id_config")
    assert values(response) == {**TYPED, **typed}
    box = response.content.decode().split('name="config_text"')[1].split("</textarea>")[0].partition(">")[2]
    assert unescape(box) == ("" if door == "file" and len(text) > 65_536 else text)


def test_an_empty_file_is_no_config(loaded_catalog, client):
    response = post(client, file=b"")
    assert response.status_code == 422
    assert "is not JSON" in Page(response).text


def test_without_a_config_the_entries_go_on_as_typed(loaded_catalog, client):
    response = post(client, parameters="8x7B")
    assert response.status_code == 303
    assert parse_qs(urlsplit(response["Location"]).query) == {name: [text] for name, text in TYPED.items()} | {
        "parameters": ["8x7B"]
    }


def test_beside_a_faulty_entry_the_config_is_kept_and_the_entry_as_typed(loaded_catalog, client):
    response = post(client, json.dumps(DENSE), tokens="1,4T")
    assert response.status_code == 303
    query = parse_qs(urlsplit(response["Location"]).query)
    assert query["tokens"] == ["1,4T"]
    again = client.get(response["Location"], HTTP_ACCEPT_LANGUAGE="en")
    assert again.status_code == 422
    assert Page(again).all("input", name="config")[0]["value"] == query["config"][0]


@pytest.mark.parametrize("other", [{"preset": "llama-3-8b"}, {"parameters": "8B"}])
def test_a_link_with_two_models_is_refused_on_page_and_api(loaded_catalog, client, other):
    query = urlencode({"config": config_text(DENSE), "tokens": "1T", **other})
    page = client.get(f"/?{query}", HTTP_ACCEPT_LANGUAGE="en")
    assert page.status_code == 422
    assert "The model is given in 2 ways" in Page(page).text
    answer = client.get(f"/api/v1/recommendations?{query}")
    assert answer.status_code == 422
    assert [fault["code"] for fault in answer.json()["errors"]] == ["model_ambiguous"]


def test_the_forms_own_button_reads_a_pasted_config_too(loaded_catalog, client):
    response = client.get("/", {**TYPED, "config_text": json.dumps(DENSE), "config_file": ""})
    assert response.status_code == 303
    assert "config=" in response["Location"]
    assert "config_text" not in response["Location"]


def test_a_form_without_its_token_is_refused(loaded_catalog):
    client = Client(enforce_csrf_checks=True)
    assert post(client, json.dumps(DENSE)).status_code == 403
    token = client.get("/").content.decode().split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
    assert post(client, json.dumps(DENSE), csrfmiddlewaretoken=token).status_code == 303


def test_the_address_of_a_refusal_opened_again_is_the_form(client):
    response = client.get("/model-config")
    assert (response.status_code, response["Location"]) == (302, "/")


def test_a_case_too_long_for_a_link_says_so_and_keeps_all(loaded_catalog, client):
    gpus = [f"nvidia-{number:0>90}" for number in range(40)]
    data = {**TYPED, "config_text": json.dumps(DENSE), "gpu": gpus}
    response = client.post("/model-config", data, HTTP_ACCEPT_LANGUAGE="en")
    assert response.status_code == 422
    page = Page(response)
    assert "more than the 3,600 that fit" in page.text
    assert page.all("input", name="config")[0]["value"] == config_text(DENSE)


def test_a_config_too_long_for_a_link_says_so(loaded_catalog, client):
    config = {**llama(4096, 14336, 200, 32, 8, 128256), "model_type": "gpt_oss", "sliding_window": 128}
    config |= {"num_local_experts": 32, "num_experts_per_tok": 4, "layer_types": ["sliding_attention"] * 200}
    response = post(client, json.dumps(config))
    assert response.status_code == 422
    assert f"more than the {MAX_LINK_CHARACTERS:,} that fit" in Page(response).text
    assert "sliding_attention" in response.content.decode()


@pytest.mark.parametrize(
    ("sku", "config"), [(row[0], row[1]) for row in BY_PRESET] + [("dbrx", DBRX), ("vit", VIT_L16)]
)
def test_every_published_config_fits_a_link_and_says_the_same_there(sku, config):
    named = {**config, "_name_or_path": "someone/something", "transformers_version": "4.40.0"}
    link = query_from_body({"model": {"config": named}})
    assert len(link) < 800
    body = body_from_query(QueryDict(link))
    assert query_from_body(body) == link
    again = model_from_config(body["model"]["config"])
    assert again == model_from_config(config)
    assert reduced_config(body["model"]["config"]) == body["model"]["config"]


def test_names_of_image_classes_are_counted():
    config = {**VIT_L16, "id2label": {str(number): f"class {number}" for number in range(21_841 // 10)}}
    assert config_of_text(json.dumps(config))["num_labels"] == 2184
    assert model_from_config(reduced_config(config)) == model_from_config(config)


def test_an_unreadable_config_of_a_link_is_one_fault(loaded_catalog):
    with pytest.raises(InputError) as refused:
        body_from_query(QueryDict(urlencode({"config": '{"model_type": "llama"}'})))
    assert [(fault.pointer, fault.code) for fault in refused.value.errors] == [
        ("/model/config/hidden_size", "model_missing")
    ]
