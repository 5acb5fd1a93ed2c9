"""xacro files of strangers: no code runs, nothing blocks, and nothing fills the memory."""

from __future__ import annotations

import contextlib
import io
import os
import random
import time

import pytest
import xacro

from hydro_sim_core.description import load_robot
from hydro_sim_core.description import xacro_expansion as expansion
from hydro_sim_core.description.paths import PackageResolver
from hydro_sim_core.description.xacro_package import REPLACED, RefusedCall, xacro_package
from hydro_sim_core.errors import InputError
from support.description.urdf_text import write_xacro

ESCAPE = (
    "(lambda: [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0]"
    ".__init__.__globals__['system']('touch {canary}'))()"
)


@pytest.mark.parametrize("expression", ["${%s}", "$(eval %s)"])
def test_the_escape_through_a_lambda_runs_nothing(tmp_path, expression):
    canary = tmp_path / "canary"
    path = write_xacro(tmp_path, f'<link name="{expression % ESCAPE.format(canary=canary)}"/>')
    with pytest.raises(InputError, match="xacro failed"):
        load_robot(path)
    assert not canary.exists()


def test_units_of_yaml_files_run_nothing(tmp_path):
    canary = tmp_path / "canary"
    (tmp_path / "a.yaml").write_text(f'a: !degrees "{ESCAPE.format(canary=canary)}"')
    path = write_xacro(tmp_path, "<link name=\"${xacro.load_yaml('a.yaml').a}\"/>")
    with pytest.raises(InputError, match="lambda is not available here"):
        load_robot(path)
    assert not canary.exists()


@pytest.mark.parametrize("name", ["eval", "exec", "compile", "open"])
def test_no_module_of_the_package_can_run_code_or_open_files(name):
    """Whatever a version of xacro calls: what we do not replace fails, and runs nothing."""
    package = xacro_package()
    for module in (package, package.substitution_args, package.xmlutils, package.cli, package.color):
        with pytest.raises(RefusedCall):
            module.__dict__["__builtins__"][name]("1")
    assert eval("1") == 1
    assert xacro.safe_eval("1 + 1", {}) == 2  # who imports xacro has it unchanged


@pytest.mark.parametrize("text", ["${1 + 1}", "$(eval 1 + 1)"])
def test_the_packages_own_evaluation_is_refused(text):
    package = xacro_package()
    package.init_stacks("a")
    package.substitution_args_context["arg"] = {}
    with pytest.raises(Exception, match="is not available to robot descriptions"):
        package.eval_text(text, package.Table(package._global_symbols))


def test_the_installed_version_calls_our_evaluator_and_all_that_we_replace(tmp_path):
    class Counting(expansion.Expansion):
        def _replacements(self):
            return {
                name: self.counting(name, value) if callable(value) else value
                for name, value in super()._replacements().items()
            }

        def counting(self, name, function):
            def call(*arguments, **named):
                called.add(name)
                return function(*arguments, **named)

            return call

    called: set[str] = set()
    (tmp_path / "a.yaml").write_text("a: 1")
    (tmp_path / "inner.xacro").write_text('<a xmlns:xacro="x"/>')
    path = write_xacro(
        tmp_path,
        '<xacro:include filename="inner.xacro"/><xacro:property name="pi" value="3"/>',
        '<xacro:macro name="m" params="a:=1 b"><link name="${a + b} $(cwd)"/></xacro:macro><xacro:m b="2"/>',
        "<a x=\"${xacro.load_yaml('a.yaml').a}\"/>",
    )
    Counting(PackageResolver(path)).run(path, {})
    # These are called where something is wrong, or through the table of names.
    assert called == set(REPLACED) - {"error", "message", "load_yaml", "print_location"} | {"print_location"}


def test_a_version_without_what_is_replaced_is_refused(monkeypatch):
    monkeypatch.setattr("hydro_sim_core.description.xacro_package.REPLACED", ("safe_eval", "other_eval"))
    xacro_package.cache_clear()
    try:
        with pytest.raises(InputError, match=r"xacro: 'other_eval': is missing in the installed version"):
            xacro_package()
    finally:
        xacro_package.cache_clear()


