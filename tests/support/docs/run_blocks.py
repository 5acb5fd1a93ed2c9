"""Runs the blocks of a page one after the other in a folder that looks like a checkout."""

from __future__ import annotations

import doctest
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from support.ctrl_c import heed_ctrl_c
from support.docs.blocks import ROOT, Block
from support.ros_domains import take_domain

#: What commands in pages name of a checkout.
_CHECKOUT = (
    "Makefile",
    "benchmarks",
    "config",
    "constraints.txt",
    "docs",
    "pyproject.toml",
    "ros2_ws",
    "tests",
    "urdf",
)
#: The wheels bring no `ros2`. This one starts the node, and nothing else.
_ROS2 = """\
#!/bin/sh
if [ "$1 $2 $3" != "run hydro_sim hydro_sim" ]; then
    echo "not among the wheels: ros2 $*" >&2
    exit 127
fi
shift 3
exec python -m hydro_sim "$@"
"""
_TIMEOUT = 120.0  # s
_ENDS_WITHIN = 30.0  # s, from Ctrl-C


class Runner:
    """Names of Python blocks, and files of all, are seen by later blocks of the page.

    Args:
        folder: For the page alone.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "checkout"
        self._folder.mkdir()
        for name in _CHECKOUT:
            (self._folder / name).symlink_to(ROOT / name)
        self._make_environment()
        programs = folder / "bin"
        programs.mkdir()
        (programs / "ros2").write_text(_ROS2)
        (programs / "ros2").chmod(0o755)
        self._environment = os.environ | {
            "PATH": os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "MPLBACKEND": "agg",
            "PIP_DRY_RUN": "1",
            "PYTHONUNBUFFERED": "1",
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
            "ROS_DOMAIN_ID": str(take_domain()),
        }
        self._names: dict[str, Any] = {"__name__": "__main__"}

    def _make_environment(self) -> None:
        """What runs the tests, as ``make`` would find it if it had set it up just now."""
        environment = self._folder / ".venv"
        environment.mkdir()
        for path in Path(sys.prefix).iterdir():
            if not path.name.endswith("-ready"):
                (environment / path.name).symlink_to(path)
        for name in (".demo-ready", ".test-ready"):
            (environment / name).touch()

    @property
    def folder(self) -> Path:
        return self._folder

    def run(self, block: Block) -> None:
        """Run or write one block, or leave it where it is marked so."""
        if block.mark == "file":
            file = self._folder / block.told
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        elif block.mark == "until":
            self._run_until(block)
        elif not block.is_run:
            return
        elif block.is_shell:
            self._run_to_the_end(block)
        elif block.language == "python":
            # Blank lines give tracebacks the page's line numbers.
            exec(compile("\n" * (block.line - 1) + block.text, str(block.page), "exec"), self._names)
        else:
            self._run_session(block)

    def _run_to_the_end(self, block: Block) -> None:
        with self._shell(block) as (process, log):
            process.wait(_TIMEOUT)
        assert process.returncode == 0, f"{block} ended with {process.returncode}:\n{log.read_text()}"

    def _run_until(self, block: Block) -> None:
        """Press Ctrl-C once the text is there: all of the block's processes get it, and end in order."""
        with self._shell(block) as (process, log):
            deadline = time.monotonic() + _TIMEOUT
            while block.told not in log.read_text():
                assert process.poll() is None, f"{block} ended by itself:\n{log.read_text()}"
                assert time.monotonic() < deadline, (
                    f"{block} never printed '{block.told}':\n{log.read_text()}"
                )
                time.sleep(0.05)
            os.killpg(process.pid, signal.SIGINT)
            process.wait(_ENDS_WITHIN)
        said, status = log.read_text(), process.returncode
        assert "Traceback" not in said, f"{block} did not end in order:\n{said}"
        # make and bash say that they were interrupted, whatever their children answer.
        assert status in (0, 2, 130, -signal.SIGINT), f"{block} ended with {status}:\n{said}"

    @contextmanager
    def _shell(self, block: Block) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
        """The block in a shell, and the file that it writes to; nothing of it is left running."""
        log = self._folder.parent / "output.txt"
        with log.open("w") as output:
            process = subprocess.Popen(
                ["bash", "-e", "-o", "pipefail", "-c", block.text],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=heed_ctrl_c,
            )
        try:
            yield process, log
        except subprocess.TimeoutExpired:
            pytest.fail(f"{block} goes on for too long:\n{log.read_text()}")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _run_session(self, block: Block) -> None:
        session = doctest.DocTestParser().get_doctest(
            block.text, self._names, block.page.name, str(block.page), block.line - 1
        )
        report: list[str] = []
        # The runner empties the names of the session that it was given.
        outcome = doctest.DocTestRunner().run(session, out=report.append, clear_globs=False)
        self._names = session.globs
        assert outcome.attempted > 0, f"{block} holds no command"
        assert outcome.failed == 0, f"{block}:\n{''.join(report)}"
