"""Every paper that the sources cite stands in REFERENCES.md, by its short form, and no other does."""

import re
from collections import Counter
from pathlib import Path

import pytest

from support.packaging.files import ROOT, our_files

REFERENCES = ROOT / "REFERENCES.md"
ENTRY = re.compile(r"^- \*\*(.+? \d{4})\*\*: (.+?)(?=^- |^## |\Z)", re.MULTILINE | re.DOTALL)
_NAME = r"(?:van )?[A-Z][^\W\d_]+(?:-[A-Z][^\W\d_]+)?"
#: One name or several before a year, which may be in brackets.
CITATION = re.compile(
    rf"\b({_NAME}(?:(?:, {_NAME})* and {_NAME})?)(?: et al\.)?,? \(?((?:19|20)\d\d)(?:\b(?![-.]\d))"
)
#: What else stands before years.
OTHER = {
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
    *("Copyright", "REP", "Microsystems", "Since"),
}


def entries() -> dict[str, str]:
    """What REFERENCES.md says of each paper, by short form."""
    return {name: " ".join(text.split()) for name, text in ENTRY.findall(REFERENCES.read_text())}


def citations(text: str) -> set[str]:
    """Short forms in a text, whose lines may end within them."""
    flat = re.sub(r"\s+(?:#:? )?", " ", text)
    return {f"{name} {year}" for name, year in CITATION.findall(flat) if name not in OTHER}


@pytest.fixture(scope="module")
def cited() -> dict[str, list[Path]]:
    """Files by what they cite."""
    found: dict[str, list[Path]] = {}
    for path in our_files(".py", ".md", ".js", ".yaml", ".json", ".rst"):
        if ROOT / path not in (REFERENCES, Path(__file__)):
            for name in citations((ROOT / path).read_text()):
                found.setdefault(name, []).append(path)
    return found


def test_what_is_cited_is_listed(cited):
    known = entries()
    assert {name: paths for name, paths in cited.items() if name not in known} == {}


def test_what_is_listed_is_cited(cited):
    assert set(entries()) <= set(cited)


def test_entries_are_complete_and_come_once():
    """The short form is made of the first authors and the year; all but one have a number that leads to the paper."""
    text = REFERENCES.read_text()
    assert set(Counter(name for name, _ in ENTRY.findall(text)).values()) == {1}
    assert text.count("\n- **") == len(entries())
    for name, entry in entries().items():
        authors, year = name.rsplit(" ", 1)
        assert year in entry
        for author in authors.split(" and "):
            assert author in entry
    numbered = [name for name, entry in entries().items() if "doi.org/" in entry or "arxiv.org/" in entry]
    assert set(entries()) - set(numbered) == {
        "Duff 2017",
        "Jourdan 1998",
    }  # in a journal without DOIs; not to be looked up


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("bounded by the last step (Castro 2022, section V)", {"Castro 2022"}),
        (
            "as in Elandt et al. (2019) and Xie and Chakraborty\n# 2019",
            {"Elandt 2019", "Xie and Chakraborty 2019"},
        ),
        ("(van Oosterom and Strackee 1983)", {"van Oosterom and Strackee 1983"}),
        ("Machado, Oliveira and Fernandes 2009", {"Machado, Oliveira and Fernandes 2009"}),
        ("since August 2024, for 2000 steps, Bou-Rabee 2009-01-01", set()),
    ],
)
def test_citations_are_found(text, names):
    assert citations(text) == names
