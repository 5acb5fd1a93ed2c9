"""Compilation of kernels to machine code through Numba; imported only when something has to be compiled.

Numba by itself optimises and assembles every function separately, together with all that it calls, so that callees are
compiled repeatedly. Here functions are only typed and translated to LLVM IR one by one; an entry point is then linked
from all it calls and optimised once as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import compiler, config, funcdesc, lowering, types
from numba.core import ir as numba_ir
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.errors import TypingError
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.typed_passes import NativeLowering

from hydro_sim_core.compilation import side_by_side
from hydro_sim_core.compilation.c_calls import STATUS, c_function_type
from hydro_sim_core.compilation.contents import contents
from hydro_sim_core.compilation.dependencies import dependencies, reached_by
from hydro_sim_core.compilation.indices import CALLED, plain_indices
from hydro_sim_core.compilation.machine_code import bind
from hydro_sim_core.compilation.numba_instructions import SYSTEM
from hydro_sim_core.compilation.numba_types import from_c, signature_of

if TYPE_CHECKING:
    from hydro_sim_core.compilation.kernels import Entry, Kernel
    from hydro_sim_core.compilation.side_by_side import SideBySide
    from hydro_sim_core.compilation.targets import Target

#: Callbacks with the name of each translated kernel.
on_kernel: list[Callable[[str], None]] = []

#: Functions of the C library that LLVM may call.
# fmt: off
_C_LIBRARY = frozenset({
    "acos", "asin", "atan", "atan2", "cbrt", "ceil", "copysign", "cos", "cosh", "exp", "expm1", "fabs", "floor", "fmod",
    "hypot", "log", "log1p", "memcpy", "memmove", "memset", "pow", "round", "sin", "sinh", "sqrt", "tan", "tanh",
    "trunc",
})
# fmt: on

#: Options of every kernel. ``_nrt`` is private to Numba: without its reference counting array views cost nothing, and
#: kernels that allocate do not compile.
OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "boundscheck": False, "_nrt": False}

#: Settings of Numba that determine the machine code. They replace a user's settings from the environment or a file
#: ``.numba_config.yaml``: cached code has to be the same wherever it is compiled.
_SETTINGS = {
    "BOUNDSCHECK": None,
    "DEBUGINFO_DEFAULT": 0,
    "ENABLE_PROFILING": 0,
    "EXTEND_VARIABLE_LIFETIMES": 0,
    "LLVM_REFPRUNE_FLAGS": "all",
    "LLVM_REFPRUNE_PASS": 1,
    "LOOP_VECTORIZE": 1,
    "OPT": config._OptLevel(3),
    "SLP_VECTORIZE": 0,
}


@contextmanager
def _own_settings() -> Iterator[None]:
    """Let Numba compile with ``_SETTINGS``, and take indices as they are."""
    # Changes of the environment are read now, as Numba would otherwise read them within the context.
    config.reload_config()
    before = {name: getattr(config, name) for name in _SETTINGS}
    vars(config).update(_SETTINGS)
    try:
        with plain_indices():
            yield
    finally:
        vars(config).update(before)


# --- Libraries: Numba's containers of functions ----------------------------------------------------------------------


class _KernelLibrary(JITCodeLibrary):
    """Translated functions, each simplified separately, neither optimised nor assembled."""

    def finalize(self) -> None:
        """Close the library for further functions."""
        self._raise_if_finalized()
        self._finalized = True

    def callees_first(self) -> list[Any]:
        """This library and all that it calls, callees before callers."""
        order: list[Any] = []
        seen = {self}

        def visit(library: Any) -> None:
            for called in library._linking_libraries:
                if called not in seen:
                    seen.add(called)
                    visit(called)
            order.append(library)

        visit(self)
        return order


class _WholeLibrary(_KernelLibrary):
    """A function linked with all that it calls and optimised as a whole."""

    def link(self) -> None:
        """Join the modules of all functions called."""
        # Callers first: the linker drops functions that no code linked so far refers to.
        for library in reversed(self.callees_first()[:-1]):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)

    def finalize(self) -> None:
        """Link, optimise and assemble."""
        self._raise_if_finalized()
        self.link()
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_final_module()


# --- Passes ----------------------------------------------------------------------------------------------------------


@register_pass(mutates_CFG=True, analysis_only=False)
class _TranslateKernel(LoweringPass):
    """Pass that translates a typed function to LLVM IR, without optimisation."""

    _name = "hydro_sim_translate_kernel"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        _refuse_raise(state.func_ir)
        library = state.library = _KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        flags = state.flags
        descriptor = funcdesc.PythonFunctionDescriptor.from_specialized_function(
            state.func_ir,
            state.typemap,
            state.return_type,
            state.calltypes,
            mangler=state.targetctx.mangler,
            inline=flags.forceinline,
            noalias=flags.noalias,
            abi_tags=[flags.get_mangle_string()],
        )
        with state.targetctx.push_code_library(library):
            lower = lowering.Lower(
                state.targetctx, library, descriptor, state.func_ir, metadata=state.metadata
            )
            lower.lower()
        # Callers look the function up by this object; there is no machine code yet.
        key = object()
        state.targetctx.insert_user_function(key, descriptor, [library])
        state["cr"] = compiler._LowerResult(descriptor, lower.call_helper, cfunc=key, env=lower.env)
        for report in on_kernel:
            report(f"{state.func_id.modname}.{state.func_id.func_qualname}")
        return True


def _refuse_raise(function: Any) -> None:
    """Refuse ``raise`` in kernels, which report errors by their results; only Numba's own checks may raise."""
    for block in function.blocks.values():
        for statement in block.body:
            if isinstance(statement, numba_ir.Raise | numba_ir.StaticRaise | numba_ir.DynamicRaise):
                raise TypingError("kernels may neither allocate nor raise exceptions", loc=statement.loc)


