"""How fast many worlds step, in any engine."""

from __future__ import annotations

import time
from collections.abc import Callable
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


class Graph:
    """Two steps as a CUDA graph of Warp, which are launched as often as asked for.

    Args:
        two_steps: Takes two steps; the present state is then where it was.
    """

    def __init__(self, two_steps: Callable[[], None]) -> None:
        self._two_steps = two_steps
        self._graph: Any = None
        self.failed: str | None = None

    def step(self, number: int, wp: Any) -> None:
        """Take an even number of steps; one by one where Warp runs on a processor, or captures no graph."""
        if self._graph is None and self.failed is None:
            self._two_steps()  # compiles
            number -= 2
            self._capture(wp)
        for _ in range(number // 2):
            if self._graph is None:
                self._two_steps()
            else:
                wp.capture_launch(self._graph)

    def _capture(self, wp: Any) -> None:
        if not wp.get_device().is_cuda:
            self.failed = "no GPU"
            return
        try:
            with wp.ScopedCapture() as capture:
                self._two_steps()
            self._graph = capture.graph
        except Exception as error:  # the rate without a graph is worth having
            self.failed = f"{type(error).__name__}: {error}"


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
