"""The page on contact models runs as it is printed, and so does the program that measures for it."""

import doctest
import re
from pathlib import Path

import measure

PAGE = Path(__file__).parents[2] / "docs" / "contact_models.md"


def test_the_page_prints_what_it_says():
    """Blocks share their names, from top to bottom."""
    examples = re.findall(r"^```pycon\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(examples) == 4
    page = doctest.DocTestParser().get_doctest("\n".join(examples), {}, PAGE.name, str(PAGE), 0)
    report = []
    outcome = doctest.DocTestRunner().run(page, out=report.append)
    assert outcome.attempted > 20
    assert outcome.failed == 0, "".join(report)


def test_what_the_page_says_of_accuracy_is_measured():
    point, patch = measure.rock_a_cube(1e-6)
    assert point > 0.1
    assert patch < 1e-5
    times, lowest = measure.throw_blocks(throws=2)
    assert len(times) > 10
    assert lowest > -1e-12
    assert len(measure.time_calls(repeat=1)) == 5