@register_pass(mutates_CFG=True, analysis_only=False)
class _CompileWhole(NativeLowering):
    """Pass that compiles a function with all that it calls, for calls from Python."""

    _name = "hydro_sim_compile_whole"

    def run_pass(self, state: Any) -> bool:
        state.library = _WholeLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().run_pass(state)


class _KernelCompiler(CompilerBase):
    """Numba's passes with another final pass."""

    last_pass: type[LoweringPass] = _TranslateKernel

    def define_pipelines(self) -> list[Any]:
        """The passes."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [
            (self.last_pass if pass_ is NativeLowering else pass_, text) for pass_, text in manager.passes
        ]
        manager._finalized = False
        manager.finalize()
        return [manager]


class _WholeCompiler(_KernelCompiler):
    last_pass = _CompileWhole


# --- Dispatchers: Numba's lookup of the code of calls ----------------------------------------------------------------


class _KernelDispatcher(CPUDispatcher):
    """Dispatcher that types and translates a kernel for the arguments of its callers."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Template of a call; literal arguments have their plain types: a constant makes no new specialisation."""
        args = tuple(types.unliteral(arg) for arg in args)
        return super().get_call_template(args, {name: types.unliteral(kw) for name, kw in kws.items()})

    @global_compiler_lock
    def compile(self, sig: Any) -> Any:
        """Translate the kernel for arguments of these types."""
        with _own_settings():
            return super().compile(sig)

    def add_overload(self, cres: Any) -> None:
        """Store a translated specialisation; it has no code that Python could call."""
        self.overloads[tuple(cres.signature.args)] = cres


def make_dispatcher(kernel: Kernel) -> Any:
    """Numba's object for calls of a kernel from other kernels."""
    options = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": kernel.inline}
    return _KernelDispatcher(contents(kernel).function, {}, options, _KernelCompiler)


def make_callable(kernel: Kernel) -> Any:
    """A kernel compiled separately, as Numba does it, for calls from Python."""
    bind({called.symbol: called.address_for_callers for called in reached_by(kernel).entries})
    return CPUDispatcher(kernel.function, {}, {**OPTIONS, "no_cfunc_wrapper": True}, _WholeCompiler)


