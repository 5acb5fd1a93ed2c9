"""Batches on a GPU beside Newton's hydroelastic contact and MuJoCo Warp, and a world on one core beside Drake.

The scenes are those of ``peer_scenes``: a cylinder that two pads hold, for the rate, and three contacts with an exact
force. What each engine computes:

* hydro-sim: pressure fields on tetrahedra, contact on polygons, convex step to convergence, double precision;
* Newton: pressure fields as distances on voxels, contact on triangles of marching cubes, reduced to some ten contacts
  a pair, which MuJoCo Warp's solver takes (15 iterations at most), single precision;
* MuJoCo Warp: contact at some points, without a modulus, single precision;
* Drake: as hydro-sim, one world on one core, double precision; beside it hydro-sim on one core.

``error`` is that of the force at the depth where the exact one is the load; ``error_at_rest`` that of the depth at
which the engine came to rest under the load, as a force. World-steps a second are of three bursts after a warm-up,
with the device waited for. ``python benchmarks/gpu_peers.py --peers ours drake --backend cpu --out FILE`` tries it
without a GPU; results of peers and parts that are not measured stay in the file, with where they were.
"""

from __future__ import annotations

import gc
import importlib
import json
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from gpu import device
from measure import environment, make_parser, write

PEERS = {
    "ours": "peer_ours",
    "newton": "peer_newton",
    "mujoco_warp": "peer_mujoco_warp",
    "drake": "peer_drake",
}
PARTS = ("forces", "rates")
WORLDS = (1024, 8192)


def main() -> None:
    """Measure what was asked for, one after another; print and write every row at once."""
    parser = make_parser(__doc__.splitlines()[0], "gpu_peers")
    parser.add_argument(
        "--peers", nargs="+", default=list(PEERS)[:3], choices=PEERS, help="engines to measure"
    )
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS, help="what of them")
    parser.add_argument("--backend", default="cuda", help="cuda, or cpu to try the benchmark itself")
    parser.add_argument("--worlds", type=int, nargs="+", default=list(WORLDS), help="numbers of worlds")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a burst, about")
    arguments = parser.parse_args()
    found = _kept(arguments.out)
    for name in arguments.peers:
        began = time.perf_counter()
        result = found[name] = found.get(name, {})
        try:
            peer = importlib.import_module(PEERS[name])
            versions = peer.versions()
        except Exception:  # the other engines are measured all the same
            result["failed"] = _told(name, "import")
            continue
        result.pop("failed", None)
        for part in arguments.parts:
            where = {"environment": environment(), "gpu": device(arguments.backend), "versions": versions}
            result[part], result[f"{part} measured"] = [], where
            for row in _rows(name, part, _measurements(peer, part, arguments)):
                result[part].append(row)
                write(arguments.out, {"peers": found}, quiet=True)
        print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
    write(arguments.out, {"peers": found})


def _kept(path: Any) -> dict[str, Any]:
    """What an earlier run has found."""
    return dict(json.loads(path.read_text())["peers"]) if path.exists() else {}


def _measurements(peer: Any, part: str, arguments: Any) -> Iterator[Callable[[], dict[str, Any]]]:
    """The measurements of a part of a peer."""
    backend = "cuda:0" if arguments.backend == "cuda" and peer.__name__ != "peer_ours" else arguments.backend
    if part == "forces":
        yield from peer.force_errors(backend)
        return
    yield from peer.rates(backend, arguments.worlds, arguments.seconds)


def _rows(
    name: str, part: str, measurements: Iterator[Callable[[], dict[str, Any]]]
) -> Iterator[dict[str, Any]]:
    """Rows of a part; one that fails says why, and the next follow."""
    for measure in measurements:
        began = time.perf_counter()
        try:
            row = measure()
        except Exception:  # tells all, as it may run where nobody can try again
            row = {"failed": _told(name, part)}
        row["took_s"] = round(time.perf_counter() - began, 1)
        print(name, part, json.dumps(row), flush=True)
        gc.collect()  # memory of the GPU, for the next
        yield row


def _told(name: str, part: str) -> str:
    """Print the traceback of what is being handled; returns its last line."""
    text = traceback.format_exc()
    print(f"{name}, {part}, failed:\n{text}", flush=True)
    return text.strip().splitlines()[-1]


if __name__ == "__main__":
    main()
