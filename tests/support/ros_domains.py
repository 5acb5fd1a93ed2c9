"""Numbers of ROS domains that nobody else on this machine uses: not another worker, nor another run of the tests."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Callable
from functools import cache

#: Numbers a process has for itself. Few nodes of one process run at once.
SHARE = 16
#: Of 0 to 101, whose ports Linux gives to nobody else; 0 is left to whoever sets none.
SHARES = 6


class Domains:
    """A share of the domains, held while this process lives.

    A held share is an abstract socket's name: the kernel gives it to one process, and takes it back when that ends,
    however it does.

    Args:
        name: Whom the shares are divided among.

    Raises:
        RuntimeError: Others have them all.
    """

    def __init__(self, name: str = "hydro-sim tests") -> None:
        self._held = socket.socket(socket.AF_UNIX)
        for share in range(SHARES):
            try:
                self._held.bind(f"\0{name}: ROS domains {share}")
            except OSError:
                continue
            break
        else:
            self._held.close()
            raise RuntimeError(f"{SHARES} processes already test with ROS domains; wait for one to end")
        first = 1 + SHARE * share
        self.numbers = tuple(range(first, first + SHARE))
        self._next = itertools.cycle(self.numbers)
        self._busy: dict[int, Callable[[], bool]] = {}

    def take(self, busy: Callable[[], bool] = lambda: False) -> int:
        """The number whose turn it is.

        Args:
            busy: Whether it is still in use; so long, it is not given again.

        Raises:
            RuntimeError: All are in use.
        """
        for _ in self.numbers:
            number = next(self._next)
            if number not in self._busy or not self._busy[number]():
                self._busy[number] = busy
                return number
        raise RuntimeError(f"{SHARE} nodes run at once; stop one")

    def close(self) -> None:
        """Let others have the share."""
        self._held.close()


@cache
def own_domains() -> Domains:
    """The share of this process."""
    return Domains()


def take_domain(busy: Callable[[], bool] = lambda: False) -> int:
    """A number of this process's own."""
    return own_domains().take(busy)
