"""Kernels for many worlds side by side as one module, and as PTX for NVIDIA GPUs; imported only to compile.

LLVM, which Numba brings along, writes PTX from the same intermediate code as machine code for processors: neither CUDA
nor a GPU is needed to compile. Nothing is fused or reordered, so that a GPU computes the same bits as a processor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.np import arrayobj

from hydro_sim_core.compilation.arrays import struct_layout
from hydro_sim_core.compilation.compiler import _codegen, _own_settings, _WholeLibrary, dispatcher_type
from hydro_sim_core.compilation.kernels import Entry, Kernel
from hydro_sim_core.compilation.numba_types import StructRef
from hydro_sim_core.compilation.side_by_side import SideBySide, translating_for
from hydro_sim_core.compilation.targets import Target

#: Name of the function that steps all worlds.
STEP_WORLDS = "hydro_step_worlds"
#: Name of the variable that tells where memory is: the address of the lanes, the bytes of a group's, the number of
#: worlds, the addresses of what is shared and of the rows.
PLACES_VARIABLE, _PLACES = "hydro_places", 5
_WORLD = "hydro_advance_world"
#: What is called from outside.
_SHOWN = (STEP_WORLDS, PLACES_VARIABLE)
#: Words of structs, and those of them that are the address of another: (word, other).
Structs = tuple[Sequence[int], Sequence[tuple[int, int]]]
#: LLVM's measure of the size of functions that are copied to where they are called; by default 225. Less code again.
_INLINED = 40
#: How often LLVM optimises: loops that are unrolled late are straight code only in the second round.
_ROUNDS = 2
#: Lines of a polygon, and rows of a face.
_LINES, _ROWS = 8, 17
#: The processor for which code is made that stands in for a GPU's.
_GENERIC = Target("generic", "")
#: Instructions that LLVM looks back for what has been stored at an address; by default 100.
_FAR_BACK = 5000
#: LLVM's name of GPUs.
TRIPLE = "nvptx64-nvidia-cuda"

_CUDA = """
@{variable} = addrspace(4) externally_initialized global [{places} x i64] zeroinitializer, align 8
{structs}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @{world}(ptr, double)

define i64 @hydro_place(i64 %index) alwaysinline {{
  %place = getelementptr i64, ptr addrspace(4) @{variable}, i64 %index
  %value = load i64, ptr addrspace(4) %place, !invariant.load !0
  ret i64 %value
}}

define i64 @hydro_lane_number() alwaysinline {{
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %number = and i32 %thread, 31
  %wide = zext i32 %number to i64
  ret i64 %wide
}}

define i64 @hydro_group() alwaysinline {{
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %threads = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %before = mul i32 %block, %threads
  %all = add i32 %before, %thread
  %warp = lshr i32 %all, 5
  %wide = zext i32 %warp to i64
  ret i64 %wide
}}

define i64 @hydro_world() alwaysinline {{
  %lane = call i64 @hydro_lane_number()
  %group = call i64 @hydro_group()
  %before = mul i64 %group, {lanes}
  %world = add i64 %before, %lane
  ret i64 %world
}}

define ptr @hydro_pointer(i64 %address) alwaysinline {{
  %global = inttoptr i64 %address to ptr addrspace(1)
  %pointer = addrspacecast ptr addrspace(1) %global to ptr
  ret ptr %pointer
}}

define ptx_kernel void @{name}(double %dt) "nvvm.maxntid"="{threads}" {{
  %lane = call i64 @hydro_lane_number()
  %world = call i64 @hydro_world()
  %number = call i64 @hydro_place(i64 2)
  %has_lane = icmp ult i64 %lane, {lanes}
  %has_world = icmp ult i64 %world, %number
  %works = and i1 %has_lane, %has_world
  br i1 %works, label %step, label %end
step:
  %status = call i32 @{world}(ptr @hydro_struct_0, double %dt)
  br label %end
end:
  ret void
}}
!0 = !{{}}
"""

_HOST = """
@{variable} = global [{places} x i64] zeroinitializer, align 8
@hydro_present = internal global i64 0
{structs}
declare i32 @{world}(ptr, double)

