"""The blocks of a Markdown page, and what the page says of running them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[3]
#: The README and every page, also those of decisions.
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
)

_MARK = re.compile(r"<!-- (not run|file|until): (.+?) -->\s*", re.DOTALL)
_SHELL = {"", "sh", "bash"}
_RUN = _SHELL | {"python", "pycon"}
#: Shown, and nothing to run.
_DATA = {"text", "yaml", "xml", "json", "{toctree}", "{include}"}


@dataclass(frozen=True)
class Block:
    """A fenced or indented block.

    Attributes:
        page: The page that it is on.
        line: Its first line there, from 1.
        language: As the fence says; empty for an indented block, which is shell.
        text: Its lines.
        mark: ``not run``, ``file`` or ``until`` of the comment before it; empty without one.
        told: What that comment says after the colon.
    """

    page: Path
    line: int
    language: str
    text: str
    mark: str
    told: str

    @property
    def is_shell(self) -> bool:
        return self.language in _SHELL

    @property
    def is_run(self) -> bool:
        return self.language in _RUN and self.mark in ("", "until")

    @property
    def is_accounted_for(self) -> bool:
        """Whether the block is run, written to a file, marked, or nothing that could be run."""
        if self.mark == "until":
            return self.is_shell
        return self.is_run or self.mark in ("not run", "file") or self.language in _DATA

    def __str__(self) -> str:
        page = self.page.relative_to(ROOT) if self.page.is_relative_to(ROOT) else self.page.name
        return f"{page}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """All blocks of a page, in order."""
    found = []
    mark = told = ""
    for token in MarkdownIt("commonmark").parse(page.read_text()):
        if token.type in ("fence", "code_block"):
            # The content of a fence begins below it.
            line = token.map[0] + (2 if token.type == "fence" else 1)
            language = (token.info.split() or [""])[0]  # what follows it are arguments
            found.append(Block(page, line, language, token.content, mark, told))
        comment = _MARK.fullmatch(token.content) if token.type == "html_block" else None
        mark, told = (comment[1], " ".join(comment[2].split())) if comment else ("", "")
    return found
