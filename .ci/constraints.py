"""Writes constraints.txt and constraints-numpy1.txt: the versions that the tests have just passed with."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
ENGINE = "hydro-sim-core"
#: The last NumPy before 2, and Ubuntu 24.04's.
NUMPY_1 = "1.26.4"
#: Debian 12 has 3.11.2.
OLDEST_PYTHON = "3.11.0"
HEAD = """\
# Versions that CI has passed with{where}: pip install -c {file} '.[{extras}]'
# Written by .ci/constraints.py from the environment of the tests.
"""


def main() -> None:
    """Write both files from the running environment."""
    _write("constraints.txt", "", ("ros", "test"), {})
    _write("constraints-numpy1.txt", ", but for NumPy", ("ros", "test-numpy1"), {"numpy": NUMPY_1})


def _write(file: str, where: str, extras: tuple[str, ...], other: dict[str, str]) -> None:
    pinned = {name: other.get(name, version(name)) for name in _closure(extras)}
    lines = [f"{name}=={pinned[name]}{_marker(name)}\n" for name in sorted(pinned)]
    (ROOT / file).write_text(HEAD.format(where=where, file=file, extras=",".join(extras)) + "".join(lines))


def _marker(name: str) -> str:
    """For which Python a version is, if not for all of ours: elsewhere pip could only look for others in vain."""
    ours = SpecifierSet(metadata(name)["Requires-Python"] or "")
    if OLDEST_PYTHON in ours:
        return ""
    return " ; " + " and ".join(
        f"python_full_version {one.operator} '{one.version}'" for one in sorted(ours, key=str)
    )


def _closure(extras: tuple[str, ...]) -> set[str]:
    """What the engine with these extras needs, directly or not, as far as this environment has it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    seen: set[tuple[str, str]] = set()
    found = set()
    waiting = [(ENGINE, extra) for extra in ("", *extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        if name == ENGINE:
            # Of the checkout: what is installed may be older.
            texts = project["optional-dependencies"][extra] if extra else project["dependencies"]
        else:
            try:
                texts = requires(name) or []
            except PackageNotFoundError:
                continue
            found.add(name)
        for requirement in map(Requirement, texts):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                waiting += [(canonicalize_name(requirement.name), e) for e in ("", *requirement.extras)]
    return found


if __name__ == "__main__":
    main()