define i64 @hydro_place(i64 %index) alwaysinline {{
  %place = getelementptr i64, ptr @{variable}, i64 %index
  %value = load i64, ptr %place, !invariant.load !0
  ret i64 %value
}}

define i64 @hydro_world() alwaysinline {{
  %world = load i64, ptr @hydro_present, !invariant.load !0
  ret i64 %world
}}

define i64 @hydro_lane_number() alwaysinline {{
  %world = load i64, ptr @hydro_present, !invariant.load !0
  %lane = urem i64 %world, {lanes}
  ret i64 %lane
}}

define i64 @hydro_group() alwaysinline {{
  %world = load i64, ptr @hydro_present, !invariant.load !0
  %group = udiv i64 %world, {lanes}
  ret i64 %group
}}

define ptr @hydro_pointer(i64 %address) alwaysinline {{
  %pointer = inttoptr i64 %address to ptr
  ret ptr %pointer
}}

define void @{name}(double %dt) {{
entry:
  %number = call i64 @hydro_place(i64 2)
  br label %next
next:
  %world = phi i64 [0, %entry], [%after, %step]
  %more = icmp ult i64 %world, %number
  br i1 %more, label %step, label %end
step:
  store i64 %world, ptr @hydro_present
  ; What does not change while this runs may change before the next one.
  %status = call i32 @{world}(ptr @hydro_struct_0, double %dt) noinline
  %after = add i64 %world, 1
  br label %next
end:
  ret void
}}
!0 = !{{}}
"""

#: The functions that both have, see ``side_by_side``.
_BOTH = """
define ptr @hydro_lane() alwaysinline {{
  %pool = call i64 @hydro_place(i64 0)
  %bytes = call i64 @hydro_place(i64 1)
  %group = call i64 @hydro_group()
  %before = mul i64 %group, %bytes
  %lane = call i64 @hydro_lane_number()
  %within = shl i64 %lane, 3
  %offset = add i64 %before, %within
  %address = add i64 %pool, %offset
  %pointer = call ptr @hydro_pointer(i64 %address)
  ret ptr %pointer
}}

define i64 @hydro_stride() alwaysinline {{
  ret i64 {stride}
}}

define ptr @hydro_address(i64 %word) alwaysinline {{
  %is_shared = icmp sge i64 %word, 0
  br i1 %is_shared, label %shared, label %rows
shared:
  %of_shared = call i64 @hydro_place(i64 3)
  %address_of_shared = add i64 %of_shared, %word
  br label %end
rows:
  %number = call i64 @hydro_place(i64 2)
  %of_rows = call i64 @hydro_place(i64 4)
  %before = xor i64 %word, -1
  %bytes = mul i64 %before, %number
  %address_of_rows = add i64 %of_rows, %bytes
  br label %end
end:
  %address = phi i64 [%address_of_shared, %shared], [%address_of_rows, %rows]
  %pointer = call ptr @hydro_pointer(i64 %address)
  ret ptr %pointer
}}
"""


@global_compiler_lock
def translated(kernel: Kernel, solve: Entry, struct: type, memory: SideBySide) -> str:
    """LLVM's intermediate code of ``kernel(struct, solve, dt)`` and all that it calls, for any target."""
    with _own_settings(), translating_for(memory), constants_stay():
        typing_context, context = cpu_target.typing_context, cpu_target.target_context
        typing_context.refresh()
        context.refresh()
        arguments = (
            StructRef(struct_layout(struct), memory),
            dispatcher_type(solve.kernel),
            types.float64,
        )
        dispatcher = dispatcher_type(kernel).dispatcher
        dispatcher.compile(arguments)
        compiled = dispatcher.overloads[arguments]
        library = _WholeLibrary(_codegen(_GENERIC), _WORLD)
        library.add_ir_module(_wrapper(context, compiled, arguments))
        library.add_linking_library(compiled.library)
        library.link()
        return str(library._final_module)


