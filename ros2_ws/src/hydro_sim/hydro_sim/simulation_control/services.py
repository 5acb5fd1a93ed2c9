"""Services that pause, step and reset the simulation."""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import SetBool, Trigger

from hydro_sim import optional
from hydro_sim.parameters import Parameters
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import FixedRateRunner

_MAX_STEPS = 1_000_000


class SimulationServices:
    """``~/pause``, ``~/step``, ``~/reset``, and ``~/step_many`` where hydro_sim_msgs is built.

    Args:
        node: Owner of the services.
        runner: The ``FixedRateRunner`` they act on.
        parameters: ``step_count`` says how far one ``~/step`` goes.
    """

    def __init__(self, node: Node, runner: FixedRateRunner, parameters: Parameters) -> None:
        self._runner = runner
        self._open_steps = 0
        self._parameters = parameters
        node.create_service(SetBool, "~/pause", self._pause)
        # A call for steps stays open while they are taken; in a group of its own it keeps no other callback waiting.
        group = ReentrantCallbackGroup()
        self._answer_ready = node.create_guard_condition(lambda: None, callback_group=group)
        node.create_service(Trigger, "~/step", self._step, callback_group=group)
        node.create_service(Trigger, "~/reset", self._reset)
        if optional.hydro_sim_srvs is not None:
            step_many = optional.hydro_sim_srvs.StepMany
            node.create_service(step_many, "~/step_many", self._step_many, callback_group=group)

    def _pause(self, request: Any, response: Any) -> Any:
        if request.data:
            self._runner.pause()
        else:
            self._runner.resume()
        return self._answer(response, True, "paused" if request.data else "running")

    @property
    def stepping(self) -> bool:
        """Whether a call that asked for steps has not been answered yet."""
        return self._open_steps > 0

    async def _step(self, request: Any, response: Any) -> Any:
        return await self._advance(self._parameters.step_count, response)

    async def _step_many(self, request: Any, response: Any) -> Any:
        if not 1 <= request.steps <= _MAX_STEPS:
            return self._answer(response, False, f"{request.steps} steps refused; ask for 1 to {_MAX_STEPS}")
        return await self._advance(request.steps, response)

    async def _advance(self, steps: int, response: Any) -> Any:
        """Answer when the steps are taken."""
        self._open_steps += 1
        try:
            taken = await self._take_steps(steps)
        except FloatingPointError as error:
            return self._answer(response, False, str(error))
        except InputError as error:
            return self._answer(response, False, f"{error.problem}; {error.mend}")
        finally:
            self._open_steps -= 1
        if taken < steps:
            return self._answer(response, False, f"broken off after {taken} of {steps} steps")
        return self._answer(response, True, f"at {self._runner.snapshot().time:.6f} s")

    async def _take_steps(self, steps: int) -> int:
        """Take steps while the executor serves others; the number taken."""
        taken = self._runner.begin_steps(steps)
        done = Future()

        def finish(_: object) -> None:
            done.set_result(None)
            # The executor looks at what awaits only when something happens.
            self._answer_ready.trigger()

        taken.add_done_callback(finish)
        await done
        return taken.result()

    def _reset(self, request: Any, response: Any) -> Any:
        self._runner.reset()
        return self._answer(response, True, "at the start")

    def _answer(self, response: Any, success: bool, message: str) -> Any:
        response.success = success
        response.message = message
        return response
