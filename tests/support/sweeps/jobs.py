"""Work for processes, which import it; every attempt leaves a line."""

import logging
import os
import signal
import time
from pathlib import Path

from hydro_sim_core.errors import InputError
from hydro_sim_core.workers import Lost, completed


def attempts(folder, index):
    """How often an item was begun."""
    path = Path(folder) / str(index)
    return len(path.read_text().splitlines()) if path.exists() else 0


def square(item):
    """The square of a number, after an attempt that is killed, or never, as the item says."""
    folder, index, killed = item
    with (Path(folder) / str(index)).open("a") as file:
        file.write("begun\n")
    if attempts(folder, index) <= killed:
        os.kill(os.getpid(), signal.SIGKILL)
    return index * index


def wait_for_next(item):
    """All but the last item wait for the one after them."""
    folder, index, count = item
    while index < count - 1 and not attempts(folder, index + 1):
        time.sleep(0.01)
    Path(folder, str(index)).write_text("done\n")
    return index


def refuse(item):
    """Raises what bad input does."""
    raise InputError("item", str(item), "is wrong", "give another")


def break_down(item):
    """Raises what nobody expects."""
    return 1 // (item - item)


def warn(item):
    """Warns of the same for all items, and of each."""
    logging.getLogger("jobs").warning("the scene is odd")
    logging.getLogger("jobs").warning("item %s is odd", item)


def tell_ignored_signals(item):
    """Whether Ctrl-C does not reach this process."""
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def outlive(folder):
    """Writes its number and waits."""
    Path(folder, f"pid-{os.getpid()}").touch()
    time.sleep(0.5)


def as_rows(items, measures):
    """What ``square`` makes of items, as rows of a sweep."""
    for index, result in completed(square, items, 1):
        yield index, result if isinstance(result, Lost) else {**dict.fromkeys(measures), "error": None}
