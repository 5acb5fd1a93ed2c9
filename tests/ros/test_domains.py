"""Nodes of one run, of its workers and of other runs never share a ROS domain by chance."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.ros_domains import SHARE, SHARES, Domains

TESTS = Path(__file__).parents[1]
#: Takes a share, says which, and holds it until told to end.
OTHER = """
import sys
from support.ros_domains import Domains
domains = Domains(sys.argv[1])
print(*domains.numbers, flush=True)
input()
"""


@pytest.fixture
def other_process(tmp_path):
    """Start a process that holds a share; its numbers, and itself."""
    started = []

    def start():
        process = subprocess.Popen(
            [sys.executable, "-c", OTHER, str(tmp_path)],
            cwd=TESTS,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return {int(number) for number in process.stdout.readline().split()}, process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_every_process_has_numbers_of_its_own(other_process, tmp_path):
    """As long as it lives: what a process had that was killed, the next one gets."""
    (first, process), (second, _) = other_process(), other_process()
    ours = Domains(str(tmp_path))
    assert len(first | second | set(ours.numbers)) == 3 * SHARE
    process.kill()
    process.wait()
    again = Domains(str(tmp_path))
    assert set(again.numbers) == first
    ours.close()
    again.close()


def test_all_numbers_are_valid_and_there_is_an_end_of_them(tmp_path):
    held = [Domains(str(tmp_path)) for _ in range(SHARES)]
    numbers = [number for domains in held for number in domains.numbers]
    assert len(set(numbers)) == SHARES * SHARE
    assert min(numbers) > 0
    assert max(numbers) <= 101
    with pytest.raises(RuntimeError, match=f"{SHARES} processes already test"):
        Domains(str(tmp_path))
    for domains in held:
        domains.close()


def test_a_number_comes_again_when_its_node_has_ended(tmp_path):
    domains = Domains(str(tmp_path))
    running = set()

    def start():
        number = domains.take(lambda: number in running)
        running.add(number)
        return number

    assert [start() for _ in range(SHARE)] == list(domains.numbers)
    with pytest.raises(RuntimeError, match=f"{SHARE} nodes run at once"):
        start()
    running.remove(domains.numbers[2])
    assert start() == domains.numbers[2]
    domains.close()
