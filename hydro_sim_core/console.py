"""Console and log format through which nothing but text of ours reaches a terminal."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from hydro_sim_core.errors import printable


class PrintableConsole(Console):
    """Console that escapes control characters in what it prints, as names of strangers' files may hold them.

    The colours and cursor movements that rich itself writes are not text and stay.
    """

    def render_str(self, text: str, **options: Any) -> Text:  # type: ignore[override]
        """Text of a string, as wide as it will be shown."""
        return super().render_str(printable(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Segments of a renderable."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)


class PrintableFormatter(logging.Formatter):
    """Log format with each message on one line and without control characters; tracebacks stay as they are."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        record.message = printable(record.message.replace("\n", " "))
        return super().formatMessage(record)
