"""A result handed on: its link as a QR code, and as an embed for pages that ask by oEmbed.

Only addresses of our own sizing page are answered, with nothing in them but the entries of the form.
"""

from __future__ import annotations

import io
from urllib.parse import urlencode, urlsplit
from xml.sax.saxutils import escape, quoteattr

import segno
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET

from advisor.answer_changes import read_token
from advisor.result_page import MAX_LINK_LENGTH
from advisor.scenario_compare import query_of

FRAME_WIDTH, FRAME_HEIGHT = 720, 720
DAY_SECONDS = 86_400


@require_GET
@cache_control(public=True, max_age=DAY_SECONDS)
def qr_code(request: HttpRequest) -> HttpResponse:
    """The link of a result, with what was seen, as SVG: black on white in both themes, so that cameras read it."""
    query = query_of(request.GET.urlencode())
    link = f"{_origin(request)}{reverse('advisor:sizing')}?{query}"
    seen = request.GET.get("seen", "")
    if read_token(seen) is not None:
        link += "&" + urlencode({"seen": seen})
    if not query or len(link) > MAX_LINK_LENGTH:
        raise Http404("No link of a result.")
    drawn = io.BytesIO()
    segno.make(link, error="m", micro=False).save(drawn, kind="svg", border=4, dark="#000", light="#fff", scale=4)
    return HttpResponse(drawn.getvalue(), content_type="image/svg+xml")


@require_GET
@cache_control(public=True, max_age=DAY_SECONDS)
def oembed(request: HttpRequest) -> HttpResponse:
    """https://oembed.com: the frame with the sizer for a link of ours; 404 for others', 501 for another format."""
    wanted = request.GET.get("format", "json")
    if wanted not in {"json", "xml"}:
        return HttpResponse("json, xml", status=501, content_type="text/plain")
    link = urlsplit(request.GET.get("url", "")[:MAX_LINK_LENGTH])
    if f"{link.scheme}://{link.netloc}" != _origin(request) or link.path not in _embeddable():
        raise Http404("Not an address of this site.")
    width = min(FRAME_WIDTH, _limit(request, "maxwidth"))
    height = min(FRAME_HEIGHT, _limit(request, "maxheight"))
    query = query_of(f"?{link.query}")
    source = f"{_origin(request)}{reverse('advisor:embed-sizer')}" + (f"?{query}" if query else "")
    title = _("GPU Cluster Advisor")
    frame = (
        f'<iframe src={quoteattr(source)} width="{width}" height="{height}" title={quoteattr(title)}'
        ' sandbox="allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox"></iframe>'
    )
    answer: dict[str, str | int] = {
        "type": "rich",
        "version": "1.0",
        "title": title,
        "provider_name": title,
        "provider_url": f"{_origin(request)}/",
        "cache_age": DAY_SECONDS,
        "html": frame,
        "width": width,
        "height": height,
    }
    if wanted == "xml":
        body = "".join(f"<{name}>{escape(str(value))}</{name}>" for name, value in answer.items())
        text = f'<?xml version="1.0" encoding="utf-8" standalone="yes"?><oembed>{body}</oembed>'
        return HttpResponse(text, content_type="text/xml; charset=utf-8")
    response = JsonResponse(answer)
    response["Access-Control-Allow-Origin"] = "*"
    return response


def _origin(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"


def _embeddable() -> set[str]:
    return {reverse("advisor:sizing"), reverse("advisor:embed-sizer")}


def _limit(request: HttpRequest, name: str) -> int:
    """A given largest width or height; without limit where none was given or it is no number."""
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 6 and int(text) else 10**6
