"""Of a heavy test with parameters every so-manieth case runs, and every value of a parameter; a full run has all."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
TEST = """
import pytest

@pytest.mark.heavy(5)
@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize("shape", ["ball", "box", "rod", "cone"])
def test_shapes(shape, size):
    print("ran", shape, size)

@pytest.mark.parametrize("number", [1, 2])
def test_light(number):
    print("counted", number)
"""


@pytest.mark.parametrize(
    ("options", "shapes", "sizes", "cases"),
    [
        ([], {"ball", "box", "rod", "cone"}, {"small", "large"}, 4),
        (["--hypothesis-profile=full"], {"ball", "box", "rod", "cone"}, {"small", "large"}, 8),
        (["-k", "rod or counted or light"], {"rod"}, {"small", "large"}, 2),
    ],
)
def test_a_share_of_the_cases_runs_unless_told_to_run_all(tmp_path, options, shapes, sizes, cases):
    """The share is of the cases that are asked for, so that none of those with some name is left without one."""
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (tmp_path / "test_cases.py").write_text(TEST)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-s",
        "-p",
        "no:cacheprovider",
        "-p",
        "_hypothesis_pytestplugin",
    ]
    done = subprocess.run(
        [*command, *options, str(tmp_path)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    ran = re.findall(r"ran (\w+) (\w+)", done.stdout)
    assert len(ran) == len(set(ran)) == cases
    assert {shape for shape, _ in ran} == shapes
    assert {size for _, size in ran} == sizes
    assert len(re.findall("counted", done.stdout)) == 2
