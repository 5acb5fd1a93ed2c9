"""Skips that a run may have: every other one fails it, where ``--strict-skips`` is given or ``CI`` is true."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ALLOWED = Path(__file__).parents[1] / "allowed_skips.txt"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--strict-skips",
        action="store_true",
        default=os.environ.get("CI", "").lower() == "true",
        help="fail when a test is skipped that the list of allowed skips does not hold",
    )
    parser.addoption("--allowed-skips", type=Path, default=ALLOWED, help="that list")


def pytest_configure(config: pytest.Config) -> None:
    # Reports of workers come together in the process that started them.
    if config.getoption("--strict-skips") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_StrictSkips(config.getoption("--allowed-skips")), "strict-skips")


def read_allowed(path: Path) -> list[tuple[str, str]]:
    """Patterns of a test and of its reason, one pair a line, ``#`` beginning a comment.

    Raises:
        UsageError: A line is no such pair, or the file cannot be read.
    """
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise pytest.UsageError(f"{path}: {error.strerror}") from None
    pairs = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        test, separator, reason = (part.strip() for part in line.partition(" | "))
        if not (test and separator and reason):
            raise pytest.UsageError(f"{path}:{number}: write 'pattern of the test | pattern of the reason'")
        pairs.append((test, reason))
    return pairs


class _StrictSkips:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._allowed = read_allowed(path)
        self._unlisted: list[tuple[str, str]] = []

    def _look_at(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        # An expected failure is reported as a skip too, and is none.
        if not report.skipped or hasattr(report, "wasxfail"):
            return
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        known = any(
            fnmatchcase(report.nodeid, test) and fnmatchcase(reason, why) for test, why in self._allowed
        )
        if not known:
            self._unlisted.append((report.nodeid, reason))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._look_at(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._look_at(report)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self._unlisted and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._unlisted:
            return
        unlisted = sorted(set(self._unlisted))
        terminalreporter.section(f"{len(unlisted)} skips that are not allowed", red=True)
        for test, reason in unlisted:
            terminalreporter.line(f"{test}: {reason}")
        terminalreporter.line(f"Make them run, or list each with its reason in {self._path}.")
