"""The PDF: embedded fonts, extractable Chinese, repeated heads, page numbers, nothing fetched."""

from __future__ import annotations

import builtins
import io
import re
import sys
from datetime import UTC, datetime
from decimal import Decimal

import pypdf
import pytest
from django.utils import translation
from django.utils.html import escape

from advisor import fonts, pdf_rendering
from quotes import pdf, snapshot
from quotes.models import Language
from quotes.paper import paper_of
from quotes.templatetags.paper import assumption_value
from tests.quotes.drafts import line, make_draft

pytest.importorskip("weasyprint")


def _snapshot(draft, *, number="Q-2026-000123"):
    issued_at = datetime(2026, 12, 1, 2, 0, tzinfo=UTC) if number else None
    return snapshot.build(draft, list(draft.lines.all()), number=number, issued_at=issued_at)


def _read(content):
    return pypdf.PdfReader(io.BytesIO(content))


def _squeezed(text):
    return re.sub(r"\s+", "", text)


def _text(reader):
    return _squeezed("".join(page.extract_text() for page in reader.pages))


def _fonts(reader):
    names = set()
    for page in reader.pages:
        for font in page["/Resources"].get("/Font", {}).values():
            names.add(font.get_object()["/BaseFont"].split("+")[-1])
    return names


@pytest.fixture
def make(as_alice):
    def make(**content):
        return make_draft(as_alice, **content)

    return make


ONE_TEST = {
    "acceptance": {
        "window_days": 7,
        "tests": [{"code": "x", "name": {"zh-Hans": "清点"}, "threshold": {"zh-Hans": "全部相符"}}],
    },
    "invoice": {"kind": "special_vat"},
}


class TestLanguages:
    def test_chinese_is_extractable_and_in_the_shipped_font(self, make):
        reader = _read(pdf.render(_snapshot(make(language=Language.CHINESE))))
        text = _text(reader)
        # 2 x 1000.00 + 13 % = 2260.00
        for words in (
            "报价单",
            "样例客户（演示）",
            "价税合计",
            "2,260.00",
            "人民币贰仟贰佰陆拾元整",
            "盖章处",
            "第1页共",
        ):
            assert words in text, words
        assert _fonts(reader) <= {"Noto-Sans-SC", "Noto-Sans-SC-Bold", "NotoSansSC-Regular", "NotoSansSC-Bold"}
        assert _fonts(reader)

    def test_english_has_no_chinese_label(self, make):
        text = _text(_read(pdf.render(_snapshot(make(language=Language.ENGLISH)))))
        for words in ("Quotation", "Totalincludingtax", "YuanRenminbitwothousandtwohundredsixtyonly", "Page1of"):
            assert words in text, words
        assert "报价单" not in text
        assert "价税合计" not in text

    def test_bilingual_has_both(self, make):
        text = _text(_read(pdf.render(_snapshot(make(language=Language.BILINGUAL)))))
        for words in ("报价单", "Quotation", "人民币贰仟贰佰陆拾元整", "YuanRenminbi", "第1页共", "Page1of"):
            assert words in text, words

    def test_the_language_is_the_quotes_and_not_the_readers(self, make):
        draft = make(language=Language.ENGLISH)
        with translation.override("zh-hans"):
            assert "价税合计" not in pdf.render_html(_snapshot(draft))

    def test_clauses_stand_beside_each_other(self, make):
        content = _snapshot(make(language=Language.BILINGUAL))
        html = pdf.render_html(content)
        for first, second in zip(*content["terms"]["paragraphs"].values(), strict=True):
            pair = re.search(re.escape(escape(first)) + r"</td><td[^>]*>" + re.escape(escape(second)), html)
            other = re.search(re.escape(escape(second)) + r"</td><td[^>]*>" + re.escape(escape(first)), html)
            assert pair or other, first

    def test_the_hour_is_named_as_each_language_says_it(self, make):
        assert "北京时间 24:00" in pdf.render_html(_snapshot(make(language=Language.CHINESE)))
        assert "24:00 Beijing time" in pdf.render_html(_snapshot(make(language=Language.ENGLISH)))

    def test_a_spare_says_what_it_is_and_months_stand_apart_from_the_unit(self, make):
        rows = [
            line("2", Decimal("10.00"), "0.13", unit="server_month", period_count=12),
            line("1", Decimal("10.00"), "0.13", kind="spare_server", unit="server_month", period_count=12),
            line("1", Decimal("5.00"), "0.06", kind="storage", unit="month", period_count=12),
        ]
        content = _snapshot(make(language=Language.CHINESE, basis="rental", term_months=12, lines=rows))
        with translation.override("zh-hans"):
            shown = {str(row.unit): str(row.role) for row in paper_of(content).rows if row.kind == "line"}
        assert shown == {"台": "备机，用于替换故障服务器", "套": ""}


