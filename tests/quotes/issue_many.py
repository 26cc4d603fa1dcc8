"""Issues many quotes at once; run as a program on a database of its own (`DATABASE_URL`).

    python -m tests.quotes.issue_many migrate          make the tables
    python -m tests.quotes.issue_many prepare COUNT    make COUNT drafts
    python -m tests.quotes.issue_many issue FROM TO    issue drafts FROM..TO, each in a thread of its own
    python -m tests.quotes.issue_many hang INDEX       begin to issue one draft and never finish rendering
    python -m tests.quotes.issue_many kills             die at each point of an issue in turn, then issue all drafts
    python -m tests.quotes.issue_many report           what the database holds, as JSON

The renderer is a stand-in that gives a few bytes: what is tried here is the numbering, not the paper.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from decimal import Decimal

LEASE_SECONDS = 3.0
WAIT_SECONDS = 200.0  # fifty in line on a busy machine


def _setup() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()
    from quotes import numbers

    numbers.LEASE_SECONDS, numbers.WAIT_SECONDS = LEASE_SECONDS, WAIT_SECONDS


def _actor():
    from django.contrib.auth.models import User

    from quotes import access

    return access.actor_of(User.objects.get(username="alice"))


def _drafts():
    from quotes.models import QuoteRevision

    return list(QuoteRevision.objects.order_by("pk"))


def migrate() -> None:
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def prepare(count: int) -> None:
    from quotes.samples import sample_customer, seed_parties
    from tests import factories
    from tests.quotes.drafts import make_draft

    seed_parties()
    factories.alice()
    actor = _actor()
    for _ in range(count):
        make_draft(actor, customer=sample_customer(0), lines=[("1", Decimal("100.00"), "0.13")])


def issue(first: int, last: int) -> None:
    from django.db import connection

    from quotes.services import quote_issue

    drafts, actor = _drafts()[first:last], _actor()
    barrier = threading.Barrier(len(drafts))
    failures: list[str] = []
    holds: list[float] = []

    def render(snapshot):
        time.sleep(0.01)
        return f"%PDF {snapshot['number']}".encode()

    def run(draft) -> None:
        barrier.wait()
        started = time.monotonic()
        try:
            quote_issue(actor=actor, revision=draft, render=render)
        except Exception as error:
            failures.append(repr(error))
        finally:
            holds.append(time.monotonic() - started)
            connection.close()

    threads = [threading.Thread(target=run, args=(draft,)) for draft in drafts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.stdout.write(json.dumps({"failures": failures, "slowest": max(holds)}))


def hang(index: int) -> None:
    from quotes.services import quote_issue

    def render(snapshot):
        sys.stdout.write(f"{snapshot['number']}\n")
        sys.stdout.flush()
        time.sleep(600)
        return b""

    quote_issue(actor=_actor(), revision=_drafts()[index], render=render)


def kills() -> None:
    """For each point a process of its own that issues draft 0, 1, ... and kills itself there; then all are issued.

    Points before the commit leave nothing, the one behind it leaves the whole quote.
    """
    from django.db import connection

    from quotes import numbers
    from quotes.services import quote_issue

    numbers.LEASE_SECONDS = 0.5  # the claim of a dead worker has to lapse before the next one
    actor, drafts = _actor(), _drafts()
    for index, point in enumerate(KILL_POINTS):
        connection.close()
        child = os.fork()
        if child == 0:
            _die_while_issuing(point, drafts[index], actor)
            os._exit(3)  # it was meant to be dead
        _pid, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), (point, status)
        sys.stdout.write(f"{point} {_stored(drafts[index])}\n")
    for draft in drafts:
        draft.refresh_from_db()
        if draft.state == "draft":
            quote_issue(actor=actor, revision=draft, render=lambda snapshot: f"%PDF {snapshot['number']}".encode())


KILL_POINTS = ("held", "rendering", "taken", "stored", "logged", "committed")


def _stored(draft) -> str:
    draft.refresh_from_db()
    return f"{draft.state} {draft.number or '-'}"


def _die_while_issuing(point: str, draft, actor) -> None:
    """Issue with a trap: the process kills itself with SIGKILL where `point` says."""
    import signal

    from quotes import numbers
    from quotes.models import QuoteDocument
    from quotes.services import issuing

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def trapped(call, *, before: bool = False):
        def wrapper(*args, **kwargs):
            if before:
                die()
            call(*args, **kwargs)
            die()

        return wrapper

    def render(snapshot):
        if point == "rendering":
            die()
        return f"%PDF {snapshot['number']}".encode()

    if point == "held":
        issuing.snapshot.build = trapped(issuing.snapshot.build, before=True)
        issuing.issue_faults = lambda *args: ()
        issuing.require_approval = lambda *args: ()
    elif point == "taken":
        numbers.take = trapped(numbers.take)
    elif point == "stored":
        QuoteDocument.objects.create = trapped(QuoteDocument.objects.create)
    elif point == "logged":  # everything written, nothing committed
        issuing.log = trapped(issuing.log)
    issuing.quote_issue(actor=actor, revision=draft, render=render)
    die()  # committed, and not yet said to anyone


def report() -> None:
    from quotes.models import NumberSeries, QuoteDocument, QuoteRevision
    from quotes.numbers import check_series

    revisions = list(QuoteRevision.objects.select_related("quote").order_by("pk"))
    sys.stdout.write(
        json.dumps(
            {
                "states": [revision.state for revision in revisions],
                "numbers": [revision.number for revision in revisions],
                "quote_numbers": [revision.quote.number for revision in revisions],
                "documents": {
                    document.revision.number: bytes(document.pdf).decode()
                    for document in QuoteDocument.objects.select_related("revision")
                },
                "snapshot_numbers": [json.loads(r.snapshot)["number"] for r in revisions if r.snapshot],
                "is_whole": all(report.is_whole for report in check_series()),
                "next": NumberSeries.objects.get().next_value,
            }
        )
    )


VERBS = {
    "migrate": (migrate, 0),
    "prepare": (prepare, 1),
    "issue": (issue, 2),
    "hang": (hang, 1),
    "kills": (kills, 0),
    "report": (report, 0),
}

if __name__ == "__main__":
    _setup()
    words = sys.argv[1:]
    while words:  # several verbs one after the other, because starting up takes longest
        act, count = VERBS[words[0]]
        act(*map(int, words[1 : 1 + count]))
        words = words[1 + count :]
