"""Controls of a page: commands pass the node's command link, other requests act like the node's services."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from hydro_sim.controllers.gripper import gripper_interface
from hydro_sim.controllers.pull import Place, let_go_message, pull_message
from hydro_sim.hil.link import CommandLink
from hydro_sim.simulation_control.control import SimulationControl
from hydro_sim.simulation_control.refusals import Refused
from hydro_sim.simulation_control.waiting import Calls
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import FixedRateRunner, World
from hydro_sim_core.viewer.choices import Choice, Chooser, scene_choices

#: Timeout of a page's request to the executor, s: a reset may have to build the scene again.
_CALL_TIMEOUT = 30.0
#: The same of loading a scene, whose kernels may have to be compiled.
_LOAD_TIMEOUT = 600.0


class NodeControls:
    """Carries out a page's commands; called by the viewer's thread.

    Joints, grippers and pulls are commanded by messages on the node's own topics, so that arbitration, time-outs,
    delays and recordings treat a slider like any other controller.

    Args:
        node: Node with the parameter ``real_time_factor``.
        runner: Runner of the World.
        link: Command link.
        operations: Operations on the simulation.
        calls: Calls to the executor's thread.
        scene: File or name of the scene that the node was started with.
        tell: Tells pages what is being loaded, see ``Viewer.tell_loading``.
    """

    def __init__(
        self,
        node: Node,
        runner: FixedRateRunner,
        link: CommandLink,
        operations: SimulationControl,
        calls: Calls,
        scene: str,
        tell: Callable[[str | None, str | None], None],
    ) -> None:
        self._node = node
        self._runner = runner
        self._link = link
        self._operations = operations
        self._calls = calls
        self._chooser = Chooser(scene_choices(Path(scene)), self._load, tell)

    def set_joint(self, name: str, position: float) -> None:
        """Command a joint to a position, rad or m."""
        # A slider ends at the limits: what lies beyond is a mistake, and not moved to the limit as on the topic.
        self._active_world().check_command({name: position}, "position")
        self._link.deliver("joint_commands", JointState(name=[name], position=[position]))

    def set_grip(self, name: str, force: float) -> None:
        """Command a gripper to close with a force, N per finger."""
        world = self._active_world()
        world.check_gripper(name, force=force)
        self._link.deliver(f"{gripper_interface(world, name)}/force_command", Float64(data=force))

    def pull(self, link: str, point: Place, target: Place) -> None:
        """Pull a point of a link, in its frame, towards a target in the world, m."""
        self._active_world()
        self._link.deliver("~/pull", pull_message(link, point, target))

    def let_go(self, link: str) -> None:
        """End the pull of a link."""
        self._link.deliver("~/pull", let_go_message(link))

    def pause(self, paused: bool) -> None:
        """Pause or resume stepping."""
        with _refusals("pause"):
            self._operations.pause(paused)

    def step(self, steps: int) -> None:
        """Take steps while paused; does not wait for them."""
        self._active_world()
        self._runner.begin_steps(steps)

    def reset(self) -> None:
        """Reset the simulation."""
        self._ask("reset", self._operations.reset_all)

    def set_speed(self, factor: float | None) -> None:
        """Set the real-time factor; None for as fast as possible."""

        async def set_parameter() -> None:
            value = Parameter("real_time_factor", value=0.0 if factor is None else factor)
            (result,) = self._node.set_parameters([value])
            if not result.successful:
                raise InputError("viewer", "speed", result.reason, "choose another")

        self._ask("speed", set_parameter)

    @property
    def choices(self) -> Sequence[Choice]:
        """Scenes that pages may load."""
        return self._chooser.choices

    @property
    def last_choice(self) -> str | None:
        """Name of what a page chose last."""
        return self._chooser.last

    def choose(self, name: str) -> None:
        """Begin to load a scene as the service does, and go on with it if the present one is not paused."""
        self._active_world()
        self._chooser.choose(name)

    def _load(self, choice: Choice) -> None:
        goes_on = not self._runner.paused

        async def load() -> None:
            await self._operations.load_world(str(choice.path.absolute()))
            if goes_on:
                self._operations.pause(False)

        self._ask(choice.name, load, _LOAD_TIMEOUT)

    def _active_world(self) -> World:
        if not self._runner.running:
            raise InputError("viewer", "node", "is not active", "activate it")
        return self._runner.world

    def _ask(self, what: str, request: Callable[[], Awaitable[Any]], timeout: float = _CALL_TIMEOUT) -> None:
        with _refusals(what):
            try:
                self._calls.call(request, timeout)
            except TimeoutError:
                problem = f"has not ended within {timeout:g} s"
                raise InputError("viewer", what, problem, "wait, or start the node again") from None


@contextmanager
def _refusals(what: str) -> Iterator[None]:
    """Turn refusals of the simulation into errors for a page, in the words of the services."""
    try:
        yield
    except Refused as refusal:
        raise InputError("viewer", what, "was refused", str(refusal)) from None
