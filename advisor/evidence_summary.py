"""How good predictions are: medians over groups, percentiles over rows, floors, confusion counts. Pure arithmetic.

The error of a row is (predicted - published) / published. A group's error is the median of its rows' absolute errors;
the headline is the median over groups, so that a big sweep of one source does not decide it. Percentiles interpolate
linearly between rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from statistics import median

P90 = 0.9
CEILING_FRACTION = 0.95  # a figure this near to the card's size is a lower bound
SLICE_MIN_ROWS = 10
SLICE_MIN_SOURCES = 2


def percentile(values: Sequence[float], fraction: float) -> float:
    """Percentile by linear interpolation between the sorted values; ValueError without any."""
    if not values:
        raise ValueError("A percentile needs at least one value.")
    ordered = sorted(values)
    position = (len(ordered) - 1) * fraction
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def median_over_groups(errors: Iterable[tuple[str, float]]) -> float:
    """Median of the groups' median absolute errors, from (group, error) pairs."""
    groups: dict[str, list[float]] = defaultdict(list)
    for group, error in errors:
        groups[group].append(abs(error))
    return median([median(values) for values in groups.values()])


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRun:
    """A run beside its prediction; `predicted` None with the reason in `skipped`."""

    id: str
    group: str  # source/model
    source: str
    gpu: str
    generation: str
    model_kind: str
    precision: str
    is_full_layout: bool
    unmodelled: str
    note_cause: str
    twin_key: str
    published: float | None
    predicted: float | None
    skipped: str | None

    @property
    def error(self) -> float | None:
        """(predicted - published) / published, where both are known."""
        if self.skipped or not self.published or self.predicted is None:
            return None
        return self.predicted / self.published - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSummary:
    """Errors of a set of rows, as fractions; None where the set is empty."""

    count: int
    group_count: int
    source_count: int
    median_absolute_error: float | None
    row_median_absolute_error: float | None
    p90_absolute_error: float | None
    bias: float | None  # median of the signed errors
    mean_error: float | None


def error_summary(rows: Sequence[tuple[str, str, float]]) -> ErrorSummary:
    """Summary of (group, source, error) rows."""
    if not rows:
        return ErrorSummary(
            count=0,
            group_count=0,
            source_count=0,
            median_absolute_error=None,
            row_median_absolute_error=None,
            p90_absolute_error=None,
            bias=None,
            mean_error=None,
        )
    errors = [error for _, _, error in rows]
    absolute = [abs(error) for error in errors]
    return ErrorSummary(
        count=len(rows),
        group_count=len({group for group, _, _ in rows}),
        source_count=len({source for _, source, _ in rows}),
        median_absolute_error=median_over_groups((group, error) for group, _, error in rows),
        row_median_absolute_error=median(absolute),
        p90_absolute_error=percentile(absolute, P90),
        bias=median(errors),
        mean_error=sum(errors) / len(errors),
    )


def run_errors(rows: Iterable[ScoredRun]) -> list[tuple[str, str, float]]:
    """(group, source, error) of the rows that have one."""
    return [(row.group, row.source, row.error) for row in rows if row.error is not None]


def floor_differences(rows: Iterable[ScoredRun]) -> list[float]:
    """Relative differences between the published figures of rows that share every deciding column, pair by pair.

    No model of the columns can do better than about half of it on both rows of a pair.
    """
    twins: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row.published and row.published > 0:
            twins[row.twin_key].append(row.published)
    return [2 * abs(a - b) / (a + b) for values in twins.values() for a, b in combinations(values, 2)]


def run_slices(rows: Sequence[ScoredRun], key: Callable[[ScoredRun], str]) -> dict[str, dict[str, object]]:
    """Summaries by a property; `is_judged`: enough rows from enough sources to hold the slice to the target."""
    members: dict[str, list[ScoredRun]] = defaultdict(list)
    for row in rows:
        if row.error is not None:
            members[key(row)].append(row)
    slices: dict[str, dict[str, object]] = {}
    for name in sorted(members):
        summary = error_summary(run_errors(members[name]))
        judged = summary.count >= SLICE_MIN_ROWS and summary.source_count >= SLICE_MIN_SOURCES
        slices[name] = {**asdict(summary), "is_judged": judged}
    return slices


def summarize_runs(rows: Sequence[ScoredRun]) -> dict[str, object]:
    """Summary of a set of runs in the shape that the validation command prints."""
    differences = floor_differences(row for row in rows if row.skipped is None)
    return {
        **asdict(error_summary(run_errors(rows))),
        "skipped": sum(row.error is None for row in rows),
        "floor_median": median(differences) if differences else None,
        "floor_p90": percentile(differences, P90) if differences else None,
        "floor_pair_count": len(differences),
        "by_gpu": run_slices(rows, lambda row: row.gpu),
        "by_generation": run_slices(rows, lambda row: row.generation),
        "by_model_kind": run_slices(rows, lambda row: row.model_kind),
        "by_precision": run_slices(rows, lambda row: row.precision),
        "by_source": run_slices(rows, lambda row: row.source),
    }


