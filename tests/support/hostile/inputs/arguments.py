"""Arguments of the command line that no file can answer for."""

from __future__ import annotations

from pathlib import Path

from support.hostile.cases import CANARY, add

GROUP = "arguments"
_NAMES = {
    "empty": "",
    "a space": " ",
    "a dot": ".",
    "a slash": "/",
    "a long name": "a" * 5000,
    "a long path": "a/" * 5000,
    "a long name of a scene": "a" * 5000 + ".yaml",
    "a long name of a robot": "a" * 5000 + ".urdf",
    "a home that nobody has": "~nobody-at-all/x.yaml",
    "escape characters": "\x1b[31mred.yaml",
    "a line break": "a\nerror: forged.yaml",
    "markup": "[/nope].yaml",
    "opening markup": "[bold red]x.yaml",
    "a surrogate": "\udcff.yaml",
    "a device": "/dev/zero",
    "a directory of processes": "/proc/self",
    "the memory": "/proc/self/mem",
    "a URL": "http://127.0.0.1:1/x.yaml",
    "XML": "<robot/>",
    "a command": f"$(touch {CANARY})",
    "a pipe to a command": f"|touch {CANARY}",
    "right-to-left": "\u202elmay.exe",
}
for _name, _argument in _NAMES.items():
    for _command in (["check"], ["run", "--headless", "--duration", "0.001"], ["hil-report"]):

        def _named(folder: Path, command: list[str] = _command, argument: str = _argument) -> list[str]:
            return [*command, "--", argument]

        add(GROUP, f"{_command[0]} of {_name}", _named)

_OPTIONS = {
    "an unknown path": ["--set", "models.nothing.x=1"],
    "no value": ["--set", "gravity"],
    "a deep value": ["--set", "gravity=" + "[" * 3000],
    "a value of aliases": ["--set", "gravity=[&a [1,1], *a, *a]"],
    "a tag": ["--set", f"gravity=!!python/object/apply:os.system ['touch {CANARY}']"],
    "a long value": ["--set", "name=" + "a" * 100_000],
    "a long path": ["--set", "models." * 10_000 + "=1"],
    "a path of attributes": ["--set", "models.__class__.x=1"],
    "a path of brackets": ["--set", "models[0]=1"],
    "an infinite gravity": ["--set", "gravity=[0, 0, .inf]"],
    "a name of escape characters": ["--set", "name=\x1b[31m"],
    "a name of markup": ["--set", "name=[/nope]"],
    "a far box": ["--set", "models.box.pose.xyz=[0, 0, 1e15]"],
    "a folder that is none": ["--package-dir", "nowhere"],
    "a folder of a long name": ["--package-dir", "a" * 5000],
    "a device as folder": ["--package-dir", "/dev/zero"],
    "an argument for a scene": ["--xacro-arg", "a:=1"],
    "an argument without value": ["--xacro-arg", "a"],
}
for _name, _given in _OPTIONS.items():

    def _with_option(folder: Path, given: list[str] = _given) -> list[str]:
        return ["check", "drop_box", *given]

    add(GROUP, f"check with {_name}", _with_option)
