"""XML elements for readers of descriptions, with line numbers, checked values and a record of unread parts.

Descriptions may come from untrusted sources. A document with a DOCTYPE is refused: URDF needs none, and entity
expansion and external entities depend on it. Elements and attributes that a loader does not read are reported at the
end by :meth:`XmlDocument.warn_about_unread`, so that none is ignored silently.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from lxml import etree

from hydro_sim_core.description.names import mend_of_absent
from hydro_sim_core.description.repair import Repairs
from hydro_sim_core.description.spec import Array
from hydro_sim_core.errors import InputError, shortened
from hydro_sim_core.files import read_regular_file

_LOG = logging.getLogger(__name__)
#: Namespace of our own tags and attributes, commonly with the prefix ``hydro``.
OWN_NAMESPACE = "urn:hydro-sim"
#: Size limit of description files, bytes; actual ones are below 1 MB.
MAX_BYTES = 16 * 2**20
#: Most marks of elements and attributes ("<" and "=") in a document; each takes about 300 bytes of memory when it is
#: parsed. A robot of 1000 links has 50 thousand.
_MOST_MARKS = 400_000
#: Most attributes of an element: finding one among them takes quadratic time.
_MOST_ATTRIBUTES = 500
#: Encodings in which these marks have their ASCII codes, or codes that contain them.
_ENCODINGS = (
    "utf-8",
    "utf8",
    "us-ascii",
    "ascii",
    "iso-8859-1",
    "latin-1",
    "latin1",
    "windows-1252",
    "utf-16",
)
#: Longest text of an attribute with several numbers, characters.
_LONGEST_VECTOR = 2000
_ENCODING = re.compile(rb"""<\?xml[^>]*?encoding\s*=\s*["']([^"'>]*)["']""")


class DroppedElement(NamedTuple):
    """An element that changes the physics and is not used.

    Attributes:
        word: Word under which it may be ignored.
        element: The element.
        problem: What it changes, as a clause.
        mend: What to write instead.
    """

    word: str
    element: XmlElement
    problem: str
    mend: str

    @property
    def line(self) -> str:
        """Its line as text for messages."""
        return self.element.document.line_of(self.element.lxml)


class XmlDocument:
    """One parsed XML document.

    Args:
        text: The document, encoded.
        source: File to name in errors.
        note: Text appended to every line number, for instance ``" after xacro"``.

    Attributes:
        repairs: What is done about what cannot be; an error, unless a reader says otherwise.
        dropped: What changes the physics and is not used; ``dropped.py`` refuses it.

    Raises:
        InputError: The text is not well-formed XML or has a DOCTYPE.
    """

    def __init__(self, text: bytes, source: Path, note: str = "") -> None:
        self.source = source
        self.note = note
        self.repairs = Repairs("strict")
        self.dropped: list[DroppedElement] = []
        self._read: set[tuple[etree._Element, str]] = set()
        self.root = XmlElement(_parse(text, source), self)

    def mark_read(self, element: etree._Element, attribute: str = "") -> None:
        """Record that a loader has read an element, or one of its attributes."""
        self._read.add((element, attribute))

    def unread(self, prefix: str) -> Iterator[XmlElement]:
        """The topmost elements that no loader has read and whose tags begin with ``prefix``."""
        for element in list(_unread_elements(self.root.lxml, self._read)):
            if tag_of(element).startswith(prefix):
                yield XmlElement(element, self)

    def warn_about_unread(self) -> None:
        """Log one warning that lists each kind of element and attribute that was not read."""
        unread: dict[str, str] = {}
        for element in _unread_elements(self.root.lxml, self._read):
            unread.setdefault(f"<{tag_of(element)}>", self.line_of(element))
        for element in self.root.lxml.iter(etree.Element):
            if (element, "") not in self._read:
                continue
            for name in element.attrib:
                if (element, attribute_name(element, name)) not in self._read:
                    label = f"{attribute_name(element, name)}= on <{tag_of(element)}>"
                    unread.setdefault(label, self.line_of(element))
        if unread:
            listing = ", ".join(f"{label} ({line})" for label, line in unread.items())
            mends = dict.fromkeys(filter(None, map(mend_of_absent, unread)))
            _LOG.warning("%s: not understood and ignored: %s", self.source, "; ".join([listing, *mends]))

    def line_of(self, element: etree._Element) -> str:
        """Line of an element as text for messages."""
        return f"line {element.sourceline}{self.note}"


class XmlElement:
    """An element, with typed access to its attributes and children.

    Args:
        element: The lxml element.
        document: The document it belongs to.
        label: Name in errors of the nearest named element, for instance ``link 'wrist'``.
    """

    def __init__(self, element: etree._Element, document: XmlDocument, label: str = "") -> None:
        self.lxml = element
        self.document = document
        self.label = label
        document.mark_read(element)

    @property
    def tag(self) -> str:
        """Tag with its prefix as written, for instance ``drake:capsule``."""
        return tag_of(self.lxml)

    def named(self, label: str) -> XmlElement:
        """The same element, called ``label`` in errors."""
        return XmlElement(self.lxml, self.document, label)

    def error(self, problem: str, mend: str) -> InputError:
        """An error that names the file, this element and its line."""
        inner = "" if self.label.split(" ")[0] == self.tag else f"<{self.tag}>, "
        where = f"{self.label}, {inner}" if self.label else inner
        return InputError(
            self.document.source, f"{where}{self.document.line_of(self.lxml)}".strip(), problem, mend
        )

    def mend(self, error: InputError, became: str, edit: Callable[[], object] | None = None) -> None:
        """Note a repair of the document, in words, or raise the error where there shall be none.

        Args:
            error: What is wrong.
            became: What is taken instead, in words.
            edit: Changes the document; by default it removes this element.
        """
        self.document.repairs.mend(error, became, edit or self.remove)

    def write(self, **attributes: str) -> None:
        """Change attributes, or add some."""
        self.lxml.attrib.update(attributes)

    def add(self, tag: str, **attributes: str) -> XmlElement:
        """Add a child at the end."""
        return XmlElement(etree.SubElement(self.lxml, tag, attributes), self.document, self.label)

    def remove(self) -> None:
        """Take the element out of the document."""
        parent = self.lxml.getparent()
        if parent is not None:
            parent.remove(self.lxml)

    def children(self, *tags: str) -> Iterator[XmlElement]:
        """Children with one of these tags, in file order."""
        for child in self.lxml.iterchildren(etree.Element):
            if tag_of(child) in tags:
                yield XmlElement(child, self.document, self.label)

    def child(self, *tags: str) -> XmlElement | None:
        """The only child with one of these tags, or None; more than one is an error."""
        found = list(self.children(*tags))
        if len(found) > 1:
            raise found[1].error(f"a second <{found[1].tag}>", "keep one of the two")
        return found[0] if found else None

    def required_child(self, *tags: str) -> XmlElement:
        """Like :meth:`child`, but its absence is an error."""
        found = self.child(*tags)
        if found is None:
            wanted = " or ".join(f"<{tag}>" for tag in tags)
            raise self.error(f"<{self.tag}> has no {wanted}", f"add {wanted}")
        return found

    def ignore(self) -> None:
        """Mark this element and all below it as read: it has no information on the mechanics."""
        for element in self.lxml.iter(etree.Element):
            self.document.mark_read(element)
            for name in element.attrib:
                self.document.mark_read(element, attribute_name(element, name))

    def drop(self, word: str, problem: str, mend: str) -> None:
        """Report that this element changes the physics and is not used; arguments as of ``DroppedElement``."""
        self.document.dropped.append(DroppedElement(word, self, problem, mend))
        self.ignore()

    def text(self, attribute: str) -> str | None:
        """An attribute as written, or None if it is missing."""
        for name, value in self.lxml.attrib.items():
            if attribute_name(self.lxml, name) == attribute:
                self.document.mark_read(self.lxml, attribute)
                return str(value)
        return None

    def required_text(self, attribute: str) -> str:
        """A required attribute, which must not be blank."""
        value = self.text(attribute)
        if value is None or not value.strip():
            problem = "is missing" if value is None else "is empty"
            raise self.error(f"attribute '{attribute}' of <{self.tag}> {problem}", f'write {attribute}="…"')
        return value.strip()

    def vector(self, attribute: str, count: int, default: tuple[float, ...] | None = None) -> Array:
        """An attribute of ``count`` finite numbers, shape (count,); ``default`` None makes it required."""
        if default is not None and self.text(attribute) is None:
            return np.array(default, dtype=float)
        text = self.required_text(attribute)
        words = text.split() if len(text) <= _LONGEST_VECTOR else [text]
        if len(words) != count:
            told = f'{attribute}="{shortened(text)}" has {len(words)} numbers, not {count}'
            raise self.error(told, f"write {count} numbers")
        return np.array([self._finite(attribute, word) for word in words])

    def number(self, attribute: str, default: float | None = None) -> float:
        """An attribute that is one finite number; ``default`` None makes it required."""
        if default is not None and self.text(attribute) is None:
            return default
        return self._finite(attribute, self.required_text(attribute))

    def positive(self, attribute: str) -> float:
        """A required number above 0."""
        value = self.number(attribute)
        if value <= 0.0:
            raise self.error(f"{attribute}={value:g} is not above 0", "write a positive number")
        return value

    def non_negative(self, attribute: str, default: float | None = None) -> float:
        """A number of at least 0; ``default`` None makes it required."""
        value = self.number(attribute, default)
        if value < 0.0:
            raise self.error(f"{attribute}={value:g} is negative", "write a number of at least 0")
        return value

    def content(self) -> str:
        """Its text, without blanks around it."""
        return (self.lxml.text or "").strip()

    def value_number(self) -> float:
        """Its attribute ``value``, else its content, which is one finite number."""
        return self.content_number() if self.text("value") is None else self.number("value")

    def content_number(self) -> float:
        """Its content, which is one finite number."""
        return self._finite(f"<{self.tag}>", self.content())

    def _finite(self, attribute: str, word: str) -> float:
        try:
            # float() also takes digit-group underscores, which no other URDF reader does.
            value = float(word) if "_" not in word else math.nan
        except ValueError:
            is_xacro = "${" in word and self.document.source.suffix.lower() != ".xacro"
            mend = "name the file .xacro, or expand it" if is_xacro else "write a decimal number"
            raise self.error(f"{attribute}: '{shortened(word)}' is not a number", mend) from None
        if not math.isfinite(value):
            raise self.error(
                f"{attribute}: '{shortened(word)}' is not a finite number",
                "write a finite number or leave the attribute out",
            )
        return value


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The contents of a description file.

    Raises:
        InputError: The file is missing, no regular file, not readable or implausibly large.
    """
    return read_regular_file(path, limit, excess="check that it is a description")