def run_report(rows: Sequence[ScoredRun]) -> dict[str, object]:
    """Headline over full-layout rows that the evidence does not mark as unmodelled; those, and all rows, apart.

    Rows whose notes name a cause that no column carries are listed too, but stay in the headline.
    """
    modelled = [row for row in rows if not row.unmodelled]
    return {
        "summary": summarize_runs([row for row in modelled if row.is_full_layout]),
        "summary_all_rows": summarize_runs(modelled),
        "unmodelled": [
            {"id": row.id, "cause": row.unmodelled, "relative_error": row.error} for row in rows if row.unmodelled
        ],
        "named_in_notes": [
            {"id": row.id, "cause": row.note_cause, "relative_error": row.error} for row in modelled if row.note_cause
        ],
    }


# --- memory -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredMemory:
    """A memory outcome beside its prediction, in bytes."""

    id: str
    group: str
    source: str
    kind: str  # measured_peak | fits | oom
    measure: str
    method: str
    recipe: str
    is_complete: bool
    is_at_ceiling: bool
    outcome_cause: str
    note_cause: str
    card_bytes: float | None
    published_peak: float | None
    predicted_peak: float | None
    predicted_fits: bool | None
    skipped: str | None

    @property
    def published_fits(self) -> bool | None:
        """What the source says of a fits or oom row."""
        return {"fits": True, "oom": False}.get(self.kind)

    @property
    def error(self) -> float | None:
        """Error of a measured peak below the card's ceiling and without a cause of its own."""
        if self.kind != "measured_peak" or self.is_at_ceiling or self.outcome_cause or self.skipped:
            return None
        if not self.published_peak or self.predicted_peak is None:
            return None
        return self.predicted_peak / self.published_peak - 1


def memory_errors(rows: Iterable[ScoredMemory]) -> list[tuple[str, str, float]]:
    """(group, source, error) of the measured peaks that can be compared."""
    return [(row.group, row.source, row.error) for row in rows if row.error is not None]


def confusion(rows: Iterable[ScoredMemory]) -> dict[str, object]:
    """Right and wrong answers on fits and oom rows; rows with a cause of their own are not counted here."""
    counts: dict[str, dict[str, int]] = {"fits": {"right": 0, "wrong": 0}, "oom": {"right": 0, "wrong": 0}}
    for row in rows:
        if row.published_fits is None or row.predicted_fits is None or row.outcome_cause or row.skipped:
            continue
        answer = "right" if row.published_fits == row.predicted_fits else "wrong"
        counts[row.kind][answer] += 1
    right = counts["fits"]["right"] + counts["oom"]["right"]
    total = right + counts["fits"]["wrong"] + counts["oom"]["wrong"]
    oom_total = counts["oom"]["right"] + counts["oom"]["wrong"]
    return {
        **counts,
        "count": total,
        "right_fraction": right / total if total else None,
        "oom_called_fits_fraction": counts["oom"]["wrong"] / oom_total if oom_total else None,
    }


def ceiling_counts(rows: Iterable[ScoredMemory]) -> dict[str, object]:
    """Rows at the card's ceiling: the prediction must reach 95 % of the card too."""
    right, wrong = 0, []
    for row in rows:
        if not row.is_at_ceiling or row.kind != "measured_peak" or row.skipped or row.outcome_cause:
            continue
        if row.predicted_peak is None or not row.card_bytes:
            continue
        if row.predicted_peak >= CEILING_FRACTION * row.card_bytes:
            right += 1
        else:
            wrong.append(row.id)
    return {"right": right, "wrong": len(wrong), "wrong_ids": wrong}


def _memory_slices(rows: Sequence[ScoredMemory], key: Callable[[ScoredMemory], str]) -> dict[str, dict[str, object]]:
    members: dict[str, list[ScoredMemory]] = defaultdict(list)
    for row in rows:
        if row.error is not None:
            members[key(row)].append(row)
    return {name: asdict(error_summary(memory_errors(members[name]))) for name in sorted(members)}


def summarize_memory(rows: Sequence[ScoredMemory]) -> dict[str, object]:
    """Summary of a set of memory rows in the shape that the validation command prints."""
    return {
        **asdict(error_summary(memory_errors(rows))),
        "skipped": sum(row.skipped is not None for row in rows),
        "by_measure": _memory_slices(rows, lambda row: row.measure),
        "by_method": _memory_slices(rows, lambda row: row.method),
        "by_recipe": _memory_slices(rows, lambda row: row.recipe),
        "by_source": _memory_slices(rows, lambda row: row.source),
        "fits": confusion(rows),
        "ceiling": ceiling_counts(rows),
    }


def memory_report(rows: Sequence[ScoredMemory]) -> dict[str, object]:
    """Headline over complete rows; all rows, and outcomes with a cause of their own, apart.

    Rows whose notes name a cause that no column carries are listed too, but stay in the headline.
    """
    return {
        "summary": summarize_memory([row for row in rows if row.is_complete]),
        "summary_all_rows": summarize_memory(rows),
        "outcome_cause": [_cause(row, row.outcome_cause) for row in rows if row.outcome_cause],
        "named_in_notes": [_cause(row, row.note_cause) for row in rows if row.note_cause and not row.outcome_cause],
    }


def _cause(row: ScoredMemory, cause: str) -> Mapping[str, object]:
    return {
        "id": row.id,
        "cause": cause,
        "relative_error": row.error,
        "published_fits": row.published_fits,
        "predicted_fits": row.predicted_fits,
    }
