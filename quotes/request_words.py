"""The answer of a request in one sentence, for its pages and its mail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils import translation
from django.utils.translation import gettext as _

from quotes.sizing_basis import DJANGO_LANGUAGES


def answer_sentence(answers: Mapping[str, Mapping[str, Any]], language: str) -> str:
    """`28 servers of 8 x H100: 224 GPUs, 59 days expected.`, or that nothing fits, in that language."""
    shown = "en" if language == "en" else "zh-Hans"
    configuration = answers[shown]["recommended"]
    with translation.override(DJANGO_LANGUAGES[shown]):
        if configuration is None:
            return _("No configuration meets the conditions; the request asks for advice.")
        figures = {
            "servers": f"{configuration['server_count']:,}",
            "per_server": configuration["gpus_per_server"],
            "gpu": configuration["gpu_name"],
            "gpus": f"{configuration['gpu_count']:,}",
        }
        if configuration["training_days"] is None:
            return _("Servers: %(servers)s, each with %(per_server)s × %(gpu)s; GPUs: %(gpus)s.") % figures
        return _(
            "Servers: %(servers)s, each with %(per_server)s × %(gpu)s; GPUs: %(gpus)s; training time: %(days)s days."
        ) % (figures | {"days": f"{configuration['training_days']:.3g}"})
