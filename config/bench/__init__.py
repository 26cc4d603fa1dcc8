"""What ./dev bench measures: one module a subject; every section runs in a process of its own."""

from __future__ import annotations
