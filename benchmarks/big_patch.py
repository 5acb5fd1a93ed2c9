"""One patch of 10^3 to 10^6 faces on a GPU: whether it is the processor's to the last bit, and how long it takes.

A wavy rigid surface, and a wavy soft block, on a soft block of tetrahedra. What is timed gives all faces with their
areas, and the wrench; faces stay in the memory of the GPU. The floor is what must be read and written at least, at the
speed at which this GPU copies, or the arithmetic at its peak, whatever is longer.

On a machine with a GPU: ``python benchmarks/big_patch.py``; ``--backend cpu`` tries the benchmark itself. What it has
to compile can be compiled elsewhere: ``--prepare sm_90`` writes it to the cache.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import environment, make_parser, write

import hydro_sim_core as hs
from hydro_sim_core.compilation import Float1D, Float2D, entry
from hydro_sim_core.compilation.builds import machine_code
from hydro_sim_core.compilation.gpu_programs import cupy_with_gpu, processor_of
from hydro_sim_core.compilation.grids import CudaGrid, stored_code
from hydro_sim_core.compilation.targets import levels
from hydro_sim_core.contact import FaceArrays, GeometrySet, PatchQuery
from hydro_sim_core.contact.moments import moments_within
from hydro_sim_core.contact.patch import set_of_pair
from hydro_sim_core.contact.pressure_field.faces import (
    AREA,
    CENTROID,
    GRADIENT,
    NORMAL,
    PRESSURE,
    SLOPE_A,
    FaceBuffer,
    make_face_buffer,
)
from hydro_sim_core.contact.pressure_field.grid.programs import TETRAHEDRA, TRIANGLES, grid_of
from hydro_sim_core.contact.pressure_field.grid.search import (
    FACE_BYTES,
    PAIR_BYTES,
    ROWS,
    GridFaces,
    GridSearch,
    on_host,
)
from hydro_sim_core.contact.pressure_field.grid.sums import SUM_AREA, SUM_FORCE, SUM_MOMENT
from hydro_sim_core.contact.pressure_field.query import find_faces, make_query_scratch
from hydro_sim_core.contact.pressure_field.scratch import QueryScratch
from hydro_sim_core.contact.pressure_field.tree_query import find_faces_by_tree
from hydro_sim_core.geometry import Geometry

#: Squares along an edge of the meshes, by kind of pair: about 10^3, 10^4, 10^5 and 10^6 faces.
SQUARES = {
    "rigid surface on soft block": (8, 23, 71, 224),
    "soft block on soft block": (6, 18, 58, 183),
}
LAYERS, SIZE, DEPTH, SINKS = 3, 1.0, 0.05, 0.016
REPEATS = 20
#: Faces below which the processor's times are the least of several.
FEW = 400_000
#: Bytes of an element that is read: corners, pressures and field of one of A, and coordinates of one of B.
ELEMENT_BYTES_A, ELEMENT_BYTES_B = 200, 200
#: Operations of double precision for a pair whose boxes meet, one whose polygon is made, and a face that is written and
#: added up: what stands in the kernels' PTX.
MET_OPERATIONS, PAIR_OPERATIONS, FACE_OPERATIONS = 200, 550, 800
#: Peak of the GPU's double precision without tensor cores, operations a second (H100 and H200 SXM).
PEAK = 34e12


@entry
def by_tree(
    geometries: GeometrySet,
    R_BA: Float2D,
    p_BA: Float1D,
    scratch: QueryScratch,
    faces: FaceBuffer,
) -> int:
    """All faces of the first two geometries, by their trees."""
    return find_faces_by_tree(geometries, 0, 1, R_BA, p_BA, scratch, faces, 0)


def soft_block(squares: int, wave: float, modulus: float) -> Geometry:
    """A flat block of cubes of six tetrahedra each, with waves on top; its pressure rises with depth."""
    x, z = np.linspace(-0.5, 0.5, squares + 1) * SIZE, np.linspace(0.0, 1.0, LAYERS + 1)
    X, Y, Z = np.meshgrid(x, x, z, indexing="ij")
    top = wave * np.sin(6.0 * np.pi * X / SIZE) * np.cos(4.0 * np.pi * Y / SIZE)
    vertices = np.column_stack([X.ravel(), Y.ravel(), (top - DEPTH * Z).ravel()])
    cubes = np.meshgrid(np.arange(squares), np.arange(squares), np.arange(LAYERS), indexing="ij")
    first = np.stack([axis.ravel() for axis in cubes])
    tetrahedra = []
    for order in itertools.permutations(range(3)):
        corner, corners = first.copy(), [first]
        for axis in order:
            corner = corner + np.eye(3, dtype=np.int64)[:, axis : axis + 1]
            corners.append(corner)
        tetrahedra.append(
            np.column_stack([(c[0] * (squares + 1) + c[1]) * (LAYERS + 1) + c[2] for c in corners])
        )
    elements = np.stack(tetrahedra, axis=1).reshape(-1, 4)
    return hs.geometry.compliant_mesh(vertices, elements, modulus * Z.ravel())


def rigid_surface(squares: int, wave: float) -> Geometry:
    """An open wavy surface of two triangles a square, which faces down."""
    x = np.linspace(-0.5, 0.5, squares + 1) * SIZE
    X, Y = np.meshgrid(x, x, indexing="ij")
    Z = wave * np.cos(4.0 * np.pi * X / SIZE + 0.3) * np.sin(6.0 * np.pi * Y / SIZE)
    vertices = np.column_stack([X.ravel(), Y.ravel(), Z.ravel()])
    i, j = (axis.ravel() for axis in np.meshgrid(np.arange(squares), np.arange(squares), indexing="ij"))
    a = i * (squares + 1) + j
    b, c, d = a + squares + 1, a + squares + 2, a + 1
    triangles = np.concatenate([np.column_stack([a, d, b]), np.column_stack([b, d, c])])
    return hs.geometry.rigid_mesh(vertices, triangles, open_surface=True)


def scene(kind: str, squares: int) -> tuple[Geometry, Geometry, np.ndarray]:
    """Geometries A and B, and the pose of A in B: turned a little, so that no edges are aligned."""
    soft = soft_block(squares, 0.004, 1e5)
    c, s = math.cos(0.01), math.sin(0.01)
    X_BA = np.eye(4)
    X_BA[:3, :3] = [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]
    X_BA[:3, 3] = 0.001, 0.002, -SINKS
    if kind.startswith("rigid"):
        return rigid_surface(squares, 0.004), soft, X_BA
    X_BA[:3, :3] = X_BA[:3, :3] @ np.diag([1.0, -1.0, -1.0])
    return soft_block(squares, 0.003, 2e5), soft, X_BA


class Timed:
    """A program that knows how long each of its kernels took; see ``GridProgram``.

    Args:
        program: The program.
        clock: Gives an instant.
        between: Gives the milliseconds between two instants.
    """

    def __init__(self, program: Any, clock: Callable[[], Any], between: Callable[[Any, Any], float]) -> None:
        self._program, self._clock, self._between = program, clock, between
        self.is_on = False
        self._instants: list[tuple[str, Any, Any]] = []

    def place(self, struct: Any) -> None:
        """Pass a struct on."""
        self._program.place(struct)

    def launch(self, name: str, n: int) -> None:
        """Launch a kernel, and keep when it began and ended."""
        if not self.is_on:
            self._program.launch(name, n)
            return
        begin = self._clock()
        self._program.launch(name, n)
        self._instants.append((name, begin, self._clock()))

    def milliseconds(self) -> dict[str, float]:
        """Milliseconds by kernel since the last call."""
        found: dict[str, float] = {}
        for name, begin, end in self._instants:
            found[name] = found.get(name, 0.0) + self._between(begin, end)
        self._instants.clear()
        return found


class Machine:
    """Where the search runs: a GPU, or this processor with the same kernels.

    Args:
        backend: ``"cuda"`` or ``"cpu"``.
    """

    def __init__(self, backend: str) -> None:
        self.is_gpu = backend != "cpu"
        self.numpy: Any = cupy_with_gpu("big_patch", backend, "give --backend cpu") if self.is_gpu else np

    def clock(self) -> Any:
        """An instant: an event on a GPU."""
        if not self.is_gpu:
            return time.perf_counter()
        event = self.numpy.cuda.Event()
        event.record()
        return event

    def between(self, begin: Any, end: Any) -> float:
        """Milliseconds between two instants."""
        if not self.is_gpu:
            return 1e3 * (end - begin)
        end.synchronize()
        return float(self.numpy.cuda.get_elapsed_time(begin, end))

    def program(self, geometries: GeometrySet) -> Timed:
        """The program for a pair."""
        grid = grid_of(geometries, 0, 1)
        if self.is_gpu:
            made: Any = CudaGrid(self.numpy, grid, stored_code(grid, processor_of(self.numpy)))
        else:
            from hydro_sim_core.compilation import grid_code
            from hydro_sim_core.compilation.grids import HostGrid
            from hydro_sim_core.compilation.targets import host

            made = HostGrid(grid, grid_code.object_code(grid_code.translated(grid), grid, host()))
        return Timed(made, self.clock, self.between)

    def copy_speed(self) -> float:
        """Bytes a second that are read and written where the search runs."""
        source = self.numpy.zeros(2**27 if self.is_gpu else 2**23)
        target = self.numpy.empty_like(source)
        times = []
        for _ in range(5):
            begin = self.clock()
            target[...] = source
            times.append(self.between(begin, self.clock()))
        return 2.0 * source.nbytes / (1e-3 * min(times))

    def description(self) -> dict[str, Any]:
        """Card and versions."""
        if not self.is_gpu:
            return {}
        runtime = self.numpy.cuda.runtime
        return {
            "name": runtime.getDeviceProperties(0)["name"].decode(),
            "cuda_driver": runtime.driverGetVersion(),
            "cupy": self.numpy.__version__,
        }


def measure(machine: Machine, kind: str, squares: int, copy_speed: float, repeats: int) -> dict[str, Any]:
    """All figures of one size."""
    begin = time.perf_counter()
    a, b, X_BA = scene(kind, squares)
    geometries = set_of_pair(a, b)
    built = time.perf_counter() - begin
    R_BA, p_BA = np.ascontiguousarray(X_BA[:3, :3]), X_BA[:3, 3].copy()
    begin = time.perf_counter()
    program = machine.program(geometries)
    loaded = time.perf_counter() - begin
    search = GridSearch(geometries, 0, 1, program, machine.numpy)
    found = search.find(R_BA, p_BA)
    times, wall = timed(machine, lambda: search.find(R_BA, p_BA), repeats)
    program.is_on = True
    search.find(R_BA, p_BA)
    program.is_on = False
    kernels = program.milliseconds()
    processor, expected = on_processor(geometries, R_BA, p_BA, len(found.num_vertices))
    row = {
        "kind": kind,
        "elements": [len(a.elements), len(b.elements)],
        "faces": len(found.num_vertices),
        "pairs": [found.num_met, found.num_pairs],
        "build_s": built,
        "load_program_s": loaded,
        "ms": statistics.median(times),
        "ms_all": times,
        "wall_ms": statistics.median(wall),
        "kernels_ms": kernels,
        "processor_ms": processor,
        "agreement": agreement(found, *expected),
        "repeats_bits": repeats_bits(found, search.find(R_BA, p_BA)),
        "floor": floor(found, copy_speed),
    }
    if machine.is_gpu:
        row["patch_query"] = as_users_ask(machine, a, b, X_BA, repeats)
    return row


def timed(machine: Machine, work: Callable[[], Any], repeats: int) -> tuple[list[float], list[float]]:
    """Milliseconds between events around each of ``repeats`` calls, and by the wall's clock; one before is not."""
    work()
    times, wall = [], []
    for _ in range(repeats):
        start, begin = time.perf_counter(), machine.clock()
        work()
        times.append(machine.between(begin, machine.clock()))
        wall.append(1e3 * (time.perf_counter() - start))
    return times, wall


