"""From a recommendation to a quote: the same figures in answer, draft, page and PDF."""

from __future__ import annotations

import io
import re
from decimal import Decimal

import pypdf
import pytest
from django.urls import reverse

from quotes import pdf, snapshot
from quotes.drafting import NothingToQuoteError, draft_from_answers
from quotes.models import QuoteRevision
from quotes.samples import CLUSTER, ONE_SERVER, answers_for, export_checked, without_unpriced_lines
from quotes.services import quote_create_from_recommendation, quote_issue

pytestmark = pytest.mark.usefixtures("catalog")


@pytest.fixture
def cluster():
    return answers_for(CLUSTER)


@pytest.fixture
def one_server():
    return answers_for(ONE_SERVER)


def _make(actor, answers, basis="rental", **changes):
    return quote_create_from_recommendation(actor=actor, answers=answers[0], query=answers[1], basis=basis, **changes)


class TestDraft:
    @pytest.mark.parametrize("basis", ["rental", "purchase"])
    def test_totals_are_those_of_the_recommendation(self, as_alice, cluster, basis):
        prices = cluster[0]["en"]["recommended"]["prices"][basis]
        revision = _make(as_alice, cluster, basis)
        assert revision.total_net == Decimal(prices["subtotal"]["amount"])
        assert revision.total_gross == Decimal(prices["total"]["amount"])
        assert revision.currency == prices["currency"]

    def test_rent_is_split_into_servers_and_months(self, as_alice, cluster):
        configuration = cluster[0]["en"]["recommended"]
        revision = _make(as_alice, cluster)
        server = revision.lines.get(kind="server")
        assert (server.quantity, server.period_count) == (configuration["server_count"], 12)
        sums = snapshot.revision_totals(revision, list(revision.lines.all()))
        assert f"{sums.monthly_net}" == configuration["prices"]["rental"]["monthly"]["amount"]
        assert f"{sums.deposit}" == configuration["prices"]["rental"]["deposit"]["amount"]

    def test_parts_of_a_server_stand_below_it_without_a_price(self, as_alice, cluster):
        revision = _make(as_alice, cluster)
        gpu = revision.lines.get(kind="gpu")
        assert gpu.is_included
        assert gpu.unit_price is None
        assert gpu.quantity == cluster[0]["en"]["recommended"]["gpu_count"]
        assert gpu.position == revision.lines.get(kind="server").position + 1

    def test_unknown_prices_stay_open(self, as_alice):
        # nobody publishes what a B300 server costs, so services that are a share of its price stay open
        answers = answers_for("parameters=7B&tokens=100B&deadline_days=30&gpu=nvidia-b300-sxm-270gb")
        missing = {row["sku"] for row in answers[0]["en"]["recommended"]["prices"]["rental"]["missing"]}
        revision = _make(as_alice, answers)
        open_lines = revision.lines.filter(unit_price__isnull=True, is_included=False)
        assert missing
        assert set(open_lines.values_list("sku", flat=True)) == missing

    def test_the_same_thing_at_the_same_price_is_one_line(self, as_alice, cluster):
        revision = _make(as_alice, cluster, "purchase")
        lines = list(revision.lines.filter(is_included=False).values_list("kind", "sku", "unit_price"))
        assert len(lines) == len(set(lines))

    def test_names_are_in_both_languages(self, as_alice, cluster):
        service = _make(as_alice, cluster).lines.get(sku="svc-build-cluster")
        assert (service.name_zh, service.name_en) == ("集群建设", "Cluster build")

    def test_nothing_feasible_is_said_with_its_reasons(self):
        answers, query = answers_for("parameters=405B&tokens=15T&deadline_days=1&max_gpu_count=8")
        assert answers["en"]["recommended"] is None
        with pytest.raises(NothingToQuoteError) as caught:
            draft_from_answers(answers, basis="rental", query=query)
        assert caught.value.reasons
        assert all(reason.strip() for reason in caught.value.reasons)


