"""The page's files: what is taken from others is what it claims to be, and nothing names another host."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

import hydro_sim_core
from hydro_sim_core.viewer.server.files import read_page_files

PAGE = Path(hydro_sim_core.__file__).parent / "viewer/page"
VENDOR = PAGE / "vendor"
OWN_FILES = sorted(path for path in PAGE.iterdir() if path.suffix in (".html", ".css", ".js"))
ENTRIES = [
    (name, entry)
    for package in json.loads((VENDOR / "vendored.json").read_text())
    for name, entry in package["files"].items()
]


@pytest.mark.parametrize(("name", "entry"), ENTRIES, ids=[name for name, _ in ENTRIES])
def test_file_of_others_is_that_of_its_package(name: str, entry: dict[str, str]) -> None:
    content = (VENDOR / name).read_bytes()
    if "replaced" in entry:
        before, after = (text.encode() for text in entry["replaced"])
        assert content.count(after) == 1
        content = content.replace(after, before)
    assert hashlib.sha512(content).hexdigest() == entry["sha512"]


def test_every_file_of_others_is_listed_with_a_licence() -> None:
    found = {path.relative_to(VENDOR).as_posix() for path in VENDOR.glob("*/*")}
    assert found == {name for name, _ in ENTRIES}
    for folder in {name.split("/")[0] for name in found}:
        assert "MIT License" in (VENDOR / folder / "LICENSE").read_text()


@pytest.mark.parametrize("path", OWN_FILES, ids=lambda path: path.name)
def test_own_file_names_no_other_host_and_needs_no_inline_script(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"(https?|wss?)://(?!www\.w3\.org/)", text)
    assert not re.search(r"\son\w+=|style=|<script(?![^>]*src=)|<style", text)


def test_imports_lead_to_files() -> None:
    for path in OWN_FILES:
        for target in re.findall(r'from "(\./[^"]+)"', path.read_text()):
            assert (PAGE / target).is_file(), f"{path.name} imports {target}"


def test_only_what_the_page_loads_is_served() -> None:
    served = read_page_files()
    assert {Path(path).suffix for path in served} == {"", ".html", ".css", ".js", ".svg"}
    assert served["/"].data == (PAGE / "index.html").read_bytes()
    loaded = {"/" + path.name for path in OWN_FILES} | {f"/vendor/{name}" for name, _ in ENTRIES}
    assert served.keys() - {"/", "/icon.svg"} == {path for path in loaded if not path.endswith("LICENSE")}
