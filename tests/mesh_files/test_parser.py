"""The process that reads mesh files may do nothing else, ends at its limits, and is there again for the next file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import trimesh

from hydro_sim_core.errors import InputError
from hydro_sim_core.mesh_files import parser_process, read_surface
from hydro_sim_core.mesh_files import reading as reading_module
from hydro_sim_core.mesh_files.allowance import Allowance
from hydro_sim_core.mesh_files.parser import Parser, Unreadable, parsers
from support.ctrl_c import heed_ctrl_c

TRIANGLE = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
REQUEST = {"suffix": ".obj", "coloured": False, "companions": {}}


@pytest.fixture
def parser():
    made = Parser("surfaces")
    yield made
    made.end()


def read_triangle(parser):
    _, (vertices, triangles) = parser.parse(REQUEST, [TRIANGLE], Allowance("a", 9.0))
    np.testing.assert_array_equal(vertices, [[0, 0, 0], [1, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(triangles, [[0, 1, 2]])


ATTEMPTS = """
import json, os, resource, socket, subprocess, sys
from hydro_sim_core.mesh_files import parser_process
_, spare_files = parser_process._LIBRARIES["surfaces"]()
parser_process._confine(spare_files)
found = {}
def attempt(name, do):
    try:
        do()
        found[name] = "done"
    except BaseException as error:
        found[name] = type(error).__name__