def _check_size(text: bytes, source: Path) -> None:
    """Refuse a document that would fill the memory, and encodings in which that cannot be seen beforehand."""
    declared = _ENCODING.match(text.removeprefix(b"\xef\xbb\xbf").lstrip()[:1000])
    encoding = declared[1].decode("ascii", "replace").lower() if declared else "utf-8"
    starts_like_xml = text.lstrip()[:1] in (b"<", b"\xef", b"\xff", b"\xfe", b"\x00", b"")
    if encoding not in _ENCODINGS or not starts_like_xml:
        problem = f"is encoded as {shortened(encoding, 40)}" if declared else "does not begin with '<'"
        raise InputError(source, "line 1", f"malformed XML: it {problem}", "save it as XML in UTF-8")
    if text.count(b"<") + text.count(b"=") > _MOST_MARKS:
        raise InputError(
            source, "", "more elements and attributes than any robot has", "check that it is a description"
        )


def _parse(text: bytes, source: Path) -> etree._Element:
    _check_size(text, source)
    # recover=True only to tolerate undeclared namespace prefixes in files for other simulators ("drake:" without its
    # xmlns); all other errors are raised below.
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=True,
        remove_comments=True,
    )
    try:
        root = etree.fromstring(text, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise InputError(source, "", f"malformed XML: {error}", "correct the XML syntax") from None
    # The parser returns no tree for a document whose entities expand too far.
    has_doctype = b"<!DOCTYPE" in text if root is None else bool(root.getroottree().docinfo.doctype)
    if has_doctype:
        raise InputError(
            source,
            "DOCTYPE",
            "entity definitions are not allowed: they can expand without bound or read other files",
            "remove the <!DOCTYPE …> declaration",
        )
    for entry in parser.error_log:
        if entry.domain != etree.ErrorDomains.NAMESPACE:
            raise InputError(
                source, f"line {entry.line}", f"malformed XML: {entry.message}", "correct the XML syntax"
            )
    if root is not None:
        for element in root.iter(etree.Element):
            if len(element.attrib) > _MOST_ATTRIBUTES:
                problem = f"an element with more than {_MOST_ATTRIBUTES} attributes"
                raise InputError(source, f"line {element.sourceline}", problem, "correct the element")
    if root is None:
        raise InputError(source, "", "malformed XML: no element in the file", "write a <robot> element")
    return root


def _unread_elements(
    element: etree._Element, read: set[tuple[etree._Element, str]]
) -> Iterator[etree._Element]:
    """The topmost unread elements."""
    if (element, "") not in read:
        yield element
        return
    for child in element.iterchildren(etree.Element):
        yield from _unread_elements(child, read)


def tag_of(element: etree._Element) -> str:
    """An element's tag with its prefix as written; one of our namespace has our prefix, whichever is written."""
    namespace, _, local = str(element.tag).rpartition("}")
    if namespace[1:] == OWN_NAMESPACE:
        return f"hydro:{local}"
    # A prefix without its xmlns stays inside the local name.
    return f"{element.prefix}:{local}" if element.prefix and ":" not in local else local


def attribute_name(element: etree._Element, attribute: str) -> str:
    """An attribute's name with its prefix as written instead of its namespace; ours as for tags."""
    namespace, _, local = attribute.rpartition("}")
    if namespace[1:] == OWN_NAMESPACE:
        return f"hydro:{local}"
    prefix = next((p for p, uri in element.nsmap.items() if p and uri == namespace[1:]), "")
    return f"{prefix}:{local}" if prefix else local
