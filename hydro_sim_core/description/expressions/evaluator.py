"""Evaluator of expressions: walks Python's syntax tree, in which it knows the nodes of its table and no others."""

from __future__ import annotations

import ast
import functools
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from hydro_sim_core.description.expressions.budget import Budget
from hydro_sim_core.description.expressions.methods import method
from hydro_sim_core.description.expressions.operators import BINARY, COMPARISONS, UNARY, plain
from hydro_sim_core.description.expressions.values import (
    ExpressionError,
    Function,
    Namespace,
    hashable_items,
    items_of,
    type_name,
    whole,
)

#: Longest expression, characters.
MOST_CHARACTERS = 10_000


class Names(Protocol):
    """Values by name; a name that there is not raises ``KeyError``."""

    def __getitem__(self, name: str) -> object: ...


@functools.lru_cache(maxsize=2048)
def _parse(text: str) -> ast.expr:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as "is" with a literal: of no interest to who reads a robot
        try:
            return ast.parse(text, mode="eval").body
        except SyntaxError as error:
            raise ExpressionError(f"no expression: {error.msg}") from None
        except (MemoryError, RecursionError, ValueError):
            raise ExpressionError("no expression, or it nests too deeply") from None


class Evaluator:
    """Evaluator of the expressions of one file.

    Args:
        budget: Work and time that all of them may take.
        namespaces: Types whose items are reached by a dot, beside :class:`Namespace`.
        dotted: Type of the dicts whose items are reached by a dot.
    """

    def __init__(
        self, budget: Budget, namespaces: tuple[type, ...] = (), dotted: type[dict[Any, Any]] | None = None
    ) -> None:
        self.budget = budget
        self._namespaces = (Namespace, *namespaces)
        self._dotted = dotted

    def evaluate(self, text: str, names: Names) -> object:
        """Value of an expression.

        Args:
            text: The expression.
            names: Values of the names in it.

        Raises:
            ExpressionError: It is no expression, uses what there is not, or takes too much.
            Exception: Whatever arithmetic raises: ``ZeroDivisionError``, ``TypeError`` and so on.
        """
        if len(text) > MOST_CHARACTERS:
            raise ExpressionError(f"an expression of more than {MOST_CHARACTERS} characters")
        value = self._value(_parse(text.strip()), names)
        if isinstance(value, str | list | tuple | dict | set | frozenset):
            self.budget.accept(value)  # it may become text, as often as it is named
        return value

    def _value(self, node: ast.expr, names: Names) -> Any:
        self.budget.spend()
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise ExpressionError(f"{_WORDS.get(type(node), type(node).__name__)} is not available here")
        return handler(self, node, names)

    def _plain(self, node: ast.expr, names: Names) -> Any:
        return plain(self._value(node, names))

    def _constant(self, node: ast.Constant, names: Names) -> object:
        if not isinstance(node.value, bool | int | float | str | None):
            raise ExpressionError(f"a {type_name(node.value)} is not available here")
        return self.budget.accept(node.value)

    def _name(self, node: ast.Name, names: Names) -> object:
        try:
            return names[node.id]
        except KeyError:
            raise ExpressionError(f"name '{node.id}' is not defined") from None

    def _attribute(self, node: ast.Attribute, names: Names) -> object:
        owner = self._value(node.value, names)
        if isinstance(owner, self._namespaces):
            try:
                return owner[node.attr]  # type: ignore[index]
            except KeyError:
                raise ExpressionError(f"name '{node.attr}' is not defined") from None
        found = method(owner, node.attr)
        if found is not None:
            return found
        if self._dotted is not None and isinstance(owner, self._dotted):
            self.budget.spend(1 + len(owner) // 8)  # its items are wrapped in copies
            return owner[node.attr]
        raise ExpressionError(f"{type_name(owner)} has no '{node.attr}' here")

    def _subscript(self, node: ast.Subscript, names: Names) -> object:
        owner = self._value(node.value, names)
        if not isinstance(owner, (str, list, tuple, range, dict)):
            raise ExpressionError(f"{type_name(owner)} has no items")
        if isinstance(node.slice, ast.Slice):
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            bounds = [None if part is None else whole(self._value(part, names)) for part in parts]
            return self.budget.accept(owner[slice(*bounds)])  # type: ignore[index]
        key = self._plain(node.slice, names)
        self.budget.spend(1 + (len(owner) // 8 if isinstance(owner, dict) else 0))
        try:
            return owner[key]
        except KeyError:
            raise ExpressionError(f"there is no key {key!r}") from None

    def _binary(self, node: ast.BinOp, names: Names) -> object:
        left, right = self._plain(node.left, names), self._plain(node.right, names)
        if type(node.op) not in BINARY:
            raise ExpressionError("this operator is not available here")
        return self.budget.accept(BINARY[type(node.op)](left, right))

    def _unary(self, node: ast.UnaryOp, names: Names) -> object:
        return self.budget.accept(UNARY[type(node.op)](self._plain(node.operand, names)))

    def _boolean(self, node: ast.BoolOp, names: Names) -> object:
        stops_at = isinstance(node.op, ast.Or)
        value: object = None
        for part in node.values:
            value = self._plain(part, names)
            if bool(value) is stops_at:
                break
        return value

    def _comparison(self, node: ast.Compare, names: Names) -> object:
        left = self._plain(node.left, names)
        result: object = True
        for kind, part in zip(node.ops, node.comparators, strict=True):
            right = self._plain(part, names)
            result = COMPARISONS[type(kind)](left, right)
            if not result:
                break
            left = right
        return result

    def _conditional(self, node: ast.IfExp, names: Names) -> object:
        return self._value(node.body if self._plain(node.test, names) else node.orelse, names)

    def _call(self, node: ast.Call, names: Names) -> object:
        function = self._value(node.func, names)
        if not isinstance(function, Function):
            raise ExpressionError(f"{type_name(function)} is no function")
        arguments = list(self._elements(node.args, names))
        keywords: dict[str, object] = {}
        for keyword in node.keywords:
            value = self._value(keyword.value, names)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif isinstance(value, dict):
                keywords.update({str(key): inner for key, inner in value.items()})
            else:
                raise ExpressionError(f"'**' before {type_name(value)}")
        return self.budget.accept(function.call(*arguments, **keywords))

    def _elements(self, nodes: list[ast.expr], names: Names) -> Iterator[object]:
        for node in nodes:
            if isinstance(node, ast.Starred):
                for item in items_of(self._value(node.value, names)):
                    self.budget.spend()
                    yield item
            else:
                yield self._value(node, names)

    def _list(self, node: ast.List, names: Names) -> object:
        return self.budget.accept([plain(item) for item in self._elements(node.elts, names)])

    def _tuple(self, node: ast.Tuple, names: Names) -> object:
        return self.budget.accept(tuple(plain(item) for item in self._elements(node.elts, names)))

    def _set(self, node: ast.Set, names: Names) -> object:
        return self.budget.accept({plain(item) for item in hashable_items(self._elements(node.elts, names))})

    def _dict(self, node: ast.Dict, names: Names) -> object:
        made: dict[object, object] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            inner = self._plain(value, names)
            if key is not None:
                made[self._plain(key, names)] = inner
            elif isinstance(inner, dict):
                made.update(inner)
            else:
                raise ExpressionError(f"'**' before {type_name(inner)}")
        return self.budget.accept(made)

    def _list_comprehension(self, node: ast.ListComp | ast.GeneratorExp, names: Names) -> object:
        return self.budget.accept(
            [self._plain(node.elt, scope) for scope in self._scopes(node.generators, names)]
        )

    def _set_comprehension(self, node: ast.SetComp, names: Names) -> object:
        items = (self._plain(node.elt, scope) for scope in self._scopes(node.generators, names))
        return self.budget.accept(set(hashable_items(items)))

    def _dict_comprehension(self, node: ast.DictComp, names: Names) -> object:
        scopes = self._scopes(node.generators, names)
        pairs = ((self._plain(node.key, scope), self._plain(node.value, scope)) for scope in scopes)
        return self.budget.accept(dict(hashable_items(pairs)))  # type: ignore[arg-type]

    def _scopes(self, generators: list[ast.comprehension], names: Names) -> Iterator[Names]:
        """Names of each turn of the loops of a comprehension."""
        if not generators:
            yield names
            return
        loop = generators[0]
        for item in items_of(self._value(loop.iter, names)):
            self.budget.spend()
            scope = _Scope(names, dict(_bindings(loop.target, item)))
            if all(self._plain(condition, scope) for condition in loop.ifs):
                yield from self._scopes(generators[1:], scope)


class _Scope:
    """Names of a loop before those around it."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, outer: Names, inner: Mapping[str, object]) -> None:
        self._outer = outer
        self._inner = inner

    def __getitem__(self, name: str) -> object:
        return self._inner[name] if name in self._inner else self._outer[name]


def _bindings(target: ast.expr, item: object) -> Iterator[tuple[str, object]]:
    """Names of a loop's target, with the values that an item gives them."""
    if isinstance(target, ast.Name):
        yield target.id, item
    elif isinstance(target, ast.Tuple | ast.List):
        parts = list(items_of(item))
        if len(parts) != len(target.elts):
            raise ExpressionError(f"{len(parts)} values for {len(target.elts)} names")
        for inner, part in zip(target.elts, parts, strict=True):
            yield from _bindings(inner, part)
    else:
        raise ExpressionError("a loop needs names before 'in'")


_HANDLERS: dict[type[ast.expr], Callable[[Evaluator, Any, Names], Any]] = {
    ast.Constant: Evaluator._constant,
    ast.Name: Evaluator._name,
    ast.Attribute: Evaluator._attribute,
    ast.Subscript: Evaluator._subscript,
    ast.BinOp: Evaluator._binary,
    ast.UnaryOp: Evaluator._unary,
    ast.BoolOp: Evaluator._boolean,
    ast.Compare: Evaluator._comparison,
    ast.IfExp: Evaluator._conditional,
    ast.Call: Evaluator._call,
    ast.List: Evaluator._list,
    ast.Tuple: Evaluator._tuple,
    ast.Set: Evaluator._set,
    ast.Dict: Evaluator._dict,
    ast.ListComp: Evaluator._list_comprehension,
    ast.GeneratorExp: Evaluator._list_comprehension,
    ast.SetComp: Evaluator._set_comprehension,
    ast.DictComp: Evaluator._dict_comprehension,
}

#: Names of syntax that people know by another word.
_WORDS = {ast.Lambda: "lambda", ast.NamedExpr: "':='", ast.JoinedStr: "an f-string", ast.Starred: "'*'"}
