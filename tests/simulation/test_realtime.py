"""Real-time settings: taken where permitted, one clear sentence where not."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.running.realtime import check_realtime

PROGRAM = """
import json, os, resource
{before}
from hydro_sim_core.simulation.running.realtime import make_realtime
refused = make_realtime(priority=10, cpus=[{cpu}], lock_memory=True)
locked = int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmLck")))
print(json.dumps([refused, os.sched_getscheduler(0), sorted(os.sched_getaffinity(0)), locked]))
"""
#: As a user who may do none of it.
UNPRIVILEGED = """
resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
if os.getuid() == 0: os.setuid(65534)
"""


def realtime(before=""):
    """What is refused, the scheduling policy, the processors and the locked memory (kB) of a process."""
    cpu = min(os.sched_getaffinity(0))
    program = PROGRAM.format(before="import hydro_sim_core.simulation.running.realtime\n" + before, cpu=cpu)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), cpu


def test_who_may_gets_it():
    """Where this user may raise priorities and lock memory both happen; the processor is anyone's to choose."""
    (refused, policy, cpus, locked), cpu = realtime()
    assert cpus == [cpu]
    told = " ".join(refused)
    assert (policy == os.SCHED_FIFO) != ("priority 10 is not permitted" in told)
    assert (locked > 0) != ("locking memory is not permitted" in told)


def test_who_may_not_is_told_how_to_get_it():
    (refused, policy, cpus, locked), cpu = realtime(UNPRIVILEGED)
    assert cpus == [cpu]
    assert policy == os.SCHED_OTHER
    assert locked == 0
    priority, memory = refused
    assert "ulimit -r" in priority
    assert "CAP_SYS_NICE" in priority
    assert "ulimit -l" in memory
    assert "CAP_IPC_LOCK" in memory


@pytest.mark.parametrize(
    ("priority", "cpus", "element"), [(100, [], "priority"), (-1, [], "priority"), (0, [4096], "cpus")]
)
def test_what_cannot_be_is_refused(priority, cpus, element):
    with pytest.raises(InputError) as caught:
        check_realtime(priority, cpus)
    assert caught.value.element == element


def test_no_settings_are_no_mistake():
    check_realtime(0, [])
    check_realtime(1, [min(os.sched_getaffinity(0))])
