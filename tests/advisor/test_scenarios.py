"""Saved scenarios: rights, the answer of then, what changed since; comparison of scenarios; links that tell."""

from __future__ import annotations

import csv
import io
import json
import re
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import openpyxl
import pypdf
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation

from advisor import input_parsing
from advisor.answer_changes import KeyFigures, changes, read_token, token
from advisor.models import Scenario
from advisor.scenario_compare import query_of
from advisor.scenarios import clean_tags, scenario_changes
from tests.advisor.test_downloads import key_figures
from tests.advisor.test_views import Page, case, get
from tests.factories import alice, bob

pytestmark = pytest.mark.django_db
QUERY = urlencode(case())
THEN = KeyFigures(
    engine_version="1.0", catalog_revision="abc", gpu="nvidia-l40s-48gb", gpu_count=48, days=35.8,
    cost=Decimal("96078.38"), currency="CNY",
)  # fmt: skip


@pytest.fixture
def desk(client: Client, catalog: None) -> Client:
    client.force_login(alice())
    return client


def saved(desk: Client, name: str = "Seven billion") -> Scenario:
    response = desk.post("/scenarios/save", {"name": name, "query": QUERY})
    assert response.status_code == 302
    return Scenario.objects.get(name=name)


def test_what_is_saved_is_the_question_and_the_answer_of_then(desk: Client) -> None:
    scenario = saved(desk)
    answer = get(desk, **case()).context["answer"]
    assert scenario.answer["recommended"]["training_days"] == answer["recommended"]["training_days"]
    assert scenario.query == "deadline_days=30&gpu=nvidia-h100-sxm5-80gb&parameters=7e9&tokens=1e11&v=1"
    assert (scenario.engine_version, scenario.catalog_revision) == (
        answer["engine_version"], answer["catalog_revision"],
    )  # fmt: skip
    assert "Seven billion" in desk.get("/scenarios/").content.decode()


def test_others_scenarios_are_as_if_they_did_not_exist(desk: Client) -> None:
    scenario = saved(desk)
    other = Client()
    other.force_login(bob())
    assert "Seven billion" not in other.get("/scenarios/").content.decode()
    assert other.get(scenario.get_absolute_url()).status_code == 404
    for step in ("duplicate", "archive", "restore"):
        assert other.post(reverse("advisor:scenario-step", args=[scenario.public_id, step])).status_code == 404


