"""NOTICE names everything that an installation fetches, and nothing of it forbids closed programs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageMetadata, metadata, requires
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
#: A name and a licence, indented.
LINE = re.compile(r"^  ([\w.-]+) {2,}(\S.*)$", re.MULTILINE)
#: Licences that what is linked with them must take over; not the lesser one.
COPYLEFT = re.compile(r"\bA?GPL|Affero|GNU General Public")


def fetched(requirements: Iterable[str]) -> set[str]:
    """Distributions that these requirements bring into this environment, with what those bring."""
    found: set[str] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        extras = ("", *requirement.extras)
        if name in found or not any(
            requirement.marker is None or requirement.marker.evaluate({"extra": extra}) for extra in extras
        ):
            continue
        found.add(name)
        for text in requires(name) or []:
            needed = Requirement(text)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                needed.marker = None
                waiting.append(needed)
    return found


def licence(about: PackageMetadata) -> str:
    """What a distribution says of its licence, in short; the whole text would name those of what it bundles."""
    classifiers = [text for text in about.get_all("Classifier") or [] if text.startswith("License ::")]
    text = about.get("License-Expression") or "; ".join(classifiers) or about.get("License") or ""
    return text.splitlines()[0] if text else ""


def test_notice_names_all_that_is_installed_with_the_engine() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = fetched(project["dependencies"])
    assert len(names) > len(project["dependencies"])
    listed = dict(LINE.findall((ROOT / "NOTICE").read_text()))
    assert sorted(names - set(listed)) == []
    assert [name for name, text in listed.items() if COPYLEFT.search(text)] == []
    assert [name for name in sorted(names) if COPYLEFT.search(licence(metadata(name)))] == []


def test_a_copyleft_licence_would_be_seen() -> None:
    for text in (
        "GPL-3.0-only",
        "License :: OSI Approved :: GNU General Public License v3 (GPLv3)",
        "AGPL-3.0",
    ):
        assert COPYLEFT.search(text)
    assert not COPYLEFT.search("LGPL-2.1-or-later")
