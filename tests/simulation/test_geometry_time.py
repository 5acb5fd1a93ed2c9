"""Making the geometry of one world takes bounded time, however many shapes a description states."""

from __future__ import annotations

import subprocess
import sys

import pytest
import trimesh

from hydro_sim_core import load_urdf
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.assembly import geometry_time
from hydro_sim_core.simulation.assembly.geometry_time import VARIABLE, GeometryTime

COLLISION = (
    '<collision name="c{i}"><geometry><mesh filename="ball.stl" scale="{x} 1 1"/></geometry></collision>'
)
CHILD = "import time; began = time.process_time()\nwhile time.process_time() < began + 0.2: pass"


def robot(folder, growth):
    """One small mesh 2000 times: a file of 200 kB."""
    trimesh.creation.icosphere(2, 0.05).export(folder / "ball.stl")
    collisions = "".join(COLLISION.format(i=i, x=1.0 + growth * i) for i in range(2000))
    path = folder / "scales.urdf"
    path.write_text(f'<robot name="r"><link name="a">{collisions}</link></robot>')
    return path


def test_many_scales_of_a_mesh_end_with_one_error(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "0.2")
    words = (
        r"scales\.urdf: link 'a', c\d+: is not made: the geometry of a world may take 0\.2 s of the processor, "
        rf"and has taken 0\.\d s \(shapes: \d+\); use fewer or simpler meshes, or set {VARIABLE} to more seconds"
    )
    with pytest.raises(InputError, match=words):
        load_urdf(robot(tmp_path, 1e-4))


def test_one_scale_is_made_once(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "0.2")
    load_urdf(robot(tmp_path, 0.0))


def test_meshing_has_a_time_of_its_own(monkeypatch):
    """Time of other processes is not this thread's; what they have filled is kept, so that trying again mends it."""
    monkeypatch.setenv(VARIABLE, "0.1")
    monkeypatch.setattr(geometry_time, "TIME_LIMIT", 0.3)
    time = GeometryTime()
    for element in ("first", "second"):
        with time.spent("hand.urdf", element):
            subprocess.run([sys.executable, "-c", CHILD], check=True)
    words = r"hand\.urdf: third: is not made: .* 0\.3 s .*; load it again, which goes on from there, or set"
    with pytest.raises(InputError, match=words), time.spent("hand.urdf", "third"):
        pass


@pytest.mark.heavy(3)
@pytest.mark.parametrize("value", ["soon", "0", "nan"])
def test_a_variable_that_is_no_number_is_named(tmp_path, monkeypatch, value):
    monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(InputError, match=f"{VARIABLE}: is '?{value}'?; give a positive number of seconds"):
        load_urdf(robot(tmp_path, 0.0))
