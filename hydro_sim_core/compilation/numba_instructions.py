"""What Numba makes of the instructions; imported only when something has to be compiled."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature
from numba.extending import lower_builtin, models, register_model

from hydro_sim_core.compilation import side_by_side
from hydro_sim_core.compilation.instructions import ANY_BIT, EVERYBODY, FUTEX, WAIT, WAKE

#: Functions of the system that instructions call.
SYSTEM = frozenset({"clock_gettime", "clock_nanosleep", "syscall"})

_MONOTONIC, _ABSOLUTE = 1, 1  # CLOCK_MONOTONIC and TIMER_ABSTIME of Linux
_BILLION = 1_000_000_000
_WORDS = types.Array(types.int64, 1, "C")
_INT, _LONG = ir.IntType(32), ir.IntType(64)
_BYTES = ir.IntType(8).as_pointer()
_TIME = ir.LiteralStructType([_LONG, _LONG])

#: Any one type, in place of which a signature has that of its last argument.
_LIKE = types.undefined

_SIGNATURES = {
    "load": (types.int64, (_WORDS, types.int64)),
    "store": (types.void, (_WORDS, types.int64, types.int64)),
    "add": (types.int64, (_WORDS, types.int64, types.int64)),
    "fence": (types.void, ()),
    "clock_ns": (types.int64, ()),
    "sleep_until": (types.void, (types.int64,)),
    "wait_for_change": (types.void, (_WORDS, types.int64, types.int64, types.int64)),
    "wake_all": (types.void, (_WORDS, types.int64)),
    "struct_at": (_LIKE, (_WORDS, types.int64, _LIKE)),
    "one_thread_a_world": (types.boolean, ()),
}


class InstructionType(types.Callable, types.Dummy):
    """An instruction, known by its name."""

    def __init__(self, name: str) -> None:
        self.instruction = name
        super().__init__(name=f"instruction({name})")

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Signature of a call with arguments of these types; None if they do not fit."""
        result, wanted = _SIGNATURES[self.instruction]
        if result is _LIKE:
            result, wanted = args[-1], (*wanted[:-1], args[-1])
        if kws or len(args) != len(wanted):
            return None
        if not all(
            given == want or context.can_convert(given, want) is not None
            for given, want in zip(args, wanted, strict=True)
        ):
            return None
        return signature(result, *wanted, recvr=self)

    def get_call_signatures(self) -> Any:
        """All signatures, for Numba's error messages."""
        result, wanted = _SIGNATURES[self.instruction]
        return [signature(result, *wanted)], False

    def get_impl_key(self, sig: Any) -> Any:
        """Key by which Numba looks up the implementation of a call."""
        return type(self)


register_model(InstructionType)(models.OpaqueModel)


@lower_builtin(InstructionType, types.VarArg(types.Any))
def _lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    name, given = sig.args[0].instruction, list(args[1:])
    if sig.args[1:] and sig.args[1] == _WORDS:
        array = context.make_array(_WORDS)(context, builder, given.pop(0))
        given.insert(0, builder.gep(array.data, [given.pop(0)]))
    result = _LOWERED[name](builder, *given)
    return context.get_dummy_value() if result is None else result


def _load(builder: Any, place: Any) -> Any:
    return builder.load_atomic(place, "acquire", 8)


def _store(builder: Any, place: Any, value: Any) -> None:
    builder.store_atomic(value, place, "release", 8)


def _add(builder: Any, place: Any, value: Any) -> Any:
    return builder.atomic_rmw("add", place, value, "seq_cst")


def _fence(builder: Any) -> None:
    builder.fence("seq_cst")


def _struct_at(builder: Any, place: Any, like: Any) -> Any:
    return builder.inttoptr(builder.load(place), like.type)


def _clock_ns(builder: Any) -> Any:
    read = _system(builder, "clock_gettime", ir.FunctionType(_INT, [_INT, _TIME.as_pointer()]))
    now = cgutils.alloca_once(builder, _TIME)
    builder.call(read, [_INT(_MONOTONIC), now])
    seconds, rest = (builder.load(cgutils.gep_inbounds(builder, now, 0, i)) for i in (0, 1))
    return builder.add(builder.mul(seconds, _LONG(_BILLION)), rest)


def _sleep_until(builder: Any, deadline: Any) -> None:
    kind = ir.FunctionType(_INT, [_INT, _INT, _TIME.as_pointer(), _BYTES])
    sleep = _system(builder, "clock_nanosleep", kind)
    until = _time(builder, deadline)
    builder.call(sleep, [_INT(_MONOTONIC), _INT(_ABSOLUTE), until, cgutils.get_null_value(_BYTES)])


def _wait_for_change(builder: Any, place: Any, seen: Any, deadline: Any) -> None:
    until = builder.bitcast(_time(builder, deadline), _BYTES)
    _futex(builder, place, WAIT, builder.trunc(seen, _INT), until)


def _wake_all(builder: Any, place: Any) -> None:
    _futex(builder, place, WAKE, _INT(EVERYBODY), cgutils.get_null_value(_BYTES))


def _one_thread_a_world(_: Any) -> Any:
    return ir.IntType(1)(side_by_side.present() is not None)


def _futex(builder: Any, place: Any, operation: int, value: Any, until: Any) -> None:
    call = _system(builder, "syscall", ir.FunctionType(_LONG, [_LONG], var_arg=True))
    word = builder.bitcast(place, _BYTES)
    nobody = cgutils.get_null_value(_BYTES)
    builder.call(call, [_LONG(FUTEX), word, _INT(operation), value, until, nobody, _INT(ANY_BIT)])


def _time(builder: Any, nanoseconds: Any) -> Any:
    """Place of a ``timespec``."""
    place = cgutils.alloca_once(builder, _TIME)
    for i, part in enumerate((builder.sdiv, builder.srem)):
        value = part(nanoseconds, _LONG(_BILLION))
        builder.store(value, cgutils.gep_inbounds(builder, place, 0, i))
    return place


def _system(builder: Any, name: str, kind: Any) -> Any:
    return cgutils.get_or_insert_function(builder.module, kind, name)


_LOWERED: dict[str, Any] = {
    "load": _load,
    "store": _store,
    "add": _add,
    "fence": _fence,
    "clock_ns": _clock_ns,
    "sleep_until": _sleep_until,
    "wait_for_change": _wait_for_change,
    "wake_all": _wake_all,
    "struct_at": _struct_at,
    "one_thread_a_world": _one_thread_a_world,
}
