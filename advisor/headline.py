"""One sentence that answers the question that was asked: how long, how many, what the budget or the site takes."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from advisor.answers import ConfigurationAnswer, HeadlineAnswer, ProblemAnswer, WithinBudgetAnswer
from advisor.engine.units import SECONDS_PER_DAY
from advisor.figures import format_si_count, format_training_time
from advisor.input_types import CheckedRecommendation


def question_of(checked: CheckedRecommendation) -> str:
    """Which question a request asks; the narrowest wins: a stated cluster, a site, a deadline, a budget, else value."""
    if checked.gpu_count is not None:
        return "cluster"
    if checked.max_it_watts is not None or checked.max_racks is not None:
        return "site"
    if checked.deadline_seconds is not None:
        return "deadline"
    return "budget" if checked.budget is not None else "value"


def headline(
    checked: CheckedRecommendation,
    best: ConfigurationAnswer | None,
    *,
    within_budget: WithinBudgetAnswer | None,
    problems: Sequence[ProblemAnswer],
) -> HeadlineAnswer:
    question = question_of(checked)
    if best is None:
        blocking = next((item["message"] for item in problems if item["severity"] == "blocks"), "")
        text = _("No configuration meets these conditions. %(reason)s") % {"reason": blocking}
        return HeadlineAnswer(question=question, text=text.strip())
    seconds, tokens = best["estimate"]["time"]["training_seconds"], best["estimate"]["training"]["tokens"]
    words = {
        "count": best["gpu_count"],
        "gpu": best["gpu_name"],
        "servers": best["server_count"],
        "tokens": format_si_count(tokens) if isinstance(tokens, (int, float)) else "",
        "days": format_training_time(seconds) if seconds is not None else "",
        "low": format_training_time((best["training_days_low"] or 0) * SECONDS_PER_DAY),
        "high": format_training_time((best["training_days_high"] or 0) * SECONDS_PER_DAY),
        "deadline": format_training_time(checked.deadline_seconds) if checked.deadline_seconds is not None else "",
    }
    if seconds is None:
        return HeadlineAnswer(question=question, text=_("%(count)d × %(gpu)s hold the job.") % words)
    if question == "budget" and within_budget is not None:
        return HeadlineAnswer(question=question, text=within_budget["text"])
    sentences = {
        "cluster": _("%(count)d × %(gpu)s train %(tokens)s tokens in %(days)s (%(low)s to %(high)s)."),
        "site": _(
            "Within the site, %(servers)d servers with %(count)d × %(gpu)s train %(tokens)s tokens in %(days)s "
            "(%(low)s to %(high)s)."
        ),
        "deadline": _(
            "%(count)d × %(gpu)s train %(tokens)s tokens in %(days)s (%(low)s to %(high)s), of the %(deadline)s "
            "that there are for training."
        ),
    }
    return HeadlineAnswer(question=question, text=sentences.get(question, sentences["cluster"]) % words)
