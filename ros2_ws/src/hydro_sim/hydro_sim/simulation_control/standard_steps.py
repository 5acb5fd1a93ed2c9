"""Steps on request while paused: StepSimulation and the action SimulateSteps."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from rclpy.action import ActionServer, CancelResponse
from rclpy.node import Node
from rclpy.qos import QoSProfile

from hydro_sim.simulation_control.control import SimulationControl, SimulationState
from hydro_sim.simulation_control.refusals import Reason, Refused, refusal_of
from hydro_sim.simulation_control.waiting import Waiting

#: Queue length of feedback for slow clients; a step takes less than 1 ms, so the default of 10 is too short.
_FEEDBACK = QoSProfile(depth=1000)


class StepServices:
    """Takes steps for clients of simulation_interfaces.

    Args:
        node: Owner of the action.
        interfaces: ``simulation_interfaces``.
        control: Operations on the simulation.
        waiting: Waits for the steps.
    """

    def __init__(
        self, node: Node, interfaces: ModuleType, control: SimulationControl, waiting: Waiting
    ) -> None:
        self._interfaces = interfaces
        self._control = control
        self._logger = node.get_logger()
        self._open = 0
        self._action = ActionServer(
            node,
            interfaces.action.SimulateSteps,
            "~/simulate_steps",
            self._simulate,
            callback_group=waiting.group,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
            feedback_pub_qos_profile=_FEEDBACK,
        )

    @property
    def serving(self) -> bool:
        """Whether a goal has not been answered yet."""
        return self._open > 0

    def close(self) -> None:
        """Destroy the action server."""
        self._action.destroy()

    async def step(self, request: Any, response: Any) -> None:
        """Handle StepSimulation."""
        steps = int(request.steps)
        self._require_steps(steps)
        await self._control.step(steps)

    async def _simulate(self, goal: Any) -> Any:
        """Take steps one by one, with feedback after each, until done, cancelled or aborted."""
        result = self._interfaces.action.SimulateSteps.Result()
        feedback = self._interfaces.action.SimulateSteps.Feedback()
        codes = self._interfaces.msg.Result
        steps = int(goal.request.steps)
        self._open += 1
        try:
            self._require_steps(steps)
            for taken in range(1, steps + 1):
                if goal.is_cancel_requested:
                    goal.canceled()
                    result.result.result = codes.RESULT_OK
                    result.result.error_message = f"cancelled after {taken - 1} of {steps} steps"
                    return result
                self._require_steps(steps)
                await self._control.step(1)
                feedback.completed_steps, feedback.remaining_steps = taken, steps - taken
                goal.publish_feedback(feedback)
        except Exception as error:
            goal.abort()
            result.result.result = codes.RESULT_OPERATION_FAILED
            result.result.error_message = str(refusal_of(error, "simulate_steps", self._logger))
            return result
        finally:
            self._open -= 1
        goal.succeed()
        result.result.result = codes.RESULT_OK
        return result

    def _require_steps(self, steps: int) -> None:
        state = self._control.state
        if state is not SimulationState.PAUSED:
            raise Refused(Reason.OPERATION_FAILED, f"is {state.name}; pause it first")
        if steps < 1:
            raise Refused(Reason.OPERATION_FAILED, "ask for 1 step or more")