def as_users_ask(
    machine: Machine, a: Geometry, b: Geometry, X_BA: np.ndarray, repeats: int
) -> dict[str, Any]:
    """Milliseconds of the public query, of its arrays in the world frame, and of copying these to the processor."""
    query = PatchQuery(a, b, backend="cuda")
    X_WB = np.eye(4)
    times, wall = timed(machine, lambda: query.at(X_BA, X_WB), repeats)
    with_arrays, _ = timed(machine, lambda: query.at(X_BA, X_WB).arrays, 5)
    copied, _ = timed(machine, lambda: query.at(X_BA, X_WB).faces, 1)
    patch = query.at(X_BA, X_WB)
    moment, area = patch.moment_on_b([0.0, 0.0, 0.0]), patch.area
    return {
        "ms": statistics.median(times),
        "wall_ms": statistics.median(wall),
        "with_world_arrays_ms": statistics.median(with_arrays),
        "with_copy_to_host_ms": statistics.median(copied),
        "faces": patch.num_faces,
        "area": area,
        "force_on_b": patch.force_on_b.tolist(),
        "moment_on_b": moment.tolist(),
    }


def on_processor(
    geometries: GeometrySet, R_BA: np.ndarray, p_BA: np.ndarray, faces: int
) -> tuple[dict[str, float], tuple[FaceBuffer, int]]:
    """Milliseconds of one core for the walk and for the search by trees, and what the latter finds."""
    room = faces + 64
    buffer, scratch = make_face_buffer(room), make_query_scratch(geometries, room)
    ways: dict[str, Callable[[], int]] = {
        "walk": lambda: find_faces(geometries, 0, 1, R_BA, p_BA, False, scratch, buffer, 0),
        "trees": lambda: by_tree(geometries, R_BA, p_BA, scratch, buffer),
    }
    found: dict[str, float] = {}
    for name, way in ways.items():
        times = []
        # The first call may compile; small ones come first.
        for _ in range(4 if faces < FEW else 1):
            begin = time.process_time()
            count = way()
            times.append(1e3 * (time.process_time() - begin))
        found[name] = min(times)
        found[f"{name}_faces"] = count
    return found, (buffer, count)


