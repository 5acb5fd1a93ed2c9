"""What a description says that changes the physics and has no counterpart here: refused, unless it is to be ignored.

A reader reports each such element with ``XmlElement.drop``, under a word that names it, such as ``gazebo:static``. Who
loads the file may say in so many words that it is to be ignored; the error says with which.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Mapping, Sequence

from hydro_sim_core.description.xml_source import DroppedElement, XmlDocument
from hydro_sim_core.errors import InputError, excerpt, shortened

_LOG = logging.getLogger(__name__)
#: Most further words that an error says the reason of.
_MOST_TOLD = 3


def checked_words(source: object, ignore: object) -> tuple[str, ...] | None:
    """Words to be ignored, each once; None for whatever there is. Several may be one text, with commas between.

    Errors write them so for the command line, and that is copied to where lists are given, too.

    Raises:
        InputError: They are no list of words.
    """
    if ignore is None:
        return None
    is_listing = isinstance(ignore, list | tuple) and all(
        isinstance(word, str) and word and word.isprintable() and " " not in word for word in ignore
    )
    if not is_listing:
        mend = "give a list of words, such as ['gazebo:joint']"
        raise InputError(source, "ignore", f"{excerpt(ignore)} does not fit", mend)
    return tuple(dict.fromkeys(word for one in ignore for word in one.split(",") if word))  # type: ignore[attr-defined]


def settle_dropped(document: XmlDocument, ignore: Sequence[str] | None) -> None:
    """Refuse what was dropped of a document and is not to be ignored, all at once; tell words that ignore nothing.

    Args:
        document: The document, read.
        ignore: Words of what is to be ignored; None for whatever there is.

    Raises:
        InputError: There is something; it names the first of each kind, and the words.
    """
    if ignore is None:
        return
    found: dict[str, list[DroppedElement]] = {}
    for one in document.dropped:
        found.setdefault(one.word, []).append(one)
    refused = {word: ones for word, ones in found.items() if word not in ignore}
    if refused:
        raise _refusal(refused, [word for word in ignore if word in found])
    _tell_idle([word for word in ignore if word not in found], found, document)


def _refusal(refused: Mapping[str, Sequence[DroppedElement]], ignored: Sequence[str]) -> InputError:
    (first, *_), *others = refused.values()
    count = len(next(iter(refused.values()))) - 1
    problem = first.problem + (f" (and {count} more alike)" if count else "")
    told = [f"<{ones[0].element.tag}> ({ones[0].line}) {ones[0].problem}" for ones in others[:_MOST_TOLD]]
    told += [f"{len(others) - _MOST_TOLD} more kinds"] if len(others) > _MOST_TOLD else []
    problem = "; also: ".join([problem, "; ".join(told)]) if told else problem
    words = ",".join([*ignored, *refused])
    listing = ", ".join([*ignored, *refused])
    how = f"--ignore {words} (in a scene, ignore: [{listing}])"
    return first.element.error(problem, f"{first.mend}, or say that it is to be ignored: {how}")


def _tell_idle(idle: Sequence[str], found: Iterable[str], document: XmlDocument) -> None:
    if not idle:
        return
    words = sorted(found)
    guesses = [close for word in idle for close in difflib.get_close_matches(word, words, n=1)]
    meant = f"; did you mean {', '.join(guesses)}?" if guesses else "; leave it out"
    listing = ", ".join(shortened(word, 60) for word in idle)
    _LOG.warning("%s: ignore: nothing in the file is ignored by %s%s", document.source, listing, meant)
