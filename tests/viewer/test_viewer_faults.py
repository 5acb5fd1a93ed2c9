"""What breaks around a viewer: ports, processes, floods of connections. The simulation goes on."""

import contextlib
import logging
import os
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

import hydro_sim_core as hs
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import FixedRateRunner
from hydro_sim_core.viewer.live import LiveView, RunnerControls
from hydro_sim_core.viewer.viewer import Viewer, ViewerOptions
from support.viewer.pages import (
    PATIENCE,
    address,
    get,
    make_frame,
    make_scene,
    open_page,
    opening,
    wait_until,
)

SCENES = Path(__file__).parents[2] / "config" / "scenes"


@contextlib.contextmanager
def started(**options):
    """A viewer at any free port, or as the options say."""
    viewer = Viewer(ViewerOptions(**{"port": 0, **options}))
    viewer.start()
    try:
        yield viewer
    finally:
        viewer.close()


@contextlib.contextmanager
def simulated(viewer):
    """A falling box, shown."""
    world = hs.load_scene(SCENES / "drop_box.yaml")
    world.step()
    runner = FixedRateRunner(world)
    view = LiveView(runner, viewer, PressureScale(20e3), RunnerControls(runner))
    view.start()
    runner.start()
    try:
        yield runner
    finally:
        runner.stop()
        view.stop()


def goes_on(runner):
    """Wait for a hundred more steps."""
    step = runner.snapshot().step
    wait_until(lambda: runner.snapshot().step >= step + 100)
    assert runner.error is None


@pytest.mark.parametrize("host", ["a" * 300, "a..b", "no\0name"])
def test_an_address_that_no_host_has_is_one_line(host, capfd):
    """The server's process fails on some of them before it asks anyone."""
    with pytest.raises(InputError, match="cannot be served: ") as caught, started(host=host):
        pass
    assert len(str(caught.value)) < 250
    assert capfd.readouterr().err == ""


def test_a_port_in_use_gives_the_next_and_says_so(caplog):
    with started() as first:
        port = address(first)[1]
        with caplog.at_level(logging.WARNING), started(port=port) as second:
            other = address(second)[1]
            assert port < other <= port + 100
            with open_page(first), open_page(second):
                pass
    (record,) = caplog.records
    assert record.getMessage() == f"viewer: port {port} is in use; the page is at port {other}"


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid", "not an address"])
def test_an_address_that_is_not_ours_is_refused_in_one_line(host):
    viewer = Viewer(ViewerOptions(host=host, port=0))
    with pytest.raises(InputError, match="cannot be served") as caught:
        viewer.start()
    assert "\n" not in str(caught.value)
    viewer.close()
    assert not viewer.alive


def test_a_simulation_started_again_finds_its_port_free():
    with started() as viewer:
        port = address(viewer)[1]
    with started(port=port) as viewer:
        assert address(viewer)[1] == port


def test_pages_are_told_when_the_simulation_ends():
    with started() as viewer, open_page(viewer) as page:
        process = viewer._process
        viewer.close()
        with pytest.raises(ConnectionClosed) as caught:
            page.wait_for(lambda: False)
        assert page.statuses[-1]["simulation"] == "gone"
        assert caught.value.rcvd.code == 1001
        assert process.returncode == 0


def test_the_server_killed_costs_one_warning(caplog):
    with started() as viewer, simulated(viewer) as runner, caplog.at_level(logging.WARNING):
        with open_page(viewer) as page:
            page.wait_for_frame()
            os.kill(viewer._process.pid, signal.SIGKILL)
            wait_until(lambda: not viewer.alive)
        goes_on(runner)
        assert viewer.watching == 0
        viewer.show_scene(make_scene())
        viewer.show(make_frame(1))
        goes_on(runner)
    assert [record.getMessage() for record in caplog.records] == [
        "viewer: its server has ended; the simulation goes on without pages"
    ]