def agreement(found: GridFaces, expected: FaceBuffer, count: int) -> dict[str, Any]:
    """Whether both found the same faces, and how far the sums are from those that ``math.fsum`` makes."""
    num = len(found.num_vertices)
    if num != count:
        return {"faces": [num, count], "same_bits": 0}
    ours = sorted_rows(on_host(found.data), on_host(found.polygons), on_host(found.num_vertices))
    theirs = sorted_rows(
        expected.data[:ROWS, :count], expected.polygons[:count], expected.num_vertices[:count]
    )
    same = (ours.view(np.int64) == theirs.view(np.int64)).all(axis=1)
    sums = exact_sums(expected, count)
    force, moment = (found.sums[at : at + 3] for at in (SUM_FORCE, SUM_MOMENT))
    return {
        "faces": [num, count],
        "same_bits": int(same.sum()),
        "area_error": float(abs(found.sums[SUM_AREA] - sums[0]) / sums[0]),
        "force_error": float(np.linalg.norm(force - sums[1:4]) / np.linalg.norm(sums[1:4])),
        "moment_error": float(np.linalg.norm(moment - sums[4:7]) / np.linalg.norm(sums[4:7])),
    }


def sorted_rows(data: np.ndarray, polygons: np.ndarray, num_vertices: np.ndarray) -> np.ndarray:
    """Faces as rows, in an order that does not depend on who found them."""
    order = np.lexsort([*data[CENTROID : CENTROID + 3], data[AREA]])
    used = np.arange(polygons.shape[1])[None, :] < num_vertices[order, None]
    corners = np.where(used[:, :, None], polygons[order], 0.0).reshape(len(order), -1)
    return np.column_stack([data[:, order].T, num_vertices[order].astype(np.float64), corners])