def _wrapper(context: Any, compiled: Any, arguments: tuple[Any, ...]) -> Any:
    """Module with a function of the struct's address and the time step, without Numba's calling convention."""
    module = context.create_module(_WORLD)
    double, pointer = ir.DoubleType(), ir.IntType(8).as_pointer()
    function = ir.Function(module, ir.FunctionType(ir.IntType(32), [pointer, double]), _WORLD)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    data, dt = function.args
    callee = context.declare_function(module, compiled.fndesc)
    status, _ = context.call_conv.call_function(
        builder,
        callee,
        compiled.signature.return_type,
        arguments,
        [data, context.get_dummy_value(), dt],
    )
    builder.ret(builder.zext(status.is_error, ir.IntType(32)))
    return module


def shape_code(most_turns: int = _LINES, *, loads_stay: bool = False) -> None:
    """Set LLVM's options for a GPU, for all that this process compiles from now on.

    Short loops are unrolled, such as those over the lines of a polygon, and no others: threads that are at different
    places of long straight code wait for instructions more than unrolling saves. What has been stored is looked for far
    back, so that what is computed of a polygon stays in registers.

    Args:
        most_turns: Turns of loops that are unrolled.
        loads_stay: Whether loads stay before the branches that use them: many are then waited for at once.
    """
    for option in (f"-unroll-full-max-count={most_turns}", "-unroll-runtime=0", "-unroll-allow-partial=0"):
        llvm.set_option("", option)
    if loads_stay:
        for option in ("-instcombine-code-sinking=0", "-disable-machine-sink"):
            llvm.set_option("", option)
    dead_stores = ("dse-memoryssa-scanlimit", "dse-memoryssa-walklimit")
    for limit in ("memdep-block-scan-limit", "memssa-check-limit", *dead_stores):
        llvm.set_option("", f"-{limit}={_FAR_BACK}")


def shape_step() -> None:
    """The same for the step of many worlds, which reads all rows of a face or an element at once."""
    shape_code(_ROWS, loads_stay=True)


@contextmanager
def constants_stay() -> Iterator[None]:
    """Tell LLVM that what all worlds share, and parameters, do not change while a program runs: loads may be moved.

    Only arrays that kernels may not write are contiguous and read-only here, see ``side_by_side``.
    """
    load = arrayobj.load_item

    def load_item(context: Any, builder: Any, array_type: Any, pointer: Any) -> Any:
        value = load(context, builder, array_type, pointer)
        if not array_type.mutable and array_type.layout == "C":
            # A bool is an integer that has been loaded and shortened.
            loaded = value if value.opname == "load" else value.operands[0]
            loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value

    arrayobj.load_item = load_item
    try:
        yield
    finally:
        arrayobj.load_item = load


def linked(
    code: str,
    glue: str,
    machine: Any,
    triple: str,
    shown: Sequence[str],
    *,
    whole: bool = False,
    optimised_for: Any = None,
) -> Any:
    """The optimised module of translated code and a target's own functions.

    Args:
        code: Translated code.
        glue: The target's own functions.
        machine: LLVM's machine that is to run it.
        triple: LLVM's name of the target.
        shown: Names that stay: what is called from outside.
        whole: Whether to copy every function to where it is called: arrays of which no function gets the address may
            stay in registers.
        optimised_for: Another machine for which to optimise.
    """
    code = re.sub(r"@sqrt\(", "@llvm.sqrt.f64(", re.sub(r"declare double @sqrt\(.*", "", code))
    if "llvm.sqrt.f64(double" not in re.sub(r"call.*", "", code):
        code += "\ndeclare double @llvm.sqrt.f64(double)\n"
    module = llvm.parse_assembly(code)
    module.link_in(llvm.parse_assembly(glue))
    module.triple, module.data_layout = triple, str(machine.target_data)
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name not in shown:
            value.linkage = llvm.Linkage.internal
    if whole:
        for function in module.functions:
            if not function.is_declaration and function.name not in shown:
                function.add_function_attribute("alwaysinline")
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = False
    options.inlining_threshold = _INLINED
    builder = llvm.create_pass_builder(optimised_for or machine, options)
    for _ in range(_ROUNDS):
        builder.getModulePassManager().run(module, builder)
    module.verify()
    return module


