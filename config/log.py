"""Every line of the log names the request that it belongs to."""

from __future__ import annotations

import logging
from contextvars import ContextVar

request_id_of_context: ContextVar[str] = ContextVar("request_id", default="-")


class RequestIdFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id_of_context.get()
        return True
