"""URDF files of strangers: malformed, absurd, endless and enormous ones."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

from support.hostile.cases import Writer, add

GROUP = "urdf"
CHECK = ("check", "robot.urdf")
_INERTIA = '<inertia ixx="1" iyy="1" izz="1"/>'
_BOX = '<collision><geometry><box size="1 1 1"/></geometry></collision>'


def inertial(mass: str = "1", inertia: str = _INERTIA, xyz: str = "0 0 0") -> str:
    """An ``<inertial>`` element."""
    return f'<inertial><origin xyz="{xyz}"/><mass value="{mass}"/>{inertia}</inertial>'


def robot(*elements: str) -> str:
    """A robot with link ``a``, which has a box, and these elements."""
    return f'<robot name="r" xmlns:drake="http://drake.mit.edu"><link name="a">{inertial()}{_BOX}</link>' + (
        "".join(elements) + "</robot>"
    )


def joint(content: str, kind: str = "revolute", limit: str = 'lower="-1" upper="1"') -> str:
    """Link ``b`` on a joint with this content."""
    return (
        f'<link name="b">{inertial()}{_BOX}</link><joint name="j" type="{kind}"><parent link="a"/><child link="b"/>'
        f"<limit {limit}/>{content}</joint>"
    )


def text(content: str | bytes, *arguments: str) -> Writer:
    """Writer of a URDF that is checked."""

    def write(folder: Path) -> list[str]:
        (folder / "robot.urdf").write_bytes(content.encode() if isinstance(content, str) else content)
        return [*CHECK, *arguments]

    return write


def _node(make: Callable[[Path], object]) -> Writer:
    def write(folder: Path) -> list[str]:
        make(folder / "robot.urdf")
        return [*CHECK]

    return write


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as endpoint:
        here = Path.cwd()
        os.chdir(path.parent)  # names of sockets are short
        try:
            endpoint.bind(path.name)
        finally:
            os.chdir(here)


FILES: dict[str, Callable[[Path], object]] = {
    "a named pipe": os.mkfifo,
    "zeros without end": lambda path: path.symlink_to("/dev/zero"),
    "a terminal": lambda path: path.symlink_to("/dev/tty"),
    "nothing at all": lambda path: path.symlink_to("/dev/null"),
    "random without end": lambda path: path.symlink_to("/dev/urandom"),
    "memory of the process": lambda path: path.symlink_to("/proc/self/mem"),
    "kernel log": lambda path: path.symlink_to("/proc/kmsg"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("gone"),
    "a folder": Path.mkdir,
    "a socket": _socket,
    "unreadable": lambda path: (path.write_text(robot()), path.chmod(0)),
    "a sparse terabyte": lambda path: (path.touch(), os.truncate(path, 2**28)),
    "another link to a pipe": lambda path: (os.mkfifo(path.with_name("p")), path.symlink_to("p")),
}
for _name, _make in FILES.items():
    add(GROUP, _name, _node(_make))

_DEEP = 100_000
_ENTITIES = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(20))
TEXTS: dict[str, str | bytes] = {
    "empty": "",
    "a space": " ",
    "null characters": bytes(1000),
    "not closed": '<robot name="r">',
    "two roots": "<robot name='r'/><robot name='s'/>",
    "another root": "<html/>",
    "no name": "<robot/>",
    "no links": '<robot name="r"/>',
    "an empty link": '<robot name="r"><link/></robot>',
    "a link without name": '<robot name="r"><link name=""/></robot>',
    "not UTF-8": b'<robot name="\xff\xfe"><link name="a"/></robot>',
    "UTF-7": b'<?xml version="1.0" encoding="UTF-7"?>+ADw-robot name=+ACI-r+ACI-+AD4-+ADw-/robot+AD4-',
    "EBCDIC": '<?xml version="1.0" encoding="IBM037"?><robot name="r"/>'.encode("cp037"),
    "UTF-16": '<?xml version="1.0" encoding="UTF-16"?>'.encode("utf-16") + robot().encode("utf-16")[2:],
    "UTF-32": robot().encode("utf-32"),
    "an unknown encoding": '<?xml version="1.0" encoding="nonsense"?><robot name="r"/>',
    "entities": f'<!DOCTYPE r [<!ENTITY e0 "ha">{_ENTITIES}]><robot name="&e20;"/>',
    "a long entity": f'<!DOCTYPE r [<!ENTITY e "{"a" * 100000}">]><robot name="{"&e;" * 10000}"/>',
    "an external entity": '<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]><robot name="&e;"/>',
    "an external DTD": '<!DOCTYPE r SYSTEM "http://127.0.0.1:1/a.dtd"><robot name="r"/>',
    "a parameter entity": '<!DOCTYPE r [<!ENTITY % p SYSTEM "/dev/zero"> %p;]><robot name="r"/>',
    "XInclude": '<robot name="r" xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="/etc/passwd"/></robot>',
    "processing instructions": '<?xml-stylesheet href="/etc/passwd"?><?php system("id")?>' + robot(),
    "deep": "<a>" * _DEEP + "</a>" * _DEEP,
    "deep and not closed": '<robot name="r">' + "<link>" * _DEEP,
    "many elements": '<robot name="r">' + "<a/>" * 3_500_000 + "</robot>",
    "many attributes": "<robot " + " ".join(f'a{i}="1"' for i in range(300_000)) + "/>",
    "many links": '<robot name="r">' + "".join(f'<link name="l{i}"/>' for i in range(60_000)) + "</robot>",
    "a long name": f'<robot name="r"><link name="{"a" * 5_000_000}"/></robot>',
    "a long attribute": robot(joint(f'<origin xyz="{"1 " * 4_000_000}"/>')),
    "a long number": robot(joint(f'<origin xyz="{"1" * 4_000_000} 0 0"/>')),
    "a long comment": f"<!--{'a' * 9_000_000}-->{robot()}",
    "long text": f'<robot name="r">{"a" * 15_000_000}</robot>',
    "too large": b"<robot name='r'>" + b" " * (17 * 2**20) + b"</robot>",
    "CDATA": f'<robot name="r"><![CDATA[{"<" * 1_000_000}]]></robot>',
    "control characters in a name": '<robot name="r"><link name="a&#x9b;31m&#x7f;&#x85;b"/></robot>',
    "a line break in a name": '<robot name="r">' + '<link name="a&#10;error: forged"/>' * 2 + "</robot>",
    "markup in a name": robot().replace('"a"', '"[bold red]x[/]"'),
    "closing markup in a name": robot().replace('"a"', '"[/nope]"'),
    "a name of right-to-left": robot().replace('"a"', '"\u202etxt.exe"'),
    "surrogates": robot().replace('"a"', '"&#xD800;"'),
    "many namespaces": "<robot " + " ".join(f'xmlns:n{i}="u{i}"' for i in range(100_000)) + ' name="r"/>',
    "a chain": '<robot name="r"><link name="l0"/>'
    + "".join(
        f'<link name="l{i + 1}">{inertial()}</link><joint name="j{i}" type="continuous"><parent link="l{i}"/>'
        f'<child link="l{i + 1}"/></joint>'
        for i in range(3000)
    )
    + "</robot>",
    "many fixed links": '<robot name="r"><link name="l0"/>'
    + "".join(
        f'<link name="l{i + 1}">{_BOX}</link><joint name="j{i}" type="fixed"><parent link="l{i}"/>'
        f'<child link="l{i + 1}"/></joint>'
        for i in range(3000)
    )
    + "</robot>",
    "a cycle": robot(joint("")).replace("</robot>", "")
    + '<joint name="k" type="fixed"><parent link="b"/><child link="a"/></joint></robot>',
    "its own parent": robot('<joint name="k" type="fixed"><parent link="a"/><child link="a"/></joint>'),
    "a joint to nowhere": robot('<joint name="k" type="fixed"><parent link="a"/><child link="z"/></joint>'),
    "two parents": robot(joint(""), joint("").replace('"j"', '"k"')),
}
for _name, _text in TEXTS.items():
    add(GROUP, _name, text(_text))

NUMBERS = [
    "nan",
    "inf",
    "-inf",
    "1e400",
    "1e300",
    "-1e300",
    "1e-300",
    "1e20",
    "0",
    "-1",
    "",
    "x",
    "1_0",
    "0x1",
    "1e",
    "٣",
]
#: Robots with a number left out.
PLACES = {
    "mass": '<robot name="r"><link name="a">' + inertial("{}") + _BOX + "</link></robot>",
    "centre of mass": '<robot name="r"><link name="a">' + inertial(xyz="{} 0 0") + _BOX + "</link></robot>",
    "inertia": '<robot name="r"><link name="a">'
    + inertial(inertia='<inertia ixx="{0}" iyy="{0}" izz="{0}"/>')
    + _BOX
    + "</link></robot>",
    "one moment": '<robot name="r"><link name="a">'
    + inertial(inertia='<inertia ixx="{}" iyy="1" izz="1"/>')
    + _BOX
    + "</link></robot>",
    "a box": robot().replace("1 1 1", "{} 1 1"),
    "a sphere": robot().replace('<box size="1 1 1"/>', '<sphere radius="{}"/>'),
    "an origin": robot(joint('<origin xyz="{} 0 0"/>')),
    "an angle": robot(joint('<origin rpy="{} 0 0"/>')),
    "an axis": robot(joint('<axis xyz="{} 0 0"/>')),
    "a limit": robot(joint("", limit='lower="-1" upper="{}"')),
    "an effort": robot(joint("", limit='lower="-1" upper="1" effort="{}"')),
    "a velocity": robot(joint("", limit='lower="-1" upper="1" velocity="{}"')),
    "damping": robot(joint('<dynamics damping="{}"/>')),
    "friction": robot(joint('<dynamics friction="{}"/>')),
    "a multiplier": robot(
        joint(""),
        joint('<mimic joint="j" multiplier="{}"/>')
        .replace('name="j"', 'name="k"')
        .replace('link name="b"', 'link name="c"')
        .replace('child link="b"', 'child link="c"'),
    ),
    "an offset": robot(
        joint(""),
        joint('<mimic joint="j" offset="{}"/>')
        .replace('name="j"', 'name="k"')
        .replace('link name="b"', 'link name="c"')
        .replace('child link="b"', 'child link="c"'),
    ),
    **{
        tag: robot().replace(
            "</geometry>",
            f'</geometry><drake:proximity_properties><drake:compliant_hydroelastic/><drake:{tag} value="{{}}"/>'
            "</drake:proximity_properties>",
        )
        for tag in (
            "hydroelastic_modulus", "mesh_resolution_hint", "hydroelastic_margin", "hunt_crossley_dissipation",
            "relaxation_time", "mu_dynamic",
        )
    },
}  # fmt: skip
for _place, _template in PLACES.items():
    # A sphere of a fine mesh is what would take long: all numbers there, every third elsewhere.
    _numbers = NUMBERS if _place in ("mesh_resolution_hint", "a multiplier", "mass") else NUMBERS[:9]
    for _number in _numbers:
        add("numbers in urdf", f"{_place}: {_number or 'nothing'}", text(_template.format(_number)))
