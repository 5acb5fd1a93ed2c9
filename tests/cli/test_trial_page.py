"""A trial on a page waits for whoever sits at a terminal, and for nobody else."""

from types import SimpleNamespace

import pytest
from rich.console import Console

from hydro_sim_core.cli import trial_page
from hydro_sim_core.cli.trial_page import TrialPage, somebody_sits_there


@pytest.fixture
def clock(monkeypatch):
    """Wall time, s, in which only sleeping takes time."""
    now = SimpleNamespace(s=50.0)

    def sleep(seconds):
        now.s += seconds

    monkeypatch.setattr(trial_page, "time", SimpleNamespace(monotonic=lambda: now.s, sleep=sleep))
    return now


class View:
    """A page that is open for some spans of the wall time, s."""

    url = "http://127.0.0.1:8008/"
    is_open = True

    def __init__(self, clock, *spans):
        self._clock, self._spans, self.closed = clock, spans, False

    @property
    def watching(self):
        return sum(begin <= self._clock.s < end for begin, end in self._spans)

    def sync(self):
        pass

    def close(self):
        self.closed = True


def shown(clock, view, waits, seconds=2.3):
    """Show a trial of some seconds; when it began, ended and was left, and what was told."""
    console = Console(record=True, width=200)
    with TrialPage(None, console, waits) as page:
        times = []
        for k in range(round(seconds / 0.1) + 1):
            page.show(SimpleNamespace(time=0.1 * k, view=lambda full_scale: view))
            times.append(clock.s)
        page.stay()
        left = clock.s
    assert view.closed
    return times[0], times[-1], left, console.export_text()


def test_it_begins_when_the_page_is_open_and_stays_until_it_is_closed(clock):
    begin, end, left, told = shown(clock, View(clock, (60.0, 100.0)), waits=True)
    assert begin == pytest.approx(60.0, abs=0.1)
    assert end - begin == pytest.approx(2.3)
    assert left == pytest.approx(102.0, abs=0.2)
    assert told.splitlines() == [
        "watch it at http://127.0.0.1:8008/",
        "it begins when the page is open; Ctrl-C ends it, --headless tries it without a page",
        "the page stays until it is closed, or Ctrl-C",
    ]


def test_a_reload_does_not_close_it(clock):
    *_, left, _ = shown(clock, View(clock, (50.0, 60.0), (61.0, 70.0)), waits=True)
    assert left == pytest.approx(72.0, abs=0.2)


@pytest.mark.parametrize(("spans", "left"), [([], 51.0), ([(50.0, 100.0)], 60.0)])
def test_ctrl_c_ends_the_wait_for_a_viewer_and_the_stay_and_leaves_the_outcome(clock, spans, left):
    page = TrialPage(None, Console(quiet=True), True, lambda: clock.s > left)
    with page:
        page.show(SimpleNamespace(time=0.0, view=lambda full_scale: View(clock, *spans)))
        page.stay()
    assert clock.s == pytest.approx(left, abs=0.1)


def test_a_script_waits_for_nobody(clock):
    begin, end, left, told = shown(clock, View(clock), waits=False)
    assert (begin, end - begin, left) == (50.0, pytest.approx(2.3), end)
    assert told.splitlines() == ["watch it at http://127.0.0.1:8008/"]


@pytest.mark.parametrize(("terminal", "seated"), [(True, True), (True, False), (False, True)])
def test_somebody_sits_where_both_ends_are_a_terminal(monkeypatch, terminal, seated):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: seated))
    assert somebody_sits_there(Console(force_terminal=terminal)) == (terminal and seated)
