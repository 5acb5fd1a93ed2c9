"""Recorder of the topics that the node publishes and of the commands that it applies."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from rclpy.node import Node
from rclpy.serialization import serialize_message

from hydro_sim.hil.link import CommandLink
from hydro_sim.parameters import Parameters
from hydro_sim.publishing.streams import view_of
from hydro_sim.recording.type_names import type_name
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.messages.streams import stream_kinds
from hydro_sim_core.recording import Recorder
from hydro_sim_core.recording.message_types import message_types
from hydro_sim_core.simulation import FixedRateRunner, Snapshot


class NodeRecorder:
    """Records states at their rates, and every command at the simulated time of the step that it precedes.

    Args:
        node: Node that resolves topic names and logs errors.
        runner: Runner of the World, not started yet.
        link: Command link.
        parameters: ``record`` with its limits, ``overwrite``, ``world_frame``, and the rates of publishing.
        recorded: Numbers of files that this process has written, by the value of ``record``; updated here.
        scale: Colour scale of pressure.

    Raises:
        InputError: The file cannot be created.
    """

    def __init__(
        self,
        node: Node,
        runner: FixedRateRunner,
        link: CommandLink,
        parameters: Parameters,
        recorded: Counter[str],
        scale: PressureScale,
    ) -> None:
        self._runner = runner
        self._logger = node.get_logger()
        self._unknown: set[str] = set()
        rates = {
            kind.name: getattr(parameters, kind.parameter)
            for kind in stream_kinds().values()
            if kind.parameter
        }
        self._recorder = Recorder(
            Path(parameters.record),
            rates,
            view_of(parameters, scale),
            node.resolve_topic_name,
            complete=math.isinf(parameters.pace),
            warn=self._logger.error,
            number=recorded[parameters.record],
            overwrite=parameters.overwrite,
            limits=parameters.file_limits,
        )
        self._recorder.start(runner.snapshot(), runner.world)
        self._recorded, self._record = recorded, parameters.record
        runner.add_follower(self._on_snapshot)
        link.observers.append(self._on_command)

    def stop(self) -> None:
        """Complete the file; called when the runner has stopped."""
        report = self._recorder.stop()
        self._recorded[self._record] += len(report.paths)
        self._logger.info(f"recorded {report}")

    def _on_snapshot(self, snapshot: Snapshot) -> None:
        self._recorder.record(snapshot, self._runner.world)

    def _on_command(self, topic: str, message: Any, time: float) -> None:
        name = type_name(type(message))
        if name in message_types():
            epoch = self._runner.snapshot().epoch
            self._recorder.record_command(topic, name, partial(serialize_message, message), time, epoch)
        elif topic not in self._unknown:
            self._unknown.add(topic)
            self._logger.warning(f"{topic}: not recorded: the definition of {name} is not known")
