"""Code of grids (see ``grids``): PTX for NVIDIA GPUs, and object files to test without; imported only to compile.

Run as a program, it writes PTX to standard output: ``python -m hydro_sim_core.compilation.grid_code MODULE NAME
PROCESSOR``. A process of its own, because it sets options of LLVM that hold for all that a process compiles.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from hydro_sim_core.compilation.arrays import struct_layout
from hydro_sim_core.compilation.compiler import _codegen, _own_settings, _WholeLibrary, dispatcher_type
from hydro_sim_core.compilation.grids import TABLE, THREADS, Grid
from hydro_sim_core.compilation.kernels import Kernel
from hydro_sim_core.compilation.numba_types import StructRef
from hydro_sim_core.compilation.ptx import (
    TRIPLE,
    constants_stay,
    linked,
    machine_of,
    shape_code,
    without_far_angles,
)
from hydro_sim_core.compilation.side_by_side import Addressed, translating_for
from hydro_sim_core.compilation.targets import Target

_MEMORY = Addressed()
_THREAD = "hydro_thread_"

_CUDA = """
@{table} = addrspace(4) externally_initialized global [{words} x i64] zeroinitializer, align 8
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

define ptr @hydro_address(i64 %address) alwaysinline {{
  %global = inttoptr i64 %address to ptr addrspace(1)
  %pointer = addrspacecast ptr addrspace(1) %global to ptr
  ret ptr %pointer
}}

define i64 @hydro_thread() alwaysinline {{
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %threads = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %wide_thread = zext i32 %thread to i64
  %wide_threads = zext i32 %threads to i64
  %wide_block = zext i32 %block to i64
  %before = mul i64 %wide_block, %wide_threads
  %number = add i64 %before, %wide_thread
  ret i64 %number
}}
"""

_CUDA_KERNEL = """
declare i32 @{thread}{name}(ptr, i64)
define ptx_kernel void @{name}(i64 %n) "nvvm.maxntid"="{threads}" {{
  %number = call i64 @hydro_thread()
  %works = icmp slt i64 %number, %n
  br i1 %works, label %work, label %end
work:
  %status = call i32 @{thread}{name}(ptr addrspacecast (ptr addrspace(4) @{table} to ptr), i64 %number)
  br label %end
end:
  ret void
}}
"""

_HOST = """
@{table} = global [{words} x i64] zeroinitializer, align 8

define ptr @hydro_address(i64 %address) alwaysinline {{
  %pointer = inttoptr i64 %address to ptr
  ret ptr %pointer
}}
"""

_HOST_KERNEL = """
declare i32 @{thread}{name}(ptr, i64)
define void @{name}(i64 %n) {{
entry:
  br label %next
next:
  %number = phi i64 [0, %entry], [%after, %work]
  %more = icmp slt i64 %number, %n
  br i1 %more, label %work, label %end
work:
  %status = call i32 @{thread}{name}(ptr @{table}, i64 %number)
  %after = add i64 %number, 1
  br label %next
end:
  ret void
}}
"""


@global_compiler_lock
def translated(grid: Grid) -> str:
    """LLVM's intermediate code of a grid's kernels and all that they call, for any target."""
    with _own_settings(), translating_for(_MEMORY), constants_stay():
        cpu_target.typing_context.refresh()
        cpu_target.target_context.refresh()
        library = _WholeLibrary(_codegen(Target("generic", "")), grid.name)
        for kernel in grid.kernels:
            _add_thread(library, kernel, grid)
        library.link()
        return str(library._final_module)


def _add_thread(library: Any, kernel: Kernel, grid: Grid) -> None:
    """Add a function of the struct's address and a thread's number, without Numba's calling convention."""
    context = cpu_target.target_context
    arguments = (StructRef(struct_layout(grid.struct), _MEMORY), types.int64)
    dispatcher = dispatcher_type(kernel).dispatcher
    dispatcher.compile(arguments)
    compiled = dispatcher.overloads[arguments]
    name = _THREAD + kernel.__name__  # type: ignore[attr-defined]
    module = context.create_module(name)
    word, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
    function = ir.Function(module, ir.FunctionType(ir.IntType(32), [pointer, word]), name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    callee = context.declare_function(module, compiled.fndesc)
    status, _ = context.call_conv.call_function(
        builder, callee, compiled.signature.return_type, arguments, list(function.args)
    )
    builder.ret(builder.zext(status.is_error, ir.IntType(32)))
    library.add_ir_module(module)
    library.add_linking_library(compiled.library)


def _glue(grid: Grid, common: str, of_kernel: str) -> str:
    known = {"table": TABLE, "words": grid.words, "thread": _THREAD, "threads": THREADS}
    return common.format(**known) + "".join(of_kernel.format(name=name, **known) for name in grid.names)


def ptx(code: str, grid: Grid, processor: str) -> str:
    """PTX of translated code; its kernels have the names of the grid's, and take the number of threads."""
    machine = machine_of(processor)
    shown = (TABLE, *grid.names)
    glue = _glue(grid, _CUDA, _CUDA_KERNEL)
    module = linked(without_far_angles(code), glue, machine, TRIPLE, shown, whole=True)
    return str(machine.emit_assembly(module))


def object_code(code: str, grid: Grid, target: Target) -> bytes:
    """Object file for a processor, in which one thread runs after another: to test without a GPU."""
    machine = _codegen(target)._tm
    glue, shown = _glue(grid, _HOST, _HOST_KERNEL), (TABLE, *grid.names)
    return bytes(machine.emit_object(linked(code, glue, machine, llvm.get_process_triple(), shown)))


def main() -> None:
    """Compile the grid that is named on the command line."""
    module, name, processor = sys.argv[1:]
    grid = getattr(importlib.import_module(module), name)
    shape_code()
    sys.stdout.write(ptx(translated(grid), grid, processor))


if __name__ == "__main__":
    main()
