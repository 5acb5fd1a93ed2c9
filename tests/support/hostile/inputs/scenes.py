"""Scene files of strangers: malformed, absurd and enormous ones."""

from __future__ import annotations

import os
from pathlib import Path

from support.hostile.cases import CANARY, Writer, add

GROUP = "scenes"
_URDF = (
    '<robot name="box"><link name="box"><inertial><mass value="1"/><inertia ixx="1e-2" iyy="1e-2" izz="1e-2"/>'
    '</inertial><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link></robot>'
)
_MODEL = "  - {name: box, urdf: box.urdf, base: floating, pose: {xyz: [0, 0, 1]}}\n"
_GROUND = "environment:\n  - {name: ground, shape: {half_space: {}}}\n"
RUN = ("run", "scene.yaml", "--headless", "--duration", "0.005")
CHECK = ("check", "scene.yaml")


def scene(content: str | bytes, command: tuple[str, ...] = CHECK) -> Writer:
    """Writer of a scene beside a box that it may name."""

    def write(folder: Path) -> list[str]:
        (folder / "box.urdf").write_text(_URDF)
        (folder / "scene.yaml").write_bytes(content.encode() if isinstance(content, str) else content)
        return [*command]

    return write


_LEVELS = "\n".join(f"l{i}: &l{i} [{', '.join([f'*l{i - 1}' if i else '1'] * 10)}]" for i in range(25))
_NAMES = "".join(f"  - b{i}\n" for i in range(50_000))
TEXTS: dict[str, str | bytes] = {
    "empty": "",
    "a number": "1",
    "a list": "[1, 2]",
    "a text": "name",
    "null": "~",
    "two documents": "name: a\n---\nname: b",
    "a directive": "%YAML 9.9\n---\nname: a",
    "a tag": "!!python/object/apply:os.system ['touch " + CANARY + "']",
    "a tag in a value": "name: !!python/name:os.system",
    "a tag of ours": "name: !include /etc/passwd",
    "not UTF-8": b"name: \xff\xfe\xfa",
    "UTF-16": "name: a\n".encode("utf-16"),
    "null characters": "name: a\0b",
    "escape characters": 'name: "\\e[31mred\\u0007"',
    "a line break in a name": 'name: "a\\nerror: forged"',
    "markup in a name": "name: '[bold red]x[/]'",
    "closing markup in a name": "name: '[/nope]'",
    "a long name": f"name: {'a' * 1_000_000}",
    "a long key": f"{'a' * 1_000_000}: 1",
    "unknown keys": "\n".join(f"key{i}: 1" for i in range(20_000)),
    "a repeated key": "name: a\nname: b",
    "a key that is a list": "? [1, 2]\n: 3\nname: a",
    "a key that is a number": "1: 2\nname: a",
    "tabs": "name:\ta\n\tb: c",
    "deep lists": "name: " + "[" * 100_000,
    "deep mappings": "name: " + "{a: " * 100_000,
    "deep indentation": "\n".join(" " * i + "a:" for i in range(3000)),
    "aliases": f"name: a\n{_LEVELS}",
    "many names of a list": f"name: &a\n{_NAMES}models: [{', '.join(['*a'] * 3000)}]",
    "an alias in itself": "name: &a [*a]",
    "an unknown alias": "name: *a",
    "merges": "l0: &l0 {a: 1}\n"
    + "\n".join(f"l{i}: &l{i} {{<<: [{', '.join([f'*l{i - 1}'] * 10)}]}}" for i in range(1, 25)),
    "a merge of itself": "name: a\nmodels: &m {<<: *m}",
    "a merge of a number": "name: a\nmodels: {<<: 1}",
    "many values": f"name: [{'1,' * 300_000}]",
    "keys of equal hashes": "name: {" + ", ".join(f"{hex(i * (2**61 - 1))}: 1" for i in range(30_000)) + "}",
    "a long number": f"name: a\ntime_step: {'1' * 100_000}",
    "a long hexadecimal number": f"name: a\ntime_step: 0x{'f' * 100_000}",
    "sexagesimal": "name: a\ntime_step: 1:30",
    "too large": b"name: a # " + b" " * (5 * 2**20),
    "a long comment": "name: a # " + "a" * 1_000_000,
    "a long text of quotes": 'name: "' + "\\x41" * 500_000 + '"',
    "question marks": "? " * 50_000,
    "dashes": "- " * 50_000,
    "many anchors": "name: [" + ", ".join(f"&a{i} x" for i in range(60_000)) + "]",
    "a folded text": "name: >\n" + "  a\n\n" * 140_000,
    "XML": "<robot name='r'/>",
    "an empty model": "name: a\nmodels: [{}]",
    "many models": "name: a\nmodels:\n"
    + "".join(f"  - {{name: b{i}, urdf: box.urdf, prefix: p{i}_}}\n" for i in range(300)),
    "many static shapes": "name: a\nenvironment:\n"
    + "".join(f"  - {{name: b{i}, shape: {{box: {{size: [1, 1, 1]}}}}}}\n" for i in range(1500)),
    "the same name twice": f"name: a\nmodels:\n{_MODEL}{_MODEL}",
    "a model in a model": "name: a\nmodels:\n  - {name: box, urdf: box.urdf, attach_to: box}\n",
    "a loop of attachments": "name: a\nmodels:\n  - {name: a, urdf: box.urdf, prefix: a_, attach_to: b_box}\n"
    "  - {name: b, urdf: box.urdf, prefix: b_, attach_to: a_box}\n",
    "a prefix of markup": f"name: a\nmodels:\n{_MODEL.replace('base', 'prefix: [/x], base')}",
}
for _name, _text in TEXTS.items():
    add(GROUP, _name, scene(_text))

