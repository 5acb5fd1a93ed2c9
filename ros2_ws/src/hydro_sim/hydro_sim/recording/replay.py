"""Replay of the commands in a recording, each before the step that it preceded."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from hydro_sim.controllers.position_clamp import PositionClamp
from hydro_sim.hil.link import CommandLink
from hydro_sim.parameters import LOCK_STEP, Parameters
from hydro_sim.recording.type_names import type_name
from hydro_sim.rejections import Rejections
from hydro_sim_core.errors import InputError
from hydro_sim_core.recording import RecordedMessage, read_messages, run_files
from hydro_sim_core.simulation import FixedRateRunner, World
from hydro_sim_core.simulation.running.sources import whole_steps

#: Later times than this (s) are wall-clock times; such a recording starts at its first command.
_LATEST_SIMULATED_TIME = 1e6


#: Function that applies a message in the stepping thread, or raises ``InputError``.
Obey = Callable[[Any, World], None]


@dataclass(frozen=True, eq=False)
class _Command:
    """A message to apply at simulated ``time`` (s)."""

    time: float
    topic: str
    message: Any
    obey: Obey


def check_replay(parameters: Parameters) -> None:
    """Check that a recording can be read, before the scene is compiled.

    Raises:
        InputError: It is not a recording, or the node is in lock-step.
    """
    if not parameters.replay:
        return
    for path in run_files(Path(parameters.replay)):
        next(read_messages(path), None)
    if parameters.mode == LOCK_STEP:
        problem = "does not permit steps, which lock-step waits for"
        raise InputError("parameters", "replay", problem, "use mode free_running")


class Replay:
    """A command source that replays the commands of a recording, from the beginning after a reset.

    It must be the first of the runner's sources: as with the link, commands come before the controllers act.

    Args:
        node: Node that resolves topic names and logs the end of the recording.
        runner: Runner of the World.
        rejections: Counter of commands that cannot be carried out.
    """

    def __init__(self, node: Node, runner: FixedRateRunner, rejections: Rejections) -> None:
        self._node = node
        self._runner = runner
        self._rejections = rejections
        self._commands: Sequence[_Command] = ()
        self._start = 0.0
        self._next = 0
        self._epoch = 0
        runner.add_command_source(self._before_step, self._idle_steps)

    def load(self, parameters: Parameters, link: CommandLink, joints: Sequence[str]) -> None:
        """Read the commands.

        Args:
            parameters: ``replay`` and ``replay_joint_states``.
            link: Command link, with the command topics.
            joints: Recorded joints to follow.

        Raises:
            InputError: The recording is damaged, has no commands of this scene, or they are of other types.
        """
        path = Path(parameters.replay)
        topics: dict[str, tuple[type, Obey]] = {
            topic: (message_type, partial(link.obey, topic)) for topic, message_type in link.topics.items()
        }
        if parameters.replay_joint_states:
            states = self._node.resolve_topic_name("joint_states")
            clamp = PositionClamp(self._runner.world, partial(self._rejections.count_clamped, states))
            topics[states] = (JointState, partial(_follow_joint_state, frozenset(joints), clamp))
        commands = sorted(_read_commands(run_files(path), topics), key=lambda command: command.time)
        if not commands:
            mend = "" if parameters.replay_joint_states else "set replay_joint_states, or "
            problem = "holds no commands that this scene takes"
            raise InputError(path, "", problem, f"{mend}record one of {', '.join(topics)}")
        self._start = commands[0].time if commands[0].time > _LATEST_SIMULATED_TIME else 0.0
        self._commands = commands
        self._node.get_logger().info(f"replaying {len(commands)} commands of {path}")

    def _before_step(self, world: World) -> None:
        now = world.time + self._start
        epoch = self._runner.snapshot().epoch
        if epoch != self._epoch:  # time may have been reset
            self._epoch = epoch
            since = now - 0.5 * world.time_step
            self._next = bisect_left(self._commands, since, key=lambda command: command.time)
        until = now + 0.5 * world.time_step
        while self._next < len(self._commands) and self._commands[self._next].time < until:
            command = self._commands[self._next]
            self._next += 1
            with self._rejections.guard(command.topic):
                command.obey(command.message, world)
            if self._next == len(self._commands):
                self._node.get_logger().info("the replay is over")

    def _idle_steps(self, world: World) -> float:
        """For how many steps no command is to be replayed."""
        if self._runner.snapshot().epoch != self._epoch:
            return 0.0
        if self._next == len(self._commands):
            return math.inf
        return whole_steps(self._commands[self._next].time - self._start - world.time, world)


def _read_commands(paths: Sequence[Path], topics: Mapping[str, tuple[type, Obey]]) -> Iterator[_Command]:
    for path in paths:
        for recorded in read_messages(path, topics):
            message_type, obey = topics[recorded.topic]
            yield _Command(1e-9 * recorded.time, recorded.topic, _message(path, recorded, message_type), obey)


def _message(path: Path, recorded: RecordedMessage, wanted: type) -> Any:
    if (recorded.type_name, recorded.encoding) != (type_name(wanted), "cdr"):
        problem = f"holds {recorded.type_name or 'messages without type'} ({recorded.encoding})"
        raise InputError(path, recorded.topic, problem, f"give one with {type_name(wanted)} (cdr)")
    try:
        return deserialize_message(recorded.data, wanted)
    except Exception as error:  # rclpy has no exception type for it
        problem = f"a message cannot be read: {' '.join(str(error).split())}"
        raise InputError(path, recorded.topic, problem, "record it again") from None


def _follow_joint_state(
    joints: frozenset[str], clamp: PositionClamp, message: JointState, world: World
) -> None:
    """Command the recorded positions of ``joints``, which may have pressed against their stops; others are ignored."""
    positions = dict(zip(message.name, message.position, strict=False))
    if followed := joints & positions.keys():
        world.set_command({name: clamp.inside(name, positions[name]) for name in followed}, mode="position")
        clamp.tell({name: positions[name] for name in followed})
    else:
        problem = "holds a position of none of the commanded joints"
        raise InputError("replay", "joint_states", problem, f"record those of {', '.join(sorted(joints))}")
