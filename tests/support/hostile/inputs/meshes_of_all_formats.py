"""Mesh files that are no regular files, and files without meaning."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from hydro_sim_core.mesh_files import SURFACE_SUFFIXES, VOLUME_SUFFIXES
from support.hostile.meshes import add_file, content, noise


def endpoint(path: Path) -> None:
    before = Path.cwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as held:
            held.bind(path.name)
    finally:
        os.chdir(before)


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 2**28)


for suffix in (*SURFACE_SUFFIXES, *VOLUME_SUFFIXES):
    add_file(f"zero{suffix}", lambda path: path.symlink_to("/dev/zero"))
    add_file(f"pipe{suffix}", lambda path: os.mkfifo(path))
    add_file(f"huge{suffix}", huge)
    content(f"empty{suffix}", b"")
    content(f"noise{suffix}", noise(len(suffix)))
    content(f"one_byte{suffix}", b"s")
add_file("folder.stl", lambda path: path.mkdir())
add_file("socket.obj", endpoint)
add_file("loop.ply", lambda path: path.symlink_to(path))
add_file("tty.glb", lambda path: path.symlink_to("/dev/tty"))
