"""With ``--strict-skips`` a run that skips more than the list allows fails, and says what to do."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
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


@pytest.fixture
def run(pytester, monkeypatch):
    """Run those tests; the exit status and what is printed."""
    pytester.makepyfile(test_printer=TEST, test_module=MODULE)
    pytester.makeini("[pytest]\n")
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    # Every other plugin takes its time to be imported, in each worker anew.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(allowed, *options, ci="", workers=0):
        pytester.path.joinpath("allowed.txt").write_text(allowed)
        monkeypatch.setenv("CI", ci)
        options = (
            "-p",
            "support.skips",
            "-p",
            "no:cacheprovider",
            "--allowed-skips",
            "allowed.txt",
            *options,
        )
        if workers:
            done = pytester.runpytest_subprocess("-p", "xdist", "--numprocesses", str(workers), *options)
        else:
            done = pytester.runpytest_inprocess(*options)
        return done.ret, done.stdout.str() + done.stderr.str()

    return run


@pytest.mark.parametrize("workers", [0, 2])
def test_skips_that_are_listed_are_allowed(run, workers):
    """By patterns of the test and of the reason; an expected failure is no skip."""
    status, said = run(f"# all of it\n\n{ALL}", "--strict-skips", workers=workers)
    assert status == 0, said
    assert "skips that are not allowed" not in said


UNLISTED = "test_printer.py::test_prints | no printer\ntest_module.py | no module\n"
UNREAD = ["test_printer.py::test_reads[1]: no paper", "test_printer.py::test_reads[2]: no paper"]


@pytest.mark.parametrize(
    ("workers", "allowed", "named", "unnamed"),
    [
        (0, UNLISTED, UNREAD, "test_prints: "),
        (2, UNLISTED, UNREAD, "test_prints: "),
        (0, "test_printer.py::* | no *\n", ["test_module.py: no module"], "test_printer.py::"),
        (2, "test_printer.py::* | no *\n", ["test_module.py: no module"], "test_printer.py::"),
        (0, ALL.replace("no *", "no paper"), ["test_printer.py::test_prints: no printer"], "test_reads"),
    ],
)
def test_a_skip_that_is_not_listed_fails_the_run(run, workers, allowed, named, unnamed):
    """It is named, and so is the file to list it in; a test that skips for another reason is not allowed to."""
    status, said = run(allowed, "--strict-skips", "-r", "N", workers=workers)
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
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "allowed.txt:1: write 'pattern of the test | pattern of the reason'" in said
