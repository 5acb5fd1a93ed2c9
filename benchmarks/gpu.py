"""Worlds side by side on a GPU: whether they agree with the processor to the last bit, and how fast they are.

The worlds hold a cylinder between the fingers of an arm, and differ in friction, mass, drive efforts and speed.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from measure import environment, make_parser, write

from hydro_sim_core.experiments.cylinder_grasp import grasp_scene
from hydro_sim_core.simulation import BatchWorld

FACES = 200
SETTLING = 200
VARIANTS = 256
STEPS = 100
WORLDS = (1024, 2048, 4096, 8192, 16384, 32768, 65536)


def main() -> None:
    """Compare, measure, print, write the results."""
    parser = make_parser(__doc__.splitlines()[0], "gpu")
    parser.add_argument("--backend", default="cuda", help="cuda, or cpu to try the benchmark itself")
    parser.add_argument("--worlds", type=int, nargs="+", default=WORLDS, help="numbers of worlds")
    parser.add_argument("--variants", type=int, default=VARIANTS, help="worlds that differ")
    parser.add_argument("--steps", type=int, default=STEPS, help="steps to take")
    arguments = parser.parse_args()
    started = settled()
    start = first_step(arguments)
    print(start)
    agreement = compare(arguments, started)
    print(agreement)
    rates = []
    for n in arguments.worlds:
        rates.append(measure(arguments, started, n))
        print(rates[-1])
    found = {"backend": arguments.backend, "gpu": device(arguments.backend), "environment": environment()}
    write(arguments.out, {**found, "faces": FACES, "start": start, "agreement": agreement, "rates": rates})
    same = [agreement[name]["worlds with the same bits"] for name in ("one step", "all steps")]
    if same != [arguments.variants] * 2 or not all(row["repeats"] and not row["failures"] for row in rates):
        raise SystemExit("error: the GPU has other states than the processor, or than itself")


def settled() -> Any:
    """State of the grasp after it has settled."""
    batch = BatchWorld(grasp_scene(FACES), 1, "cpu")
    batch.step(SETTLING)
    return batch.save(0)


def varied(batch: BatchWorld, started: Any, variants: int) -> None:
    """Let all worlds start from the settled grasp, in ``variants`` ways that repeat."""
    numpy = batch.numpy
    batch.reset()
    batch.step()  # takes the scene's command, which would replace the varied ones
    rng = np.random.default_rng(3)
    which = np.arange(batch.n) % variants
    friction, mass, effort = (rng.uniform(1 - s, 1 + s, variants)[which] for s in (0.2, 0.3, 0.15))
    noise = rng.normal(size=(variants, 6))[which] * 1e-3
    q, v = (np.repeat(array[None], batch.n, axis=0) for array in (started.state.q, started.state.v))
    v[:, -6:] += noise
    batch.set_state(numpy.asarray(q), numpy.asarray(v))
    for name in ("kp", "kd", "q_target", "v_target", "effort", "limit", "v_after"):
        getattr(batch.drives, name)[...] = numpy.asarray(getattr(started.drives, name))[None]
    batch.drives.effort[...] *= numpy.asarray(effort)[:, None]
    batch.parameters["friction"][...] *= numpy.asarray(friction)[:, None]
    batch.parameters["mass"][:, -1] *= numpy.asarray(mass)


def on_host(array: Any) -> Any:
    """A NumPy array of an array of either kind."""
    return array.get() if hasattr(array, "get") else np.array(array)


def first_step(arguments: Any) -> dict[str, Any]:
    """Seconds from a scene to the first step done, with the program from disk if it is kept; memory of a world."""
    begin = time.perf_counter()
    batch = BatchWorld(grasp_scene(FACES), arguments.variants, arguments.backend)
    made = time.perf_counter()
    batch.step()
    done = time.perf_counter()
    found: dict[str, Any] = {"batch_s": made - begin, "first_step_s": done - made}
    if hasattr(batch.numpy, "get_default_memory_pool"):
        pool = batch.numpy.get_default_memory_pool()
        found["bytes_a_world"] = pool.used_bytes() / batch.n
    return found


def compare(arguments: Any, started: Any) -> dict[str, Any]:
    """Largest differences from the processor after one step and after all."""
    n = arguments.variants
    here, there = (BatchWorld(grasp_scene(FACES), n, backend) for backend in ("cpu", arguments.backend))
    for batch in (here, there):
        varied(batch, started, n)
    found: dict[str, Any] = {"worlds": n}
    for name, steps in (("one step", 1), ("all steps", arguments.steps - 1)):
        forces = []
        for batch in (here, there):
            batch.step(steps)
            some = range(min(n, 16))
            forces.append(np.array([[p.force_on_b for p in batch.copy_of(i).contacts] for i in some]))
        found[name] = {
            "q": float(np.abs(on_host(there.q) - here.q).max()),
            "force": float(np.abs(forces[1] - forces[0]).max()),
            "worlds with the same bits": int((on_host(there.q) == here.q).all(axis=1).sum()),
        }
    return found


def measure(arguments: Any, started: Any, n: int) -> dict[str, Any]:
    """World-steps a second, and whether a second run repeats the first to the bit."""
    batch = BatchWorld(grasp_scene(FACES), n, arguments.backend)
    ends, seconds = [], []
    first = {name: array.copy() for name, array in batch.parameters.items()}
    for _ in range(2):
        for name, array in first.items():
            batch.parameters[name][...] = array
        varied(batch, started, arguments.variants)
        batch.step(1)
        begin = time.perf_counter()
        batch.step(arguments.steps - 1)
        seconds.append(time.perf_counter() - begin)
        ends.append(on_host(batch.q))
    steps = n * (arguments.steps - 1)
    return {
        "worlds": n,
        "world_steps_per_s": [steps / each for each in seconds],
        "repeats": bool(np.array_equal(*ends)),
        "failures": len(batch.failures),
    }


def device(backend: str) -> dict[str, Any]:
    """Card and driver."""
    if backend == "cpu":
        return {}
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    return {
        "name": properties["name"].decode(),
        "cuda_driver": cupy.cuda.runtime.driverGetVersion(),
        "cupy": cupy.__version__,
    }


if __name__ == "__main__":
    main()
