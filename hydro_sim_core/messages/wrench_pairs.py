"""Which pairs of bodies have wrench topics of their own: the few that somebody asked for, of those that can touch.

All contacts are told in one array, ``~/contacts``. A scene of a robot has a hundred pairs that can touch, and as many
publishers would bury what else there is.
"""

from __future__ import annotations

from hydro_sim_core.description.names import did_you_mean, topic_token
from hydro_sim_core.errors import InputError, shortened
from hydro_sim_core.messages.view import View
from hydro_sim_core.simulation import World

#: In place of names: every pair that can touch.
ALL = "all"
Pair = tuple[str, str]


def pairs_with_topics(world: World, view: View) -> tuple[Pair, ...]:
    """The pairs that the view names, else those of ``report.wrenches`` in the scene.

    A pair that is not in the world, which may have lost a model, is left out.
    """
    if not view.wrench_topics:
        return world.contact_pairs if world.scene.spec.report.wrenches != "all" else ()
    if ALL in view.wrench_topics:
        return world.touching_pairs
    return tuple(pair for pair in world.touching_pairs if pair_name(pair) in view.wrench_topics)


def check_wrench_topics(view: View, world: World) -> None:
    """Check that a world has every pair that the view names.

    Raises:
        InputError: It lacks one.
    """
    asked = [name for name in view.wrench_topics if name != ALL]
    known = {pair_name(pair) for pair in world.touching_pairs} if asked else set()
    for name in asked:
        if name not in known:
            problem = f"'{shortened(name)}' is no pair of bodies that can touch"
            raise InputError("parameters", "wrench_topics", problem, did_you_mean(name, known))


def pair_name(pair: Pair) -> str:
    """Last part of the names of a pair's topics."""
    a, b = pair
    return f"{topic_token(a)}_on_{topic_token(b)}"