attempt("file", lambda: open("/etc/passwd"))
attempt("device", lambda: open("/dev/zero"))
attempt("write", lambda: open(sys.argv[1], "w"))
attempt("socket", lambda: socket.socket())
attempt("program", lambda: subprocess.run(["touch", sys.argv[1]]))
attempt("shell", lambda: os.system("touch " + sys.argv[1]) and 1 / 0)
attempt("memory", lambda: bytearray(700 * 2**20))
attempt("more again", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (99, 99)) or open("/etc/passwd"))
print(json.dumps(found))
"""


def test_it_may_open_nothing_and_has_little_memory(tmp_path):
    command = [sys.executable, "-c", ATTEMPTS, str(tmp_path / "made")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    if os.geteuid() == 0:
        del found["more again"]  # who is root may raise limits
    assert "done" not in found.values(), found
    assert not (tmp_path / "made").exists()


STAND_INS = {
    "crashes": ("os.kill(os.getpid(), signal.SIGSEGV)", "its reader ended with status -11"),
    "works for ever": ("os.kill(os.getpid(), signal.SIGPROF)", "it takes more than 5 s"),
    "babbles": ("os.write(1, b'hello, world' * 9)", "it has too many parts"),
    "hangs": ("time.sleep(600)", "there is no answer after 0.5 s"),
    "ends at once": ("", "its reader ends without a word"),
    "is killed": ("os.kill(os.getpid(), signal.SIGKILL)", "its reader ended with status -9"),
    "is ended": ("os.kill(os.getpid(), signal.SIGTERM)", "its reader ended with status -15"),
}
#: Those that say nothing of a file.
NO_FAULT_OF_THE_FILE = ("hangs", "ends at once", "is killed", "is ended")


def stand_in(tmp_path, monkeypatch, failure):
    """Read files by a program that fails; return a file, and the words of the error."""
    program, words = STAND_INS[failure]
    (tmp_path / "program.py").write_text(
        f"import os, signal, sys, time\nos.write(1, b'r')\nos.read(0, 1)\n{program}\n"
    )
    (tmp_path / "a.obj").write_bytes(TRIANGLE)
    monkeypatch.setattr(parser_process, "__file__", str(tmp_path / "program.py"))
    monkeypatch.setattr("hydro_sim_core.mesh_files.parser._WAIT", 0.5 if failure == "hangs" else 120.0)
    monkeypatch.setitem(parsers, "surfaces", Parser("surfaces"))
    monkeypatch.setattr(reading_module, "_refused", {})
    return tmp_path / "a.obj", words


@pytest.mark.parametrize("failure", STAND_INS)
def test_one_that_fails_is_one_clear_error(tmp_path, monkeypatch, failure):
    path, words = stand_in(tmp_path, monkeypatch, failure)
    with pytest.raises(InputError, match=words):
        read_surface(path)


@pytest.mark.parametrize("failure", STAND_INS)
def test_what_a_file_is_to_blame_for_is_known_the_second_time_and_nothing_else(
    tmp_path, monkeypatch, failure
):
    sound = parser_process.__file__
    path, words = stand_in(tmp_path, monkeypatch, failure)
    with pytest.raises(InputError, match=words):
        read_surface(path)
    monkeypatch.setattr(parser_process, "__file__", sound)
    monkeypatch.setattr("hydro_sim_core.mesh_files.parser._WAIT", 120.0)
    if failure in NO_FAULT_OF_THE_FILE:
        assert len(read_surface(path)[1]) == 1
    else:
        with pytest.raises(InputError, match=words):
            read_surface(path)


def test_one_that_is_killed_at_work_is_started_again(tmp_path, monkeypatch):
    sound = parser_process.__file__
    path, _ = stand_in(tmp_path, monkeypatch, "is killed")
    program = tmp_path / "program.py"
    kill = program.read_text()
    program.write_text(f"import shutil\nshutil.copy({sound!r}, __file__)\n{kill}")  # a sound one follows it
    assert len(read_surface(path)[1]) == 1


@pytest.mark.parametrize("size", [1, 100_000])
def test_one_that_cannot_start_says_nothing_of_a_file(tmp_path, monkeypatch, size):
    """Whether it is written to before or after its end."""
    sound = parser_process.__file__
    path, _ = stand_in(tmp_path, monkeypatch, "is killed")
    path.write_bytes(size * b"# a comment\n" + TRIANGLE)
    (tmp_path / "program.py").write_text("import sys\nsys.exit(1)\n")
    with pytest.raises(InputError, match=r"was not read \(its reader ended with status 1\); try again"):
        read_surface(path)
    monkeypatch.setattr(parser_process, "__file__", sound)
    assert len(read_surface(path)[1]) == 1


def test_a_second_try_has_what_the_first_has_left(tmp_path, monkeypatch):
    path, _ = stand_in(tmp_path, monkeypatch, "is killed")
    program = "import os, signal, time\nos.write(1, b'r')\nos.read(0, 1)\ntime.sleep(0.3)\nos.kill(os.getpid(), 9)\n"
    (tmp_path / "program.py").write_text(program)
    monkeypatch.setattr(parser_process, "CPU_LIMIT", 0.2)
    allowance = Allowance("a", 9.0)
    with pytest.raises(Unreadable, match="status -9"):
        Parser("surfaces").parse(REQUEST, [path.read_bytes()], allowance)
    assert allowance.left == pytest.approx(8.8)


def test_its_start_takes_no_time_of_a_file(parser):
    """As it took a second from the first file of each description, and more on a slow machine."""
    allowance = Allowance("a", 9.0)
    parser.parse(REQUEST, [TRIANGLE], allowance)
    assert allowance.left > 8.9


def test_waiting_takes_no_more_of_an_allowance_than_working(tmp_path, monkeypatch):
    (tmp_path / "program.py").write_text(
        "import os, time\nos.write(1, b'r')\nos.read(0, 1)\ntime.sleep(600)\n"
    )
    monkeypatch.setattr(parser_process, "__file__", str(tmp_path / "program.py"))
    monkeypatch.setattr(parser_process, "CPU_LIMIT", 0.1)
    monkeypatch.setattr("hydro_sim_core.mesh_files.parser._WAIT", 0.5)
    allowance = Allowance("a", 9.0)
    with pytest.raises(Unreadable, match="no answer"):
        Parser("surfaces").parse(REQUEST, [TRIANGLE], allowance)
    assert allowance.left == pytest.approx(8.9)


def test_it_is_there_again_when_it_has_ended(parser):
    read_triangle(parser)
    process = parser._process
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    read_triangle(parser)
    assert parser._process is not process


def test_one_that_ends_while_it_is_asked_is_started_again(parser, monkeypatch):
    """As it was idle until just now."""
    read_triangle(parser)
    process = parser._process
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    monkeypatch.setattr(process, "poll", lambda: None)  # what was true when it was looked at
    read_triangle(parser)
    assert parser._process is not process


def test_the_next_file_is_read_by_the_same_process(parser):
    read_triangle(parser)
    process = parser._process
    with pytest.raises(Unreadable):
        parser.parse({**REQUEST, "suffix": ".glb"}, [b"nothing"], Allowance("a", 9.0))
    read_triangle(parser)
    assert parser._process is process


def test_it_ends_when_nobody_asks_and_leaves_no_zombie(parser, monkeypatch, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        Path(parser_process.__file__).read_text().replace("IDLE_LIMIT = 5.0", "IDLE_LIMIT = 0.1")
    )
    monkeypatch.setattr(parser_process, "__file__", str(program))
    read_triangle(parser)
    deadline = time.monotonic() + 60.0
    while Path(f"/proc/{parser._process.pid}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    read_triangle(parser)


def test_a_forked_process_has_its_own(tmp_path):
    (tmp_path / "a.obj").write_bytes(TRIANGLE)
    program = (
        "import os, sys; from pathlib import Path; from hydro_sim_core.mesh_files import read_surface\n"
        "from hydro_sim_core.mesh_files.parser import parsers\n"
        "read_surface(Path(sys.argv[1])); before = parsers['surfaces']._process.pid\n"
        "child = os.fork()\n"
        "read_surface(Path(sys.argv[1]))\n"
        "same = parsers['surfaces']._process.pid == before\n"
        "if child: assert os.waitpid(child, 0)[1] == 0\n"
        "sys.exit(same != bool(child))\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "a.obj")], timeout=120)
    assert done.returncode == 0


def test_threads_wait_for_each_other(tmp_path):
    paths = []
    for number in range(8):
        paths.append(tmp_path / f"{number}.ply")
        trimesh.creation.box((1 + number, 1, 1)).export(paths[-1])
    found: dict[int, float] = {}

    def read(number):
        found[number] = float(np.ptp(read_surface(paths[number])[0][:, 0]))

    threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: 1.0 + number for number in range(8)}


WAIT_FOR_A_FILE = """
import sys
from pathlib import Path
from hydro_sim_core.mesh_files import parser_process, read_surface
parser_process.__file__ = sys.argv[1]
try:
    read_surface(Path(sys.argv[2]))
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_ctrl_c_ends_it(tmp_path):
    (tmp_path / "program.py").write_text(
        "import os, signal, sys, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    )
    (tmp_path / "a.obj").write_bytes(TRIANGLE)
    command = [sys.executable, "-c", WAIT_FOR_A_FILE, str(tmp_path / "program.py"), str(tmp_path / "a.obj")]
    waiting = subprocess.Popen(command, preexec_fn=heed_ctrl_c)
    try:
        deadline = time.monotonic() + 60.0
        while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(timeout=30.0) == 130
        assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()
    finally:
        waiting.kill()
        waiting.wait()