class TestPages:
    def test_long_tables_repeat_their_head_and_number_their_pages(self, make):
        rows = [line("1", Decimal("10.00"), "0.13", sku=f"sku-{n}") for n in range(60)]
        reader = _read(pdf.render(_snapshot(make(lines=rows))))
        pages = [_squeezed(page.extract_text()) for page in reader.pages]
        assert len(pages) > 2
        for number, page in enumerate(pages, start=1):
            assert f"第{number}页共{len(pages)}页" in page
            if "sku-" in page:
                assert "不含税金额" in page
        assert sum(page.count("价税合计") for page in pages) == 1
        (last,) = [page for page in pages if "价税合计" in page]
        assert last.count("sku-") >= 2  # the totals never stand alone

    @pytest.mark.parametrize("count", [9, 13, 17])
    def test_the_signatures_are_drawn_once_wherever_the_page_ends(self, make, count):
        rows = [line("1", Decimal("10.00"), "0.13", sku=f"sku-{n}") for n in range(count)]
        reader = _read(pdf.render(_snapshot(make(lines=rows, language=Language.BILINGUAL))))
        pages = [_squeezed(page.extract_text()) for page in reader.pages]
        # one seal each for seller and buyer, on the page of their headings
        assert [page.count("盖章处") for page in pages if "盖章处" in page] == [2]
        (last,) = [page for page in pages if "盖章处" in page]
        assert "买方确认" in last

    def test_options_have_the_columns_of_the_lines(self, make):
        rent = {"unit": "server_month", "period_count": 12}
        rows = [
            line("1", Decimal("10.00"), "0.13", **rent),
            # 2 x 12 x 30.00 less 5 % = 684.00
            line(
                "2", Decimal("30.00"), "0.13", sku="extra", is_optional=True, discount_fraction=Decimal("0.05"), **rent
            ),
        ]
        html = pdf.render_html(_snapshot(make(language=Language.ENGLISH, basis="rental", term_months=12, lines=rows)))
        options = html[html.index("Options, not included") :]
        heads = re.findall(r'<th scope="col"[^>]*><span[^>]*>([^<]+)', options[: options.index("</thead>")])
        cells = [_squeezed(re.sub(r"<[^>]+>", " ", cell)) for cell in re.findall(r"<td[^>]*>(.*?)</td>", options)[:9]]
        assert heads[2:] == [
            "Quantity",
            "Unit",
            "Months",
            "Unit price per period",
            "Discount",
            "Tax rate",
            "Net amount",
        ]
        assert cells[2:] == ["2", "pcs", "12", "30.00", "−5%", "13%", "684.00"]
        assert "extra" in cells[1]

    def test_a_short_annex_shares_the_page_of_the_signatures(self, make):
        reader = _read(pdf.render(_snapshot(make(clauses=ONE_TEST))))
        pages = [_squeezed(page.extract_text()) for page in reader.pages]
        (signed,) = [page for page in pages if "盖章处" in page]
        assert signed.index("买方确认") < signed.index("附件：验收测试") < signed.index("全部相符")

    def test_a_one_line_offer_in_two_languages_has_its_total_on_the_first_page(self, make):
        reader = _read(pdf.render(_snapshot(make(language=Language.BILINGUAL))))
        first = _squeezed(reader.pages[0].extract_text())
        assert "买方" in first
        assert "2,260.00" in first

    def test_a_draft_is_marked_and_has_no_number(self, make):
        reader = _read(pdf.render(_snapshot(make(), number=None)))
        assert all("DRAFT" in page.extract_text() for page in reader.pages)
        assert "Q-20" not in _text(reader)

    @pytest.mark.parametrize(("paper", "size"), [("A4", (595, 842)), ("Letter", (612, 792))])
    def test_paper_sizes(self, make, paper, size):
        page = _read(pdf.render(_snapshot(make(paper=paper)))).pages[0]
        assert (round(float(page.mediabox.width)), round(float(page.mediabox.height))) == size

    def test_metadata_and_tags(self, make):
        reader = _read(pdf.render(_snapshot(make(project="集群一期"))))
        assert "Q-2026-000123" in reader.metadata.title
        assert reader.metadata.author == "样例智算科技有限公司（演示）"
        assert reader.metadata.subject == "集群一期"
        assert reader.metadata.creation_date.astimezone(UTC) == datetime(2026, 12, 1, 2, 0, tzinfo=UTC)
        root = reader.trailer["/Root"]
        assert root["/Lang"] == "zh-Hans"
        assert "/StructTreeRoot" in root

    def test_the_same_snapshot_gives_the_same_bytes(self, make):
        content = _snapshot(make())
        assert pdf.render(content) == pdf.render(content)


