"""Real-time priority of the stepping thread: what is asked for, or what is permitted as long as others can live."""

from __future__ import annotations

import math
import threading
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from hydro_sim.parameters import AS_PERMITTED, LOCK_STEP, Parameters
from hydro_sim_core.simulation import FixedRateRunner
from hydro_sim_core.simulation.running.realtime import (
    USUAL_PRIORITY,
    give_priority_up,
    isolated_cpu,
    make_realtime,
    memory_may_be_locked,
    scheduling_of,
)

#: Share of late steps in a second from which on a thread with priority leaves too little time to others.
_STARVING = 0.9


class Priority:
    """Makes the stepping thread a real-time thread.

    Without a priority asked for, one is taken that is permitted, unless steps follow each other without pause: such a
    thread would leave nothing to anybody. It is given up when the thread cannot keep its pace for a second, too.

    Args:
        node: Owner of the timer and logger.
        parameters: ``realtime_*``, ``lock_memory`` and the pace.
    """

    def __init__(self, node: Node, parameters: Parameters) -> None:
        self._logger: Any = node.get_logger()
        self._parameters = parameters
        self._runner: FixedRateRunner | None = None
        self._thread = 0
        self._is_taken = False
        self._last = (0, 0)
        #: What was not permitted, one sentence each with the remedy.
        self.refused: list[str] = []
        node.create_timer(1.0, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def follow(self, runner: FixedRateRunner) -> None:
        """Look after the stepping thread of a runner."""
        self._runner = runner

    def obtain(self) -> None:
        """Take what is asked for or permitted; called in the stepping thread."""
        p, self._thread = self._parameters, threading.get_native_id()
        if p.realtime_priority != AS_PERMITTED:
            self.refused = make_realtime(p.realtime_priority, p.processors, p.lock_memory)
            for sentence in self.refused:
                self._logger.warning(sentence)
            return
        if math.isinf(p.pace) or p.mode == LOCK_STEP:
            make_realtime(0, p.processors, p.lock_memory)
            return
        cpus, locks = p.processors or isolated_cpu(), p.lock_memory or memory_may_be_locked()
        self.refused = make_realtime(USUAL_PRIORITY, cpus, locks)
        self._is_taken = not self.refused
        # Nobody has asked for it: no warning, but how to get it.
        self._logger.info(f"stepping thread: {'; '.join([self.scheduling, *self.refused])}")

    @property
    def scheduling(self) -> str:
        """How the stepping thread is scheduled, in words."""
        try:
            return scheduling_of(self._thread) if self._thread else "not started"
        except ProcessLookupError:
            return "not started"

    def _look(self) -> None:
        """Give the priority up where it starves others."""
        if self._runner is None or not self._is_taken:
            return
        report, (steps, late) = self._runner.report(), self._last
        self._last = (report.steps, report.overruns)
        starves = report.overruns - late > _STARVING * max(1, report.steps - steps)
        if starves or math.isinf(self._parameters.pace):
            self._is_taken = False
            try:
                give_priority_up(self._thread)
            except ProcessLookupError:
                return
            self._logger.warning(
                "stepping thread: its real-time priority is given up, as it leaves no time to others; lower "
                "real_time_factor, or ask for one with realtime_priority"
            )