def exact_sums(faces: FaceBuffer, count: int) -> np.ndarray:
    """Area, force and moment about B's origin of a buffer's faces, each rounded once."""
    data = faces.data[:, :count]
    arrays = FaceArrays(
        data[CENTROID : CENTROID + 3].T,
        data[NORMAL : NORMAL + 3].T,
        data[AREA],
        data[PRESSURE],
        data[SLOPE_A : SLOPE_A + 2].T,
        data[GRADIENT : GRADIENT + 3].T,
        faces.polygons[:count],
        faces.num_vertices[:count],
    )
    presses = arrays.pressures > 0.0
    forces = (arrays.areas * np.maximum(arrays.pressures, 0.0))[:, None] * arrays.normals
    moments = np.cross(arrays.centroids, forces) + moments_within(arrays) * presses[:, None]
    area = math.fsum(arrays.areas[arrays.pressures >= 0.0])
    return np.array([area, *(math.fsum(column) for column in np.hstack([forces, moments]).T)])


def repeats_bits(first: GridFaces, second: GridFaces) -> bool:
    """Whether two queries gave the same bits in the same order."""
    arrays = [
        (on_host(getattr(first, name)).tobytes(), on_host(getattr(second, name)).tobytes())
        for name in ("data", "polygons", "num_vertices", "elements", "sums")
    ]
    return all(one == other for one, other in arrays)