@pytest.mark.parametrize("path", ["/scenarios/", "/scenarios/save"])
def test_visitors_are_asked_to_log_in(client: Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 302
    assert response["Location"].startswith("/accounts/login/?next=")


def test_a_case_without_an_answer_is_not_kept(desk: Client) -> None:
    response = desk.post("/scenarios/save", {"name": "x", "query": "v=1&parameters=-1"})
    assert response.status_code == 302
    assert urlsplit(response["Location"]).path == "/"
    assert not Scenario.objects.exists()


def test_duplicate_archive_and_back(desk: Client) -> None:
    scenario = saved(desk)
    desk.post(reverse("advisor:scenario-step", args=[scenario.public_id, "duplicate"]))
    copy = Scenario.objects.exclude(pk=scenario.pk).get()
    assert (copy.query, copy.answer, copy.public_id == scenario.public_id) == (scenario.query, scenario.answer, False)
    desk.post(reverse("advisor:scenario-step", args=[scenario.public_id, "archive"]))
    assert desk.get("/scenarios/").content.decode().count(scenario.get_absolute_url()) == 0
    assert scenario.get_absolute_url() in desk.get("/scenarios/?archived=1").content.decode()
    desk.post(reverse("advisor:scenario-step", args=[scenario.public_id, "restore"]))
    assert scenario.get_absolute_url() in desk.get("/scenarios/").content.decode()


def test_tags_filter_the_list_and_a_name_is_asked_for(desk: Client) -> None:
    first, _second = saved(desk), saved(desk, "Other")
    response = desk.post(first.get_absolute_url(), {"name": "Kept", "tags": "trial，70B, trial", "note": "for May"})
    assert response.status_code == 302
    first.refresh_from_db()
    assert (first.name, first.tags, first.note) == ("Kept", ["trial", "70B"], "for May")
    names = [scenario.name for scenario in desk.get("/scenarios/?tag=70B").context["page"]]
    assert names == ["Kept"]
    assert desk.post(first.get_absolute_url(), {"name": " "}).status_code == 422


def test_the_list_asks_the_database_a_fixed_number_of_times(
    desk: Client, django_assert_max_num_queries: object
) -> None:
    scenario = saved(desk)
    for index in range(12):
        scenario.pk, scenario.public_id, scenario.name = None, None, f"n{index}"
        scenario.public_id = Scenario._meta.get_field("public_id").get_default()
        scenario.save(force_insert=True)
    with django_assert_max_num_queries(8):  # type: ignore[operator]
        assert desk.get("/scenarios/").status_code == 200


def test_a_dearer_run_is_said_with_its_percentage(desk: Client) -> None:
    scenario = saved(desk)
    assert scenario_changes(scenario) is not None
    assert not scenario_changes(scenario)
    cost = Decimal(scenario.answer["recommended"]["run_cost"]["amount"])
    scenario.answer["recommended"]["run_cost"]["amount"] = str((cost / Decimal("1.031")).quantize(Decimal("0.01")))
    scenario.answer["catalog_revision"] = "older"
    scenario.save()
    text = Page(desk.get(scenario.get_absolute_url() + "?lang=en")).text
    assert "Changed since" in text
    assert "+3.1%" in text


def test_changes_name_what_moved_and_by_how_much() -> None:
    now = KeyFigures(
        engine_version="1.1", catalog_revision="abc", gpu="nvidia-l40s-48gb", gpu_count=56, days=30.43,
        cost=Decimal("99056.81"), currency="CNY",
    )  # fmt: skip
    with translation.override("en"):
        found = changes(THEN, now)
    assert [change.label for change in found.versions] == ["Engine"]
    assert [(change.label, change.ratio) for change in found.figures] == [
        ("Cluster", None),
        ("Training time", pytest.approx(-0.15)),
        ("Cost of the run", pytest.approx(0.031)),
    ]
    assert not changes(THEN, THEN)


def test_the_token_of_a_link_reads_back() -> None:
    assert read_token(token(THEN)) == THEN


@pytest.mark.parametrize("text", ["", "x", "a~b~c~d~e~f~g", "<script>~b~c~1~1~1~CNY", "1~2~3~4", "9" * 5000])
def test_a_made_up_token_is_passed_over(client: Client, catalog: None, text: str) -> None:
    assert read_token(text) is None
    assert get(client, **case(seen=text)).status_code == 200


def test_a_shared_link_tells_what_has_changed(client: Client, catalog: None) -> None:
    url = get(client, **case()).context["share_url"]
    seen = parse_qs(urlsplit(url).query)["seen"][0]
    assert "Changed since" not in Page(get(client, **case(seen=seen))).text
    then = read_token(seen)
    assert then is not None
    older = token(KeyFigures(
        engine_version="0.0.1", catalog_revision=then.catalog_revision, gpu=then.gpu, gpu_count=then.gpu_count * 2,
        days=then.days, cost=then.cost, currency=then.currency,
    ))  # fmt: skip
    text = Page(get(client, **case(seen=older))).text
    assert f"{then.gpu_count * 2} × {then.gpu} → {then.gpu_count} × {then.gpu}" in text


def test_scenarios_side_by_side_say_where_they_differ(client: Client, catalog: None) -> None:
    other = urlencode(case(tokens="2e11"))
    response = client.get("/compare", {"s": [QUERY, other], "lang": "en"})
    found = response.context["found"]
    rows = {row.label: row for row in (*found.inputs, *found.results)}
    assert rows["Training tokens"].differs
    assert not rows["Parameters"].differs
    days = [cell.value for cell in rows["Training time"].cells]
    assert rows["Training time"].cells[1].ratio == pytest.approx(days[1] / days[0] - 1)
    text = Page(client.get("/compare", {"s": [QUERY, other], "lang": "en", "only": "1"})).text
    assert "Training tokens" in text
    assert "Parameters" not in text


def test_comparison_as_csv(client: Client, catalog: None) -> None:
    other = urlencode(case(tokens="2e11"))
    response = client.get("/compare", {"s": [QUERY, other], "lang": "en", "format": "csv"})
    rows = {row[0]: row for row in csv.reader(io.StringIO(response.content.decode("utf-8-sig"))) if row}
    best = get(client, **case()).context["answer"]["recommended"]
    assert float(rows["Training time"][2]) == pytest.approx(best["training_days"], rel=1e-14)
    assert rows["Training time"][-1] == "differs"
    assert rows["Parameters"][-1] == ""


@pytest.fixture
def side_by_side(client: Client, catalog: None) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
    """The API's answers to two cases, and the files of their comparison."""
    cases = [case(), case(tokens="2e11")]
    answers = [client.get("/api/v1/recommendations", {**row, "lang": "en"}).json() for row in cases]
    queries = {"s": [urlencode(row) for row in cases], "lang": "en"}
    files = {kind: client.get("/compare", {**queries, "format": kind}) for kind in ("json", "csv", "xlsx", "pdf")}
    for kind, response in files.items():
        assert response["Content-Disposition"] == f'attachment; filename="estimate-comparison.{kind}"'
    return answers, {kind: response.content for kind, response in files.items()}


def test_files_of_a_comparison_hold_the_numbers_of_the_api(
    side_by_side: tuple[list[dict[str, Any]], dict[str, bytes]],
) -> None:
    answers, files = side_by_side
    expected = [key_figures(answer) for answer in answers]
    document = json.loads(files["json"])
    in_json = {row["label"]: [cell["value"] for cell in row["cells"]] for row in document["results"]}
    in_csv = {row[0]: row for row in csv.reader(io.StringIO(files["csv"].decode("utf-8-sig"))) if row}
    sheet = openpyxl.load_workbook(io.BytesIO(files["xlsx"])).worksheets[0]
    in_sheet = {row[0]: row for row in sheet.iter_rows(values_only=True)}
    names = [name for name in expected[0] if name in in_json]
    assert {"GPUs", "Training time", "MFU", "GPU memory used", "IT power", "Cost of the run"} <= set(names)
    for name in names:
        for place in (0, 1):
            value = pytest.approx(expected[place][name], rel=1e-13)
            assert in_json[name][place] == value, name
            assert float(in_csv[name][2 + 2 * place]) == value, name
            assert in_sheet[name][2 + 2 * place] == value, name
    ratio = expected[1]["Training time"] / expected[0]["Training time"] - 1
    row = next(row for row in document["results"] if row["label"] == "Training time")
    assert row["cells"][1]["ratio_to_first"] == pytest.approx(ratio)


def test_files_of_a_comparison_show_what_the_page_shows(
    client: Client, side_by_side: tuple[list[dict[str, Any]], dict[str, bytes]]
) -> None:
    _answers, files = side_by_side
    document = json.loads(files["json"])
    text = Page(client.get("/compare", {"s": [row["query"] for row in document["scenarios"]], "lang": "en"})).text
    reader = pypdf.PdfReader(io.BytesIO(files["pdf"]))
    paper = re.sub(r"\s+", "", "".join(page.extract_text() for page in reader.pages))
    assert reader.metadata is not None
    for title in (document["title"], str(reader.metadata.title), files["csv"].decode("utf-8-sig")):
        assert title.startswith("Estimate: ")
    for row in (*document["inputs"], *document["results"]):
        for cell in row["cells"]:
            assert " ".join(cell["shown"].split()) in text, row["label"]
            assert re.sub(r"\s+", "", cell["shown"]) in paper, row["label"]
    for scenario in document["scenarios"]:
        assert scenario["url"] in files["csv"].decode("utf-8-sig")
        assert re.sub(r"\s+", "", scenario["headline"]) in paper


def test_a_comparison_without_any_answer_has_a_page_and_no_file(client: Client, catalog: None) -> None:
    response = client.get("/compare", {"s": "v=1&parameters=8x7B", "lang": "en", "format": "pdf"})
    assert response["Content-Type"].startswith("text/html")
    assert "8x7B" in response.content.decode()


def test_the_list_asks_row_by_row_how_far_the_price_moved(desk: Client) -> None:
    scenario = saved(desk)
    address = reverse("advisor:scenario-changes", args=[scenario.public_id])
    assert address not in desk.get("/scenarios/").content.decode()
    cost = Decimal(scenario.answer["recommended"]["run_cost"]["amount"])
    scenario.answer["recommended"]["run_cost"]["amount"] = str((cost / Decimal("1.031")).quantize(Decimal("0.01")))
    scenario.catalog_revision = "older"
    scenario.save()
    assert address in desk.get("/scenarios/").content.decode()
    part = desk.get(address, {"lang": "en"}, headers={"HX-Request": "true"}).content.decode()
    assert "Cost of the run <strong>+3.1%</strong>" in part
    assert desk.get(address)["Location"] == scenario.get_absolute_url()
    other = Client()
    other.force_login(bob())
    assert other.get(address, headers={"HX-Request": "true"}).status_code == 404


def test_a_pasted_link_is_added_and_a_fifth_is_not(client: Client, catalog: None) -> None:
    response = client.get("/compare", {"s": QUERY, "add": f"https://elsewhere.example/?{QUERY}&evil=1"})
    assert response.status_code == 302
    pairs = parse_qs(urlsplit(response["Location"]).query)
    assert len(pairs["s"]) == 2
    assert "evil" not in pairs["s"][1]
    page = client.get("/compare", {"s": [urlencode(case(tokens=f"{n}e11")) for n in range(1, 7)], "lang": "en"})
    assert len(page.context["found"].columns) == 4


def test_a_column_that_cannot_be_read_says_why(client: Client, catalog: None) -> None:
    page = Page(client.get("/compare", {"s": [QUERY, "v=1&parameters=8x7B"], "lang": "en"}))
    assert "8x7B" in page.text
    assert Page(client.get("/compare", {"s": "", "lang": "en"})).all("input", name="add")


def test_query_of_whatever_was_pasted() -> None:
    assert query_of(" https://x.example/?v=1&tokens=1e12&lang=en#top ") == "tokens=1e12&v=1"
    assert query_of("v=1&tokens=1e12") == "tokens=1e12&v=1"
    assert query_of("nonsense") == ""


def test_tags_are_trimmed_each_once_and_few() -> None:
    assert clean_tags(" a, b,，a、c ") == ["a", "b", "c"]
    assert len(clean_tags(",".join(map(str, range(50))))) == 8


def test_an_old_link_tells_of_a_new_engine_and_of_a_new_default(
    client: Client, catalog: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link carries what was seen; here the product really moves on between sending and opening."""
    link = urlsplit(get(client, **case()).context["share_url"]).query
    assert "sequence_length" not in link
    for module in ("advisor.recommendation", "advisor.services"):
        monkeypatch.setattr(f"{module}.ENGINE_VERSION", "99.0")
    changes_now = client.get(f"/?{link}&lang=en").context["changes"]
    assert [(change.label, change.now) for change in changes_now.versions] == [("Engine", "99.0")]
    assert changes_now.figures == ()
    monkeypatch.setitem(input_parsing._DEFAULTS, "sequence_length", 32768)
    response = client.get(f"/?{link}&lang=en")
    assert response.context["answer"]["training"]["sequence_length"] == 32768
    labels = {change.label: change for change in response.context["changes"].figures}
    assert labels["Training time"].ratio > 0  # attention over longer sequences costs more
    assert "Changed since" in Page(response).text
