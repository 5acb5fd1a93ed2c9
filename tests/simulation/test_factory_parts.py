"""``benchmarks/factory_parts.py`` finds parts where a checkout has them, and tells what loading one took."""

import pytest

from hydro_sim_core.geometry import revolve, write_surface
from support.benchmarks import imported


@pytest.fixture
def factory_parts():
    with imported("factory_parts") as program:
        yield program


@pytest.fixture
def assets(tmp_path):
    """A peg of 8 mm and a finger of the robot, as they lie in IsaacGymEnvs/assets."""
    for name in ("factory_insertion/factory_round_peg_8mm", "factory_franka_table/factory_franka_finger"):
        path = tmp_path / f"factory/mesh/{name}.obj"
        path.parent.mkdir(parents=True)
        write_surface(revolve([(0.0, 0.0), (4e-3, 0.0), (4e-3, 0.05), (0.0, 0.05)], 32), path)
    return tmp_path


def test_parts_are_found_and_fingers_are_none(factory_parts, assets):
    (found,) = factory_parts._parts(assets, [""])
    assert found.stem == "factory_round_peg_8mm"
    assert not list(factory_parts._parts(assets, ["bolt"]))


def test_a_part_is_tried_in_a_process_of_its_own(factory_parts, assets):
    row = factory_parts._try(next(factory_parts._parts(assets, [""])))
    assert row["error"] == ""
    assert row["tetrahedra"] > 20
    assert row["faces"] > 10  # of its end
    assert row["second_processor_s"] > 0.0


def test_a_file_that_is_no_part_is_told_in_its_row(factory_parts, assets):
    broken = next(factory_parts._parts(assets, [""]))
    broken.write_text("v 0 0 nan\n")
    assert "factory_round_peg_8mm.obj" in factory_parts._try(broken)["error"]
