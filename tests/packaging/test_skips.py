"""With ``--strict-skips`` a run that skips more than the list allows fails, and says what to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
TEST = """
import pytest

@pytest.mark.skipif(True, reason="no printer")
def test_prints(): ...

@pytest.mark.parametrize("page", [1, 2])
def test_reads(page):
    pytest.skip("no paper")

@pytest.mark.xfail
def test_fails():
    assert False

def test_passes(): ...
"""
MODULE = 'import pytest\npytest.importorskip("no_such_module", reason="no module")\n\ndef test_it(): ...\n'
ALL = "test_printer.py::* | no *\ntest_module.py | no module\n"


@pytest.fixture(params=[0, 2], ids=["one process", "two workers"])
def run(request, tmp_path):
    """Run those tests; the exit status and what is printed."""
    (tmp_path / "test_printer.py").write_text(TEST)
    (tmp_path / "test_module.py").write_text(MODULE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run(allowed, *options, ci=""):
        (tmp_path / "allowed.txt").write_text(allowed)
        environment = os.environ | {"PYTHONPATH": str(TESTS), "CI": ci}
        command = [sys.executable, "-m", "pytest", "-p", "skips", "-p", "no:cacheprovider"]
        command += ["--numprocesses", str(request.param), "--allowed-skips", "allowed.txt", *options]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_skips_that_are_listed_are_allowed(run):
    """By patterns of the test and of the reason; an expected failure is no skip."""
    status, said = run(f"# all of it\n\n{ALL}", "--strict-skips")
    assert status == 0, said
    assert "skips that are not allowed" not in said


@pytest.mark.parametrize(
    ("allowed", "named", "unnamed"),
    [
        (
            "test_printer.py::test_prints | no printer\ntest_module.py | no module\n",
            ["test_printer.py::test_reads[1]: no paper", "test_printer.py::test_reads[2]: no paper"],
            "test_prints: ",
        ),
        ("test_printer.py::* | no *\n", ["test_module.py: no module"], "test_printer.py::"),
        (
            ALL.replace("no *", "no paper"),
            ["test_printer.py::test_prints: no printer"],
            "test_reads",
        ),
    ],
)
def test_a_skip_that_is_not_listed_fails_the_run(run, allowed, named, unnamed):
    """It is named, and so is the file to list it in; a test that skips for another reason is not allowed to."""
    status, said = run(allowed, "--strict-skips", "-r", "N")
    assert status == 1, said
    told = said.partition("skips that are not allowed")[2]
    for line in named:
        assert line in told
    assert unnamed not in told
    assert "list each with its reason in allowed.txt" in told


def test_it_is_for_who_asks_or_runs_in_ci(run):
    assert run("")[0] == 0
    assert run("", ci="true")[0] == 1


def test_a_line_that_is_no_pair_is_told(run):
    status, said = run("test_printer.py::test_prints\n", "--strict-skips")
    assert status == 4
    assert "allowed.txt:1: write 'pattern of the test | pattern of the reason'" in said
