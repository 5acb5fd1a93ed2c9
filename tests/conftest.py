"""Property tests draw the same examples every time, so that a commit has one verdict, unless told to explore."""

from __future__ import annotations

import pytest
from hypothesis import is_hypothesis_test, settings

pytest_plugins = ["skips"]

# No deadline for an example: how long it takes says how busy the machine is.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("full", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile("repeatable")
_MORE = 10  # times as many examples, to explore
_SHARE = 10  # one of so many examples is enough of a heavy test, but for a full run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Draw more to explore and less of what is heavy; a profile's own number would not reach tests that say theirs."""
    for test, heavy in {
        (item.obj, item.get_closest_marker("heavy") is not None)
        for item in items
        if is_hypothesis_test(getattr(item, "obj", None))
    }:
        chosen = test._hypothesis_internal_use_settings
        count = _examples(chosen.max_examples, heavy)
        if count != chosen.max_examples:
            test._hypothesis_internal_use_settings = settings(chosen, max_examples=count)


def _examples(asked: int, heavy: bool) -> int:
    profile = settings.get_current_profile_name()
    if profile == "explore":
        return _MORE * asked
    return asked if profile == "full" or not heavy else max(1, asked // _SHARE)


@pytest.fixture(scope="session")
def full_run() -> bool:
    """Whether heavy tests should do all that they can."""
    return settings.get_current_profile_name() != "repeatable"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what pages show and tests do not run, with the reasons that the pages give."""
    passed = terminalreporter.getreports("passed")
    reasons = [what for report in passed for name, what in report.user_properties if name == "not run"]
    if reasons:
        terminalreporter.section(f"{len(reasons)} blocks of pages are not run")
        for reason in reasons:
            terminalreporter.line(reason)