def floor(found: GridFaces, copy_speed: float) -> dict[str, float]:
    """Milliseconds below which nothing that finds these pairs and writes these faces can be."""
    faces, pairs = len(found.num_vertices), found.num_met
    elements = [len(np.unique(row)) for row in on_host(found.elements)]
    # Lists are written and read once; faces are written, and read for the sums.
    moved = 2 * pairs * PAIR_BYTES + 2 * faces * FACE_BYTES
    moved += elements[0] * ELEMENT_BYTES_A + elements[1] * ELEMENT_BYTES_B
    operations = pairs * MET_OPERATIONS + found.num_pairs * PAIR_OPERATIONS + faces * FACE_OPERATIONS
    memory, arithmetic = 1e3 * moved / copy_speed, 1e3 * operations / PEAK
    return {"bytes": moved, "memory_ms": memory, "arithmetic_ms": arithmetic, "ms": max(memory, arithmetic)}


def prepare(processor: str) -> None:
    """Compile what a run needs into the cache: for a GPU's processor, and for all processors of this machine's kind."""
    for grid in (TRIANGLES, TETRAHEDRA):
        print(grid.name, len(stored_code(grid, processor)), "bytes")
    for target, made in machine_code([find_faces, by_tree], levels()).items():
        print(target.cpu if target else "", *made)


def main() -> None:
    """Measure all sizes, print, write the results."""
    parser = make_parser(__doc__.splitlines()[0], "big_patch")
    parser.add_argument("--backend", default="cuda", help="cuda, or cpu to try the benchmark itself")
    parser.add_argument("--sizes", type=int, default=4, help="how many of the sizes, from the smallest on")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="queries of which the median counts")
    parser.add_argument("--prepare", metavar="PROCESSOR", help="only compile, for such a GPU as sm_90")
    arguments = parser.parse_args()
    if arguments.prepare:
        prepare(arguments.prepare)
        return
    machine = Machine(arguments.backend)
    copy_speed = machine.copy_speed()
    found = {
        "backend": arguments.backend,
        "gpu": machine.description(),
        "environment": environment(),
        "copy_speed": copy_speed,
    }
    rows = []
    for kind, sizes in SQUARES.items():
        for squares in sizes[: arguments.sizes]:
            rows.append(measure(machine, kind, squares, copy_speed, arguments.repeats))
            print({name: value for name, value in rows[-1].items() if name != "ms_all"}, flush=True)
            write(arguments.out, {**found, "rows": rows}, quiet=True)
    print(f"written to {arguments.out}")
    if not all(row["repeats_bits"] and row["agreement"]["same_bits"] == row["faces"] for row in rows):
        raise SystemExit("error: the GPU has other faces than the processor, or than itself")


if __name__ == "__main__":
    main()
