"""Of a heavy test every so-manieth case runs, of several parameters also every value; a full run has all, and long."""

import re

import pytest

from support.packaging.inner_pytest import run_pytest

TEST = """
import pytest

@pytest.mark.heavy(5)
@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize("shape", ["ball", "box", "rod", "cone"])
def test_shapes(shape, size):
    print("ran", shape, size)

@pytest.mark.heavy(3)
@pytest.mark.parametrize(("name", "length"), [("a", 1.0), ("b", 1.0), ("c", 2.0), ("d", 1.0)])
def test_list(name, length):
    print("listed", name)

@pytest.mark.long
def test_long():
    print("took long")

@pytest.mark.parametrize("number", [1, 2])
def test_light(number):
    print("counted", number)
"""


@pytest.mark.parametrize(
    ("options", "shapes", "sizes", "cases", "listed"),
    [
        ([], {"ball", "box", "rod", "cone"}, {"small", "large"}, 4, "ad"),
        (["--hypothesis-profile=full"], {"ball", "box", "rod", "cone"}, {"small", "large"}, 8, "abcd"),
        (["-k", "rod or counted or light"], {"rod"}, {"small", "large"}, 2, ""),
    ],
)
def test_a_share_of_the_cases_runs_unless_told_to_run_all(tmp_path, options, shapes, sizes, cases, listed):
    """The share is of the cases that are asked for, so that none of those with some name is left without one."""
    printed = run_pytest(tmp_path, "test_cases.py", TEST, *options)
    ran = re.findall(r"ran (\w+) (\w+)", printed)
    assert len(ran) == len(set(ran)) == cases
    assert {shape for shape, _ in ran} == shapes
    assert {size for _, size in ran} == sizes
    assert "".join(re.findall(r"listed (\w)", printed)) == listed
    assert len(re.findall("counted", printed)) == 2
    assert ("took long" in printed) == ("--hypothesis-profile=full" in options)
