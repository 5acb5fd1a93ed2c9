"""Work shared between processes: results do not depend on how many there are, or on one that is killed."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from hydro_sim_core.errors import InputError
from hydro_sim_core.workers import Lost, completed
from support.shared_memory.processes import environment
from support.sweeps import jobs


def test_a_killed_process_loses_what_it_was_doing_and_no_more(tmp_path):
    """By SIGKILL, once for one item and each time for another."""
    killed = {3: 1, 4: 2}
    items = [(tmp_path, index, killed.get(index, 0)) for index in range(7)]
    results = dict(completed(jobs.square, items, 2))
    assert results.pop(4) == Lost(-9)
    assert results == {index: index * index for index in range(7) if index != 4}
    assert [jobs.attempts(tmp_path, index) for index in range(7)] == [1, 1, 1, 2, 2, 1, 1]


def test_an_item_does_not_wait_for_those_before_it(tmp_path):
    found = dict(completed(jobs.wait_for_next, [(tmp_path, k, 2) for k in range(2)], 2))
    assert found == {0: 0, 1: 1}


def test_nothing_to_do_takes_no_process():
    assert list(completed(jobs.square, [], 4)) == []


@pytest.mark.parametrize(("work", "kind"), [(jobs.refuse, InputError), (jobs.break_down, ZeroDivisionError)])
def test_what_the_work_raises_is_raised(work, kind):
    with pytest.raises(kind):
        list(completed(work, [1, 2], 1))


def test_a_process_warns_of_the_same_once(capfd):
    """Each of a hundred trials of a scene said what is odd about it."""
    list(completed(jobs.warn, [1, 2, 2], 1))
    assert capfd.readouterr().err.split("\n") == ["the scene is odd", "item 1 is odd", "item 2 is odd", ""]


def test_ctrl_c_is_for_the_process_that_ends_the_others():
    """Also of the first two that a program ever starts."""
    program = (
        "from hydro_sim_core.workers import completed\nfrom support.sweeps import jobs\n"
        "print(sorted(completed(jobs.tell_ignored_signals, [0, 1], 2)))"
    )
    command = [sys.executable, "-c", program]
    told = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)
    assert (told.stdout, told.stderr) == ("[(0, True), (1, True)]\n", "")


def test_processes_end_with_the_one_that_started_them(tmp_path):
    """Even if that is killed: they end once they have done what they were doing."""
    program = (
        "from hydro_sim_core.workers import completed\nfrom support.sweeps import jobs\n"
        f"list(completed(jobs.outlive, [{str(tmp_path)!r}] * 1000, 1))"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], env=environment())
    found = []
    while not found:
        found = list(tmp_path.glob("pid-*"))
        assert parent.poll() is None
        time.sleep(0.02)
    parent.kill()
    parent.wait()
    process = Path("/proc", found[0].name.removeprefix("pid-"))
    patience = time.monotonic() + 60.0
    while process.exists() and "Z" not in (process / "stat").read_text().rpartition(")")[2].split()[0]:
        assert time.monotonic() < patience
        time.sleep(0.05)
