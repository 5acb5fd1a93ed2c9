"""Kinds of controllers and the context in which controllers are made.

Plug-ins import this module while the table of kinds is built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from rclpy.node import Node

from hydro_sim.controllers.arbiter import Arbiter, Controller
from hydro_sim.controllers.goals import ActionGoal, GoalServer, Start
from hydro_sim.controllers.position_clamp import PositionClamp
from hydro_sim.hil.link import Action, CommandLink
from hydro_sim.parameters import Parameters
from hydro_sim.rejections import Rejections
from hydro_sim_core.errors import InputError
from hydro_sim_core.plugins import guarded
from hydro_sim_core.simulation import FixedRateRunner, World

if TYPE_CHECKING:
    from hydro_sim.controllers.hold import HoldController


class Goals(Protocol):
    """Protocol that connects goals of an action with a controller."""

    def check(self, request: Any) -> Start:
        """Check a goal and return the function that starts it; raises ``InputError`` if it cannot be carried out."""

    def cancel(self, world: World, goal: ActionGoal) -> None:
        """End a goal that a client cancels, in the stepping thread."""

    def aborted(self, reason: str) -> Any:
        """Result of a goal that was not carried out."""


@dataclass(frozen=True, eq=False)
class ControllerContext:
    """Context in which controllers are made, with functions to subscribe to commands.

    Attributes:
        node: Owner of publishers and other ROS entities.
        world: The first World.
        joints: Joints that arrays, twists and hold modes address, in the order of arrays.
        parameters: Parameters of the node, followed live.
        arbiter: Arbiter of the joints.
        hold: Hold controller.
        runner: Runner of the World.
        link: Command link.
        rejections: Counter of bad messages.
        in_order: Wraps an action of the stepping thread, so that an earlier reset is handled before it.
        servers: Action servers opened so far.
    """

    node: Node
    world: World
    joints: tuple[str, ...]
    parameters: Parameters
    arbiter: Arbiter
    hold: HoldController
    runner: FixedRateRunner
    link: CommandLink
    rejections: Rejections
    in_order: Callable[[Callable[..., None]], Callable[..., None]]
    servers: list[GoalServer] = field(default_factory=list)

    def now(self) -> float:
        """Simulated time as known in the executor's thread, s."""
        return self.runner.snapshot().time

    def refuse(self, topic: str) -> Callable[[InputError], None]:
        """Make a function that counts and logs accepted commands of a topic that cannot be carried out."""
        return partial(self.rejections.count, topic)

    def clamp(self, topic: str) -> PositionClamp:
        """Make the clamp of positions that are commanded on a topic; it counts and logs what it moves."""
        return PositionClamp(self.world, partial(self.rejections.count_clamped, topic))

    def subscribe(
        self,
        message_type: type,
        topics: tuple[str, ...],
        interface: str,
        check: Callable[[Any], Action],
        stamped: bool = True,
    ) -> None:
        """Take commands from topics.

        Args:
            message_type: Type of the topics.
            topics: Names of the topics; all but the first are those of ros2_control's controllers, which are used
                only with ``builtin_controllers``.
            interface: Command interface of the controller.
            check: Turns a message into an action of the stepping thread, or raises ``InputError``.
            stamped: Whether the stamp of a header is the time at which the message was made.
        """

        def checked(message: Any) -> Action:
            return self.in_order(check(message))

        for topic in topics if self.parameters.builtin_controllers else topics[:1]:
            self.link.subscribe(message_type, topic, interface, checked, stamped=stamped)

    def open(self, action_type: Any, name: str, interface: str, goals: Goals) -> None:
        """Take goals of an action.

        Args:
            action_type: Type of the action.
            name: Name of the action.
            interface: Command interface of the controller.
            goals: Connects the goals with the controller.
        """

        def checked(request: Any) -> Any:
            return self.in_order(goals.check(request))

        parts = checked, goals.cancel, goals.aborted, self.runner, self.link, self.rejections
        self.servers.append(GoalServer(self.node, action_type, name, interface, *parts))


@dataclass(frozen=True)
class ControllerKind:
    """A kind of controller.

    Attributes:
        name: Name of the kind.
        controllers: Makes the controllers that a World needs, with their topics and actions; possibly none.
    """

    name: str
    controllers: Callable[[ControllerContext], Iterable[Controller]]

    def made(self, context: ControllerContext) -> list[Controller]:
        """Make the controllers that a World needs.

        Raises:
            InputError: A parameter does not fit the scene, or a plug-in fails.
        """
        return guarded(lambda: list(self.controllers(context)), "hydro_sim.controllers", f"'{self.name}'")
