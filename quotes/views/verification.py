"""Anyone who holds a quotation on paper can check that the seller issued it, and whether it still stands."""

from __future__ import annotations

import math

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from config.visitors import Counter, client_address
from quotes import snapshot, verification
from quotes.paper import paper_of
from quotes.views.guards import private

LOOK_UPS = 60  # from one address in a window; a guesser of 100 bits gets nowhere long before
WINDOW_SECONDS = 600
CODES_ASKED = Counter(name="verification", window_seconds=WINDOW_SECONDS)
SHOWN_HASH_DIGITS = 16


@private
@require_GET
def check(request: HttpRequest) -> HttpResponse:
    """The form for a code typed from paper."""
    typed = request.GET.get("code", "")
    if not typed:
        return _private(render(request, "quotes/verify.html", {}))
    code = verification.read_code(typed[:100])
    if code:
        return redirect("verification:code", code=code)
    message = _("A code has 20 letters and digits in four groups, as printed beside the QR code.")
    return _private(render(request, "quotes/verify.html", {"typed": typed[:100], "message": message}, status=422))


@private
@require_GET
def confirm(request: HttpRequest, code: str) -> HttpResponse:
    """What the paper must say; the same answer for every code that is not one."""
    if CODES_ASKED.add(client_address(request)) > LOOK_UPS:
        message = _("Too many codes from this address. Wait ten minutes, then try again.")
        response = _private(render(request, "quotes/verify.html", {"message": message}, status=429))
        response["Retry-After"] = str(math.ceil(CODES_ASKED.seconds_left()))
        return response
    found = verification.revision_of(verification.read_code(code))
    if found is None:
        message = _("No quotation has this code. Compare it with the paper; if it is right, ask the seller.")
        return _private(render(request, "quotes/verify.html", {"message": message}, status=404))
    context = {
        "code": verification.grouped(verification.read_code(code)),
        "revision": found,
        "state": found.effective_state(timezone.now()),
        "paper": paper_of(snapshot.parse(found.snapshot)),
        "pdf_hash": found.pdf_sha256[:SHOWN_HASH_DIGITS],
    }
    return _private(render(request, "quotes/verify.html", context))


def _private(response: HttpResponse) -> HttpResponse:
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex, nofollow"
    return response
