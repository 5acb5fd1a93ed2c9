"""A kind of controller and what it is made with; plug-ins import this while the table is being put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from rclpy.node import Node

from hydro_sim.controllers.arbiter import Arbiter, Controller
from hydro_sim.controllers.goals import ActionDoor, ActionGoal, Start
from hydro_sim.hil.link import Action, CommandLink
from hydro_sim.parameters import Parameters
from hydro_sim.rejections import Rejections
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import FixedRateRunner, World

if TYPE_CHECKING:
    from hydro_sim.controllers.hold import HoldController


class Goals(Protocol):
    """Turns goals of an action into what a controller does."""

    def check(self, request: Any) -> Start:
        """What starts a goal; raises ``InputError`` where it cannot be carried out."""

    def cancel(self, world: World, goal: ActionGoal) -> None:
        """End a goal that a client wants cancelled, in the stepping thread."""

    def aborted(self, reason: str) -> Any:
        """The result of a goal that was not carried out."""


@dataclass(frozen=True, eq=False)
class ControllerContext:
    """What controllers are made with, and how they come by their commands.

    Attributes:
        node: Owner of publishers and the like.
        world: The World to begin with.
        joints: Joints that arrays, twists and holding address, in the order of arrays.
        parameters: Of the node, followed live.
        arbiter: To be told who commands which joint.
        hold: Keeps joints where they are.
        runner: Steps the World.
        link: Brings commands.
        rejections: Where bad messages are counted.
        in_order: Wraps what is to be done in the stepping thread, so that a reset before it is noticed first.
        doors: Actions that were opened.
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
    doors: list[ActionDoor] = field(default_factory=list)

    def now(self) -> float:
        """Simulated time as the executor's thread knows it, s."""
        return self.runner.snapshot().time

    def refuse(self, topic: str) -> Callable[[InputError], None]:
        """What counts and logs a command of a topic that was taken and cannot be carried out."""
        return partial(self.rejections.count, topic)

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
            message_type: Their type.
            topics: Their names; all but the first are those of controllers of ros2_control, and are left to them
                without ``builtin_controllers``.
            interface: What the commands command: of the controller.
            check: Turns a message into what is done in the stepping thread, or raises ``InputError``.
            stamped: Whether a header's stamp, where there is one, says when the message was made.
        """

        def checked(message: Any) -> Action:
            return self.in_order(check(message))

        for topic in topics if self.parameters.builtin_controllers else topics[:1]:
            self.link.subscribe(message_type, topic, interface, checked, stamped=stamped)

    def open(self, action_type: Any, name: str, interface: str, goals: Goals) -> None:
        """Take goals of an action.

        Args:
            action_type: The action.
            name: Its name.
            interface: What its goals command: of the controller.
            goals: What becomes of them.
        """

        def checked(request: Any) -> Any:
            return self.in_order(goals.check(request))

        parts = checked, goals.cancel, goals.aborted, self.runner, self.link, self.rejections
        self.doors.append(ActionDoor(self.node, action_type, name, interface, *parts))


@dataclass(frozen=True)
class ControllerKind:
    """A kind of controller.

    Attributes:
        name: Of the kind.
        controllers: Makes those that a World needs, with their topics and actions; none where they have nothing to do.
    """

    name: str
    controllers: Callable[[ControllerContext], Iterable[Controller]]

    def made(self, context: ControllerContext) -> list[Controller]:
        """Those that a World needs.

        Raises:
            InputError: A parameter does not fit the scene, or what a plug-in says here does not work.
        """
        try:
            return list(self.controllers(context))
        except InputError:
            raise
        except Exception as error:  # a stranger's code may raise anything
            problem = f"does not work ({type(error).__name__}: {error})"
            mend = "mend the package that adds it"
            raise InputError("hydro_sim.controllers", f"'{self.name}'", problem, mend) from error
