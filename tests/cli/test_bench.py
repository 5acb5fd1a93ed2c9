"""``hydro-sim bench``: the table, the file, and what it says where Drake is missing."""

from __future__ import annotations

import json
import sys

import pytest
from typer.testing import CliRunner

from hydro_sim_core.cli import app, bench
from hydro_sim_core.experiments.geometry_bench import all_pairs

DRAKE_SIDE = "hydro_sim_core.experiments.geometry_bench.drake"


@pytest.fixture(autouse=True)
def _two_coarse_pairs(monkeypatch):
    coarse = [pair for pair in all_pairs() if pair.level == 0 and pair.family.startswith("spheres")]
    assert len(coarse) == 2
    monkeypatch.setattr(bench, "all_pairs", lambda: coarse)


def call(*arguments):
    return CliRunner().invoke(app, ["bench", *map(str, arguments)], env={"COLUMNS": "200"})


def test_both_sides_are_timed_and_held_against_the_targets(tmp_path):
    path = tmp_path / "bench.json"
    result = call("--quick", "--json", path)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("spheres, compliant") == 2
    assert result.stdout.count("spheres, rigid-compliant") == 2
    data = json.loads(path.read_text())
    assert data["drake_left_out"] == ""
    assert [t["speed"] for t in data["timings"]] == [0.1, 1.0, 0.1, 1.0]
    for timing in data["timings"]:
        assert timing["faces"] == timing["drake_faces"] > 100
        assert timing["share_without_overhead"] > timing["share"] > 0.0
        assert timing["reaches_target"] == (timing["share_without_overhead"] <= timing["share_allowed"])
    marks = sum(result.stdout.count(mark) for mark in "✓✗")
    assert marks == len(data["timings"])


def test_where_drake_is_missing_it_is_left_out_and_the_reason_given(monkeypatch, tmp_path):
    monkeypatch.delitem(sys.modules, DRAKE_SIDE, raising=False)
    monkeypatch.setitem(sys.modules, "pydrake.geometry", None)
    path = tmp_path / "bench.json"
    result = call("--quick", "--json", path)
    assert result.exit_code == 0, result.stderr
    assert "Drake is left out" in result.stdout
    assert "pip install 'hydro-sim-core[oracles]'" in result.stdout
    assert "share" not in result.stdout
    assert "stages" in result.stdout
    data = json.loads(path.read_text())
    assert "pydrake" in data["drake_left_out"]
    assert all(timing["drake_seconds"] is None for timing in data["timings"])


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_timed(monkeypatch, tmp_path):
    monkeypatch.setattr(bench, "measure", lambda *_: pytest.fail("timed"))
    result = call("--quick", "--json", tmp_path / "none" / "bench.json")
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
