"""Saved scenarios: who sees them, and what can be done with them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, QueryDict

from advisor.answer_changes import Changes, changes, key_figures
from advisor.answer_tables import headline
from advisor.answers import RecommendationAnswer
from advisor.input_fields import BY_QUERY
from advisor.input_types import InputError
from advisor.inputs import body_from_query, parse_recommendation_request, query_from_body
from advisor.models import MAX_NAME, MAX_NOTE, Scenario
from advisor.services import scenario_search

MAX_TAGS = 8
MAX_TAG_LENGTH = 30
AnyUser = AbstractBaseUser | AnonymousUser


def may_save(user: AnyUser) -> bool:
    return isinstance(user, User) and user.is_active and user.is_staff


def scenarios_of(user: AnyUser) -> QuerySet[Scenario]:
    """One's own; a superuser sees all. Others' are as if they did not exist."""
    if not may_save(user):
        return Scenario.objects.none()
    found = Scenario.objects.select_related("owner")
    return found if getattr(user, "is_superuser", False) else found.filter(owner_id=user.pk)


def scenario_for(user: AnyUser, public_id: uuid.UUID) -> Scenario:
    found = scenarios_of(user).filter(public_id=public_id).first()
    if found is None:
        raise Http404("No such scenario.")
    return found


def scenario_asking(user: AnyUser, public_id: str, query: QueryDict) -> Scenario | None:
    """The saved scenario of this id, if the user sees it and it asks what `query` asks; on what basis is left open."""
    try:
        found = scenarios_of(user).defer("answer").filter(public_id=uuid.UUID(public_id)).first()
    except ValueError:
        return None
    return found if found is not None and _question(QueryDict(found.query)) == _question(query) else None


def _question(query: QueryDict) -> dict[str, list[str]]:
    return {name: query.getlist(name) for name in query if name in BY_QUERY and name != "basis"}


def clean_tags(text: str) -> list[str]:
    """`70B, trial` as tags: trimmed, each once, in order; commas of both scripts divide."""
    words = (word.strip()[:MAX_TAG_LENGTH] for word in text.replace("，", ",").replace("、", ",").split(","))
    return list(dict.fromkeys(word for word in words if word))[:MAX_TAGS]


def answer_to(query: str) -> tuple[RecommendationAnswer, str]:
    """The answer to a query string of the sizing page now, and the string in its canonical form. Raises InputError."""
    body = body_from_query(QueryDict(query))
    return scenario_search(checked=parse_recommendation_request(body)), query_from_body(body)


def scenario_save(*, owner: User, name: str, query: str, tags: Iterable[str] = (), note: str = "") -> Scenario:
    """Raises InputError where the query cannot be answered: only what has an answer is kept."""
    answer, canonical = answer_to(query)
    return Scenario.objects.create(
        owner=owner,
        name=(name.strip() or headline(answer))[:MAX_NAME],
        tags=list(tags),
        note=note[:MAX_NOTE],
        query=canonical,
        headline=headline(answer)[:300],
        answer=answer,
        engine_version=answer["engine_version"],
        catalog_revision=answer["catalog_revision"],
    )


@transaction.atomic
def scenario_duplicate(*, scenario: Scenario, owner: User, name: str) -> Scenario:
    """The same question and the answer of then, for whoever asks; not archived."""
    return Scenario.objects.create(
        owner=owner,
        name=name[:MAX_NAME],
        tags=scenario.tags,
        note=scenario.note,
        query=scenario.query,
        headline=scenario.headline,
        answer=scenario.answer,
        engine_version=scenario.engine_version,
        catalog_revision=scenario.catalog_revision,
    )


def scenario_edit(*, scenario: Scenario, name: str, tags: Iterable[str], note: str) -> None:
    scenario.name, scenario.tags, scenario.note = name.strip()[:MAX_NAME] or scenario.name, list(tags), note[:MAX_NOTE]
    scenario.save(update_fields=["name", "tags", "note", "changed_at"])


def scenario_archive(*, scenario: Scenario, is_archived: bool) -> None:
    scenario.is_archived = is_archived
    scenario.save(update_fields=["is_archived", "changed_at"])


def scenario_changes(scenario: Scenario) -> Changes | None:
    """What has changed since it was saved; None where its question is no longer understood."""
    try:
        answer, _query = answer_to(scenario.query)
    except InputError:
        return None
    return changes(key_figures(scenario.answer), key_figures(answer))
