"""xacro files of strangers: what would run code, and what would never end."""

from __future__ import annotations

import os
from pathlib import Path

from support.hostile.cases import CANARY, Writer, add

GROUP = "xacro"
_RUN = f"touch {CANARY}"
_CATCH = "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0]"
#: Expressions that ran a command, or might in some evaluator.
ESCAPES = {
    "lambda": f"(lambda: {_CATCH}.__init__.__globals__['system']('{_RUN}'))()",
    "lambda in a list": f"[(lambda: {_CATCH}.__init__.__globals__['system']('{_RUN}'))() for i in [1]]",
    "lambda in map": f"list(map(lambda x: {_CATCH}.__init__.__globals__['system']('{_RUN}'), [1]))",
    "import": f"__import__('os').system('{_RUN}')",
    "builtins": f"__builtins__['__import__']('os').system('{_RUN}')",
    "classes": f"().__class__.__mro__[1].__subclasses__()[140].__init__.__globals__['system']('{_RUN}')",
    "a function's globals": f"sin.__globals__['os'].system('{_RUN}')",
    "load_yaml's globals": f"xacro.load_yaml.__globals__['os'].system('{_RUN}')",
    "xacro's os": f"xacro.os.system('{_RUN}')",
    "a method's self": f"[].append.__self__.__class__.__base__.__subclasses__()[0]('{_RUN}')",
    "a generator's frame": "(x for x in [1]).gi_frame.f_back.f_builtins",
    "a comprehension": "[x.__class__ for x in [1]]",
    "getattr": f"getattr(getattr('', '__class__'), '__base__').__subclasses__()[0]('{_RUN}')",
    "type": "python.type('')('a').__class__",
    "type makes a class": "python.type('A', (), {})",
    "vars": "python.vars()",
    "vars of math": "python.vars(math)",
    "format": "'{0.__class__.__base__}'.format(1)",
    "format_map": "'{a.__class__}'.format_map(dict(a=1))",
    "f-string": "f'{().__class__}'",
    "walrus": "(x := ().__class__)",
    "yield": "(yield 1)",
    "await": "(await 1)",
    "eval": f"eval(\"__import__('os').system('{_RUN}')\")",
    "exec": f"exec(\"__import__('os').system('{_RUN}')\")",
    "open": f"open('{CANARY}', 'w')",
    "breakpoint": "breakpoint()",
    "input": "input()",
    "a name of unicode letters": "__\u1d62mport__('os')",  # subscript i, which Python reads as i
    "bytes": "b'a'.__class__",
    "complex": "1j.__class__",
    "an ellipsis": "....__class__",
    "keywords": "dict(**(().__class__.__dict__))",
    "a property's name": "'x'.join.__call__.__class__",
}
#: Expressions that would fill the memory or never end.
BOMBS = {
    "a tower of powers": "9**9**9",
    "a negative power": "2**-9**9**9",
    "a long text": "'a' * 10**10",
    "a long list": "[1] * 10**10",
    "a long range": "list(range(10**9))",
    "a range in a sum": "python.sum(range(10**12))",
    "a shift": "1 << 10**10",
    "a shift of a shift": "(1 << 4000) << (1 << 4000)",
    "factorial": "factorial(10**8)",
    "combinations": "comb(10**9, 10**8)",
    "permutations": "perm(10**9, 10**8)",
    "a wide format": "'%1000000000d' % 1",
    "a width from a value": "'%*d' % (10**9, 1)",
    "a precise format": "'%.1000000000f' % 1",
    "padding": "'a'.rjust(10**10)",
    "zeros": "'a'.zfill(10**10)",
    "tabs": "'\\t'.expandtabs(10**10)",
    "replacing": "('a' * 100000).replace('a', 'b' * 100000)",
    "joining": "('a' * 100000).join(['b'] * 100000)",
    "rounding": "round(1, -10**10)",
    "a large number as text": "str(10**4000) * 10**6",
    "digits": "int('9' * 10**6)",
    "hexadecimal digits": "int('f' * 10**6, 16)",
    "loops in loops": "[1 for a in range(10**4) for b in range(10**4) for c in range(10**4)]",
    "a set of equal hashes": "python.set([i * (2**61 - 1) for i in range(10**5)])",
    "a dict of equal hashes": "dict([(i * (2**61 - 1), 1) for i in range(10**5)])",
    "many messages": "[xacro.warning('a' * 1000) for i in range(10**5)]",
    "many files": "[xacro.load_yaml('a.yaml') for i in range(10**6)]",
    "parentheses": "(" * 3000 + ")" * 3000,
    "minus signs": "-" * 9000 + "1",
    "a long sum": "+".join(["1"] * 4900),
    "brackets": "[" * 150 + "]" * 150,
    "nots": "not " * 2400 + "1",
    "comparisons": "<".join(["1"] * 4900),
    "text of control characters": "'\\x1b[31m' + xacro.warning('\\x1b]0;x\\x07')",
    "an error of control characters": "xacro.fatal('\\x1b[31m')",
    "a long error": "xacro.fatal('a' * 10**5)",
    "a null character": "'\\x00'",
    "a lone surrogate": "'\\ud800'",
    "not a number": "float('nan')",
    "division by zero": "1 / 0",
    "an overflow": "10.0 ** 400",
    "a complex result": "(-8) ** 0.5",
    "nothing": "",
    "a statement": "x = 1",
    "half of it": "1 +",
}


