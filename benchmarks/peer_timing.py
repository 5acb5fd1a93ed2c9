"""How fast many worlds step, in any engine."""

from __future__ import annotations

import time
from typing import Any, Protocol


class Steps(Protocol):
    """Worlds that step.

    Attributes:
        n: Number of worlds.
    """

    n: int

    def step(self, number: int) -> None:
        """Take an even number of steps."""

    def wait(self) -> None:
        """Wait until they are done."""


def timed(scene: Steps, seconds: float, repeats: int = 3) -> dict[str, Any]:
    """World-steps a second after a warm-up, in bursts of about so many seconds (at least 10, at most 500 steps)."""
    first = _elapsed(scene, 4)
    each = _elapsed(scene, 10) / 10.0
    steps = 2 * max(5, min(250, int(0.5 * seconds / each)))
    found = [scene.n * steps / _elapsed(scene, steps) for _ in range(repeats)]
    return {"world_steps_per_s": found, "steps": steps, "first_steps_s": first}


def _elapsed(scene: Steps, steps: int) -> float:
    scene.wait()
    began = time.perf_counter()
    scene.step(steps)
    scene.wait()
    return time.perf_counter() - began
