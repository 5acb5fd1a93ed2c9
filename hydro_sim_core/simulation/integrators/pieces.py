"""What is told of a time step that is taken in pieces: wrenches and efforts as averages over time."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.arithmetic import cross
from hydro_sim_core.simulation.stepping.kept_contacts import KeptContacts, keep_contacts, put_contacts
from hydro_sim_core.simulation.stepping.machine import Machine

Array = NDArray[np.float64]
#: Pieces whose faces are kept at most before they are put together.
_MOST_KEPT = 8


class Told(NamedTuple):
    """Impulses of the pieces of a time step so far, and the faces to show them with.

    Moments are about the world's origin, because reference points move from piece to piece. The faces of a pair are
    those of the last piece in which it pressed, or of the first one if it did not: a body that lands and leaves within
    a step is told with the impulse and the faces of its touch.

    Attributes:
        pairs: For each piece, (P,) rows of the model's pairs.
        impulses: For each piece, (P, 9) moment and force on B, and its part along normals, times the length of the
            piece, N m s and N s.
        effort: (nv,) efforts times lengths.
        kept: Contacts of pieces in their order, without those of which later ones show every pair.
    """

    pairs: tuple[NDArray[np.int64], ...] = ()
    impulses: tuple[Array, ...] = ()
    effort: Array | float = 0.0
    kept: tuple[KeptContacts, ...] = ()

    def with_last(self, machine: Machine, length: float) -> Told:
        """These pieces and then the one of ``length`` (s) that a machine has just taken."""
        contacts = keep_contacts(machine)
        effort = self.effort + length * machine.scratch.effort
        if len(contacts.pair) == 0:
            return self._replace(effort=effort)
        force = contacts.wrench[:, 3:]
        p_WR = contacts.p_WG + (contacts.R_WG @ contacts.p_GR[:, :, None])[:, :, 0]
        moment = contacts.wrench[:, :3] + cross(p_WR, force)
        return Told(
            (*self.pairs, contacts.pair),
            (*self.impulses, length * np.concatenate((moment, force, contacts.normal_force), axis=1)),
            effort,
            _with_later(self.kept, contacts),
        )

    def put_into(self, machine: Machine, length: float) -> None:
        """Make the averages over a time step of ``length`` (s) what a machine tells of its last step."""
        machine.scratch.effort[:] = self.effort / length
        if not self.kept:
            return
        contacts = _shown(self.kept)
        pairs, rows = np.unique(np.concatenate(self.pairs), return_inverse=True)
        mean = np.zeros((len(pairs), 9))
        np.add.at(mean, rows, np.concatenate(self.impulses) / length)
        p_WR = contacts.p_WG + (contacts.R_WG @ contacts.p_GR[:, :, None])[:, :, 0]
        moment, force, normal_force = np.split(mean, 3, axis=1)
        wrench = np.concatenate((moment - cross(p_WR, force), force), axis=1)
        put_contacts(machine, contacts._replace(wrench=wrench, normal_force=normal_force))


def _pressing(contacts: KeptContacts) -> set[int]:
    """Pairs that press."""
    pressing: set[int] = set(contacts.pair[contacts.normal_force.any(axis=1)].tolist())
    return pressing


def _with_later(kept: tuple[KeptContacts, ...], contacts: KeptContacts) -> tuple[KeptContacts, ...]:
    """Contacts of pieces and of a later one, without those that it shows all of."""
    pressing = _pressing(contacts)
    needed = (*(one for one in kept if not pressing.issuperset(one.pair.tolist())), contacts)
    return needed if len(needed) <= _MOST_KEPT else (_shown(needed),)


def _shown(kept: tuple[KeptContacts, ...]) -> KeptContacts:
    """Patches of all pairs in the order of pairs, as queries find them: each of the piece that shows it."""
    piece_of: dict[int, int] = {}
    for piece, contacts in enumerate(kept):
        piece_of.update(
            dict.fromkeys(_pressing(contacts) | set(contacts.pair.tolist()) - set(piece_of), piece)
        )
    parts = []
    for piece, contacts in enumerate(kept):
        rows = [row for row, pair in enumerate(contacts.pair.tolist()) if piece_of[pair] == piece]
        if rows:
            parts.append(contacts if len(rows) == len(contacts.pair) else contacts.selected(np.array(rows)))
    shown = reduce(KeptContacts.joined, parts)
    return shown if np.all(shown.pair[1:] > shown.pair[:-1]) else shown.selected(np.argsort(shown.pair))
