"""Pulls of links by springs, such as those of the viewer's pages."""

from __future__ import annotations

from collections.abc import Iterator

from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from hydro_sim.controllers.arbiter import Controller
from hydro_sim.hil.link import Action
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.pulls import ALL, LET_GO, PLACES
from hydro_sim_core.simulation import World

Place = tuple[float, float, float]


class PullController(Controller):
    """Pulls links as messages say whose layout is that of ``hydro_sim_core.messages.pulls``.

    It takes no joints: a pull acts beside whoever drives them. The World ends it when it is reset.

    Args:
        world: World that checks commands.
    """

    interface = "pull"

    def __init__(self, world: World) -> None:
        self._world = world

    def world_changed(self, world: World) -> None:
        """See ``Controller``."""
        self._world = world

    def check(self, message: Float64MultiArray) -> Action:
        """Check a message; return the action that carries it out.

        Raises:
            InputError: Sizes and numbers do not fit, or a link cannot be pulled so.
        """
        commands = list(_read(message))
        for link, numbers in commands:
            if numbers:
                self._world.check_pull(link, numbers[:3], numbers[3:6], *numbers[6:])

        def apply(world: World) -> None:
            for link, numbers in commands:
                if numbers:
                    world.pull(link, numbers[:3], numbers[3:6], *numbers[6:])
                else:
                    world.let_go(link)

        return apply


def pull_message(link: str, point: Place, target: Place) -> Float64MultiArray:
    """Message that pulls a point of a link, in its frame, towards a target in the world, m, by the default spring."""
    return _message(link, [*point, *target])


def let_go_message(link: str) -> Float64MultiArray:
    """Message that ends the pull of a link."""
    return _message(link, [])


def _message(link: str, numbers: list[float]) -> Float64MultiArray:
    message = Float64MultiArray(data=numbers)
    message.layout.dim = [MultiArrayDimension(label=link, size=len(numbers), stride=len(numbers))]
    return message


def _read(message: Float64MultiArray) -> Iterator[tuple[str, list[float]]]:
    """Links of a message and the numbers about each."""
    dimensions, data = message.layout.dim, message.data.tolist()
    sizes = [dimension.size for dimension in dimensions]
    if not sizes or sum(sizes) != len(data) or any(size not in (LET_GO, PLACES, ALL) for size in sizes):
        problem = f"has {len(data)} numbers for links with {sizes[:8] or 'none'}"
        mend = f"give every link of layout.dim {PLACES} or {ALL}, or {LET_GO} to let go"
        raise InputError("pull", "data", problem, mend)
    first = 0
    for dimension in dimensions:
        yield dimension.label, data[first : first + dimension.size]
        first += dimension.size
