"""Machine code on disk: found again while it is right, never used when something it contains has changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hydro_sim_core.compilation import cache_root
from hydro_sim_core.compilation.targets import levels_of_this_machine

ENGINE = Path(__file__).parents[2]
DAY = 24 * 3600
#: A level that this machine is of, and a processor that it is not said to be.
LEVEL = levels_of_this_machine()[-1].cpu
OTHER = "generic" if LEVEL != "generic" else "cortex-a53"
CALLEE = '''
"""A module."""
from hydro_sim_core.compilation import kernel

SCALE = 2.0

@kernel
def factor(x):
    """A factor."""
    return SCALE * x

@kernel
def unrelated(x):
    return x
'''
CALLER = """
from __future__ import annotations
from toys.callee import factor
from hydro_sim_core.compilation import Float1D, entry

@entry
def scaled(x: Float1D) -> float:
    return factor(x[0])

@entry
def alone(x: Float1D) -> float:
    return x[0] + 1.0

@entry
def through(x: Float1D) -> float:
    return scaled(x) + 1.0

@entry
def again(x: Float1D) -> float:
    return factor(x[0])
"""
PROGRAM = """
import sys
import numpy as np
from toys.caller import alone, scaled, through
from hydro_sim_core.compilation import kernels_are_kept
x = np.array([3.0])
print(scaled(x), alone(x), through(x), 'numba' in sys.modules, kernels_are_kept())
"""


def make_toys(folder):
    """A package with two modules of kernels."""
    package = folder / "checkout" / "toys"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "callee.py").write_text(CALLEE)
    (package / "caller.py").write_text(CALLER)
    return package


@pytest.fixture
def toys(tmp_path):
    return make_toys(tmp_path)


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory):
    """What a first run leaves behind."""
    folder = tmp_path_factory.mktemp("compiled")
    cache = folder / "cache"
    before = os.umask(0)
    try:
        assert run(make_toys(folder), cache) == ([6.0, 4.0, 7.0], True, True, "")
    finally:
        os.umask(before)
    return cache


@pytest.fixture
def cache(tmp_path, compiled_once):
    """The same for one test, which equal sources in any folder find again."""
    return shutil.copytree(compiled_once, tmp_path / "cache")


def run(toys, cache, before="", **environment):
    """What a fresh process computes, whether it compiled anything, whether that is kept, and its log."""
    done = subprocess.run(
        [sys.executable, "-c", f"{before}\n{PROGRAM}"],
        cwd=toys.parent,
        env={
            **os.environ,
            "HYDRO_SIM_CACHE_DIR": str(cache),
            "PYTHONPATH": f"{toys.parent}:{ENGINE}",
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    *values, compiled, kept = done.stdout.split()
    return [float(value) for value in values], compiled == "True", kept == "True", done.stderr


def names(cache):
    """Names of the kept files, by entry point."""
    return {path.name.rpartition("-")[0]: path.name for path in cache.glob("kernels/*/*.o")}


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_equal_sources_anywhere_find_what_was_compiled_once(toys, cache, tmp_path):
    """In another process, and in another checkout: there Numba is not even imported."""
    assert run(toys, cache) == ([6.0, 4.0, 7.0], False, True, "")
    elsewhere = shutil.copytree(toys.parent, tmp_path / "elsewhere") / "toys"
    assert run(elsewhere, cache) == ([6.0, 4.0, 7.0], False, True, "")


def test_an_edit_compiles_what_contains_it_and_nothing_else(toys, cache):
    before = names(cache)
    edit(toys / "callee.py", "SCALE = 2.0", "SCALE = 3.0")
    # ``through`` calls ``scaled`` by its symbol, and so need not be compiled.
    assert run(toys, cache)[0] == [9.0, 4.0, 10.0]
    after = names(cache)
    assert {name for name in after if after[name] != before[name]} <= {"toys.caller.scaled"}
    assert len(list(cache.glob("kernels/*/*.o"))) == 4
    edit(toys / "callee.py", "return SCALE * x", "return SCALE * x + 1.0")
    assert run(toys, cache)[0] == [10.0, 4.0, 11.0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A factor."""', '"""Another text."""'),
        ('"""A module."""', '"""Another text."""\n# and a comment\n'),
        ("def unrelated(x):\n    return x", "def unrelated(x):\n    return -x"),
    ],
)
def test_words_and_neighbours_compile_nothing(toys, cache, old, new):
    edit(toys / "callee.py", old, new)
    assert run(toys, cache) == ([6.0, 4.0, 7.0], False, True, "")