def _glue(template: str, structs: Structs, lanes: int, threads: int = 0) -> str:
    return (template + _BOTH).format(
        variable=PLACES_VARIABLE,
        places=_PLACES,
        structs=_constants(structs),
        world=_WORLD,
        name=STEP_WORLDS,
        lanes=lanes,
        stride=8 * lanes,
        threads=threads,
    )


def _constants(structs: Structs) -> str:
    """The structs as constants of the module: LLVM then knows every length, and leaves out what a scene has not."""
    words, pointers = structs
    inner = dict(pointers)
    starts = sorted({0, *inner.values()})
    lines = []
    for start, end in zip(starts, [*starts[1:], len(words)], strict=True):
        kinds = ["ptr" if i in inner else "i64" for i in range(start, end)]
        values = [
            f"ptr @hydro_struct_{inner[i]}" if i in inner else f"i64 {words[i]}" for i in range(start, end)
        ]
        pairs = ", ".join(values)
        lines.append(
            f"@hydro_struct_{start} = internal constant <{{ {', '.join(kinds)} }}> <{{ {pairs} }}>, align 8"
        )
    return "\n".join(lines)


def machine_of(processor: str) -> Any:
    """LLVM's machine for GPUs with this processor."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=processor, features="+ptx78", opt=3)


def ptx(code: str, structs: Structs, lanes: int, processor: str = "sm_90", threads: int = 64) -> str:
    """PTX of translated code for these structs, with ``lanes`` worlds a warp; ``STEP_WORLDS`` takes the time step."""
    machine = machine_of(processor)
    glue = _glue(_CUDA, structs, lanes, threads)
    module = linked(without_far_angles(code), glue, machine, TRIPLE, _SHOWN)
    return str(machine.emit_assembly(module))


def without_far_angles(code: str) -> str:
    """Code in which sine and cosine of angles beyond ``arithmetic.LARGEST_ANGLE`` are NaN, which ends a world.

    For these the kernels call the C library, which a GPU has not.
    """
    for name in ("sin", "cos"):
        code = re.sub(rf"declare double @llvm\.{name}\.f64\(.*", "", code)
        code = code.replace(f"@llvm.{name}.f64(", "@hydro_far_angle(")
    return code + "\ndefine internal double @hydro_far_angle(double) { ret double 0x7FF8000000000000 }\n"


def object_code(code: str, structs: Structs, lanes: int) -> bytes:
    """Object file for a processor, in which ``STEP_WORLDS`` steps one world after another: to test without a GPU."""
    return bytes(_machine_here().emit_object(module_here(code, structs, lanes)))


def module_here(code: str, structs: Structs, lanes: int) -> Any:
    """The module of ``object_code``: what a GPU would run, optimised as for one."""
    glue, triple = _glue(_HOST, structs, lanes), llvm.get_process_triple()
    return linked(code, glue, _machine_here(), triple, _SHOWN, optimised_for=machine_of("sm_90"))


def object_of_module(text: str) -> bytes:
    """Object file of the text of ``module_here``."""
    return bytes(_machine_here().emit_object(llvm.parse_assembly(text)))


def _machine_here() -> Any:
    """LLVM's machine for the processor that stands in for a GPU."""
    return _codegen(_GENERIC)._tm