PATHS = {
    "a pipe": "p",
    "zeros": "/dev/zero",
    "zeros as URDF": "zero.urdf",
    "nothing": "/dev/null",
    "a folder": ".",
    "the scene itself": "scene.yaml",
    "a long name": "a" * 5000 + ".urdf",
    "a long path": "a/" * 5000 + "b.urdf",
    "a home that nobody has": "~nobody-at-all/a.urdf",
    "another folder": "../../../../../../../../etc/passwd",
    "a null character": '"a\\0b.urdf"',
    "a URL": "http://127.0.0.1:1/a.urdf",
    "a package": "package://nowhere/a.urdf",
    "a package of none": "package:///a.urdf",
    "a package above": "package://../a.urdf",
    "a file of a host": "file://host/a.urdf",
    "a file of percent signs": "file:///%00%ff.urdf",
    "empty": '""',
    "a list": "[a, b]",
}
for _name, _path in PATHS.items():

    def _with_path(folder: Path, path: str = _path) -> list[str]:
        os.mkfifo(folder / "p")
        os.mkfifo(folder / "p.urdf")
        (folder / "zero.urdf").symlink_to("/dev/zero")
        text = f"name: a\nmodels:\n  - {{name: box, urdf: {path}}}\n"
        return list(scene(text)(folder))

    add(GROUP, f"a model from {_name}", _with_path)
    add(
        GROUP,
        f"a mesh from {_name}",
        scene(f"name: a\nenvironment:\n  - {{name: e, shape: {{mesh: {{path: {_path}}}}}}}\n"),
    )

NUMBERS = [
    "1e300",
    "-1e300",
    "1e-300",
    "1e20",
    "1e15",
    "1e7",
    ".nan",
    ".inf",
    "0",
    "-1",
    "'1'",
    "[]",
    "true",
    "0x10",
]
#: Scenes with a number left out, which are run.
PLACES = {
    "height": f"name: a\nmodels:\n{_MODEL.replace('0, 0, 1', '0, 0, {}')}{_GROUND}",
    "time step": "name: a\ntime_step: {}\nmodels:\n" + _MODEL,
    "gravity": "name: a\ngravity: [0, 0, {}]\nmodels:\n" + _MODEL,
    "margin": f"name: a\nmodels:\n{_MODEL}{_GROUND}contact: {{{{defaults: {{{{margin: {{}}}}}}}}}}\n",
    "modulus": f"name: a\nmodels:\n{_MODEL}{_GROUND}contact: {{{{defaults: {{{{modulus: {{}}}}}}}}}}\n",
    "resolution": f"name: a\nmodels:\n{_MODEL}{_GROUND}contact: {{{{defaults: {{{{resolution_hint: {{}}}}}}}}}}\n",
    "dissipation": f"name: a\nmodels:\n{_MODEL}{_GROUND}contact: {{{{defaults: {{{{dissipation: {{}}}}}}}}}}\n",
    "a sphere": "name: a\nmodels:\n"
    + _MODEL
    + "environment:\n  - {{name: e, shape: {{sphere: {{radius: {}}}}}}}\n",
    "a mesh of a sphere": "name: a\nenvironment:\n  - {{name: e, shape: {{sphere: {{radius: 1}}}}, "
    "proximity: {{resolution_hint: {}}}}}\n",
    "tolerance": "name: a\nsolver: {{tolerance: {}}}\nmodels:\n" + _MODEL,
    "accuracy": "name: a\nsolver: {{accuracy: {}}}\nmodels:\n" + _MODEL,
}
for _place, _template in PLACES.items():
    _template = _template.replace(_MODEL, _MODEL.replace("{", "{{").replace("}", "}}"))
    _template = _template.replace(_GROUND, _GROUND.replace("{", "{{").replace("}", "}}"))
    if _place == "height":
        _model = _MODEL.replace("{", "{{").replace("}", "}}").replace("0, 0, 1", "0, 0, {}")
        _template = f"name: a\nmodels:\n{_model}" + _GROUND.replace("{", "{{").replace("}", "}}")
    for _number in NUMBERS:
        add("numbers in scenes", f"{_place}: {_number}", scene(_template.format(_number), RUN))