def test_a_changed_signature_compiles_the_callers_too(toys, cache):
    edit(toys / "caller.py", "def scaled(x: Float1D) -> float", "def scaled(x: Float1D) -> int")
    assert run(toys, cache)[0] == [6.0, 4.0, 7.0]
    assert len(list(cache.glob("kernels/*/toys.caller.through-*.o"))) == 2


def _empty(path):
    path.write_bytes(b"")


def _shorten(path):
    path.write_bytes(path.read_bytes()[:100])


def _flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))


def _replace(path):
    path.write_text("something else")


@pytest.mark.heavy(2)
@pytest.mark.parametrize(
    "spoilt",
    [{"scaled": _shorten, "alone": _flip, "through": _replace}, {"scaled": _empty}],
    ids=["truncated, flipped, foreign", "empty"],
)
def test_damaged_files_are_noticed_said_and_made_anew(toys, cache, spoilt):
    """As a power cut or a bad disk leaves them."""
    paths = {name: next(cache.glob(f"kernels/*/toys.caller.{name}-*.o")) for name in spoilt}
    whole = {name: path.read_bytes() for name, path in paths.items()}
    for name, spoil in spoilt.items():
        spoil(paths[name])
    values, compiled, kept, log = run(toys, cache)
    assert (values, compiled, kept) == ([6.0, 4.0, 7.0], True, True)
    lines = log.splitlines()
    assert len(lines) == len(spoilt)
    for name, path in paths.items():
        assert sum(str(path) in line and "damaged" in line for line in lines) == 1
        assert path.read_bytes()[:60] == whole[name][:60]
    assert run(toys, cache) == ([6.0, 4.0, 7.0], False, True, "")


def test_an_unreadable_file_is_compiled_around(toys, cache):
    (path,) = cache.glob("kernels/*/toys.caller.alone-*.o")
    path.unlink()
    path.mkdir()
    values, _, _, log = run(toys, cache)
    assert values == [6.0, 4.0, 7.0]
    assert "Is a directory" in log


