"""Services that pause, step and reset the simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from hydro_sim import optional
from hydro_sim.parameters import Parameters
from hydro_sim_core.simulation import FixedRateRunner

_MAX_STEPS = 1_000_000


class SimulationServices:
    """``~/pause``, ``~/step``, ``~/reset``, and ``~/step_many`` where hydro_sim_msgs is built.

    Args:
        node: Owner of the services.
        runner: The ``FixedRateRunner`` they act on.
        parameters: ``step_count`` says how far one ``~/step`` goes.
        before_reset: Called before the World returns to its start.
    """

    def __init__(
        self, node: Node, runner: FixedRateRunner, parameters: Parameters, before_reset: Callable[[], None]
    ) -> None:
        self._runner = runner
        self._parameters = parameters
        self._before_reset = before_reset
        node.create_service(SetBool, "~/pause", self._pause)
        node.create_service(Trigger, "~/step", self._step)
        node.create_service(Trigger, "~/reset", self._reset)
        if optional.hydro_sim_srvs is not None:
            node.create_service(optional.hydro_sim_srvs.StepMany, "~/step_many", self._step_many)

    def _pause(self, request: Any, response: Any) -> Any:
        if request.data:
            self._runner.pause()
        else:
            self._runner.resume()
        return self._answer(response, True, "paused" if request.data else "running")

    def _step(self, request: Any, response: Any) -> Any:
        return self._advance(self._parameters.step_count, response)

    def _step_many(self, request: Any, response: Any) -> Any:
        if not 1 <= request.steps <= _MAX_STEPS:
            return self._answer(response, False, f"{request.steps} steps refused; ask for 1 to {_MAX_STEPS}")
        return self._advance(request.steps, response)

    def _advance(self, steps: int, response: Any) -> Any:
        if not self._runner.paused:
            return self._answer(response, False, "running; pause before stepping")
        try:
            self._runner.step(steps)
        except FloatingPointError as error:
            return self._answer(response, False, str(error))
        return self._answer(response, True, f"at {self._runner.snapshot().time:.6f} s")

    def _reset(self, request: Any, response: Any) -> Any:
        self._before_reset()
        self._runner.reset()
        return self._answer(response, True, "at the start")

    def _answer(self, response: Any, success: bool, message: str) -> Any:
        response.success = success
        response.message = message
        return response
