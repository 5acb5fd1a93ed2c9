"""Arbitration of joints between controllers: a new command takes over exactly the joints that it names."""

from __future__ import annotations

import math
from collections.abc import Collection

from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.realtime.plan import Plan


class Controller:
    """Base class of controllers; these methods are called in the stepping thread.

    Attributes:
        interface: Name of its command interface in reports, timeouts and other controllers.
        timeout: Silence after which ``timeout_policy`` acts if the node has no parameter ``command_timeout_KIND``, s of
            simulated time; 0 for no timeout.
    """

    interface: str
    timeout: float = 0.0

    @property
    def kind(self) -> str:
        """Name of its timeout: the interface, unless several controllers share a timeout."""
        return self.interface

    def advance(self, world: World) -> None:
        """Command the drives for the coming step; must not raise."""

    def hand_over(self, world: World, plan: Plan) -> float:
        """Have the compiled loop command what ``advance`` would; return for how many steps it can.

        By default for ever if it does nothing, else not at all.
        """
        return math.inf if type(self).advance is Controller.advance else 0.0

    def take_back(self, world: World, plan: Plan) -> None:
        """Go on from where the compiled loop has come, after steps that it took by the plan."""

    def lost(self, joints: frozenset[str], to: str | None) -> None:
        """Give up these joints to the interface ``to``; None if they are no longer in the scene."""

    def forget(self) -> None:
        """Drop all commands in progress, because the World has been reset."""

    def world_changed(self, world: World) -> None:
        """Continue with another World; joints that it lacks have already been lost."""

    def busy_until(self) -> float:
        """Simulated time until which no further command is expected, s."""
        return -math.inf


class Arbiter:
    """Keeps the controller of every commanded joint, and notifies controllers of joints that they lose.

    Only the stepping thread calls it.
    """

    def __init__(self) -> None:
        self._owners: dict[str, Controller] = {}
        self._heard: dict[Controller, float] = {}

    def take(self, controller: Controller, joints: Collection[str], time: float) -> None:
        """Give a controller the joints of a command at simulated ``time`` (s)."""
        self._heard[controller] = time
        losses: dict[Controller, list[str]] = {}
        for joint in joints:
            owner = self._owners.get(joint)
            if owner is not controller:
                self._owners[joint] = controller
                if owner is not None:
                    losses.setdefault(owner, []).append(joint)
        for owner, lost in losses.items():
            owner.lost(frozenset(lost), controller.interface)

    def give_up(self, controller: Controller, joints: Collection[str]) -> None:
        """Leave joints that a controller has to nobody."""
        for joint in joints:
            if self._owners.get(joint) is controller:
                del self._owners[joint]

    def joints_of(self, controller: Controller) -> tuple[str, ...]:
        """Joints that a controller commands."""
        return tuple(joint for joint, owner in self._owners.items() if owner is controller)

    def heard(self, controller: Controller) -> float:
        """Simulated time of a controller's last command, s; minus infinity if there was none."""
        return self._heard.get(controller, -math.inf)

    def keep_only(self, joints: Collection[str]) -> None:
        """Take all other joints, which no longer exist, from their controllers."""
        gone: dict[Controller, list[str]] = {}
        for joint in [joint for joint in self._owners if joint not in joints]:
            gone.setdefault(self._owners.pop(joint), []).append(joint)
        for owner, lost in gone.items():
            owner.lost(frozenset(lost), None)

    def forget(self) -> None:
        """Remove all controllers from their joints, because the World has been reset."""
        self._owners.clear()
        self._heard.clear()
