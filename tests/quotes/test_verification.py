"""The code on the paper: how it is read, what its page tells, and what it keeps to itself."""

from __future__ import annotations

import io
import re

import pypdf
import pytest
from django.core.cache import cache
from django.urls import reverse

from quotes import snapshot, verification
from quotes.models import FrozenError, Language
from quotes.services import quote_issue, quote_withdraw
from quotes.views.verification import CODES_ASKED, LOOK_UPS
from tests.quotes.drafts import make_draft


@pytest.fixture
def issued(as_alice):
    return quote_issue(actor=as_alice, revision=make_draft(as_alice, language=Language.ENGLISH))


@pytest.fixture(autouse=True)
def _fresh_counters():
    cache.clear()


class TestCodes:
    def test_a_code_is_printed_in_groups_and_read_back(self):
        code = verification.new_code()
        assert re.fullmatch(r"(?:[0-9a-hjkmnp-tv-z]{5}-){3}[0-9a-hjkmnp-tv-z]{5}", verification.grouped(code))
        assert verification.read_code(verification.grouped(code)) == code

    def test_misreadings_of_a_typed_code_do_not_matter(self):
        # Crockford's base 32: i and l stand for 1, o for 0, in either case
        assert verification.read_code(" 1O-Il0 abcde FGHJK mnpq9 ") == "10110abcdefghjkmnpq9"

    @pytest.mark.parametrize("typed", ["", "abc", "u" * 20, "1" * 21, "１" * 20, "'; --", "\x00" * 20])
    def test_anything_else_is_no_code(self, typed):
        assert verification.read_code(typed) == ""

    def test_codes_do_not_repeat(self):
        assert len({verification.new_code() for _number in range(1000)}) == 1000


class TestPage:
    def test_it_tells_what_the_paper_must_say_and_no_line(self, client, issued):
        response = client.get(
            reverse("verification:code", args=[issued.verification.code]), headers={"accept-language": "en"}
        )
        text = response.content.decode()
        # 2 x 1000.00 and 13 % on them
        for words in (issued.number, "2,260.00", issued.pdf_sha256[:16], "Issued", "(Beijing time)"):
            assert words in text
        assert issued.pdf_sha256 not in text
        for secret in ("Sample server", "sample-server", "1,000.00", issued.customer_name):
            assert secret not in text
        assert "no-store" in response["Cache-Control"]
        assert response["X-Robots-Tag"] == "noindex, nofollow"

    def test_a_withdrawn_quotation_is_no_longer_an_offer(self, client, issued, as_carol):
        quote_withdraw(actor=as_carol, revision=issued, reason="wrong part")
        response = client.get(
            reverse("verification:code", args=[issued.verification.code]), headers={"accept-language": "en"}
        )
        assert "no longer an offer" in response.content.decode()
        assert "wrong part" not in response.content.decode()

    def test_unknown_codes_answer_alike(self, client, issued):
        answers = []
        for code in ("0" * 20, "no-code-at-all"):
            response = client.get(reverse("verification:code", args=[code]))
            # the address stands in the language switch; request ids and nonces have one length
            answers.append((response.status_code, len(response.content.decode().replace(code, ""))))
        assert answers[0] == answers[1]
        assert answers[0][0] == 404

    def test_a_typed_code_leads_to_its_page(self, client, issued):
        code = issued.verification.code
        response = client.get(reverse("verification:check"), {"code": verification.grouped(code).upper()})
        assert response.status_code == 302
        assert response["Location"] == reverse("verification:code", args=[code])
        assert client.get(reverse("verification:check"), {"code": "abc"}).status_code == 422
        assert client.get(reverse("verification:check")).status_code == 200

    def test_one_address_does_not_try_codes_for_long(self, client, issued):
        address = reverse("verification:code", args=["0" * 20])
        for _turn in range(LOOK_UPS - 1):
            CODES_ASKED.add("127.0.0.1")
        assert client.get(address).status_code == 404
        refused = client.get(address)
        assert refused.status_code == 429
        assert int(refused["Retry-After"]) > 0


class TestPaper:
    def test_the_paper_prints_the_code_and_drafts_none(self, as_alice, issued):
        reader = pypdf.PdfReader(io.BytesIO(bytes(issued.document.pdf)))
        text = "".join(page.extract_text() for page in reader.pages)
        assert verification.grouped(issued.verification.code) in text
        assert snapshot.parse(issued.snapshot)["verification"]["url"].endswith("/v/" + issued.verification.code)
        draft = make_draft(as_alice)
        assert snapshot.build(draft, list(draft.lines.all()))["verification"] is None

    def test_a_code_never_changes(self, issued):
        code = issued.verification
        code.code = "0" * 20
        with pytest.raises(FrozenError):
            code.save()
        with pytest.raises(FrozenError):
            code.delete()
