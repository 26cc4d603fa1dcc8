"""`/result.<kind>?<case>`: the answer of the page as a file."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET

from advisor.answer_files import Source, answer_file
from advisor.form_page import page_form
from advisor.inputs import InputError
from advisor.pdf_rendering import PdfUnavailableError
from advisor.services import scenario_search


@require_GET
def download(request: HttpRequest, kind: str) -> HttpResponse:
    """A case that cannot be read goes to the page, which says what is wrong with each entry."""
    form = page_form(request.GET)
    page = f"{reverse('advisor:sizing')}?{request.GET.urlencode()}"
    if not form.is_valid() or form.checked is None:
        return HttpResponseRedirect(page)
    url = f"{request.scheme}://{request.get_host()}{reverse('advisor:sizing')}?{form.query}"
    try:
        answer = scenario_search(checked=form.checked)
        file = answer_file(Source(answer=answer, checked=form.checked, url=url), kind)
    except InputError:
        return HttpResponseRedirect(page)
    except PdfUnavailableError as error:
        return render(request, "advisor/download_unavailable.html", {"message": str(error), "page": page}, status=503)
    response = HttpResponse(file.content, content_type=file.content_type)
    response["Content-Disposition"] = content_disposition_header(True, file.name) or "attachment"
    return response