class TestToPaper:
    def test_the_pdf_shows_the_figures_of_the_answer(self, as_alice, one_server):
        draft = without_unpriced_lines(as_alice, _make(as_alice, one_server, language="zh-Hans+en"))
        draft = QuoteRevision.objects.get(pk=draft.pk)
        draft.customer_name = "样例客户（演示）"
        draft.save()
        issued = quote_issue(actor=as_alice, revision=export_checked(as_alice, draft))
        reader = pypdf.PdfReader(io.BytesIO(bytes(issued.document.pdf)))
        text = re.sub(r"\s+", "", "".join(page.extract_text() for page in reader.pages))
        configuration = one_server[0]["en"]["recommended"]
        gross = Decimal(configuration["prices"]["rental"]["total"]["amount"])
        used = configuration["estimate"]["memory_per_gpu"]["total_bytes"] / 2**30
        for words in (
            f"{gross:,.2f}",
            "附录：测算依据",
            "Appendix:sizingbasis",
            configuration["gpu_name"].replace(" ", ""),
            f"{used:.3g}GiB",
            configuration["estimate"]["assumptions"][0]["source"].replace(" ", "")[:30],
            one_server[0]["en"]["engine_version"],
            one_server[0]["en"]["catalog_revision"],
        ):
            assert words in text, words

    def test_the_appendix_opens_each_figure_to_its_sum(self, as_alice, one_server):
        """Printed from what was stored at the draft; a basis of before the rows were kept prints without them."""
        draft = _make(as_alice, one_server)
        for language, answer in one_server[0].items():
            rows = {row["code"]: row for row in draft.sizing["by_language"][language]["calculation"]}
            estimate = answer["recommended"]["estimate"]
            step, used = rows["step_seconds"], rows["total_bytes"]
            parts = [float(part.replace(",", "")) for part in step["substituted"].split(" + ")]
            assert sum(parts) == pytest.approx(estimate["time"]["step_seconds"], rel=1e-6)
            assert used["value"] == estimate["memory_per_gpu"]["total_bytes"]
            assert not {"run_cost", "rental_total", "purchase_total"} & set(rows)
        content = snapshot.parse(snapshot.canonical(snapshot.build(draft, list(draft.lines.all()))))
        assert step["substituted"] in pdf.render_html(content)
        for basis in content["sizing"]["by_language"].values():
            del basis["calculation"]
        html = pdf.render_html(content)
        assert step["substituted"] not in html
        assert "测算依据" in html

    def test_the_chinese_appendix_is_chinese_to_the_last_word(self, cluster):
        """Codes, makes and titles of publications stay; every sentence and name of ours has Chinese in it."""
        basis = draft_from_answers(cluster[0], basis="purchase", query=cluster[1]).sizing["by_language"]["zh-Hans"]
        configuration = basis["configuration"]
        texts = [
            *configuration["reasons"],
            *(check["message"] for check in configuration["checks"]),
            *(test["name"] for test in configuration["acceptance"]),
            *(row["label"] for row in configuration["estimate"]["assumptions"]),
            *(row["formula"] for row in basis["calculation"] if row["code"] != "gpu_count"),
            *(row["origin_label"] for row in configuration["estimate"]["assumptions"]),
            *(row["source"] for row in configuration["estimate"]["assumptions"] if row["source"]),
        ]
        assert len(texts) > 40
        assert [text for text in texts if not re.search("[\u4e00-\u9fff]", text)] == []
        assert [text for text in texts if re.search(r"\b[a-z]+_[a-z_]+\b", text)] == []

    def test_generic_parts_have_chinese_names_on_chinese_paper(self, as_alice, cluster):
        draft = _make(as_alice, cluster, "purchase")
        for line in draft.lines.filter(kind__in=("rack", "pdu", "service", "management_node")):
            assert re.search("[\u4e00-\u9fff]", line.name_zh), line.sku
            assert not re.search("[\u4e00-\u9fff]", line.name_en), line.sku

    def test_a_draft_of_the_cluster_renders_with_its_open_prices(self, as_alice, cluster):
        draft = _make(as_alice, cluster, "purchase")
        lines = list(draft.lines.all())
        next(line for line in lines if line.kind == "switch").unit_price = None
        html = pdf.render_html(snapshot.build(draft, lines))
        assert "缺少价格" in html


class TestPage:
    @pytest.fixture
    def desk(self, client, alice):
        client.force_login(alice)
        client.cookies["lang"] = "en"
        return client

    def test_from_the_sizing_to_the_draft(self, desk, one_server):
        address = f"{reverse('quotes:new')}?{one_server[1]}&basis=rental"
        page = desk.get(address)
        total = one_server[0]["en"]["recommended"]["prices"]["rental"]["total"]["amount"]
        assert f'<data value="{total}">' in page.content.decode()
        payload = {
            "creation_key": page.context["form"]["creation_key"].value(),
            "language": "en",
            "customer_name": "Sample Ltd. (demonstration)",
        }
        first, second = desk.post(address, payload), desk.post(address, payload)  # a double click
        assert first.status_code == 302
        assert first.url == second.url
        revision = QuoteRevision.objects.get()
        assert f"{revision.total_gross.quantize(Decimal('0.01'))}" == total
        assert revision.sizing["query"] == f"basis=rental&{one_server[1]}"

    def test_a_wrong_customer_comes_back_with_what_was_typed(self, desk, one_server):
        address = f"{reverse('quotes:new')}?{one_server[1]}&basis=purchase"
        response = desk.post(address, {"language": "en", "customer_name": "A\x00B", "contact_email": "no address"})
        assert response.status_code == 422
        assert "no address" in response.content.decode()
        assert not QuoteRevision.objects.exists()

    @pytest.mark.parametrize("query", ["parameters=zzz&tokens=1T", "tokens=-1", "parameters=70B&gpu=unheard-of", ""])
    def test_a_question_that_makes_no_sense_is_answered_in_words(self, desk, query):
        response = desk.get(f"{reverse('quotes:new')}?{query}")
        assert response.status_code == 422
        assert "<li>" in response.content.decode()
