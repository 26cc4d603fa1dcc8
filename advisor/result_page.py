"""What the result part of the sizing page shows beside the answer itself: charts, rows, links."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from django.utils.translation import ngettext, pgettext

from advisor import charts, charts_choice, figures
from advisor.answer_changes import key_figures, token
from advisor.answer_tables import headline
from advisor.assumptions_page import AssumptionRow, assumption_rows
from advisor.calculation import calculation
from advisor.exclusions import exclusions
from advisor.inputs import CheckedRecommendation
from advisor.limits_page import limits
from advisor.price_table import leading_rows, missing_prices, price_rows
from advisor.quantities import SECONDS_PER_DAY
from advisor.sensitivity_page import token_table, tornado
from advisor.validation_page import validation_headline
from advisor.why_page import candidates, fallen_out, reasons, without_name

# one-click example of the empty page: the job of the answer sentence in the method notes
EXAMPLE_QUERY = "deadline_days=30&parameters=7e10&tokens=1.4e12&v=1"
# one question of each kind, to start from; the answers take their own words from the page
EXAMPLES = (
    (_lazy("How many GPUs for a deadline?"), _lazy("13B on 300B tokens in six weeks"),
     "deadline_days=42&parameters=1.3e10&tokens=3e11&v=1"),
    (_lazy("How long on a cluster that I have?"), _lazy("72B, continued on 50B tokens, 4 servers of 8 × H20"),
     "gpu=nvidia-h20-96gb&gpu_count=32&method=continued_pretrain&parameters=7.2e10&tokens=5e10&v=1"),
    (_lazy("What fits a budget?"), _lazy("7B on 100B tokens for at most CNY 100,000"),
     "budget=1e5&deadline_days=30&parameters=7e9&tokens=1e11&v=1"),
    (_lazy("What fits a site?"), _lazy("34B on 500B tokens in 200 kW, 5 racks, air"),
     "cooling=air&deadline_days=60&max_it_kilowatts=200&max_racks=5&parameters=3.4e10&tokens=5e11&v=1"),
)  # fmt: skip
MAX_LINK_LENGTH = 1500  # of a QR code that cameras still read, and of an address that is embedded
SAME_LOSS = 1e-9
DEDICATED = "virtualized_dedicated"
SEVERITIES = ("blocks", "check", "note")
CHECK_ORDER = (*SEVERITIES, "ok")
OWNERSHIP_TABLE_ROWS = 13
DOWNLOADS = ("pdf", "xlsx", "csv", "json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Charts:
    memory: charts.MemoryChart
    step: charts.StepChart | None
    scaling: charts.ScalingChart | None
    ownership: charts.OwnershipChart | None
    pareto: charts_choice.ParetoChart | None
    topology: charts_choice.Topology | None
    deployment: charts_choice.DeploymentBars | None


def result_context(
    answer: Mapping[str, Any], *, checked: CheckedRecommendation, query: str, origin: str
) -> dict[str, Any]:
    """Context of `advisor/result/*`: `query` is the canonical query string, `origin` the site's scheme and host."""
    deadline_seconds = checked.deadline_seconds
    best = answer["recommended"]
    compared = candidates(answer)
    nearest_rejections, other_rejections = fallen_out(answer, compared)
    rows = assumption_rows(answer, query)
    sizing_url = f"{origin}{reverse('advisor:sizing')}?{query}"
    share_url = f"{sizing_url}&{urlencode({'seen': token(key_figures(answer))})}"
    context: dict[str, Any] = {
        "answer": answer,
        "deadline_seconds": deadline_seconds,
        "asked_parameter_count": asked_parameter_count(checked, answer),
        "asked_model_type": _asked_model_type(checked),
        "compare_url": f"{reverse('advisor:compare')}?{query}",
        "canonical_url": sizing_url,
        "api_url": _api_url(origin, query),
        "quote_links": quote_links(pinned_query(query, best)) if best else [],
        "share_url": share_url,
        "recent_title": _recent_title(checked, answer),
        "mail_url": _mail_url(share_url, answer),
        "qr_url": (
            f"{reverse('advisor:share-qr')}?{urlsplit(share_url).query}" if len(share_url) <= MAX_LINK_LENGTH else ""
        ),
        "oembed_url": f"{origin}{reverse('advisor:oembed')}?{urlencode({'url': sizing_url, 'format': 'json'})}",
        "canonical_query": query,
        "scenario_compare_url": f"{reverse('advisor:compare')}?{urlencode({'s': query})}",
        "request_quote_url": _optional("request-quote", query),
        "more_links": _more_links(query),
        "downloads": [
            {"kind": kind.upper(), "url": f"{reverse('advisor:download', args=[kind])}?{query}"} for kind in DOWNLOADS
        ],
        "problems": sorted(answer["problems"], key=lambda problem: SEVERITIES.index(problem["severity"])),
        "announcement": _announcement(answer),
        "headline_title": _title(best),
        "candidates": compared,
        "nearest_rejections": [(row["gpu_name"], without_name(row)) for row in nearest_rejections],
        "other_rejections": other_rejections,
        "leading_assumptions": [row for row in rows if row.is_leading],
        "folded_assumptions": [row for row in rows if not row.is_leading],
        "changed_assumption_count": sum(row.is_changed for row in rows),
    }
    if not best:
        return context | {"relaxations": [(problem, _relaxed(problem, query)) for problem in context["problems"]]}
    rent_or_buy = answer["rent_or_buy"]
    leading_prices, folded_prices = leading_rows(price_rows(best))
    comparison = answer["deployment_comparison"]
    return context | {
        "charts": Charts(
            memory=charts.memory_chart(best["estimate"]["memory_per_gpu"]),
            step=charts.step_chart(best["estimate"]["time"]),
            scaling=charts.scaling_chart(
                answer["scaling"],
                chosen_gpu_count=best["gpu_count"],
                deadline_seconds=deadline_seconds,
                range_seconds=_range(best["estimate"]["time"]),
            ),
            ownership=charts.ownership_chart(rent_or_buy) if rent_or_buy else None,
            pareto=charts_choice.pareto_chart(answer["pareto"], best, deadline_seconds=deadline_seconds),
            topology=charts_choice.topology(best["network"], best["server_count"]),
            deployment=charts_choice.deployment_bars(comparison),
        ),
        "limits": (found_limits := limits(answer, checked)),
        "next_limit": next((limit for limit in found_limits if not limit.is_binding), None),
        "reasons": reasons(best, answer["alternatives"], deadline_seconds=deadline_seconds),
        "tornado": tornado(answer.get("sensitivity"), _origins(rows, query)),
        "token_table": token_table(answer.get("sensitivity")),
        "calculation": calculation(answer, deadline_seconds=deadline_seconds),
        "checks": sorted(best["checks"], key=lambda check: CHECK_ORDER.index(check["severity"])),
        "excluded": exclusions(answer),
        "quality": validation_headline(),
        "leading_prices": leading_prices,
        "folded_prices": folded_prices,
        "missing_prices": missing_prices(best),
        "price_books": _price_books(best),
        "total_server_count": best["server_count"] + best["spare_server_count"],
        "loss_presets": _loss_presets(query, comparison) if comparison else [],
        "has_deployment_gap": _has_gap(comparison),
        **_loss_form(query, comparison),
        "checks_summary": _checks_summary(best["checks"]),
        "ownership_rows": _ownership_rows(rent_or_buy) if rent_or_buy else [],
    }


