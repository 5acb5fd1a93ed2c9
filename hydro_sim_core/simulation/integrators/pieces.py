"""What is told of a time step that is taken in pieces: wrenches and efforts as averages over time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.simulation.stepping.kept_contacts import KeptContacts, keep_contacts, put_contacts
from hydro_sim_core.simulation.stepping.machine import Machine

Array = NDArray[np.float64]
_NEXT, _LAST = [1, 2, 0], [2, 0, 1]


class Told(NamedTuple):
    """Impulses of the pieces of a time step so far, and the faces to show them with.

    Moments are about the world's origin, because reference points move from piece to piece. The faces of a pair are
    those of the last piece in which it pressed: a body that lands and leaves within a step is told with the impulse and
    the faces of its touch.

    Attributes:
        pairs: For each piece, (P,) rows of the model's pairs.
        impulses: For each piece, (P, 9) moment and force on B, and its part along normals, times the length of the
            piece, N m s and N s.
        effort: (nv,) efforts times lengths.
        shown: Patches with these faces, one for each pair so far.
    """

    pairs: tuple[NDArray[np.int64], ...] = ()
    impulses: tuple[Array, ...] = ()
    effort: Array | float = 0.0
    shown: KeptContacts | None = None

    def with_last(self, machine: Machine, length: float) -> Told:
        """These pieces and then the one of ``length`` (s) that a machine has just taken."""
        contacts = keep_contacts(machine)
        effort = self.effort + length * machine.scratch.effort
        if len(contacts.pair) == 0:
            return self._replace(effort=effort)
        force = contacts.wrench[:, 3:]
        p_WR = contacts.p_WG + (contacts.R_WG @ contacts.p_GR[:, :, None])[:, :, 0]
        moment = contacts.wrench[:, :3] + _cross(p_WR, force)
        return Told(
            (*self.pairs, contacts.pair),
            (*self.impulses, length * np.concatenate((moment, force, contacts.normal_force), axis=1)),
            effort,
            contacts if self.shown is None else _updated(self.shown, contacts),
        )

    def put_into(self, machine: Machine, length: float) -> None:
        """Make the averages over a time step of ``length`` (s) what a machine tells of its last step."""
        machine.scratch.effort[:] = self.effort / length
        if self.shown is None:
            return
        contacts = self.shown
        if np.any(contacts.pair[1:] < contacts.pair[:-1]):
            contacts = contacts.selected(np.argsort(contacts.pair))
        # In the order of pairs, as queries find them.
        pairs, rows = np.unique(np.concatenate(self.pairs), return_inverse=True)
        mean = np.zeros((len(pairs), 9))
        np.add.at(mean, rows, np.concatenate(self.impulses) / length)
        p_WR = contacts.p_WG + (contacts.R_WG @ contacts.p_GR[:, :, None])[:, :, 0]
        moment, force, normal_force = np.split(mean, 3, axis=1)
        wrench = np.concatenate((moment - _cross(p_WR, force), force), axis=1)
        put_contacts(machine, contacts._replace(wrench=wrench, normal_force=normal_force))


def _cross(a: Array, b: Array) -> Array:
    """Cross products of rows (N, 3); NumPy's takes as long as a small step."""
    product: Array = a[:, _NEXT] * b[:, _LAST] - a[:, _LAST] * b[:, _NEXT]
    return product


def _updated(shown: KeptContacts, contacts: KeptContacts) -> KeptContacts:
    """Replace patches by later ones of the same pairs that press, and add those of other pairs."""
    presses = contacts.normal_force.any(axis=1)
    if presses.all() and np.array_equal(shown.pair, contacts.pair):
        return contacts
    newer = contacts.selected(np.flatnonzero(presses | ~np.isin(contacts.pair, shown.pair)))
    return newer.joined(shown.selected(np.flatnonzero(~np.isin(shown.pair, newer.pair))))
