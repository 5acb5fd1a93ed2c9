"""Machine code on disk: found again while it is right, never used when something it contains has changed."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hydro_sim_core.compilation import cache_root

ENGINE = Path(__file__).parents[2]
DAY = 24 * 3600
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


@pytest.mark.skipif(platform.machine() != "x86_64", reason="wheels bring machine code for x86-64 only")
def test_machine_code_that_came_with_a_wheel_is_used(toys, tmp_path):
    """That of a level of processors; the names of files are the same for all."""
    run(toys, tmp_path / "made", NUMBA_CPU_NAME="x86-64", NUMBA_CPU_FEATURES="")
    (made,) = (tmp_path / "made" / "kernels").iterdir()
    shutil.copytree(made, tmp_path / "prebuilt" / "x86-64")
    folder = str(tmp_path / "prebuilt")
    program = f"from hydro_sim_core.compilation import store\nstore.PREBUILT = store.Path({folder!r})"
    cache = tmp_path / "cache"
    assert run(toys, cache, before=program) == ([6.0, 4.0, 7.0], False, True, "")
    assert not list(cache.glob("kernels/*/*.o"))
    # Not where another processor is asked for, and not if its sources are others.
    assert run(toys, cache, before=program, NUMBA_CPU_NAME="generic")[1]
    edit(toys / "callee.py", "SCALE = 2.0", "SCALE = 3.0")
    assert run(toys, cache, before=program)[:2] == ([9.0, 4.0, 10.0], True)


def test_another_processor_has_files_of_its_own(toys, cache):
    assert run(toys, cache, NUMBA_CPU_NAME="generic")[:2] == ([6.0, 4.0, 7.0], True)
    assert len(list((cache / "kernels").iterdir())) == 2


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
