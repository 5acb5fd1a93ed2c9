"""A whole step of three lobed solids nested in a bowl, ours against Drake's.

The solids have six lobes each and stand in the bowl and between one another's lobes; the bowl is rigid and stands on a
compliant slab. Both simulators read the same descriptions and mesh files. The pile settles first; what both then
simulate starts from there, at rest.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import yaml
from contest import as_rows, compete, contest_table, drake, ours, share_of_best
from drake_scene import CONVEX_INTEGRATOR
from measure import output_argument, write
from rich.console import Console
from scipy.spatial.transform import Rotation

from hydro_sim_core.description import LoadedScene, load_scene
from hydro_sim_core.experiments.geometry_bench.drake import write_obj
from hydro_sim_core.experiments.geometry_bench.shapes import bowl, lobed_solid
from hydro_sim_core.geometry import write_vtk
from hydro_sim_core.simulation import World

METHODS = ("lagged", "SAP", CONVEX_INTEGRATOR)
SHARE_WANTED = 0.08
TURN = 0.1
SETTLING = 2.5
DURATION = 1.0

TIP = 0.05
SOLID_MASS = 0.3
#: Radius of gyration of the solid and of the bowl over their size; ours to choose.
SOLID_GYRATION, BOWL_GYRATION = 0.5 * TIP, 0.1
BOWL_RADIUS, BOWL_WALL, BOWL_OPENING = 0.12, 0.01, 1.3
BOWL_MASS = 1.0
SLAB = (0.4, 0.4, 0.05)
MODULUS = 3e5

COMPLIANT = f'<drake:compliant_hydroelastic/><drake:hydroelastic_modulus value="{MODULUS}"/>'
RIGID = "<drake:rigid_hydroelastic/>"


def main() -> None:
    """Run all contestants, print the table, write the results."""
    output = output_argument(__doc__.splitlines()[0], "nested_solids")
    with tempfile.TemporaryDirectory() as folder:
        scene = settled(write_scene(Path(folder)))
        contestants = [ours(scene), *(drake(scene, method) for method in METHODS)]
        results = compete(
            contestants, scene.spec.time_step, TURN, 0.0, DURATION, "solid_2", lambda X_WB: float(X_WB[2, 3])
        )
    console = Console(width=120)
    console.print(contest_table(results, "three lobed solids in a bowl", "final height"))
    shares = {method: share_of_best(results, f"Drake {method}") for method in METHODS}
    console.print(f"share of Drake lagged: {shares['lagged']:.3f}, wanted at most {SHARE_WANTED:g}")
    write(output, {"time_step": scene.spec.time_step, "shares": shares, "rows": as_rows(results)})


def write_scene(folder: Path) -> LoadedScene:
    """Write meshes, descriptions and the scene; the solids are in the air above the bowl."""
    write_vtk(lobed_solid(TIP, 4, 3, MODULUS), folder / "solid.vtk")
    write_obj(folder / "bowl.obj", bowl(BOWL_RADIUS, BOWL_WALL, BOWL_OPENING, 50))
    _write_urdf(folder, "slab", f'<box size="{SLAB[0]} {SLAB[1]} {SLAB[2]}"/>', COMPLIANT, 1.0, 0.1)
    _write_urdf(
        folder, "bowl", f'<mesh filename="file://{folder}/bowl.obj"/>', RIGID, BOWL_MASS, BOWL_GYRATION
    )
    models = [
        {"name": "slab", "urdf": "slab.urdf", "pose": {"xyz": [0.0, 0.0, -SLAB[2] / 2.0]}},
        {
            "name": "bowl",
            "urdf": "bowl.urdf",
            "base": "floating",
            "pose": {"xyz": [0.0, 0.0, BOWL_RADIUS + BOWL_WALL]},
        },
    ]
    for i in range(3):
        name = f"solid_{i}"
        mesh = f'<mesh filename="file://{folder}/solid.vtk"/>'
        _write_urdf(folder, name, mesh, COMPLIANT, SOLID_MASS, SOLID_GYRATION)
        angle = 2.0 * np.pi * i / 3.0
        xyz = [0.05 * float(np.cos(angle)), 0.05 * float(np.sin(angle)), 0.09 + 0.02 * i]
        pose = {"xyz": xyz, "rpy": [0.5 + i, 0.6, float(angle)]}
        models.append({"name": name, "urdf": f"{name}.urdf", "base": "floating", "pose": pose})
    path = folder / "nested_solids.yaml"
    path.write_text(yaml.safe_dump({"name": "nested_solids", "time_step": 1e-3, "models": models}))
    return load_scene(path)


def _write_urdf(folder: Path, name: str, shape: str, compliance: str, mass: float, gyration: float) -> None:
    moment = mass * gyration**2
    (folder / f"{name}.urdf").write_text(
        f'<robot name="{name}" xmlns:drake="http://drake.mit.edu"><link name="{name}"><inertial><mass value="{mass}"/>'
        f'<inertia ixx="{moment}" iyy="{moment}" izz="{moment}" ixy="0" ixz="0" iyz="0"/></inertial>'
        f'<collision name="{name}_collision"><geometry>{shape}</geometry><drake:proximity_properties>{compliance}'
        '<drake:hunt_crossley_dissipation value="20"/><drake:mu_static value="0.5"/><drake:mu_dynamic value="0.5"/>'
        "</drake:proximity_properties></collision></link></robot>"
    )


def settled(scene: LoadedScene) -> LoadedScene:
    """The same scene with every floating model where it has come to rest."""
    world = World(scene)
    world.step(round(SETTLING / world.time_step))
    poses = {}
    for model, robot in zip(scene.spec.models, scene.robots, strict=True):
        X_WB = world.frame_pose(robot.root)
        rpy = Rotation.from_matrix(X_WB[:3, :3]).as_euler("xyz").tolist()
        poses[f"models.{model.name}.pose"] = {"xyz": X_WB[:3, 3].tolist(), "rpy": rpy}
    return scene.with_(poses)


if __name__ == "__main__":
    main()