def _relaxed(problem: Mapping[str, Any], query: str) -> str:
    """Address of the case with the change that a problem names; empty where it names no single value."""
    params = problem["params"]
    if problem["code"] == "relax_deadline" and isinstance(params.get("training_seconds"), float | int):
        seconds = params.get("deadline_seconds", params["training_seconds"])
        name, value = "deadline_days", math.ceil(seconds / SECONDS_PER_DAY)
    elif problem["code"] in ("relax_budget", "over_budget_tokens", "over_budget_purchase") and "amount" in params:
        name, value = "budget", params["amount"]
    elif problem["code"] == "relax_max_gpu_count" and isinstance(params.get("gpu_count"), int):
        name, value = "max_gpu_count", params["gpu_count"]
    else:
        return ""
    rest = [pair for pair in parse_qsl(query) if pair[0] != name]
    return f"{reverse('advisor:sizing')}?{urlencode(sorted([*rest, (name, str(value))]))}"


def asked_parameter_count(checked: CheckedRecommendation, answer: Mapping[str, Any]) -> float:
    """The count as asked for; an inferred shape differs from it by up to a percent and is shown beside."""
    return float(checked.model.parameters or answer["model"]["parameter_count"])


def _asked_model_type(checked: CheckedRecommendation) -> str:
    """Of the user's own config.json; empty where the model is named in another way."""
    return "" if checked.model.config is None else str(checked.model.config.get("model_type", ""))


