"""Contact faces of moving pairs of shapes, ours against Drake's ComputeContactSurfaces, on the same meshes.

The same as ``hydro-sim bench``, with the results kept beside those of the other benchmarks. A checkout other
than this one is measured with its folder in PYTHONPATH.
"""

from __future__ import annotations

from measure import make_parser, write
from rich.console import Console

from hydro_sim_core.cli.bench import bench_geometry


def main() -> None:
    """Measure all pairs, print the table, write the results."""
    parser = make_parser(__doc__.splitlines()[0], "geometry")
    parser.add_argument("--quick", action="store_true", help="a few poses each, without the finest meshes")
    arguments = parser.parse_args()
    write(arguments.out, bench_geometry(arguments.quick, Console(width=150)))


if __name__ == "__main__":
    main()