def _file(content: str, others: dict[str, str] | None = None, *arguments: str) -> Writer:
    def write(folder: Path) -> list[str]:
        for name, inner in (others or {}).items():
            (folder / name).write_text(inner)
        head = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        (folder / "robot.urdf.xacro").write_text(
            f'{head}<link name="a"/>{content}</robot>', errors="surrogatepass"
        )
        return ["check", "robot.urdf.xacro", *arguments]

    return write


def _attribute(expression: str) -> str:
    return expression.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


for _name, _expression in ESCAPES.items():
    _escaped = _attribute(_expression)
    add(GROUP, f"escape in an attribute: {_name}", _file(f'<link name="${{{_escaped}}}"/>'))
    add(GROUP, f"escape in eval: {_name}", _file(f'<link name="$(eval {_escaped})"/>'))
    add(
        GROUP,
        f"escape in YAML: {_name}",
        _file(
            "<link name=\"${xacro.load_yaml('a.yaml').a}\"/>",
            {"a.yaml": "a: !degrees '" + _expression.replace("'", "''") + "'\n"},
        ),
    )
for _name, _expression in BOMBS.items():
    add(
        GROUP,
        f"bomb: {_name}",
        _file(f'<link name="${{{_attribute(_expression)}}}"/>', {"a.yaml": "a: [" + "1, " * 1000 + "]"}),
    )


def _macro(name: str, content: str, parameters: str = "") -> str:
    return f'<xacro:macro name="{name}" params="{parameters}">{content}</xacro:macro>'


def _insert(name: str) -> str:
    return f'<xacro:insert_block name="{name}"/>'