def _title(best: Mapping[str, Any] | None) -> str:
    return f"{best['gpu_count']} × {best['gpu_name']}" if best else ""


def _recent_title(checked: CheckedRecommendation, answer: Mapping[str, Any]) -> str:
    """The case and its answer in one line, for the list that the visitor's browser keeps."""
    best, tokens = answer["recommended"], answer["training"]["tokens"]
    asked = [figures.format_si_count(asked_parameter_count(checked, answer))]
    if model_type := _asked_model_type(checked):
        asked.append(model_type)
    if tokens:
        asked.append(_("%(tokens)s tokens") % {"tokens": figures.format_si_count(tokens)})
    seconds = best["estimate"]["time"]["training_seconds"] if best else None
    found = [_title(best), figures.format_training_time(seconds) if seconds else ""]
    return f"{' · '.join(asked)} → {pgettext('between items', ', ').join(filter(None, found))}"


def _mail_url(link: str, answer: Mapping[str, Any]) -> str:
    """A mail of one's own program, with the estimate in its subject and the link in its text."""
    said = headline(answer)
    fields = {"subject": said, "body": "\r\n".join((said, link))}
    return f"mailto:?{urlencode(fields, quote_via=quote)}"


def _announcement(answer: Mapping[str, Any]) -> str:
    """What a screen reader hears after an update."""
    best = answer["recommended"]
    if not best:
        return _("Result updated: no configuration meets these conditions.")
    seconds = best["estimate"]["time"]["training_seconds"]
    if seconds is None:
        return _("Result updated: %(count)s GPUs.") % {"count": best["gpu_count"]}
    return _("Result updated: %(count)s GPUs, %(days)s.") % {
        "count": best["gpu_count"],
        "days": figures.format_training_time(seconds),
    }


def _checks_summary(checks: list[Mapping[str, Any]]) -> str:
    """Counts by severity: `2 to check before order, 5 notes`."""
    counts = Counter(check["severity"] for check in checks)
    words = [
        ngettext("%(count)s blocks", "%(count)s block", counts["blocks"]) % {"count": counts["blocks"]},
        _("%(count)s to check before order") % {"count": counts["check"]},
        ngettext("%(count)s note", "%(count)s notes", counts["note"]) % {"count": counts["note"]},
    ]
    shown = [word for word, severity in zip(words, ("blocks", "check", "note"), strict=True) if counts[severity]]
    return pgettext("between items", ", ").join(shown)


def _api_url(origin: str, query: str) -> str:
    try:
        return f"{origin}{reverse('recommendations')}?{query}"
    except NoReverseMatch:
        return ""


def _optional(name: str, query: str) -> str:
    """Address of a page that another part of the site may have; empty where it has not."""
    try:
        return f"{reverse(name)}?{query}"
    except NoReverseMatch:
        return ""


def _more_links(query: str) -> list[dict[str, str]]:
    pages = [
        ("market:offers", _("Other offers"), _("Compare what others offer, by the cost of the finished run")),
        ("market:upgrade", _("An existing cluster"), _("What to add to servers that you have")),
    ]
    found = [{"url": _optional(name, query), "title": title, "label": label} for name, title, label in pages]
    return [link for link in found if link["url"]]


def pinned_query(query: str, best: Mapping[str, Any]) -> str:
    """The case with the cluster that its answer shows: what is cheapest to buy may be another than to rent."""
    rest = [pair for pair in parse_qsl(query) if pair[0] not in {"gpu", "gpu_count"}]
    return urlencode(sorted([*rest, ("gpu", best["gpu"]), ("gpu_count", str(best["gpu_count"]))]))


