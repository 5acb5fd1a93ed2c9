"""From the name of a scene to a World whose kernels are compiled, with a way out for who cannot wait."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Event, Thread

from rich.console import Console

from hydro_sim_core.compilation.progress import compile_progress
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.scenes import open_world

_LOOK_PERIOD = 0.05  # s, how late a wish to stop is noticed


class Interrupted(Exception):
    """The wish to stop came while a scene was being loaded; a thread of this process may still compile."""


def load_world(scene: str, console: Console, stop: Event) -> World:
    """Load a scene and take one step of it, so that none compiles against the clock.

    Raises:
        InputError: The scene cannot be simulated.
        FloatingPointError: Its first step has no finite result.
        Interrupted: ``stop`` was set meanwhile.
    """
    loaded: Future[World] = Future()

    def load() -> None:
        try:
            world = open_world(scene)
            world.step()
            world.reset()
            loaded.set_result(world)
        except BaseException as error:
            # Whatever it is, the thread that waits has to hear of it.
            loaded.set_exception(error)

    with compile_progress(console):
        # Python's signal handlers run in the main thread only, between two of its instructions: it must not compile.
        Thread(target=load, name="scene-loader", daemon=True).start()
        while not loaded.done():
            if stop.wait(_LOOK_PERIOD):
                raise Interrupted
    return loaded.result()
