"""A simulation that runs in another process: the engine's loop, or a stand-in where tests need to know its insides."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from hydro_sim_core.shared_memory.client import Client
from hydro_sim_core.shared_memory.layout import NUM_CHANNELS, Channel, Header, segment_path
from support.shared_memory.processes import Running, environment

_NUMBERS = count()


Start = Callable[..., Running]


@pytest.fixture(scope="module")
def name() -> str:
    """A name that no other simulation has."""
    return f"test_{os.getpid()}"


@contextmanager
def _starting() -> Iterator[Start]:
    """Start simulations; whatever still runs in the end is killed, for some take a whole processor."""
    started: list[Running] = []

    def start(*options: str, name: str = "", kind: str = "engine") -> Running:
        name = name or f"test_{os.getpid()}_{next(_NUMBERS)}"
        command = [sys.executable, "-m", f"support.shared_memory.{kind}", name, *options]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
        )
        running = Running(name, process)
        started.append(running)
        assert process.stdout is not None
        assert process.stderr is not None
        if not process.stdout.readline().startswith("ready"):
            process.wait()
            raise AssertionError(process.stderr.read())
        return running

    try:
        yield start
    finally:
        for running in started:
            running.kill()
            for stream in (running.process.stdout, running.process.stderr):
                if stream is not None:
                    stream.close()
            Path(segment_path(running.name)).unlink(missing_ok=True)


@pytest.fixture
def start() -> Iterator[Start]:
    """Start simulations of one's own, with options of their program."""
    with _starting() as start:
        yield start


@pytest.fixture(scope="module", params=["engine"])
def running(request: pytest.FixtureRequest) -> Iterator[Running]:
    """A simulation for all tests of a file that leave it as they found it."""
    with _starting() as start:
        yield start(kind=request.param)


@pytest.fixture
def client(running: Running) -> Iterator[Client]:
    """A client of it; afterwards it is reset and runs on."""
    with running.connect() as client:
        yield client
        for channel in range(NUM_CHANNELS):
            words = client._memory.words
            at = words[Header.AT_CHANNELS] + channel * words[Header.CHANNEL_WORDS]
            client.wait_for_word(at + Channel.IN_LOCK_STEP, 0, "the end of lock-step")
        client.set_pace(1.0)
        client.set_lock_step(False)
        client.reset()
        client.resume()
