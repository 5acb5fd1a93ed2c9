"""Files that may come from strangers: what is no regular file is not opened, and what is too large not read."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

import pytest

from hydro_sim_core import files
from hydro_sim_core.errors import InputError, MissingFile
from hydro_sim_core.files import open_regular_file, read_regular_file


def test_a_file_is_read_to_its_last_byte(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    (tmp_path / "link").symlink_to(path)
    assert read_regular_file(path, 5) == b"12345"
    assert read_regular_file(tmp_path / "link", 5) == b"12345"
    with open_regular_file(path, 5) as file:
        file.seek(3)
        assert file.read() == b"45"


def test_a_large_file_is_refused(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(bytes(2049))
    with pytest.raises(InputError, match="a: the file is larger than 2 kB; check"):
        read_regular_file(path, 2048)


def test_a_file_that_tells_no_size_is_bounded():
    with pytest.raises(InputError, match="larger than"):
        read_regular_file(Path("/proc/self/maps"), 1024)


def test_a_pipe_is_refused_and_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"^[^(]*pipe: is a named pipe; name"):
        read_regular_file(tmp_path / "pipe", 10)


def test_a_device_behind_a_link_is_refused(tmp_path):
    (tmp_path / "robot.urdf").symlink_to("/dev/zero")
    with pytest.raises(InputError, match=r"robot\.urdf: is a device"):
        read_regular_file(tmp_path / "robot.urdf", 10)


def test_a_socket_is_refused(tmp_path):
    with socket.socket(socket.AF_UNIX) as endpoint:
        endpoint.bind(str(tmp_path / "s"))
        with pytest.raises(InputError, match="s: is a socket"):
            read_regular_file(tmp_path / "s", 10)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        read_regular_file(tmp_path, 10)


@pytest.mark.parametrize("name", ["x" * 300, "x/" * 3000, "a\0b"])
def test_a_name_that_no_file_can_have(tmp_path, name):
    with pytest.raises(InputError, match="cannot be read"):
        read_regular_file(tmp_path / name, 10)


def test_who_names_the_file_is_told(tmp_path):
    path = tmp_path / "bowl.stl"
    with pytest.raises(MissingFile, match=r"robot\.urdf: <mesh>: there is no file '.*bowl\.stl'; check"):
        read_regular_file(path, 10, source="robot.urdf", element="<mesh>")
    path.write_bytes(bytes(11))
    with pytest.raises(InputError, match=r"robot\.urdf: <mesh>: '.*bowl\.stl' is larger than"):
        read_regular_file(path, 10, source="robot.urdf", element="<mesh>")


def test_a_file_that_waits_for_more_is_refused(monkeypatch, tmp_path):
    """As /proc/kmsg, which calls itself regular, once all of it was read."""

    class Waiting:
        def read(self, count):
            return None

    monkeypatch.setattr(files, "open_regular_file", lambda *_, **__: contextlib.nullcontext(Waiting()))
    with pytest.raises(InputError, match=r"'.*x\.urdf' cannot be read \(it has no contents yet\)"):
        files.read_regular_file(tmp_path / "x.urdf", 100)
