"""The site with an empty API view beside it: the same process, middleware and framework, and nothing to compute."""

from __future__ import annotations

import os

import django
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()
settings.ROOT_URLCONF = __name__

from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import path  # noqa: E402
from rest_framework.request import Request  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.views import APIView  # noqa: E402

from config import urls as site_urls  # noqa: E402
from config.bench.answering import EMPTY_PATH  # noqa: E402


class Empty(APIView):
    def get(self, request: Request) -> Response:
        return Response({})


urlpatterns = [path(EMPTY_PATH.lstrip("/"), Empty.as_view()), *site_urls.urlpatterns]
handler400, handler403 = site_urls.handler400, site_urls.handler403
handler404, handler500 = site_urls.handler404, site_urls.handler500

application = get_wsgi_application()
