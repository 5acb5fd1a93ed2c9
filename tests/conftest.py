"""Property tests draw the same examples every time, so that a commit has one verdict, unless told to explore.

Heavy tests do a share of what they can, but for a full run: of their examples, their cases or their steps. Long ones
run in full runs only: something shorter tests the same in every run.
"""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import is_hypothesis_test, settings

pytest_plugins = ["support.dds_leftovers", "support.skips", "support.turns"]

# No deadline for an example: how long it takes says how busy the machine is.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("full", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile("repeatable")
_MORE = 10  # times as many examples, to explore
_SHARE = 10  # one of so many examples or cases is enough of a heavy test that says no other number


@pytest.hookimpl(trylast=True)  # the share is taken of what -k and -m leave
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Draw more to explore and less of what is heavy; a profile's own number would not reach tests that say theirs."""
    heavy_cases = defaultdict(list)
    drawing = {}
    for item in items:
        share = _share(item)
        if is_hypothesis_test(getattr(item, "obj", None)):
            drawing[item.obj] = share
        elif share > 1:
            heavy_cases[item.nodeid.partition("[")[0]].append(item)
    for test, share in drawing.items():
        chosen = test._hypothesis_internal_use_settings
        count = max(1, chosen.max_examples // share)
        if settings.get_current_profile_name() == "explore":
            count = _MORE * chosen.max_examples
        if count != chosen.max_examples:
            test._hypothesis_internal_use_settings = settings(chosen, max_examples=count)
    left_out = {case for cases in heavy_cases.values() for case in _left_out(cases)}
    if not _is_full():
        left_out |= {item for item in items if item.get_closest_marker("long")}
    if left_out:
        config.hook.pytest_deselected(items=sorted(left_out, key=lambda case: case.nodeid))
        items[:] = [item for item in items if item not in left_out]


def _share(item: pytest.Item) -> int:
    """One of how many examples or cases of a test is enough in this run."""
    heavy = item.get_closest_marker("heavy")
    if heavy is None or _is_full():
        return 1
    return heavy.args[0] if heavy.args else _SHARE


def _left_out(cases: list[pytest.Item]) -> list[pytest.Item]:
    """All but every so-manieth case; of several lists of parameters, all but those with a value that is new, too."""
    share = _share(cases[0])
    if len(list(cases[0].iter_markers("parametrize"))) == 1:
        return [case for i, case in enumerate(cases) if i % share]
    seen = {value for case in cases[::share] for value in _values(case)}
    left_out = []
    for case in (case for i, case in enumerate(cases) if i % share):
        if _values(case) <= seen:
            left_out.append(case)
        seen |= _values(case)
    return left_out


def _values(case: pytest.Item) -> set[tuple[str, int]]:
    """Parameters with the identity of their values, which a list of parameters holds once."""
    return {(name, id(value)) for name, value in case.callspec.params.items()}


def _is_full() -> bool:
    return settings.get_current_profile_name() != "repeatable"


@pytest.fixture(scope="session")
def full_run() -> bool:
    """Whether heavy tests should do all that they can."""
    return _is_full()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what pages show and tests do not run, with the reasons that the pages give."""
    passed = terminalreporter.getreports("passed")
    reasons = [what for report in passed for name, what in report.user_properties if name == "not run"]
    if reasons:
        terminalreporter.section(f"{len(reasons)} blocks of pages are not run")
        for reason in reasons:
            terminalreporter.line(reason)
