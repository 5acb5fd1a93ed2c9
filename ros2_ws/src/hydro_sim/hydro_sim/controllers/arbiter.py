"""Who commands which joint: a new command takes over exactly the joints that it names."""

from __future__ import annotations

import math
from collections.abc import Collection

from hydro_sim_core.simulation import World


class Controller:
    """Something that commands joints; all that is declared here is called in the stepping thread.

    Attributes:
        interface: What it commands; reports, time-outs and other controllers know it by this name.
        timeout: Silence that ``timeout_policy`` ends where the node has no parameter ``command_timeout_KIND``, s of
            simulated time; 0 for any.
    """

    interface: str
    timeout: float = 0.0

    @property
    def kind(self) -> str:
        """Which time-out is its own: the interface, unless several controllers share one."""
        return self.interface

    def advance(self, world: World) -> None:
        """Command what the coming step needs; raises nothing."""

    def lost(self, joints: frozenset[str], to: str | None) -> None:
        """Leave these joints to the interface ``to``; None where they are not in the scene any more."""

    def forget(self) -> None:
        """Drop what is under way: the World has been reset."""

    def world_changed(self, world: World) -> None:
        """Go on with another World; the joints that it lacks are lost already."""

    def busy_until(self) -> float:
        """Simulated time until which no further command is expected, s."""
        return -math.inf


class Arbiter:
    """Remembers the controller of every commanded joint, and tells controllers what they lose.

    Only the stepping thread calls it.
    """

    def __init__(self) -> None:
        self._owners: dict[str, Controller] = {}
        self._heard: dict[Controller, float] = {}

    def take(self, controller: Controller, joints: Collection[str], time: float) -> None:
        """Give a controller the joints that it was told to command at simulated ``time`` (s)."""
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

    def joints_of(self, controller: Controller) -> tuple[str, ...]:
        """Joints that a controller commands."""
        return tuple(joint for joint, owner in self._owners.items() if owner is controller)

    def heard(self, controller: Controller) -> float:
        """Simulated time of a controller's last command, s; minus infinity if there was none."""
        return self._heard.get(controller, -math.inf)

    def keep_only(self, joints: Collection[str]) -> None:
        """Take all other joints from their controllers: they do not exist any more."""
        gone: dict[Controller, list[str]] = {}
        for joint in [joint for joint in self._owners if joint not in joints]:
            gone.setdefault(self._owners.pop(joint), []).append(joint)
        for owner, lost in gone.items():
            owner.lost(frozenset(lost), None)

    def forget(self) -> None:
        """Nobody commands anything: the World has been reset."""
        self._owners.clear()
        self._heard.clear()
