"""A step of smooth contact in NumPy, JAX and CuPy, on a GPU if there is one: the push of ``planar_push``.

2048 points on each body are the 4k of Beker 2025, whose step takes 0.8 ms on a GPU. JAX compiles the step as a whole
and takes it as often as asked for in one call. All begin from the same state, and must come to the same one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from measure import make_parser, write

from hydro_sim_core.experiments.planar_push.bodies import soft_pushing
from hydro_sim_core.simulation.soft import SoftSystem, soft_system

TIME_STEP, SETTLE, BURSTS = 2e-3, 20, 5
#: Largest difference between states of several libraries, m and rad, or per second.
ROUND_OFF = 1e-12
LIBRARIES = ("numpy", "jax", "cupy")
State = tuple[np.ndarray, np.ndarray]
Scheme = Literal["euler", "rk4"]


def main() -> None:
    """Measure what was asked for, print and write."""
    parser = make_parser(__doc__.splitlines()[0], "soft_arrays")
    parser.add_argument("--points", type=int, nargs="+", default=[26, 2048], help="on each body")
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=list(LIBRARIES))
    parser.add_argument("--schemes", nargs="+", choices=("euler", "rk4"), default=["euler", "rk4"])
    arguments = parser.parse_args()
    rows = []
    for points in arguments.points:
        world = soft_pushing(points, "euler", TIME_STEP).world
        world.step(SETTLE)
        start = world.q.copy(), world.v.copy()
        for scheme in arguments.schemes:
            expected: State | None = None
            for row in _measured(soft_system(world), start, scheme, arguments.libraries):
                after = row.pop("after")
                expected = expected or after
                differs = max(float(np.abs(a - b).max()) for a, b in zip(after, expected, strict=True))
                if not differs < ROUND_OFF:
                    raise SystemExit(
                        f"error: {row['library']} differs from {arguments.libraries[0]} by {differs:g}"
                    )
                rows.append({"points": points, "scheme": scheme, **row, "differs": differs})
                print(rows[-1], flush=True)
                write(arguments.out, {"rows": rows}, quiet=True)


def _measured(
    system: SoftSystem, start: State, scheme: Scheme, libraries: list[str]
) -> Iterator[dict[str, Any]]:
    """Milliseconds of a step, and the state after one, of every library that is there."""
    steppers: dict[str, Callable[..., dict[str, Any]]] = {"numpy": _numpy, "jax": _jax, "cupy": _cupy}
    for name in libraries:
        try:
            found = steppers[name](system, start, scheme)
        except ImportError as error:
            print(f"{name}: left out, {error}")
            continue
        yield {"library": name, **found}


def _numpy(system: SoftSystem, start: State, scheme: Scheme) -> dict[str, Any]:
    tau = np.zeros_like(start[1])

    def step() -> State:
        return system.step(start[0], start[1], tau, TIME_STEP, scheme)

    return {"device": "cpu", "step_ms": _best(step), "after": step()}


def _jax(system: SoftSystem, start: State, scheme: Scheme) -> dict[str, Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    there = system.as_arrays_of(jax.numpy)
    q, v = (jax.numpy.asarray(array) for array in start)
    tau = jax.numpy.zeros_like(v)

    def steps(q: Any, v: Any, count: int) -> Any:
        def advance(_: Any, state: Any) -> Any:
            return there.step(state[0], state[1], tau, TIME_STEP, scheme)

        return jax.lax.fori_loop(0, count, advance, (q, v))

    compiled = jax.jit(steps)
    began = time.perf_counter()
    after = tuple(np.asarray(array) for array in compiled(q, v, 1))
    first = time.perf_counter() - began
    count = max(1, min(100, round(0.5 / _seconds(lambda: jax.block_until_ready(compiled(q, v, 1))))))
    took = _best(lambda: jax.block_until_ready(compiled(q, v, count))) / count
    device = jax.devices()[0].device_kind
    return {"device": device, "step_ms": took, "steps_a_call": count, "first_s": first, "after": after}


def _cupy(system: SoftSystem, start: State, scheme: Scheme) -> dict[str, Any]:
    import cupy

    there = system.as_arrays_of(cupy)
    q, v = (cupy.asarray(array) for array in start)
    tau = cupy.zeros_like(v)

    def step() -> Any:
        after = there.step(q, v, tau, TIME_STEP, scheme)
        cupy.cuda.Device().synchronize()
        return after

    after = tuple(array.get() for array in step())
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return {"device": name, "step_ms": _best(step), "after": after}


def _seconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _best(call: Callable[[], Any]) -> float:
    """Least time of a call, ms."""
    return 1e3 * min(_seconds(call) for _ in range(BURSTS))


if __name__ == "__main__":
    main()
