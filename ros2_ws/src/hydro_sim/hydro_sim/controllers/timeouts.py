"""Command timeouts: hold modes of joints whose controller falls silent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hydro_sim.controllers.arbiter import Arbiter, Controller
from hydro_sim.controllers.hold import HoldController
from hydro_sim.hil.link import CommandLink
from hydro_sim.parameters import Parameters
from hydro_sim_core.simulation import World


class CommandTimeouts:
    """Sets joints to the hold mode of ``timeout_policy`` when their interface has been silent for too long.

    The joints then belong to the hold controller, so that each silence counts once; the next command takes them back.

    Args:
        parameters: ``timeout_policy`` and ``command_timeout_*``, followed live.
        controllers: Monitored controllers; the timeout is the parameter of their kind, or their own.
        arbiter: Arbiter of the joints, with the times of commands.
        hold: Hold controller, which takes over.
        link: Command link, which counts timeouts.
        logger: Logs one line for each timeout.
    """

    def __init__(
        self,
        parameters: Parameters,
        controllers: Sequence[Controller],
        arbiter: Arbiter,
        hold: HoldController,
        link: CommandLink,
        logger: Any,
    ) -> None:
        self._parameters = parameters
        self._controllers = controllers
        self._arbiter = arbiter
        self._hold = hold
        self._link = link
        self._logger = logger

    def advance(self, world: World) -> None:
        """Check every interface once a step."""
        for controller in self._controllers:
            limit = self._limit(controller)
            since = max(self._arbiter.heard(controller), controller.busy_until())
            if 0.0 < limit < world.time - since:
                joints = self._arbiter.joints_of(controller)
                if joints:
                    self._end_command(controller, joints, world)

    def left(self, world: World) -> float:
        """Simulated time until one of them may come, s; infinite if none can without another command."""
        ends = [math.inf]
        for controller in self._controllers:
            limit = self._limit(controller)
            if limit > 0.0 and self._arbiter.joints_of(controller):
                ends.append(limit + max(self._arbiter.heard(controller), controller.busy_until()))
        return min(ends) - world.time

    def _limit(self, controller: Controller) -> float:
        return float(getattr(self._parameters, f"command_timeout_{controller.kind}", controller.timeout))

    def _end_command(self, controller: Controller, joints: tuple[str, ...], world: World) -> None:
        policy = self._parameters.timeout_policy
        self._hold.assume(world, joints, policy)
        self._link.count_timeout(controller.interface)
        self._logger.warning(
            f"no {controller.interface} command for more than "
            f"{self._limit(controller):g} s at {world.time:.3f} s: "
            f"{policy} for {', '.join(joints)}, until the next command"
        )
