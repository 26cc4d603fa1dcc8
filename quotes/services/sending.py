"""The outbox: mails are stored with the change that causes them, and sent afterwards, again if need be.

Delivery is at least once. A worker that dies between the server's word and ours leaves the row held; when the hold
ends, the mail goes out a second time under the same Message-ID. Nothing is lost, and at most one copy is surplus for
each death.
"""

from __future__ import annotations

import base64
import logging
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.core.mail import BadHeaderError, EmailMessage, get_connection
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac

from quotes import access, files
from quotes.mail_failures import Failure, failure_of
from quotes.mail_texts import LINK_PLACE, header_text
from quotes.models import CustomerLink, MailKind, MailState, OutboxMail, link_digest
from quotes.services.log import locked, log
from quotes.states import LIVE_STATES, Action, State, state_after

logger = logging.getLogger(__name__)
RETRY_AFTER = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=30), timedelta(hours=2))
HOLD = timedelta(minutes=10)  # longer than any exchange with a server takes
MAX_TRIES = 10  # a mail whose sending kills its worker each time
SERVER_TIMEOUT_SECONDS = 10
UNREACHABLE_KEY = "mail:server-unreachable"
UNREACHABLE_SECONDS = 60


def link_token(nonce: str) -> str:
    """The customer's token of a mail: 256 bits, derived from what is stored and from the site's key."""
    digest = salted_hmac("quotes.mail-link", nonce, algorithm="sha256").digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def new_nonce() -> str:
    return secrets.token_urlsafe(24)


def mail_store(mails: Iterable[OutboxMail]) -> list[OutboxMail]:
    """Put mails into the outbox, in the transaction of their cause; they are tried once right after it.

    Raises `HeaderRefusedError` or `ValidationError` for what cannot be an address or a header.
    """
    stored = []
    for mail in mails:
        validate_email(header_text(mail.recipient))
        mail.subject, mail.reply_to = header_text(mail.subject), header_text(mail.reply_to)
        mail.save(force_insert=True)
        stored.append(mail)
    keys = [mail.pk for mail in stored]
    transaction.on_commit(lambda: _try_at_once(keys))
    return stored


def mail_retry(*, actor: access.Actor, mail: OutboxMail) -> OutboxMail:
    """Try a failed mail anew, with all its tries; what was accepted is not sent again."""
    if actor.user is None or not access.may_create(actor.user):
        raise access.NotAllowedError("Sending again needs another role.")
    changed = OutboxMail.objects.filter(pk=mail.pk, state=MailState.FAILED).update(
        state=MailState.QUEUED,
        tries=0,
        next_try_at=timezone.now(),
        held_until=None,
        finished_at=None,
    )
    if changed:
        transaction.on_commit(lambda: deliver(mail.pk))
    mail.refresh_from_db()
    return mail


def deliver_due(now: datetime | None = None, *, limit: int = 100) -> list[OutboxMail]:
    """Try every mail that is due; returns those that were tried, as they are afterwards."""
    moment = now or timezone.now()
    due = list(_due(moment).order_by("next_try_at").values_list("pk", flat=True)[:limit])
    return [mail for pk in due if (mail := deliver(pk, moment)) is not None]


def deliver(pk: int, now: datetime | None = None) -> OutboxMail | None:
    """Try one mail, unless another worker has it or it is not due."""
    moment = now or timezone.now()
    if not _due(moment).filter(pk=pk).update(tries=F("tries") + 1, held_until=moment + HOLD):
        return None
    mail = OutboxMail.objects.select_related("revision__quote", "created_by").get(pk=pk)
    failure = _send(mail, moment) if mail.tries <= MAX_TRIES else Failure(reason="gave_up", is_final=True)
    if failure is None:
        _record_accepted(mail)
    else:
        _record_failure(mail, failure, moment)
    return mail


def _link(mail: OutboxMail) -> str:
    return settings.PUBLIC_URL + reverse("customer:quote", args=[link_token(mail.link_nonce)])


def _due(now: datetime) -> QuerySet[OutboxMail]:
    return OutboxMail.objects.filter(state=MailState.QUEUED, next_try_at__lte=now).filter(
        Q(held_until__isnull=True) | Q(held_until__lte=now)
    )