_ALIASES = "\n".join(f"l{i}: &l{i} [{', '.join([f'*l{i - 1}' if i else '1'] * 10)}]" for i in range(25))
DOCUMENTS: dict[str, tuple[str, dict[str, str]]] = {
    "doubling macros": (
        "".join(_macro(f"m{i}", f"<xacro:m{i + 1}/>" * 2) for i in range(40))
        + _macro("m40", '<link name="b"/>')
        + "<xacro:m0/>",
        {},
    ),
    "a macro that calls itself": (_macro("m", "<xacro:m/>") + "<xacro:m/>", {}),
    "macros that call each other": (_macro("m", "<xacro:n/>") + _macro("n", "<xacro:m/>") + "<xacro:m/>", {}),
    "growing properties": (
        '<xacro:property name="p0" value="aaaaaaaaaa"/>'
        + "".join(f'<xacro:property name="p{i + 1}" value="{f"${{p{i}}}" * 10}"/>' for i in range(15))
        + '<link name="${p15}"/>',
        {},
    ),
    "circular properties": (
        '<xacro:property name="p" value="${q}"/><xacro:property name="q" value="${p}"/><link name="${p}"/>',
        {},
    ),
    "a long chain of properties": (
        '<xacro:property name="p0" value="1"/>'
        + "".join(f'<xacro:property name="p{i + 1}" value="${{p{i} + 1}}"/>' for i in range(5000))
        + '<link name="${p5000}"/>',
        {},
    ),
    "doubling blocks": (
        '<xacro:property name="b0"><link name="b"/></xacro:property>'
        + "".join(
            f'<xacro:property name="b{i + 1}">{_insert(f"b{i}") * 2}</xacro:property>' for i in range(40)
        )
        + _insert("b40"),
        {},
    ),
    "a block in itself": (f'<xacro:property name="b">{_insert("b")}</xacro:property>' + _insert("b"), {}),
    "a file that includes itself": ('<xacro:include filename="robot.urdf.xacro"/>', {}),
    "a file that includes another twice": (
        '<xacro:include filename="a.xacro"/>',
        {
            "a.xacro": '<a xmlns:xacro="x"><xacro:include filename="b.xacro"/><xacro:include filename="b.xacro"/></a>',
            "b.xacro": '<a xmlns:xacro="x"><xacro:include filename="a.xacro"/><xacro:include filename="a.xacro"/></a>',
        },
    ),
    "every file": ('<xacro:include filename="/*/*/*/*/*/*/*/*"/>', {}),
    "every file of a folder": ('<xacro:include filename="/usr/lib/*"/>', {}),
    "a device": ('<xacro:include filename="/dev/zero"/>', {}),
    "a folder": ('<xacro:include filename="/"/>', {}),
    "a null character in a file's name": ("<xacro:include filename=\"${'a\\x00b'}\"/>", {}),
    "a long file name": (f'<xacro:include filename="{"a" * 5000}"/>', {}),
    "a long path": (f'<xacro:include filename="{"a/" * 5000}"/>', {}),
    "a home that nobody has": ('<xacro:include filename="~nobody-at-all/a"/>', {}),
    "a DOCTYPE in an included file": (
        '<xacro:include filename="a.xacro"/>',
        {"a.xacro": '<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>'},
    ),
    "aliases": ("<link name=\"${xacro.load_yaml('a.yaml')}\"/>", {"a.yaml": _ALIASES}),
    "an alias in itself": ("<link name=\"${xacro.load_yaml('a.yaml')}\"/>", {"a.yaml": "&a [*a]"}),
    "merges": (
        "<link name=\"${xacro.load_yaml('a.yaml')}\"/>",
        {
            "a.yaml": "l0: &l0 {a: 1}\n"
            + "\n".join(f"l{i}: &l{i} {{<<: [{', '.join([f'*l{i - 1}'] * 10)}]}}" for i in range(1, 25))
        },
    ),
    "deep YAML": ("<link name=\"${xacro.load_yaml('a.yaml')}\"/>", {"a.yaml": "[" * 100_000}),
    "Python objects in YAML": (
        "<link name=\"${xacro.load_yaml('a.yaml')}\"/>",
        {"a.yaml": f"!!python/object/apply:os.system ['{_RUN}']"},
    ),
    "binary YAML": ("<link name=\"${xacro.load_yaml('a.yaml').a}\"/>", {"a.yaml": "a: !!binary aGk="}),
    "a date": ("<link name=\"${xacro.load_yaml('a.yaml').a}\"/>", {"a.yaml": "a: 2020-01-01"}),
    "sexagesimal numbers": (
        "<link name=\"${xacro.load_yaml('a.yaml').a}\"/>",
        {"a.yaml": "a: " + ":".join(["59"] * 5000)},
    ),
    "YAML of a device": ("<link name=\"${xacro.load_yaml('/dev/zero')}\"/>", {}),
    "YAML of a folder": ("<link name=\"${xacro.load_yaml('/')}\"/>", {}),
    "an argument without value": ('<link name="$(arg a)"/>', {}),
    "an argument of itself": ('<xacro:arg name="a" default="$(arg a)"/><link name="$(arg a)"/>', {}),
    "an environment variable": ('<link name="$(env HOME)$(optenv NOTHING x)"/>', {}),
    "an unset environment variable": ('<link name="$(env NOT_SET_AT_ALL)"/>', {}),
    "an unknown package": ('<link name="$(find nowhere)"/>', {}),
    "a package above": ('<link name="$(find ..)"/>', {}),
    "an unknown command": ('<link name="$(rm -rf .)"/>', {}),
    "backticks": (f'<link name="`{_RUN}`$({_RUN})"/>', {}),
    "a parameter that divides in many ways": (_macro("m", "<a/>", "a:=" + "b" * 5000 + "'"), {}),
    "many quotes": (_macro("m", "<a/>", "a:=" + "'a'b" * 5000 + "'"), {}),
    "many parameters": (_macro("m", "<a/>", " ".join(f"a{i}:=1" for i in range(30_000))) + "<xacro:m/>", {}),
    "a separator that is a pattern": (
        "<link name=\"${xacro.tokenize('a' * 50000 + '!', ']|(a+)+$|[')}\"/>",
        {},
    ),
    "many dollars": (f'<link name="{"$$ a" * 500_000}"/>', {}),
    "many conditions": ('<xacro:if value="1"><b/></xacro:if>' * 60_000, {}),
    "many links": (
        _macro("m", '<link name="${a}"/>', "a") + "".join(f'<xacro:m a="l{i}"/>' for i in range(20_000)),
        {},
    ),
    "a condition that is none": ('<xacro:if value="maybe"/>', {}),
    "an unknown macro": ("<xacro:nothing/>", {}),
    "a macro by a name that is none": ('<xacro:call macro="${1}"/>', {}),
    "an element by a name that is none": ('<xacro:element xacro:name="${1} a"/>', {}),
    "an attribute by a name that is none": ('<a><xacro:attribute name="&lt;" value="1"/></a>', {}),
    "a property by a name that is none": ('<xacro:property name="a b" value="1"/>', {}),
    "a property of many parentheses": (f'<xacro:property name="{"(" * 100_000}" value="1"/>', {}),
    "a property with underscores": ('<xacro:property name="__class__" value="1"/>', {}),
    "properties in place of functions": (
        '<xacro:property name="sin" value="1"/><link name="${sin}"/><link name="${math.sin(1)}"/>',
        {},
    ),
    "a name space that hides another": (
        '<xacro:include filename="a.xacro" ns="math"/><link name="${math.p}"/>',
        {"a.xacro": '<a xmlns:xacro="x"><xacro:property name="p" value="1"/></a>'},
    ),
    "a name space's own attributes": (
        '<xacro:include filename="a.xacro" ns="n"/><link name="${n.root}${n.parent}${n.update}"/>',
        {"a.xacro": "<a/>"},
    ),
}  # fmt: skip
for _name, (_content, _others) in DOCUMENTS.items():
    add(GROUP, _name, _file(_content, _others))


def _pipe(folder: Path) -> list[str]:
    os.mkfifo(folder / "p")
    return list(_file('<xacro:include filename="p"/>')(folder))


add(GROUP, "an included pipe", _pipe)
add(
    GROUP,
    "an argument that runs",
    _file('<link name="$(arg a)"/>', None, "--xacro-arg", f"a:=${{{ESCAPES['lambda']}}}"),
)
add(
    GROUP,
    "an argument of a long text",
    _file('<link name="$(arg a)"/>', None, "--xacro-arg", "a:=" + "x" * 100_000),
)
