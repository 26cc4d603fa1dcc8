"""The sizing engine: pure Python and numpy; no Django, no input or output, no clock, no randomness."""

from __future__ import annotations

ENGINE_VERSION = "0.3.0"
