"""The answer of a request in one sentence, for its pages and its mail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from quotes.wording import DJANGO_LANGUAGES


def answer_sentence(answers: Mapping[str, Mapping[str, Any]], language: str) -> str:
    """`28 servers, each with 8 × H100: 224 GPUs; training takes 59.3 days.`, or that nothing fits."""
    shown = "en" if language == "en" else "zh-Hans"
    configuration = answers[shown]["recommended"]
    with translation.override(DJANGO_LANGUAGES[shown]):
        if configuration is None:
            return _("No configuration meets the conditions; the request asks for advice.")
        servers, days = configuration["server_count"], configuration["training_days"]
        figures = {
            "servers": f"{servers:,}",
            "per_server": configuration["gpus_per_server"],
            "gpu": configuration["gpu_name"],
            "gpus": f"{configuration['gpu_count']:,}",
        }
        if days is None:
            return (
                ngettext(
                    "%(servers)s server with %(per_server)s × %(gpu)s: %(gpus)s GPUs.",
                    "%(servers)s servers, each with %(per_server)s × %(gpu)s: %(gpus)s GPUs.",
                    servers,
                )
                % figures
            )
        return ngettext(
            "%(servers)s server with %(per_server)s × %(gpu)s: %(gpus)s GPUs; training takes %(days)s days.",
            "%(servers)s servers, each with %(per_server)s × %(gpu)s: %(gpus)s GPUs; training takes %(days)s days.",
            servers,
        ) % (figures | {"days": f"{days:.3g}"})