BOMBS = {
    "doubling macros": "".join(
        f'<xacro:macro name="m{i}" params=""><xacro:m{i + 1}/><xacro:m{i + 1}/></xacro:macro>'
        for i in range(40)
    )
    + '<xacro:macro name="m40" params=""><link name="a"/></xacro:macro><xacro:m0/>',
    "growing properties": '<xacro:property name="p0" value="aaaaaaaaaa"/>'
    + "".join(f'<xacro:property name="p{i + 1}" value="${{p{i} * 100}}"/>' for i in range(9))
    + '<link name="${p9}"/>',
    "a property many times": '<xacro:property name="p" value="${\'a\' * 1000000}"/>'
    + f'<link name="{"${p}" * 10000}"/>',
    "lists of lists": '<xacro:property name="p0" value="${[1] * 100}"/>'
    + "".join(f'<xacro:property name="p{i + 1}" value="${{[p{i}] * 100}}"/>' for i in range(5))
    + '<link name="${p5}"/>',
    "nested loops": '<link name="${[i for i in range(1000) for j in range(1000) for k in range(1000)]}"/>',
    "a sum of many lists": '<link name="${python.sum([[i] for i in range(100000)], [])}"/>',
    "blocks of blocks": '<xacro:property name="b0"><a/><a/></xacro:property>'
    + "".join(
        f'<xacro:property name="b{i + 1}">{f"<xacro:insert_block name=&quot;b{i}&quot;/>" * 2}</xacro:property>'
        for i in range(40)
    ).replace("&quot;", '"')
    + '<xacro:insert_block name="b40"/>',
    "a parameter that divides in many ways": f'<xacro:macro name="m" params="a:={"b" * 200}\'"><a/></xacro:macro>',
    "many quotes": f'<xacro:macro name="m" params="a:={"&apos;a&apos;b" * 200}&apos;"><a/></xacro:macro>',
    "colliding hashes": '<link name="${python.set([i * (2**61 - 1) for i in range(100000)])}"/>',
    "dollar signs": f'<link name="{"$$ a" * 400_000}"/>',
    "every file": '<xacro:include filename="/*/*/*/*/*/*/*/none"/>',
    "rounding": '<link name="${round(1, -10**9)}"/>',
    "factorial": '<link name="${factorial(10**7)}"/>',
    "a format": "<link name=\"${'%1000000000d' % 1}\"/>",
    "padding": "<link name=\"${'a'.ljust(10**10)}\"/>",
    "messages": "<link name=\"${[xacro.warning('a') for i in range(100000)]}\"/>",
    "siblings": "<a>" + "<xacro:if value='1'><b/></xacro:if>" * 60_000 + "</a>",
}


@pytest.mark.heavy(3)
@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_defused_soon(tmp_path, name):
    path = write_xacro(tmp_path, BOMBS[name])
    start = time.thread_time()
    with pytest.raises(InputError):
        load_robot(path)
    assert time.thread_time() - start < 8.0


def test_yaml_files_that_a_xacro_loads_are_bounded(tmp_path):
    levels = "\n".join(f"l{i}: &l{i} [{', '.join([f'*l{i - 1}' if i else '1'] * 10)}]" for i in range(25))
    (tmp_path / "a.yaml").write_text(levels)
    path = write_xacro(tmp_path, "<link name=\"${xacro.load_yaml('a.yaml')}\"/>")
    with pytest.raises(InputError, match=r"a\.yaml: not YAML: its aliases expand to more than"):
        load_robot(path)


@pytest.mark.parametrize(
    "element", ['<xacro:include filename="a"/>', "<link name=\"${xacro.load_yaml('a')}\"/>"]
)
def test_pipes_are_not_waited_for(tmp_path, element):
    os.mkfifo(tmp_path / "a")
    with pytest.raises(InputError, match="is a named pipe"):
        load_robot(write_xacro(tmp_path, element))