def test_the_server_ends_with_a_simulation_that_is_killed():
    """Killed outright, it can say nothing; its pages are told all the same, and nothing is left behind."""
    program = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from support.viewer.pages import make_scene\n"
        "from hydro_sim_core.viewer.viewer import Viewer, ViewerOptions\n"
        "viewer = Viewer(ViewerOptions(port=0))\n"
        "print(viewer.start(), viewer._process.pid, flush=True)\n"
        "viewer.show_scene(make_scene())\n"
        "time.sleep(600)\n"
    )
    simulation = subprocess.Popen(
        [sys.executable, "-c", program, str(Path(__file__).parents[1])], stdout=subprocess.PIPE, text=True
    )
    assert simulation.stdout is not None
    url, server = simulation.stdout.readline().split()
    viewer = Viewer()
    viewer.url = url
    with open_page(viewer) as page:
        page.wait_for(lambda: page.scenes)
        simulation.kill()
        simulation.wait()
        with pytest.raises(ConnectionClosed):
            page.wait_for(lambda: False)
        assert page.statuses[-1]["simulation"] == "gone"
    simulation.stdout.close()
    wait_until(lambda: not Path(f"/proc/{server}").exists() or _is_zombie(server))


def _is_zombie(pid):
    """Whether a process has ended, and nobody has asked how."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


def test_a_server_that_hangs_holds_nobody_up():
    """Frames for it are replaced, not queued, and closing it does not wait for ever."""
    with started() as viewer, simulated(viewer) as runner:
        os.kill(viewer._process.pid, signal.SIGSTOP)
        for step in range(300):
            viewer.show(make_frame(step, num_faces=2000))
        goes_on(runner)
        os.kill(viewer._process.pid, signal.SIGCONT)
        with open_page(viewer) as page:
            page.wait_for_frame()


def test_a_thousand_connections_leave_the_simulation_and_its_viewer_alone():
    """Half of them say nothing, half want to watch; those beyond the limit are turned away."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert most >= 4096
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), most))
    with (
        started() as viewer,
        simulated(viewer) as runner,
        open_page(viewer) as page,
        contextlib.ExitStack() as flood,
    ):
        request = opening(viewer)
        began = page.wait_for_frame()["step"]
        answers = {}
        watchers = []
        for number in range(1000):
            peer = flood.enter_context(socket.create_connection(address(viewer), timeout=PATIENCE))
            if number % 2:
                peer.sendall(request)
                watchers.append(peer)
        for peer in watchers:
            status = int(peer.recv(12).split()[1])
            answers[status] = answers.get(status, 0) + 1
        # Some that come in the same instant are let in and sent away after that.
        assert answers[101] >= 31
        assert answers[101] + answers[503] == 500
        wait_until(lambda: viewer.watching == 32)
        page.wait_for_frame(lambda frame: frame["step"] > began + 100)
        goes_on(runner)
        assert get(viewer, "/nothing")[0] == 404
        flood.close()
        wait_until(lambda: viewer.watching == 1)
        with open_page(viewer) as another:
            another.wait_for_frame()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, most))


def test_a_frame_that_is_no_number_is_left_out_with_one_warning(caplog):
    with started() as viewer, open_page(viewer) as page, caplog.at_level(logging.WARNING):
        viewer.show_scene(make_scene())
        broken = make_frame(1)
        object.__setattr__(broken, "time", float("nan"))
        viewer.show(broken)
        wait_until(lambda: caplog.records)
        viewer.show(broken)
        seq = viewer.show(make_frame(2))
        page.wait_for_frame(lambda frame: frame["seq"] == seq)
    assert len(caplog.records) == 1


def test_who_waits_for_a_frame_hears_why_it_is_not_shown():
    with started() as viewer:
        viewer.show_scene(make_scene())
        viewer.wait_until_sent(viewer.show(make_frame(1)))
        broken = make_frame(2)
        broken.poses[0, 0, 0] = float("nan")
        with pytest.raises(InputError, match="the pose of a link is not finite"):
            viewer.wait_until_sent(viewer.show(broken))
        viewer.wait_until_sent(viewer.show(make_frame(3)))
        os.kill(viewer._process.pid, signal.SIGKILL)
        wait_until(lambda: not viewer.alive)
        with pytest.raises(InputError, match="its server has ended"):
            viewer.wait_until_sent(viewer.show(make_frame(4)))


def test_closing_twice_or_unstarted_is_no_harm():
    viewer = Viewer()
    viewer.close()
    with started() as viewer:
        viewer.close()
        viewer.close()
        viewer.show(make_frame(1))
    assert not viewer.alive


def test_the_server_imports_no_engine():
    """What makes it start at once."""
    listed = subprocess.run(
        [sys.executable, "-c", "import sys, hydro_sim_core.viewer.server.__main__; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert "websockets.asyncio.server" in listed
    assert not {"numpy", "numba", "trimesh", "hydro_sim_core.simulation"} & set(listed)
