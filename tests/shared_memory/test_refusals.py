"""What the client in Python refuses, in a line: commands, control words, names, segments; what the loop refuses."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest

from hydro_sim_core.errors import InputError
from hydro_sim_core.shared_memory.client import connect
from hydro_sim_core.shared_memory.layout import Command, Control, Header, JointStatus, Mode, Overrun
from hydro_sim_core.shared_memory.segment import Segment
from support.shared_memory.processes import environment
from support.shared_memory.stand_in import tables

#: Of tests that know the numbers of the stand-in.
of_stand_in = pytest.mark.parametrize("running", ["stand_in"], indirect=True)


@of_stand_in
@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (
            lambda c: c.give("nose", effort=1.0),
            "joint 'nose': is not in the simulation; it has: shoulder, elbow",
        ),
        (
            lambda c: c.give("wheel", effort=1.0),
            "joint 'wheel': has no interface for effort; it cannot be driven",
        ),
        (
            lambda c: c.give("slider", velocity=1.0),
            "no interface for velocity; it has position, effort, gains",
        ),
        (lambda c: c.give("elbow", position=math.nan), "position of elbow: is not finite"),
        (
            lambda c: c.give(["elbow", "shoulder"], effort=[1.0, math.inf]),
            "effort of elbow, shoulder: is not",
        ),
        (lambda c: c.give("elbow", effort=1.0, timeout=math.inf), "timeout of elbow: is not finite"),
        (lambda c: c.give("elbow", position=[0.5, 0.6]), "position: is no number.*give one number, or 1"),
        (lambda c: c.give("elbow", position="a"), "position: is no number.*give one number, or 1"),
        (
            lambda c: c.give("elbow", effort=1.0, timeout=-1.0),
            "timeout of elbow: is negative; give 0 or more",
        ),
        (lambda c: c.give("elbow", position=1.0, kp=-1.0), "kp of elbow: is negative"),
        (lambda c: c.give("elbow", kp=1.0), "tells joints nothing to do; give a position"),
        (lambda c: c.give(0, effort=1.0), "joint 0: is not in the simulation"),
        (lambda c: c.give(["elbow", 3], effort=1.0), "joint 3: is not in the simulation"),
        (
            lambda c: c.give(np.array([99]), effort=1.0),
            r"joints: \[99\] are no rows of joints; give names, or",
        ),
        (lambda c: c.give(np.array([-1]), effort=1.0), r"joints: \[-1\] are no rows of joints"),
        (lambda c: c.give(np.array([1.0]), effort=1.0), r"joints: \[1.0\] are no rows of joints"),
        (lambda c: c.give("elbow", effort="1.5"), "effort: is no number"),
        (lambda c: c.give("elbow", effort=b"1"), "effort: is no number"),
        (lambda c: c.give("elbow", effort=10**400), "effort: is no number"),
        (lambda c: c.give("elbow", effort=1.0, floats="x"), "floats: 'x' is neither true nor false"),
        (
            lambda c: c.give("elbow", effort=1.0, floats=np.array([1, 0])),
            "floats: .* is neither true nor false",
        ),
        (
            lambda c: c.give(["elbow", "elbow"], effort=[1.0, 2.0]),
            "joints: has one joint twice; give each once",
        ),
        (lambda c: c.leave(np.array([[1]])), r"joints: \[\[1\]\] are no rows of joints"),
    ],
)
def test_commands_that_cannot_be_are_refused(client, call, problem: str) -> None:
    with client.controller() as controller:
        before = controller.commands.integers.copy()
        with pytest.raises(InputError, match=problem):
            call(controller.commands)
        assert (controller.commands.integers == before).all()


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda client: client.step(0), "steps: 0 is too small"),
        (lambda client: client.step(1.5), "1.5 is not a whole number"),
        (lambda client: client.set_pace(-1.0), "-1.0 is no pace"),
        (lambda client: client.set_pace(math.nan), "nan is no pace"),
        (lambda client: client.set_pace("1"), "'1' is no pace"),
        (lambda client: client.set_pace(1e-300), "1e-300 is so slow that no step would ever be taken"),
        (lambda client: client.set_pace(math.inf), "inf is no pace"),
        (lambda client: client.set_overrun(Overrun.SKIP, -0.1), "-0.1 s is no lateness"),
        (lambda client: client.set_overrun("drop"), r"policy: 'drop' is none; give Overrun.SKIP or"),
        (lambda client: client.set_overrun(7), "policy: 7 is none"),
        (lambda client: client.set_lock_step("no"), "lock_step: 'no' is neither true nor false"),
        (lambda client: client.wait(2.5), "serial: 2.5 is not a whole number"),
        (lambda client: client.wait(0, limit=math.nan), "limit: nan is no time to wait"),
        (lambda client: client.newest("1"), "limit: '1' is no time to wait"),
        (lambda client: client.controller(5), "controller: 5 is no name; give a text"),
        (lambda client: client.controller(channel=1.5), "channel: 1.5 is not a whole number"),
        (lambda client: client.controller(lock_step="yes"), "lock_step: 'yes' is neither true nor false"),
        (lambda client: connect("\udc80"), r"name: '\\udc80' is no name of a simulation"),
        (lambda client: client.step(10**5000), "steps: is a number of thousands of digits"),
        (lambda client: client.set_pace(10**5000), "a number of thousands of digits is no pace"),
        (lambda client: client.histogram(-1), "histogram: -1 is none; give one of Histogram.LATENESS"),
        (lambda client: client.histogram("x"), "histogram: 'x' is none"),
        (lambda client: setattr(client, "spin", "a"), "spin: 'a' is no time to wait"),
        (lambda client: setattr(client, "spin", None), "spin: None is no time to wait"),
        (lambda client: client.wait(0, limit=b"1"), "limit: b'1' is no time to wait"),
        (lambda client: connect(5), "name: 5 is no name of a simulation"),
        (lambda client: connect("nobody", wait="long"), "limit: 'long' is no time to wait"),
    ],
)
def test_control_words_that_cannot_be_are_refused(client, call, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        call(client)


@pytest.mark.parametrize("number", [10**20, 0])
def test_permits_that_cannot_be_are_refused(client, number: int) -> None:
    with client.controller(lock_step=True) as controller:
        with pytest.raises(InputError, match="steps: "):
            controller.step(number)
        assert controller.step().serial == controller.state.serial


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.newest(),
        lambda client: client.wait(0),
        lambda client: client.step(),
        lambda client: client.reset(),
        lambda client: client.pause(),
        lambda client: client.resume(),
        lambda client: client.set_pace(0.0),
        lambda client: client.set_overrun(Overrun.SKIP),
        lambda client: client.controller(),
    ],
)
def test_a_client_that_is_closed_says_so(client, running, call) -> None:
    other = running.connect()
    other.close()
    before = client._memory.words[client._control : client._control + Control.END].tolist()
    with pytest.raises(InputError, match=f"{running.name}: is closed; connect to it anew"):
        call(other)
    assert client._memory.words[client._control : client._control + Control.END].tolist() == before


def test_a_controller_that_is_closed_leaves_its_channel_to_the_next(client) -> None:
    first = client.controller("first")
    first.commands.give("shoulder", effort=1.0)
    first.close()
    with client.controller("second", lock_step=True) as second:
        assert second.channel == first.channel
        for call in (first.send, first.step):
            with pytest.raises(
                InputError, match="controller: has given its channel back; take a channel anew"
            ):
                call()
        first.close()
        assert second.step().efforts[0] == 0.0


def test_gains_of_a_command_let_every_drive_follow(client) -> None:
    """As the loop does: the slider of the stand-in has no interface for velocity alone."""
    with client.controller() as controller:
        controller.commands.give("slider", velocity=0.1, kp=0.0, kd=5.0)
        assert controller.commands.integers[2, Command.MODE] == Mode.VELOCITY | Mode.GAINS


def test_a_simulation_that_does_not_run(running) -> None:
    with pytest.raises(
        InputError, match=rf"no simulation of this name runs; these run: .*\b{running.name}\b"
    ):
        connect("nobody")


@pytest.mark.parametrize(
    ("word", "value", "problem"),
    [
        (Header.VERSION, 7 << 32 | 2, r"version: the layout is 7\.2, and this client knows 1\.2; use the"),
        (Header.MAGIC, 1, "is no segment of hydro-sim"),
        (Header.AT_RING, 10**9, "header: says what cannot be"),
        (Header.NUM_JOINTS, -1, "header: says what cannot be"),
        (Header.SLOT_LINKS, 10**6, "header: says what cannot be"),
    ],
)
def test_segments_that_are_not_understood(word: Header, value: int, problem: str) -> None:
    segment = Segment.make(f"test_other_{os.getpid()}", tables(), slots=4)
    segment.memory.words[word] = value
    with pytest.raises(InputError, match=problem):
        connect(segment.name)
    segment.retire()


def test_another_users_simulation_is_refused() -> None:
    if os.geteuid():
        pytest.skip("only root can try this")
    segment = Segment.make(f"test_user_{os.getpid()}", tables(), slots=4)
    # Everything is imported before the user changes, who may not read this checkout.
    program = (
        "import os, sys\n"
        "from hydro_sim_core.shared_memory.opening import open_segment\n"
        "from hydro_sim_core.shared_memory.segment import Segment\n"
        "from support.shared_memory.stand_in import tables\n"
        "os.setuid(65534)\n"
        "for call in (lambda: open_segment(sys.argv[1]), lambda: Segment.make(sys.argv[1], tables(), 8)):\n"
        "    try:\n        call()\n    except Exception as error:\n        print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, segment.name],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    client, owner = done.stdout.splitlines()
    assert client.endswith("belongs to another user (0); start the controller as that user")
    assert owner.endswith("belongs to another user; give this simulation another name")
    segment.retire()


@of_stand_in
def test_the_loop_refuses_what_a_client_should_not_have_sent(client) -> None:
    with client.controller(lock_step=True) as controller:
        controller.commands.give("shoulder", effort=2.0)
        controller.step()
        controller.commands.reals[0, Command.EFFORT] = math.nan
        controller.commands.integers[2, Command.MODE] = Mode.VELOCITY
        state = controller.step()
        assert state.joint_status[0] & JointStatus.REFUSED
        assert state.joint_status[2] & JointStatus.REFUSED
        assert state.efforts[0] == 2.0