def test_messages_of_a_file_are_told_without_control_characters(tmp_path, caplog):
    path = write_xacro(tmp_path, "<link name=\"a${xacro.warning('\\x1b[31m red\\nline')}\"/>")
    assert load_robot(path).root == "a"
    assert "\\x1b[31m red line" in caplog.text
    assert "\x1b" not in caplog.text


def test_an_optional_include_may_be_absent(tmp_path):
    path = write_xacro(tmp_path, '<xacro:include filename="gone.xacro" optional="true"/><link name="a"/>')
    assert load_robot(path).root == "a"


def test_includes_by_pattern(tmp_path):
    for name in ("one", "two"):
        write_xacro(tmp_path, f'<xacro:property name="{name}" value="1"/>', name=f"part_{name}.xacro")
    path = write_xacro(tmp_path, '<xacro:include filename="part_*.xacro"/><link name="${one + two}"/>')
    assert load_robot(path).root == "2"


def test_separators_are_characters_and_no_pattern(tmp_path):
    path = write_xacro(tmp_path, "<link name=\"${len(xacro.tokenize('a' * 10000 + '!', ']|(b+)+$|['))}\"/>")
    assert load_robot(path).root == "1"


def test_parameters_of_macros_are_read_as_xacro_reads_them():
    generator = random.Random(1)
    pieces = [
        "a",
        "b_1",
        ":=",
        "=",
        " ",
        "  ",
        "${x}",
        "${x y}",
        "$(arg a)",
        "'q r'",
        '"s"',
        "^",
        "^|",
        "*c",
        "**d",
        "1.5",
    ]
    read = expansion.Expansion(PackageResolver(expansion.Path("a")))._macro_parameter
    for _ in range(3000):
        text = "".join(generator.choices(pieces, k=generator.randint(1, 8)))
        if text.strip():
            assert read(text) == xacro.parse_macro_arg(text), text


EXPRESSIONS = """
1 + 2 * 3 - 4 / 5 // 6 % 7 ** 2 | -pi + radians(90) | 1 if 2 > 1 else 0 | 'a' + str(1.5) | [1, 2, 3][1:] | not True
len('abc') * [0] | dict(a=1)['a'] | 'a' in ['a', 'b'] | 1 < 2 < 3 | (1, 2) + (3,) | max(1, 2, key=python.abs)
min([3, 1]) | sorted([3, 1, 2], reverse=True) | [x * y for x in range(3) for y in range(x) if y] | 2**0.5
'x y z'.split(' ')[1] | list(map(float, '1 2 3'.split())) | sum([1, 2]) if False else 0
round(2.567, 2) | int('0x1f', 16) | 'A'.lower()
' '.join(['a', 'b']) | 'abc'.replace('b', 'd') | None is None | 'a' 'b' | 1e400 | float('nan') != 0 | bool([]) or 5
math.sin(0.3) + cos(0.2) | math.pi | python.abs(-1) | 'abc'.startswith(('a', 'b')) | '%0.3f_%s' % (1.23456, 'x')
[*range(3), 4] | max(*[1, 2]) | 'ab'.upper().center(10, '-') | 7 & 3 | 1 << 4 | ~5 | 5 ^ 1 | atan2(1, 2) | hypot(3, 4)
python.isinstance('a', str) | python.type(1) == int | python.sum([1, 2.5]) | [a for a, b in [(1, 2)]] | 3.0.is_integer()
'a,b;c'.partition(',') | python.all([1, 0]) | python.any([]) | python.ord('a') | python.repr('a') | ceil(1.2) | 10 % 3
""".replace("\n", " | ").split(" | ")


@pytest.mark.parametrize("text", [one for one in EXPRESSIONS if one.strip()])
def test_expressions_have_the_values_that_xacro_gives_them(tmp_path, text):
    path = tmp_path / "a.xacro"
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    path.write_text(f'<robot xmlns:xacro="x"><a b="${{{escaped}}}"/></robot>')
    with contextlib.redirect_stderr(io.StringIO()):
        theirs = xacro.process_file(str(path)).toprettyxml()
    assert expansion.Expansion(PackageResolver(path)).run(path, {}).toprettyxml() == theirs