def test_no_half_file_is_ever_found(toys, tmp_path):
    """Files appear under their names when they are whole and on the disk: they are synced, then renamed."""
    program = (
        "import os\nfrom hydro_sim_core.compilation import store\nfrom pathlib import Path\ncalls = []\n"
        "for name in ('fsync', 'replace'):\n"
        "    def note(*a, f=getattr(os, name), n=name):\n        calls.append(n)\n        return f(*a)\n"
        "    setattr(os, name, note)\n"
        f"store.write(Path({str(tmp_path)!r}) / 'x.o', b'code')\nprint(*calls)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ENGINE, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["fsync", "replace", "fsync"], done.stderr


def test_without_a_writable_folder_nothing_is_kept_and_one_warning_says_so(toys, tmp_path):
    cache = tmp_path / "file"
    cache.touch()
    for _ in range(2):
        values, compiled, kept, log = run(toys, cache)
        assert (values, compiled, kept) == ([6.0, 4.0, 7.0], True, False)
        (line,) = log.splitlines()
        assert str(cache) in line
        assert "HYDRO_SIM_CACHE_DIR" in line


@pytest.mark.heavy(2)
@pytest.mark.parametrize("which", [".", "kernels"])
def test_a_folder_that_others_may_write_is_refused(toys, cache, which):
    """Its files are executed."""
    (cache / which).chmod(0o777)
    values, compiled, kept, log = run(toys, cache)
    assert (values, compiled, kept) == ([6.0, 4.0, 7.0], True, False)
    (line,) = log.splitlines()
    assert "can be written by others" in line
    assert "chmod go-w" in line


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_folder_of_another_user_is_refused(toys, cache):
    os.chown(cache / "kernels", 12345, 12345)
    _, compiled, kept, log = run(toys, cache)
    assert (compiled, kept) == (True, False)
    assert "belongs to another user" in log


def test_new_folders_belong_to_their_user_alone(compiled_once):
    """Whatever the umask is."""
    for folder in (compiled_once, compiled_once / "kernels", next((compiled_once / "kernels").iterdir())):
        assert folder.stat().st_mode & 0o077 == 0


def test_a_user_without_home_has_a_folder(tmp_path):
    """As in ``docker run -u 12345``."""
    program = (
        "import pathlib\n"
        "def no_home(*_):\n    raise RuntimeError('Could not determine home directory')\n"
        "pathlib.Path.home = no_home\n"
        "from hydro_sim_core.compilation import cache_root\nprint(cache_root())"
    )
    environment = {k: v for k, v in os.environ.items() if k not in ("HYDRO_SIM_CACHE_DIR", "XDG_CACHE_HOME")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        cwd=ENGINE,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip().endswith(f"hydro_sim-{os.getuid()}"), done.stderr


def test_files_that_nothing_used_for_a_month_go_when_a_new_one_comes(toys, cache):
    (scaled,) = cache.glob("kernels/*/toys.caller.scaled-*.o")
    (alone,) = cache.glob("kernels/*/toys.caller.alone-*.o")
    for path, age in ((scaled, 31), (alone, 29)):
        os.utime(path, 2 * (time.time() - age * DAY,))
    edit(toys / "callee.py", "SCALE = 2.0", "SCALE = 3.0")
    run(toys, cache)
    assert not scaled.exists()
    # Used just now.
    assert time.time() - alone.stat().st_mtime < DAY


def test_machine_code_that_came_with_a_wheel_is_used(toys, tmp_path):
    """That of a level of processors; the names of files are the same for all."""
    level = LEVEL
    run(toys, tmp_path / "made", NUMBA_CPU_NAME=level)
    (made,) = (tmp_path / "made" / "kernels").iterdir()
    shutil.copytree(made, tmp_path / "prebuilt" / level)
    folder = str(tmp_path / "prebuilt")
    program = f"from hydro_sim_core.compilation import store\nstore.PREBUILT = store.Path({folder!r})"
    cache = tmp_path / "cache"
    assert run(toys, cache, before=program) == ([6.0, 4.0, 7.0], False, True, "")
    assert not list(cache.glob("kernels/*/*.o"))
    # Nothing has to be kept then, and so nothing is said.
    cache.mkdir(exist_ok=True)
    cache.chmod(0o777)
    assert run(toys, cache, before=program) == ([6.0, 4.0, 7.0], False, False, "")
    cache.chmod(0o700)
    # Not where another processor is asked for, and not if its sources are others.
    assert run(toys, cache, before=program, NUMBA_CPU_NAME=OTHER)[1]
    edit(toys / "callee.py", "SCALE = 2.0", "SCALE = 3.0")
    assert run(toys, cache, before=program)[:2] == ([9.0, 4.0, 10.0], True)


def test_another_processor_has_files_of_its_own(toys, cache):
    assert run(toys, cache, NUMBA_CPU_NAME=OTHER)[:2] == ([6.0, 4.0, 7.0], True)
    assert len(list((cache / "kernels").iterdir())) == 2


@pytest.mark.long
def test_code_for_a_level_that_another_processor_left_is_used(toys, tmp_path):
    """As on a cluster: one folder for machines of several kinds."""
    cache = tmp_path / "cache"
    run(toys, cache, NUMBA_CPU_NAME=LEVEL)
    (made,) = (cache / "kernels").iterdir()
    assert run(toys, cache) == ([6.0, 4.0, 7.0], False, True, "")
    # That of this processor comes first.
    path = next(made.glob("toys.caller.alone-*.o"))
    _flip(path)
    assert run(toys, cache)[1]
    _flip(next(made.glob("toys.caller.scaled-*.o")))
    assert "scaled" in run(toys, cache)[3]


def test_a_folder_made_for_meshes_is_trusted_with_machine_code(tmp_path):
    """Whatever the umask: Ubuntu's lets the group write."""
    root = tmp_path / "cache" / "hydro_sim"
    program = f"""
import os
os.umask(0o002)
os.environ["XDG_CACHE_HOME"] = {str(root.parent)!r}
from hydro_sim_core.compilation import cache_root, kernels_are_kept, make_private_folder
make_private_folder(cache_root() / "meshes")
print(kernels_are_kept())
"""
    environment = {name: value for name, value in os.environ.items() if name != "HYDRO_SIM_CACHE_DIR"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert (done.stdout, done.stderr) == ("True\n", "")
    assert {p.stat().st_mode & 0o777 for p in (root, root / "meshes")} == {0o700}


def test_a_relative_cache_folder_is_one_of_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", "cache")
    assert cache_root() == tmp_path / "cache"
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", "~/cache")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_root() == tmp_path / "cache"


@pytest.mark.long
def test_a_constant_that_changes_in_a_process_is_not_kept_as_another(toys, tmp_path):
    """Neither what was translated before, nor what is translated after, is saved under the other's digest."""
    cache = tmp_path / "cache"
    run(
        toys,
        cache,
        before="import toys.callee, numpy\nfrom toys.caller import scaled, again\n"
        "scaled(numpy.ones(1))\ntoys.callee.SCALE = 3.0\nagain(numpy.ones(1))",
    )
    edit(toys / "callee.py", "SCALE = 2.0", "SCALE = 3.0")
    program = "import numpy\nfrom toys.caller import again\nassert again(numpy.ones(1)) == 3.0"
    assert run(toys, cache, before=program)[0] == [9.0, 4.0, 10.0]


@pytest.mark.heavy(2)
@pytest.mark.parametrize("which", [".", "kernels"])
def test_a_link_to_nowhere_is_no_folder(toys, tmp_path, which):
    cache = tmp_path / "cache"
    (cache / which).parent.mkdir(exist_ok=True)
    (cache / which).symlink_to(tmp_path / "nowhere")
    values, compiled, kept, log = run(toys, cache)
    assert (values, compiled, kept) == ([6.0, 4.0, 7.0], True, False)
    assert len(log.splitlines()) == 1


def test_a_folder_of_a_processor_that_leads_nowhere_is_no_folder(toys, cache):
    (folder,) = (cache / "kernels").iterdir()
    shutil.rmtree(folder)
    folder.symlink_to(cache / "nowhere")
    values, compiled, kept, _ = run(toys, cache)
    assert (values, compiled, kept) == ([6.0, 4.0, 7.0], True, False)


def test_a_link_that_was_accepted_leads_nowhere_else_later(toys, cache, tmp_path):
    """Whoever can change the link cannot have other code run."""
    link, other = tmp_path / "link", tmp_path / "other"
    link.symlink_to(cache)
    shutil.copytree(cache, other)
    for path in other.glob("kernels/*/*.o"):
        _flip(path)
    program = (
        f"import numpy, os\nfrom toys.caller import scaled\nscaled(numpy.ones(1))\nos.remove({str(link)!r})\n"
        f"os.symlink({str(other)!r}, {str(link)!r})"
    )
    assert run(toys, link, before=program) == ([6.0, 4.0, 7.0], False, True, "")


def test_a_file_that_others_may_write_is_not_run(toys, cache):
    (path,) = cache.glob("kernels/*/toys.caller.alone-*.o")
    path.chmod(0o666)
    values, compiled, _, log = run(toys, cache)
    assert (values, compiled) == ([6.0, 4.0, 7.0], True)
    assert f"{path}: cannot be read (can be written by others" in log
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_file_of_another_user_is_not_run(toys, cache):
    (path,) = cache.glob("kernels/*/toys.caller.alone-*.o")
    os.chown(path, 12345, 12345)
    values, compiled, _, log = run(toys, cache)
    assert (values, compiled) == ([6.0, 4.0, 7.0], True)
    assert "belongs to another user" in log


def test_a_link_instead_of_a_file_is_not_followed(toys, cache, tmp_path):
    (path,) = cache.glob("kernels/*/toys.caller.alone-*.o")
    shutil.move(path, tmp_path / "elsewhere.o")
    path.symlink_to(tmp_path / "elsewhere.o")
    values, compiled, _, log = run(toys, cache)
    assert (values, compiled) == ([6.0, 4.0, 7.0], True)
    assert f"{path}: cannot be read" in log
    assert not path.is_symlink()


def test_a_fifo_instead_of_a_file_does_not_block(toys, cache):
    (path,) = cache.glob("kernels/*/toys.caller.alone-*.o")
    path.unlink()
    os.mkfifo(path, 0o600)
    assert run(toys, cache)[0] == [6.0, 4.0, 7.0]