HOSTILE = [
    '<img src="http://169.254.169.254/latest">',
    '<link rel="attachment" href="file:///etc/passwd">',
    "<style>@import url(http://example.com/x.css);</style>",
    '<svg><image href="file:///etc/passwd"/></svg>',
    "{{ snapshot }}{% debug %}",
]


class TestWording:
    """What a reader would ask back about: one fact said twice, or written in two ways."""

    PAYMENTS = (
        {"event": "signing", "share_of": "total", "fraction": "0.3", "days": 7},
        {"event": "before_dispatch", "share_of": "total", "fraction": "0.7", "days": 0},
    )

    def test_a_percentage_is_written_one_way(self, make):
        rows = [line("2", Decimal("1000.00"), "0.13", tax_category="goods")]
        for language in (Language.CHINESE, Language.ENGLISH):
            draft = make(language=language, lines=rows, payment_schedule=list(self.PAYMENTS))
            html = pdf.render_html(_snapshot(draft))
            assert "30%" in html
            assert re.findall(r"\d\s%", html) == []

    def test_the_law_of_a_rate_names_the_rate_once(self, make):
        content = _snapshot(make())
        content["tax_basis"] = [
            {"rate": "0.13", "legal_note": {"zh-Hans": "销售货物，税率 13%：某法", "en": "Goods, 13 %: a law"}},
            {"rate": "0.06", "legal_note": {"zh-Hans": "另一法", "en": "Another law"}},
        ]
        assert [dict(note) for note in paper_of(content).particulars.tax_notes] == [
            {"zh-Hans": "销售货物，税率 13%：某法", "en": "Goods, 13 %: a law"},
            {"zh-Hans": "6%：另一法", "en": "6%: Another law"},
        ]

    def test_payments_are_said_as_each_language_says_them(self, make):
        payments = paper_of(_snapshot(make(payment_schedule=list(self.PAYMENTS)))).particulars.payments
        assert [(row.due, row.portion) for row in payments] == [
            (
                {"zh-Hans": "合同签订后\u00a07 天内", "en": "on signature, within 7 days"},
                {"zh-Hans": "占总价\u00a030%", "en": "30% of the total"},
            ),
            ({"zh-Hans": "发货前", "en": "before dispatch"}, {"zh-Hans": "占总价\u00a070%", "en": "70% of the total"}),
        ]

    def test_the_kind_of_invoice_is_said_once(self, make):
        text = _text(_read(pdf.render(_snapshot(make(clauses=ONE_TEST)))))
        assert text.count("发票类型") == 1
        assert "增值税专用发票" in text


