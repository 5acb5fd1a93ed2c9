"""The owner's part: who may have a name, what becomes of segments of the dead, and what a full file system does."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hydro_sim_core.errors import InputError
from hydro_sim_core.shared_memory import segment as segment_module
from hydro_sim_core.shared_memory.client import connect
from hydro_sim_core.shared_memory.layout import OWNER_LOCK, Header, header_words, segment_path
from hydro_sim_core.shared_memory.locks import ByteLock, is_locked
from hydro_sim_core.shared_memory.memory import Memory
from hydro_sim_core.shared_memory.names import running_simulations
from hydro_sim_core.shared_memory.segment import Segment
from hydro_sim_core.shared_memory.tables import Tables
from support.shared_memory.processes import environment
from support.shared_memory.stand_in import StandIn, tables


@pytest.fixture
def name() -> Iterator[str]:
    name = f"test_segment_{os.getpid()}"
    yield name
    Path(segment_path(name)).unlink(missing_ok=True)


def _make(name: str, scene: str = "stand_in", replaces: Segment | None = None) -> Segment:
    return Segment.make(name, tables(scene), slots=8, replaces=replaces)


def test_only_this_user_may_open_it_and_all_its_memory_is_there(name: str) -> None:
    segment = _make(name)
    found = os.stat(segment_path(name))
    assert stat.S_IMODE(found.st_mode) == 0o600
    assert found.st_size == segment.memory.words[Header.SIZE]
    assert found.st_blocks * 512 >= found.st_size
    assert name in running_simulations()
    segment.retire()
    assert not os.path.exists(segment_path(name))
    assert name not in running_simulations()


def test_what_it_tells_once_is_read_as_it_was_written(name: str) -> None:
    segment = _make(name)
    assert Tables.read(segment.memory) == tables()
    with connect(name) as client:
        assert client.tables == tables()
    segment.retire()


def test_long_names_are_cut_between_characters() -> None:
    made = Tables("ä" * 100, 1e-3, 0, 0)
    memory = Memory(-1, header_words(made.sizes(1))[Header.SIZE])
    made.write(memory, slots=1)
    assert Tables.read(memory).scene == "ä" * 63


def test_a_second_owner_is_refused_and_told_who_has_the_name(name: str) -> None:
    segment = _make(name)
    with pytest.raises(
        InputError, match=rf"a simulation of the same name that runs \(process {os.getpid()}\)"
    ):
        _make(name)
    with connect(name) as client:
        assert client.scene == "stand_in"
    segment.retire()


def test_a_client_is_seen_as_long_as_it_lives(name: str) -> None:
    segment = _make(name)
    with connect(name) as client:
        StandIn(segment, 0.0)
        controller = client.controller(channel=2)
        assert [segment.client_lives(channel) for channel in range(4)] == [False, False, True, False]
        controller.close()
    assert not segment.client_lives(2)
    segment.retire()


def test_the_segment_of_an_owner_that_was_killed_is_replaced(name: str, start) -> None:
    start(name=name, kind="stand_in").kill()
    assert os.path.exists(segment_path(name))
    before = os.stat(segment_path(name)).st_ino
    segment = _make(name)
    assert os.stat(segment_path(name)).st_ino != before
    segment.retire()


def test_of_many_owners_that_start_at_once_one_gets_a_stale_name(name: str, start) -> None:
    start(name=name, kind="stand_in").kill()
    program = (
        "import sys, time\n"
        "from hydro_sim_core.errors import InputError\n"
        "from hydro_sim_core.shared_memory.segment import Segment\n"
        "from support.shared_memory.stand_in import StandIn, tables\n"
        "print('loaded', flush=True)\n"
        "sys.stdin.readline()\n"
        "try:\n"
        "    segment = Segment.make(sys.argv[1], tables(), slots=8)\n"
        "    print('has it', flush=True)\n"
        "except InputError as error:\n"
        "    print('refused' if 'of the same name' in str(error) else error, flush=True)\n"
        "sys.stdin.readline()\n"
    )
    owners = [
        subprocess.Popen(
            [sys.executable, "-c", program, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        for _ in range(3)
    ]
    assert {owner.stdout.readline() for owner in owners} == {"loaded\n"}
    for owner in owners:
        owner.stdin.write("\n")
        owner.stdin.flush()
    said = sorted(owner.stdout.readline().strip() for owner in owners)
    for owner in owners:
        owner.communicate("\n")
    assert said == ["has it", "refused", "refused"]


def test_another_scene_takes_the_name_over_at_once(name: str) -> None:
    old = _make(name)
    with connect(name) as client:
        new = _make(name, "other", replaces=old)
        with pytest.raises(InputError, match="has ended, or runs another scene; open its name anew"):
            client.wait(0, limit=5.0)
    with connect(name) as client:
        assert client.scene == "other"
    new.retire()
    assert not [path for path in os.listdir("/dev/shm") if name in path]


def test_a_scene_that_finds_no_room_leaves_the_old_one_alone(name: str, monkeypatch) -> None:
    old = _make(name)
    _fill(monkeypatch)
    with pytest.raises(InputError, match="has no room"):
        _make(name, "other", replaces=old)
    with connect(name) as client:
        assert client.scene == "stand_in"
    old.retire()


def _fill(monkeypatch) -> None:
    """What ``posix_fallocate`` says where a file system is full."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(segment_module.os, "posix_fallocate", refuse)


