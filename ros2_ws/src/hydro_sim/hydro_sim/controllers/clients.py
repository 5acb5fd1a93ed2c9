"""Joints that controllers of other processes command in the shared memory, as the node's own controllers see it."""

from __future__ import annotations

import math
from typing import Protocol

from hydro_sim.controllers.arbiter import Arbiter, Controller
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.realtime.plan import Plan


class Clients(Protocol):
    """Those who command in the shared memory: the runner."""

    @property
    def led_joints(self) -> tuple[str, ...]:
        """Joints that they command."""

    def take_from_clients(self, joints: frozenset[str]) -> None:
        """Have them lead joints no more, until they command them anew."""


class ClientJoints(Controller):
    """Stands for the clients among the controllers, so that whoever commands a joint last has it.

    A client that names a joint takes it from the controller that has it, whose goal ends. A command of the node takes
    it from the client, until that commands it anew. When a client gives a joint up, nobody has it. What clients have
    commanded goes on in another World that goes on from the one before, and so they keep these joints.

    Args:
        clients: The clients.
        arbiter: Arbiter of the joints.
    """

    interface = "shared memory"

    def __init__(self, clients: Clients, arbiter: Arbiter) -> None:
        self._clients = clients
        self._arbiter = arbiter
        self._led: frozenset[str] = frozenset()

    def advance(self, world: World) -> None:
        """Take joints for clients that have begun to command them, and give up those of others."""
        led = frozenset(self._clients.led_joints)
        if led == self._led:
            return
        begun, ended, self._led = led - self._led, self._led - led, led
        self._arbiter.give_up(self, ended)
        if begun:
            self._arbiter.take(self, sorted(begun), world.time)

    def hand_over(self, world: World, plan: Plan) -> float:
        """See ``Controller``: the compiled loop comes back when a client begins or ends."""
        return math.inf

    def lost(self, joints: frozenset[str], to: str | None) -> None:
        """See ``Controller``."""
        self._led -= joints
        if to is not None:
            self._clients.take_from_clients(joints)

    def forget(self) -> None:
        """See ``Controller``: those that go on are taken again before the next step."""
        self._led = frozenset()
