"""Work shared between the machines of a Ray cluster: an optional dependency, imported when a sweep asks for it."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

from hydro_sim_core.errors import InputError, shortened
from hydro_sim_core.workers import Lost

#: Time until an address counts as unreachable, s; Ray itself tries for minutes.
_PATIENCE = 5.0
_ADDRESS = re.compile(r"(?:ray://)?(?P<host>[\w.-]+|\[[0-9a-fA-F:]+\]):(?P<port>\d{1,5})")


def check_cluster(address: str) -> None:
    """Check an address before anything is computed for it.

    Args:
        address: ``host:port`` of a cluster's head, ``ray://host:port`` of its client server, or ``auto`` for the
            cluster that this machine is part of.

    Raises:
        InputError: Nothing answers there, or Ray is not installed.
    """
    if address != "auto":
        _reach(address)
    if find_spec("ray") is None:
        raise InputError("--ray", "ray", "is not installed", "install it: pip install 'hydro-sim-core[ray]'")


def _reach(address: str) -> None:
    found = _ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found["port"]) < 2**16:
        raise InputError(
            "--ray", address, "is no address", "give HOST:PORT of the head, ray://HOST:PORT or auto"
        )
    try:
        socket.create_connection((found["host"].strip("[]"), int(found["port"])), _PATIENCE).close()
    except OSError as error:
        mend = "start the head (ray start --head) and give the address that it tells, or leave --ray out"
        raise InputError("--ray", address, f"cannot be reached ({error.strerror or error})", mend) from None


def completed_on_cluster(
    work: Callable[[Any], Any], items: Sequence[Any], address: str
) -> Iterator[tuple[int, Any]]:
    """As ``workers.completed``, with a task of Ray for every item; Ray starts those anew whose worker is killed.

    Raises:
        InputError: The cluster cannot be used.
        Exception: What ``work`` has raised.
    """
    check_cluster(address)
    import ray

    _connect(ray, address)
    try:
        shared = ray.put(work)
        one = ray.remote(num_cpus=1, max_retries=1)(_one)
        waiting = {one.remote(shared, item): index for index, item in enumerate(items)}
        while waiting:
            (done, *_), _ = ray.wait(list(waiting), num_returns=1)
            index = waiting.pop(done)
            try:
                result = ray.get(done)
            except ray.exceptions.RayTaskError as error:
                raise _cause(error) from None
            except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError):
                result = Lost(None)
            yield index, result
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str) -> None:
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as error:
        mend = "start the cluster (ray start --head), with the same versions of Python and Ray"
        raise InputError("--ray", address, f"cannot be used ({shortened(str(error))})", mend) from None


def _cause(error: Any) -> Exception:
    """What the work has raised, or what its machine lacks."""
    cause = error.cause
    if isinstance(cause, ImportError):
        mend = "install the same version of hydro-sim-core on all machines of the cluster"
        return InputError("--ray", "a machine of the cluster", str(cause), mend)
    return cause if isinstance(cause, Exception) else RuntimeError(str(error))


def _one(work: Callable[[Any], Any], item: Any) -> Any:
    return work(item)
