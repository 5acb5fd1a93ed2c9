"""Sweeps: the table does not depend on how many work on it, or how often it was begun."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

import hydro_sim_core as hs
from hydro_sim_core.errors import InputError
from hydro_sim_core.sweeps.axes import parse_axes
from hydro_sim_core.sweeps.cluster import check_cluster, completed_on_cluster
from hydro_sim_core.sweeps.journal import Journal
from hydro_sim_core.sweeps.plan import Plan
from hydro_sim_core.sweeps.samples import ERROR, SceneSampler
from hydro_sim_core.sweeps.sweep import Sweep
from hydro_sim_core.sweeps.table import write_table
from support.sweeps import jobs

VARIED = ("models.ball.friction=0.1,0.9", "models.ball.pose.xyz.0=uniform(-0.1,0.1)")


@pytest.fixture(scope="module")
def sampler():
    """A ball that slides on a ground."""
    scene = hs.SceneBuilder("slide", contact={"modulus": 1e6, "friction": 0.5})
    scene.add_ground()
    scene.add_body("ball", mass=0.3, xyz=(0.0, 0.0, 0.0499)).add_shape("sphere", radius=0.05)
    return SceneSampler(scene.build(), 20, ["x:ball", "max_force:ball/ground", "high=z:ball>0.04"])


def sweep_of(sampler, path, *, seed=3, replace=False):
    return Sweep(Plan(parse_axes(VARIED), 3, "latin", seed), sampler, path, replace)


@pytest.fixture
def in_process(monkeypatch):
    """Samples are made in this process: a worker takes two seconds to start."""

    def one_by_one(work, items, count):
        return ((index, work(item)) for index, item in enumerate(items))

    monkeypatch.setattr("hydro_sim_core.sweeps.sweep.completed", one_by_one)


def read(path):
    import duckdb

    with duckdb.connect() as base:
        found = base.execute("SELECT * FROM read_parquet(?)", [str(path)])
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def test_the_table_is_the_same_whatever_the_number_of_processes(sampler, tmp_path):
    files = []
    for count in (1, 2):
        path = tmp_path / f"{count}.parquet"
        made = sweep_of(sampler, path)
        done = []
        made.run(count, done=done.append)
        assert sorted(done) == list(range(6))
        made.finish()
        assert not made.journal.path.exists()
        files.append(path.read_bytes())
    assert files[0] == files[1]
    rows = read(path)
    samples = Plan(parse_axes(VARIED), 3, "latin", 3).samples()
    assert [{name: row[name] for name in samples[0]} for row in rows] == samples
    for row, values in zip(rows, samples, strict=True):
        alone = sampler(values)  # to the last bit
        assert {name: row[name] for name in alone} == alone
    assert [row["sample"] for row in rows] == list(range(6))
    assert rows[0]["high"] is True
    assert rows[0][ERROR] is None


def interrupt_after(count):
    done = []

    def observe(index):
        done.append(index)
        if len(done) == count:
            raise KeyboardInterrupt

    return observe


def test_an_interrupted_sweep_goes_on_where_it_was(sampler, tmp_path, in_process):
    whole, parts = tmp_path / "whole.parquet", tmp_path / "parts.parquet"
    made = sweep_of(sampler, whole)
    made.run(2)
    made.finish()
    begun = sweep_of(sampler, parts)
    with pytest.raises(KeyboardInterrupt):
        begun.run(2, done=interrupt_after(4))
    begun.journal.close()
    assert not parts.exists()
    # The process was killed while it wrote a line.
    with begun.journal.path.open("a") as file:
        file.write('[5, {"x:ball": 0.')
    again, done = sweep_of(sampler, parts), []
    assert len(again.journal.rows) == 4
    again.run(1, done=done.append)
    assert len(done) == 2
    again.finish()
    assert parts.read_bytes() == whole.read_bytes()


def test_what_is_done_of_another_sweep_is_not_taken(sampler, tmp_path, in_process):
    path = tmp_path / "table.parquet"
    begun = sweep_of(sampler, path)
    with pytest.raises(KeyboardInterrupt):
        begun.run(1, done=interrupt_after(1))
    with pytest.raises(InputError, match="is used by another sweep"):
        sweep_of(sampler, path)
    begun.journal.close()
    with pytest.raises(InputError, match="is of another sweep"):
        sweep_of(sampler, path, seed=4)
    heavier = SceneSampler(sampler._scene.with_({"models.ball.links.ball.mass": 0.4}), 20, sampler._asked)
    with pytest.raises(InputError, match="is of another sweep"):
        sweep_of(heavier, path)
    again = sweep_of(sampler, path, replace=True)  # to replace a table: what was begun for that goes on
    assert len(again.journal.rows) == 1
    again.journal.close()
    afresh = sweep_of(sampler, path, seed=4, replace=True)
    assert afresh.journal.rows == {}
    afresh.journal.close()


@pytest.mark.parametrize(
    "line",
    [
        "x",
        "[7, {}]",
        '[6, {"error": null}]',
        '[true, {"error": null}]',
        "[0]",
        "[" * 100_000,
        '[0, {"x": 1}]',
    ],
)
def test_a_line_that_is_no_sample_is_told_with_its_number(tmp_path, line):
    table = tmp_path / "table.parquet"
    Journal(table, {"what": 1}, 6).close()
    with (tmp_path / "table.parquet.part").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(InputError, match="line 2: is no sample"):
        Journal(table, {"what": 1}, 6)


def test_a_journal_is_no_link_pipe_or_folder(tmp_path):
    part = tmp_path / "table.parquet.part"
    (tmp_path / "precious").write_text("precious\n")
    for make in (lambda: part.symlink_to(tmp_path / "precious"), part.mkdir, lambda: os.mkfifo(part)):
        make()
        with pytest.raises(InputError):
            Journal(tmp_path / "table.parquet", {}, 1, replace=True)
        part.rmdir() if part.is_dir() and not part.is_symlink() else part.unlink()
    assert (tmp_path / "precious").read_text() == "precious\n"


def test_a_sample_that_loses_its_process_twice_has_that_for_a_reason(sampler, tmp_path, monkeypatch):
    made = sweep_of(sampler, tmp_path / "table.parquet")
    items = [(tmp_path, index, 2 if index == 1 else 0) for index in range(6)]
    monkeypatch.setattr(
        "hydro_sim_core.sweeps.sweep.completed",
        lambda work, samples, count: jobs.as_rows(items, sampler.measures),
    )
    made.run(1)
    made.finish()
    errors = [row[ERROR] for row in read(tmp_path / "table.parquet")]
    assert errors == [None, "its process was lost 2 times with status -9", *4 * [None]]


@pytest.mark.parametrize(
    ("texts", "measures", "told"),
    [
        (("models.bal.friction=1",), ["x:ball"], "bal"),
        (("models.ball.friction=-1",), ["x:ball"], "models.ball.friction: -1 is not accepted"),
        (("models.ball.friction=1",), ["x:bal"], "'ball'"),
        (("models.ball.friction=1",), ["x:ball", "X=x:ball", "x=z:ball"], "is the name of two columns"),
        (("models.ball.friction=1",), ["sample=x:ball"], "is the name of two columns"),
    ],
)
def test_what_is_wrong_is_told_before_anything_runs(sampler, tmp_path, texts, measures, told):
    with pytest.raises(InputError) as caught:
        Sweep(Plan(parse_axes(texts)), SceneSampler(sampler._scene, 1, measures), tmp_path / "table.parquet")
    assert told in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_columns_keep_their_types_and_names(tmp_path):
    columns = {
        "whole": [1, None, 2**62],
        "number": [1, 0.5, None],
        "truth": [True, None, False],
        "text": ["it's", None, 'say "so"'],
        "mixed": [[0.1, 2], "x", None],
        'a "quoted" name; DROP TABLE sweep': [0.0, 1.0, 2.0],
        "nothing": [None, None, None],
        "reason": [None, None, None],
    }
    path = tmp_path / "it's a table.parquet"
    write_table(path, columns, {"who's": "there"}, texts=["reason"])
    expected = dict(columns, number=[1.0, 0.5, None], mixed=["[0.1, 2]", "x", None])
    assert read(path) == [{name: values[k] for name, values in expected.items()} for k in range(3)]
    import duckdb

    with duckdb.connect() as base:
        kinds = dict(base.execute("SELECT name, type FROM parquet_schema(?)", [str(path)]).fetchall())
        ((about,),) = base.execute("SELECT value FROM parquet_kv_metadata(?)", [str(path)]).fetchall()
    assert kinds["whole"] == "INT64"
    assert kinds["reason"] == "BYTE_ARRAY"
    assert json.loads(about) == {"who's": "there"}
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_table_that_cannot_be_written_is_one_error(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        write_table(tmp_path / "missing" / "table.parquet", {"a": [1]}, {})


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("nowhere", "is no address"),
        ("localhost:99999", "is no address"),
        ("http://localhost:1", "is no address"),
        ("localhost:{closed}", "cannot be reached"),
        ("ray://127.0.0.1:{closed}", "cannot be reached"),
    ],
)
def test_an_address_where_nothing_answers_is_told_with_or_without_ray(address, told):
    with socket.socket() as bound:  # bound, and not listened at
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(InputError) as caught:
            check_cluster(address.format(closed=bound.getsockname()[1]))
    assert told in str(caught.value)


def test_without_ray_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("hydro_sim_core.sweeps.cluster.find_spec", lambda name: None)
    with pytest.raises(
        InputError, match=r"is not installed; install it: pip install 'hydro-sim-core\[ray\]'"
    ):
        check_cluster("auto")


@pytest.mark.long
def test_a_cluster_makes_the_same_table(sampler, tmp_path, monkeypatch):
    if find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    # A cluster of this test alone, at the loopback address, so that it needs no token.
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    program = (
        "import ray\nmade = ray.init(num_cpus=2, include_dashboard=False, _node_ip_address='127.0.0.1')\n"
        "print(made.address_info['gcs_address'], flush=True)\ninput()"
    )
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    made = sweep_of(sampler, here)
    made.run(1)
    made.finish()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", program], **pipes) as cluster:
        address = cluster.stdout.readline().strip()
        made = sweep_of(sampler, there)
        made.run(1, ray=address)
        made.finish()
        items = [(tmp_path, index, {3: 1, 4: 9}.get(index, 0)) for index in range(6)]
        results = dict(completed_on_cluster(jobs.square, items, address))
        with pytest.raises(InputError, match="is wrong"):
            list(completed_on_cluster(jobs.refuse, [1], address))
    assert there.read_bytes() == here.read_bytes()
    assert "was lost" in str(results.pop(4))
    assert results == {index: index * index for index in range(6) if index != 4}
    assert [jobs.attempts(tmp_path, index) for index in range(6)] == [1, 1, 1, 2, 2, 1]


@pytest.mark.long
def test_a_sweep_survives_kills_of_a_worker_and_of_itself(tmp_path):
    """As on the command line, by SIGKILL: first a worker, then the sweep; the table is that of an undisturbed one."""
    table = tmp_path / "table.parquet"
    words = ["sweep", "drop_box", "--vary", "models.box.pose.xyz.2=0.12:0.16:8", "--duration", "0.2"]
    words += ["--measure", "z:box", "--jobs", "2", "--out", str(table)]
    command = [sys.executable, "-m", "hydro_sim_core", *words]
    begun = subprocess.Popen(command, cwd=tmp_path)
    part = Path(f"{table}.part")

    def wait_for(lines):
        patience = time.monotonic() + 300.0
        while not part.exists() or part.read_bytes().count(b"\n") < lines:
            assert begun.poll() is None
            assert time.monotonic() < patience
            time.sleep(0.005)

    wait_for(2)
    os.kill(worker_of(begun.pid), signal.SIGKILL)
    wait_for(5)
    begun.kill()
    begun.wait()
    assert not table.exists()
    told = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert "of 8 samples were done before" in told
    disturbed = table.read_bytes()
    subprocess.run([*command, "--overwrite"], cwd=tmp_path, check=True, capture_output=True)
    assert table.read_bytes() == disturbed
    assert all(row[ERROR] is None for row in read(table))


def worker_of(pid):
    """A process of multiprocessing that another one has started."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
            return int(child)
    raise AssertionError("no worker")
