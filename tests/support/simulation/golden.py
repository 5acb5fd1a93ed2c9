"""The states that the shipped scenes are in after some steps, by their digests: a change of any bit is seen.

A change that was meant is accepted by writing them anew, and shows in the commit:

    python tests/support/simulation/golden.py --write

Machine code is made for a processor without extensions, which is what the digests of all machines have in common with
this one's.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
#: Of machine code for a processor without extensions.
PLAIN_CODE = {"NUMBA_CPU_NAME": "generic"}
FILE = Path(__file__).with_name("golden_states.json")
ACCEPT = "python tests/support/simulation/golden.py --write"
STEPS = 500
#: Versions that may change the last bit of a mesh or of a hull.
PACKAGES = ("numba", "numpy", "scipy")


def states(steps: int = STEPS) -> dict[str, str]:
    """Digest of q and v of every shipped scene after ``steps`` steps, computed in this process."""
    import hydro_sim_core as hs

    found = {}
    for path in sorted((ROOT / "config" / "scenes").glob("*.yaml")):
        world = hs.load_scene(path)
        world.step(steps)
        found[path.stem] = hashlib.sha256(world.q.tobytes() + world.v.tobytes()).hexdigest()
    return found


def states_elsewhere(**environment: str | None) -> dict[str, str]:
    """The same in a process of its own, with variables set, or taken away where they are None."""
    everything = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    kept = {name: value for name, value in everything.items() if value is not None}
    done = subprocess.run([sys.executable, __file__], env=kept, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def versions() -> dict[str, str]:
    """Of what the digests may depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def difference(golden: dict[str, Any], found: dict[str, str], here: dict[str, str]) -> str:
    """What changed since the file was written, and how to accept it; empty where nothing did."""
    expected = golden["states"]
    lines = [
        *(f"changed: {name}" for name in sorted(expected.keys() & found) if expected[name] != found[name]),
        *(f"new: {name}" for name in sorted(found.keys() - expected)),
        *(f"gone: {name}" for name in sorted(expected.keys() - found)),
    ]
    if not lines:
        return ""
    other = [f"{name} {golden['versions'].get(name)}, here {here[name]}" for name in here]
    return "\n".join(
        [
            f"shipped scenes are in another state after {STEPS} steps:",
            *lines,
            f"written with: {'; '.join(other)}",
            f"if that was meant, accept it: {ACCEPT}",
        ]
    )


def main() -> None:
    """Print the states, or write them to the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name} anew")
    if parser.parse_args().write:
        golden = {"versions": versions(), "states": states_elsewhere(**PLAIN_CODE)}
        FILE.write_text(json.dumps(golden, indent=2) + "\n")
    else:
        print(json.dumps(states()))


if __name__ == "__main__":
    main()