def test_a_full_file_system_is_one_line_and_leaves_nothing(name: str, monkeypatch) -> None:
    before = set(os.listdir("/dev/shm"))
    _fill(monkeypatch)
    with pytest.raises(InputError, match=r"has no room for 0\.\d MB: No space left on device; .*--shm-size"):
        _make(name)
    assert set(os.listdir("/dev/shm")) <= before


def test_a_really_full_file_system(name: str, tmp_path, monkeypatch) -> None:
    """A tmpfs of 64 kB, where this process may mount one."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("may not mount a file system")
    try:
        monkeypatch.setattr(segment_module, "path_of", lambda name: f"{tmp_path}/hydro_sim.{name}")
        with pytest.raises(InputError, match=r"has no room for .* MB"):
            _make(name)
        assert os.listdir(tmp_path) == []
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.parametrize("content", [b"", b"notes", bytes(4096)])
def test_a_file_that_is_none_of_ours_is_left_alone(name: str, content: bytes) -> None:
    path = Path(segment_path(name))
    path.write_bytes(content)
    with pytest.raises(InputError, match="is no segment of hydro-sim; remove it"):
        _make(name)
    with pytest.raises(InputError, match="is no segment of hydro-sim; remove it"):
        connect(name)
    assert path.read_bytes() == content


def test_a_link_is_not_followed(name: str, tmp_path) -> None:
    target = tmp_path / "precious"
    target.write_bytes(b"x" * 1024)
    os.symlink(target, segment_path(name))
    for open_it in (_make, connect):
        with pytest.raises(InputError, match="is no segment of hydro-sim"):
            open_it(name)
    assert target.read_bytes() == b"x" * 1024


@pytest.mark.parametrize("wrong", ["", "/", "a\0b", "x" * 201])
def test_what_is_no_name(wrong: str) -> None:
    with pytest.raises(InputError, match="is no name of a simulation"):
        _make(wrong)


def test_a_child_does_not_keep_the_lock_of_an_owner(name: str) -> None:
    """A process that an owner has forked lives on when the owner is killed; its name has to be free then."""
    segment = _make(name)
    descriptor = os.open(segment_path(name), os.O_RDWR)
    child = os.fork()
    if not child:
        time.sleep(60.0)
        os._exit(0)
    try:
        assert is_locked(descriptor, OWNER_LOCK)
        segment.retire()
        deadline = time.monotonic() + 10.0  # until the child has run at all
        while is_locked(descriptor, OWNER_LOCK) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not is_locked(descriptor, OWNER_LOCK)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(descriptor)


def test_two_locks_of_one_process_exclude_each_other(tmp_path) -> None:
    (tmp_path / "file").touch()
    descriptor = os.open(tmp_path / "file", os.O_RDWR)
    lock = ByteLock.take(descriptor, 3)
    assert lock is not None
    assert ByteLock.take(descriptor, 3) is None
    assert ByteLock.take(descriptor, 2) is not None
    lock.release()
    lock.release()
    assert not is_locked(descriptor, 3)
    os.close(descriptor)