def dispatcher_type(kernel: Kernel) -> Any:
    """Type of a kernel in the function that is being compiled, for one world or for worlds side by side."""
    memory = side_by_side.present()
    return types.Dispatcher(kernel.dispatcher if memory is None else _dispatcher_side_by_side(kernel, memory))


def _dispatcher_side_by_side(kernel: Kernel, memory: SideBySide) -> Any:
    """Numba's object for calls of a kernel from others that are translated for this memory."""
    # Apart from that for a single world: what a kernel calls depends on it, also where its arguments do not.
    known = kernel.__dict__.setdefault("_side_by_side", {})
    if memory not in known:
        known[memory] = make_dispatcher(kernel)
    return known[memory]


# --- Entry points ----------------------------------------------------------------------------------------------------


class _TargetCodegen(JITCPUCodegen):
    """LLVM code generation for a processor that may differ from this machine's."""

    def __init__(self, target: Target) -> None:
        self._target = target
        super().__init__(f"hydro_sim.{target.cpu}")

    def _get_host_cpu_name(self) -> str:
        return self._target.cpu

    def _get_host_cpu_features(self) -> str:
        return self._target.features


_codegen = cache(_TargetCodegen)


@global_compiler_lock
def compile_entry(entry: Entry, target: Target) -> bytes:
    """Machine code of an entry point: an object file with one symbol to call.

    Raises:
        numba.core.errors.NumbaError: The entry point cannot be compiled.
    """
    with _own_settings():
        module = _translated(entry, target)
        return bytes(_codegen(target)._tm.emit_object(module))


def _translated(entry: Entry, target: Target) -> Any:
    """Optimised module of an entry point and all that it contains."""
    typing_context, context = cpu_target.typing_context, cpu_target.target_context
    typing_context.refresh()
    context.refresh()
    wanted = signature_of(entry)
    dispatcher = entry.kernel.dispatcher
    dispatcher.compile(tuple(wanted.args))
    compiled = dispatcher.overloads[tuple(wanted.args)]

    library = _WholeLibrary(_codegen(target), entry.symbol)
    library.add_ir_module(_c_wrapper(context, entry, compiled))
    library.add_linking_library(compiled.library)
    library.link()
    module = library._final_module
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name != entry.symbol:
            # Internal functions that are no longer called are left out.
            value.linkage = llvm.Linkage.internal
    library._optimize_final_module()
    module.verify()
    _refuse_foreign_symbols(entry, module)
    return module


def _refuse_foreign_symbols(entry: Entry, module: Any) -> None:
    """Refuse code that calls symbols which do not exist in the loading process, above all of Numba's runtime."""
    known = {called.symbol for called in dependencies(entry).entries} | _C_LIBRARY | SYSTEM | CALLED
    for value in (*module.functions, *module.global_variables):
        name = value.name
        if value.is_declaration and not (name in known or name.startswith("llvm.")):
            raise TypeError(f"needs {name}: kernels may neither allocate nor raise exceptions")


def _c_wrapper(context: Any, entry: Entry, compiled: Any) -> Any:
    """Module with the C function that has the entry point's symbol."""
    wanted = signature_of(entry)
    module = context.create_module(entry.symbol)
    wrapper = ir.Function(module, c_function_type(entry), entry.symbol)
    builder = ir.IRBuilder(wrapper.append_basic_block("entry"))
    values = list(wrapper.args)
    place = None if entry.result is None else values.pop()
    arguments = [from_c(context, builder, layout, values) for _, layout in entry.parameters]
    function = context.declare_function(module, compiled.fndesc)
    status, result = context.call_conv.call_function(
        builder, function, compiled.signature.return_type, wanted.args, arguments
    )
    # C has no exceptions: the caller checks the status.
    with builder.if_then(status.is_error, likely=False):
        builder.ret(ir.Constant(STATUS, 1))
    if place is not None:
        result = context.cast(builder, result, compiled.signature.return_type, wanted.return_type)
        if wanted.return_type == types.boolean:
            result = builder.zext(result, ir.IntType(8))
        builder.store(result, builder.bitcast(place, result.type.as_pointer()))
    builder.ret(ir.Constant(STATUS, 0))
    return module