class TestSafety:
    @pytest.mark.parametrize("text", HOSTILE)
    def test_markup_from_users_is_printed_as_text(self, make, text):
        draft = make(project=text, customer_note=text)
        reader = _read(pdf.render(_snapshot(draft)))
        assert _squeezed(text)[:20] in _text(reader)
        assert not reader.attachments

    @pytest.mark.parametrize(
        "address",
        [
            "http://127.0.0.1:9/x.css",
            "file:///etc/passwd",
            "static:///../manage.py",
            "static:///%2e%2e/.env",
            "data:,x",
        ],
    )
    def test_the_fetcher_aborts_on_all_but_our_static_files(self, address):
        pdf_rendering.weasyprint_module()
        from weasyprint.urls import FatalURLFetchingError

        with pytest.raises(FatalURLFetchingError):
            pdf_rendering.static_fetcher().fetch(address)

    def test_the_fetcher_serves_the_stylesheet(self):
        pdf_rendering.weasyprint_module()
        assert b"@page" in pdf_rendering.static_fetcher().fetch("static:///css/pdf/quote.css").read()

    def test_nothing_is_fetched_from_the_net(self, make, monkeypatch):
        import socket

        def refuse(*arguments, **options):
            raise AssertionError(arguments)

        content = _snapshot(make())
        monkeypatch.setattr(socket, "create_connection", refuse)
        monkeypatch.setattr(socket, "getaddrinfo", refuse)
        assert pdf.render(content).startswith(b"%PDF")

    def test_missing_libraries_name_the_line_that_installs_them(self, monkeypatch):
        real = builtins.__import__

        def without_pango(name, *rest, **options):
            if name == "weasyprint":
                raise OSError("cannot load library 'libpangoft2-1.0-0'")
            return real(name, *rest, **options)

        monkeypatch.delitem(sys.modules, "weasyprint", raising=False)
        monkeypatch.setattr(builtins, "__import__", without_pango)
        with pytest.raises(pdf.PdfUnavailableError, match="apt-get install libpango"):
            pdf_rendering.weasyprint_module()


class TestFonts:
    def test_symbols_of_our_texts_are_covered(self):
        assert fonts.missing_characters("×±≤≥²³µ°Ω√→¥￥€–—…【】（）①②③✓ Äéß 蓥") == []

    def test_what_is_missing_is_named_once(self):
        assert fonts.missing_characters("好𠮷好𠮷") == ["𠮷"]


@pytest.mark.parametrize(
    ("row", "chinese", "english"),
    [
        ({"name": "recipe", "value": "megatron", "unit": ""}, "Megatron-LM", "Megatron-LM"),
        ({"name": "restart_seconds", "value": 600.0, "unit": "s"}, "10\u00a0分钟", "10\u00a0min"),
        (
            {"name": "global_batch_tokens", "value": 4194304, "unit": "tokens"},
            "4,194,304\u00a0token",
            "4,194,304\u00a0tokens",
        ),
        (
            {"name": "rate", "value": 5.4813e-9, "unit": "1/s"},
            '5.48 × 10<sup class="power">−9</sup>\u00a01/s',
            '5.48 × 10<sup class="power">−9</sup>\u00a01/s',
        ),
        ({"name": "share", "value": 0.72561, "unit": ""}, "0.726", "0.726"),
        ({"name": "unknown", "value": None, "unit": "s"}, "—", "—"),
    ],
    ids=lambda value: value["name"] if isinstance(value, dict) else "",
)
def test_assumptions_as_people_write_them(row, chinese, english):
    with translation.override("zh-hans"):
        assert assumption_value(row) == chinese
    with translation.override("en"):
        assert assumption_value(row) == english


def test_every_label_of_the_paper_is_translated():
    """`{% label %}` takes message ids of the templates; one without Chinese would print English on Chinese paper."""
    from pathlib import Path

    from django.conf import settings

    found = set()
    for path in (Path(settings.BASE_DIR) / "templates" / "quotes" / "pdf").glob("*.html"):
        found |= set(re.findall(r'\{% label "([^"]+)"', path.read_text(encoding="utf-8")))
    assert len(found) > 30
    with translation.override("zh-hans"):
        assert [message for message in sorted(found) if translation.gettext(message) == message] == []
