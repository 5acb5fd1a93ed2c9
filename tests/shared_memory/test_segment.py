"""Who has a segment: owners with the same name, owners and clients that were killed, and no room."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hydro_sim_core import InputError
from hydro_sim_core.shared_memory.layout import Header, Life, Status, segment_path
from hydro_sim_core.shared_memory.segment import Segment

_SIZE, _AT_STATUS = 8192, 80
_OWNER = """
import sys, time
from hydro_sim_core.shared_memory.layout import MAGIC, VERSION, Header
from hydro_sim_core.shared_memory.segment import Segment
import os
segment = Segment(sys.argv[1], 8192)
segment.words[[Header.MAGIC, Header.VERSION, Header.OWNER_PID]] = MAGIC, VERSION, os.getpid()
print("made", flush=True)
time.sleep(60)
"""
_CLIENT = """
import fcntl, os, struct, sys, time
file = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 1 + 2, 1, 0))
print("locked", flush=True)
time.sleep(60)
"""


@pytest.fixture
def name() -> Iterator[str]:
    made = f"test{os.getpid()}"
    yield made
    Path(segment_path(made)).unlink(missing_ok=True)


def _started(program: str, argument: str) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", program, argument], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


def _kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_others_may_neither_read_nor_write(name: str) -> None:
    segment = Segment(name, _SIZE)
    assert stat.S_IMODE(os.stat(segment.path).st_mode) == 0o600
    assert os.stat(segment.path).st_size == _SIZE
    segment.retire(_AT_STATUS)
    assert not os.path.exists(segment.path)
    assert segment.words[_AT_STATUS + Status.LIFE] == Life.RETIRED  # for those who still have it


def test_a_name_that_is_taken_is_refused_and_whoever_has_it_is_named(name: str) -> None:
    owner = _started(_OWNER, name)
    with pytest.raises(
        InputError, match=f"'{name}': is taken by process {owner.pid}; give this node another"
    ):
        Segment(name, _SIZE)
    assert os.path.exists(segment_path(name))
    _kill(owner)


def test_the_segment_of_a_killed_owner_is_replaced(name: str) -> None:
    owner = _started(_OWNER, name)
    before = os.stat(segment_path(name)).st_ino
    _kill(owner)
    segment = Segment(name, _SIZE)
    assert os.stat(segment.path).st_ino != before
    assert segment.words[Header.MAGIC] == 0
    segment.retire(_AT_STATUS)


def test_a_killed_client_is_noticed(name: str) -> None:
    segment = Segment(name, _SIZE)
    client = _started(_CLIENT, segment.path)
    assert [segment.client_lives(channel) for channel in range(4)] == [False, False, True, False]
    _kill(client)
    assert not segment.client_lives(2)
    segment.retire(_AT_STATUS)


def test_a_full_file_system_is_told_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by SIGBUS at some later write."""

    def refuse(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(InputError, match=r"/dev/shm: has no room \(No space left on device\); free 0 MB"):
        Segment(name, _SIZE)
    assert not os.path.exists(segment_path(name))
