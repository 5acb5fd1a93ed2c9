"""Interruptible loading of a World with compiled kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from threading import Event, Thread
from typing import Any

from rich.console import Console

from hydro_sim_core.compilation.progress import compile_progress
from hydro_sim_core.description.yaml_source import parse_value
from hydro_sim_core.errors import InputError, shortened
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.scenes import RobotOptions, open_world

_LOOK_PERIOD = 0.05  # s, largest delay until ``stop`` is noticed


class Interrupted(Exception):
    """Loading a scene was interrupted; a thread of this process may still compile."""


def load_world(
    scene: str,
    console: Console,
    stop: Event,
    values: Mapping[str, Any] | None = None,
    robot: RobotOptions | None = None,
) -> World:
    """Load a scene, with other values by path, and take one step, so that no later step has to compile.

    Args:
        scene: File or name of a shipped scene.
        console: Output for progress.
        stop: Interrupts the loading.
        values: Other values by path.
        robot: Options of a robot file.

    Raises:
        InputError: The scene cannot be simulated.
        FloatingPointError: Its first step has no finite result.
        Interrupted: ``stop`` was set before the end.
    """
    loaded: Future[World] = Future()

    def load() -> None:
        try:
            world = open_world(scene, robot or RobotOptions(), values)
            world.step()
            world.reset()
            loaded.set_result(world)
        except BaseException as error:
            # Any exception is passed to the waiting thread.
            loaded.set_exception(error)

    with compile_progress(console):
        # Python's signal handlers run in the main thread, between two bytecodes, so it must not compile.
        Thread(target=load, name="scene-loader", daemon=True).start()
        while not loaded.done():
            if stop.wait(_LOOK_PERIOD):
                raise Interrupted
    return loaded.result()


def parse_scene_values(settings: Sequence[str]) -> dict[str, Any]:
    """Other values in a scene, by path, of the parameter ``scene_values``.

    Raises:
        InputError: One is no ``PATH=VALUE``.
    """
    found = {}
    for setting in filter(None, settings):
        path, equals, text = setting.partition("=")
        try:
            if not path or not equals:
                raise ValueError("is no PATH=VALUE")
            found[path] = parse_value(text)
        except ValueError as error:
            element, mend = f"scene_values '{shortened(setting)}'", "write such as models.ball.friction=0.4"
            raise InputError("parameters", element, str(error), mend) from None
    return found
