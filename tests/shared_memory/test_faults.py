"""One side is killed or stopped: the other says so in one line, loses nothing, and goes on where it can."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from hydro_sim_core.errors import InputError
from hydro_sim_core.shared_memory.client import Client, SimulationEnded, TookTooLong, connect
from hydro_sim_core.shared_memory.layout import Control, JointStatus, Life
from support.shared_memory.processes import environment

#: Pushes a joint in lock-step, or at its own pace, until it is killed; says when it begins.
_CONTROLLER = """
import sys
from hydro_sim_core.shared_memory.client import connect
with connect(sys.argv[1]) as simulation, simulation.controller("pusher", lock_step=sys.argv[2] == "lock") as arm:
    arm.commands.give("shoulder", effort=0.5, timeout=float(sys.argv[3]), floats=True)
    arm.send()
    print("begins", flush=True)
    while True:
        if sys.argv[2] == "lock":
            arm.step(limit=60.0)
        else:
            arm.send()
            simulation.wait(simulation.newest().serial + 1)
"""
_STOPPED = 1.5  # s; 5 in full runs

Push = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def push(running) -> Iterator[Push]:
    """Start a controller in a process of its own, which has sent its first command when this returns."""
    started = []

    def push(how: str, timeout: float = 0.0) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", _CONTROLLER, running.name, how, str(timeout)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        return process

    yield push
    for process in started:
        process.kill()
        process.communicate()


def _until(client: Client, is_so: Callable[[], bool]) -> None:
    """Wait for what the simulation does by itself; it has a minute."""
    client.poll(is_so, "what a test waits for", 60.0)


def test_a_client_that_is_killed_in_lock_step_pauses_the_simulation(client, push) -> None:
    process = push("lock")
    _until(client, lambda: client.newest().efforts[0] == 0.5)
    process.kill()
    process.wait()
    _until(client, lambda: client.status.life == Life.PAUSED)
    last = client.newest()
    with client.controller("heir", lock_step=True) as heir:
        assert heir.channel == 0
        client.resume()
        assert heir.step().serial == last.serial + 1


def test_the_next_client_may_be_quicker_than_the_loop(client, running, push) -> None:
    """The loop is stopped while one dies and the next one comes: the simulation is paused all the same."""
    process = push("lock")
    _until(client, lambda: client.newest().efforts[0] == 0.5)
    running.signal(signal.SIGSTOP)
    process.kill()
    process.wait()
    taken = []
    thread = threading.Thread(target=lambda: taken.append(client.controller("heir", lock_step=True)))
    thread.start()
    while not client._memory.words[client._control + Control.PAUSED]:
        time.sleep(0.01)
    running.signal(signal.SIGCONT)
    thread.join()
    (heir,) = taken
    with pytest.raises(TookTooLong, match="the simulation is paused"):
        heir.step(limit=0.3)
    client.resume()
    begin = client.newest().serial
    heir.state = client.newest()
    assert heir.step().serial == max(begin + 1, heir.state.serial)
    heir.close()


def test_joints_of_a_client_that_is_killed_end_as_if_timed_out(client, push) -> None:
    process = push("free")
    _until(client, lambda: bool(client.newest().joint_status[0] & JointStatus.COMMANDED))
    process.kill()
    process.wait()
    _until(client, lambda: bool(client.newest().joint_status[0] & JointStatus.TIMED_OUT))
    assert client.newest().efforts[0] == 0.0  # it was told to float
    with client.controller() as controller:
        assert controller.channel == 0


def test_half_a_set_of_a_client_that_is_killed_is_never_seen(client) -> None:
    """It is in a bank and not published, as if the client had died before the last store."""
    with client.controller("torn") as controller:
        at, table = controller._banks[(controller.send()) % 4]
        table[:] = 2**62
        client.wait(client.newest().serial + 5)
        assert not (client.newest().joint_status & JointStatus.COMMANDED).any()
        assert client.status.torn == 0
        assert client._memory.words[at] != 2**62


@pytest.mark.parametrize("how", ["lock", "free"])
def test_a_client_that_is_stopped_goes_on(client, push, how: str, full_run) -> None:
    """In lock-step the simulation waits for it; otherwise its command times out, and comes back with it."""
    process = push(how, timeout=0.05)
    _until(client, lambda: bool(client.newest().joint_status[0] & JointStatus.COMMANDED))
    process.send_signal(signal.SIGSTOP)
    if how == "lock":
        _until(client, lambda: client.status.life == Life.WAITING and client.status.waits_for == 0)
        time.sleep(5.0 if full_run else _STOPPED)
        before = client.newest().serial
        with pytest.raises(
            TookTooLong, match=rf"waits for pusher \(process {process.pid}\): see what it does"
        ):
            client.wait(before + 10, limit=0.2)
        assert client.newest().serial <= before + 1
    else:
        _until(client, lambda: bool(client.newest().joint_status[0] & JointStatus.TIMED_OUT))
        time.sleep(5.0 if full_run else 0.0)
        before = client.newest().serial
    process.send_signal(signal.SIGCONT)
    _until(client, lambda: bool(client.newest().joint_status[0] & JointStatus.COMMANDED))
    assert client.wait(before + 10, limit=60.0).joint_status[0] & JointStatus.COMMANDED


def test_a_loop_that_is_stopped_goes_on_and_nothing_is_lost(client, running, full_run) -> None:
    states = client.states(limit=60.0)
    serials = [next(states).serial for _ in range(5)]
    running.signal(signal.SIGSTOP)
    time.sleep(5.0 if full_run else _STOPPED)
    with pytest.raises(
        TookTooLong, match=rf"no sign of life for \d.* process {running.process.pid} is stopped"
    ):
        client.wait(client.newest().serial + 1, limit=0.2)
    running.signal(signal.SIGCONT)
    serials += [next(states).serial for _ in range(20)]
    assert serials == list(range(serials[0], serials[0] + 25))


def test_a_loop_that_is_killed_is_told_at_once_and_may_be_started_again(start) -> None:
    """Its client does not wait out its limit; the name is free again, and the client opens it anew."""
    running = start()
    client = running.connect()
    controller = client.controller("survivor", lock_step=True)
    controller.step()
    running.kill()
    killed = rf"its process \({running.process.pid}\) has been killed; start it again, and open it anew"
    with pytest.raises(SimulationEnded, match=killed):
        controller.step(limit=3600.0)
    with pytest.raises(SimulationEnded, match=killed):
        client.wait(10**9, limit=3600.0)
    for call in (client.newest, client.pause, client.step, controller.send, lambda: client.set_pace(1.0)):
        with pytest.raises(SimulationEnded, match=killed):
            call()
    with pytest.raises(InputError, match="has been killed; start it again"):
        connect(running.name)
    start(name=running.name)
    with connect(running.name) as again:
        assert again.newest().stepped or again.newest().step == 0


def test_a_loop_that_ends_in_order_wakes_its_clients(start) -> None:
    running = start()
    with running.connect() as client:
        client.pause()
        running.signal(signal.SIGTERM)
        with pytest.raises(SimulationEnded, match="has ended, or runs another scene; open its name anew"):
            client.wait(10**9, limit=3600.0)
    assert running.process.wait() == 0


def test_a_second_simulation_of_this_name_is_one_line_and_harms_nobody(client, running) -> None:
    before = client.newest()
    command = [sys.executable, "-m", "support.shared_memory.engine", running.name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 1
    assert done.stderr == (
        f"/dev/shm/hydro_sim.{running.name}: belongs to a simulation of the same name that runs "
        f"(process {running.process.pid}); stop it, or give this one another name\n"
    )
    assert client.wait(before.serial + 3).epoch == before.epoch
    assert os.path.exists(f"/dev/shm/hydro_sim.{running.name}")