def _try_at_once(keys: list[int]) -> None:
    """The first try, in the request that caused the mail; a silent server holds up one request a minute, not all."""
    for key in keys:
        if cache.get(UNREACHABLE_KEY):
            return
        try:
            deliver(key)
        except Exception:  # the change is stored and the mail too: whoever waits for the page is not to pay for it
            logger.exception("mail %s: the first try broke off", key)


def _send(mail: OutboxMail, now: datetime) -> Failure | None:
    revision = mail.revision
    if mail.kind == MailKind.QUOTE and revision is not None and revision.effective_state(now) not in LIVE_STATES:
        return Failure(reason="not_open", is_final=True)
    if mail.link_nonce and not _opens(mail):
        return Failure(reason="link_closed", is_final=True)
    try:
        message = _message(mail)
        if not message.send():
            return Failure(reason="not_taken", is_final=False)
    except (BadHeaderError, ValidationError, UnicodeError):
        return Failure(reason="header", is_final=True)
    except files.DamagedDocumentError:
        return Failure(reason="document_damaged", is_final=True)
    except Exception as error:  # whatever a mail library raises: the mail stays, with the reason
        failure = failure_of(error)
        if failure.is_unreachable:
            cache.set(UNREACHABLE_KEY, True, UNREACHABLE_SECONDS)
        else:
            logger.warning("mail %s was not taken: %s", mail.pk, failure.reason)
        return failure
    return None


def _opens(mail: OutboxMail) -> bool:
    """Whether the link of the mail leads anywhere: not closed meanwhile, and made under the key that the site has."""
    digest = link_digest(link_token(mail.link_nonce))
    return CustomerLink.objects.filter(revision=mail.revision, token_sha256=digest, revoked_at__isnull=True).exists()


def _message(mail: OutboxMail) -> EmailMessage:
    domain = mail.reply_to.rpartition("@")[2] or "quotes.invalid"
    message = EmailMessage(
        subject=mail.subject,
        body=mail.body.replace(LINK_PLACE, _link(mail), 1) if mail.link_nonce else mail.body,
        to=[mail.recipient],
        reply_to=[mail.reply_to] if mail.reply_to else None,
        headers={"Message-ID": f"<{mail.message_id}@{domain}>", "Auto-Submitted": "auto-generated"},
        connection=get_connection(timeout=SERVER_TIMEOUT_SECONDS),
    )
    if mail.has_document and mail.revision is not None:
        content = files.document_bytes(mail.revision)
        message.attach(files.file_name(mail.revision), content, "application/pdf")
    return message


def _record_accepted(mail: OutboxMail) -> None:
    with transaction.atomic():
        mail.state, mail.finished_at, mail.held_until, mail.failure = MailState.ACCEPTED, timezone.now(), None, ""
        mail.save(update_fields=["state", "finished_at", "held_until", "failure"])
        if mail.kind == MailKind.QUOTE:
            _record_sent(mail)


def _record_sent(mail: OutboxMail) -> None:
    """The quote counts as sent from the first recipient on whose server took it."""
    if mail.revision is None:
        return
    current = locked(mail.revision)
    before = current.effective_state(timezone.now())
    if before != State.ISSUED:
        return
    current.state = state_after(before, Action.MARK_SENT)
    current.save(update_fields=["state", "updated_at"])
    actor = access.Actor(user=mail.created_by, text="mail")
    log(
        actor,
        Action.MARK_SENT,
        current,
        before={"state": before},
        after={"state": current.state, "recipient": mail.recipient},
    )


def _record_failure(mail: OutboxMail, failure: Failure, now: datetime) -> None:
    mail.failure, mail.held_until = failure.reason, None
    if failure.is_final or mail.tries > len(RETRY_AFTER):
        mail.state, mail.finished_at = MailState.FAILED, now
    else:
        mail.next_try_at = now + RETRY_AFTER[mail.tries - 1]
    mail.save(update_fields=["failure", "held_until", "state", "finished_at", "next_try_at"])