def quote_links(query: str, *, scenario: str = "") -> list[dict[str, str]]:
    """Links to a rental and a purchase quote of the case, with the id of the saved scenario that it is."""
    try:
        target = reverse("quotes:new")
    except NoReverseMatch:
        return []
    bare = urlencode([pair for pair in parse_qsl(query) if pair[0] != "basis"])
    bare += f"&scenario={scenario}" if scenario else ""
    return [
        {"url": f"{target}?{bare}&basis=rental", "label": _("Make a rental quote")},
        {"url": f"{target}?{bare}&basis=purchase", "label": _("Make a purchase quote")},
    ]


def _price_books(best: Mapping[str, Any]) -> list[dict[str, Any]]:
    words = {"rental": _("Rental"), "purchase": _("Purchase")}
    return [
        dict(best["prices"][basis]["price_book"], label=word)
        for basis, word in words.items()
        if best["prices"][basis] is not None
    ]


def _loss_presets(query: str, comparison: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The answer's own presets, each with a link to the same case at that loss."""
    rest = _virtualized(query)
    current = comparison.get("throughput_loss")
    rows = []
    for preset in comparison["presets"]:
        loss = preset["throughput_loss"]
        link = urlencode(sorted([*rest, ("throughput_loss", f"{loss:g}")]))
        rows.append(
            dict(
                preset,
                url=f"{reverse('advisor:sizing')}?{link}",
                percent=f"{100 * loss:g}",
                is_current=current is not None and abs(current - loss) < SAME_LOSS,
            )
        )
    return rows


def _virtualized(query: str) -> list[tuple[str, str]]:
    """The case without its loss, on virtual machines: a loss has no place on bare metal."""
    pairs = [pair for pair in parse_qsl(query) if pair[0] != "throughput_loss"]
    return pairs if any(name == "profile" for name, _code in pairs) else [*pairs, ("profile", DEDICATED)]


def _loss_form(query: str, comparison: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the slider of the loss starts from, and the rest of the case that its form sends along."""
    if not comparison:
        return {}
    bare = comparison["bare_metal"]["training_days"]
    on_metal = [pair for pair in parse_qsl(query) if pair[0] not in {"throughput_loss", "profile"}]
    is_virtual = len(on_metal) < len(parse_qsl(query))
    return {
        "bare_metal_url": f"{reverse('advisor:sizing')}?{urlencode(on_metal)}" if is_virtual else "",
        "loss_percent": f"{100 * (comparison['throughput_loss'] or 0):g}",
        "loss_pairs": _virtualized(query),
        "bare_seconds": None if bare is None else bare * SECONDS_PER_DAY,
    }


def _origins(rows: list[AssumptionRow], query: str) -> dict[str, str]:
    """Where each varied input comes from, as the list of assumptions says it; the question itself is the user's."""
    asked = {"training_tokens" if name == "tokens" else name: "user" for name, _value in parse_qsl(query)}
    return asked | {row.name: row.origin for row in rows}


def _range(time: Mapping[str, Any]) -> tuple[float, float] | None:
    low, high = time["training_seconds_low"], time["training_seconds_high"]
    return None if low is None or high is None else (low, high)


def _has_gap(comparison: Mapping[str, Any] | None) -> bool:
    return bool(
        comparison
        and comparison["throughput_loss"]
        and comparison["bare_metal"]["training_days"] is not None
        and comparison["virtualized"]["training_days"] is not None
    )


def _ownership_rows(comparison: Mapping[str, Any]) -> list[dict[str, float]]:
    """Every n-th month, so that the table stays near a dozen rows; the last month always."""
    rows = [
        {"month": month, "rental": rental, "purchase": purchase}
        for month, rental, purchase in zip(
            comparison["months"], comparison["rental_cumulative"], comparison["purchase_cumulative"], strict=True
        )
    ]
    stride = max(1, -(-len(rows) // OWNERSHIP_TABLE_ROWS))
    return [row for index, row in enumerate(rows) if index % stride == 0 or index == len(rows) - 1]
