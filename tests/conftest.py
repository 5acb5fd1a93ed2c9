"""Property tests draw the same examples every time, so that a commit has one verdict, unless told to explore."""

from __future__ import annotations

import pytest
from hypothesis import is_hypothesis_test, settings

# No deadline for an example: how long it takes says how busy the machine is.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile("repeatable")
_MORE = 10


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """To explore is also to draw more; a profile's own number would not reach tests that say theirs."""
    if settings.get_current_profile_name() != "explore":
        return
    for test in {item.obj for item in items if is_hypothesis_test(getattr(item, "obj", None))}:
        chosen = test._hypothesis_internal_use_settings
        test._hypothesis_internal_use_settings = settings(chosen, max_examples=_MORE * chosen.max_examples)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what pages show and tests do not run, with the reasons that the pages give."""
    passed = terminalreporter.getreports("passed")
    reasons = [what for report in passed for name, what in report.user_properties if name == "not run"]
    if reasons:
        terminalreporter.section(f"{len(reasons)} blocks of pages are not run")
        for reason in reasons:
            terminalreporter.line(reason)
