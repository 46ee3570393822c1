"""What was typed, for commands that keep it beside their results."""

from __future__ import annotations

from contextvars import ContextVar

TYPED: ContextVar[tuple[str, ...]] = ContextVar("TYPED", default=())
