"""The module of an object file, optimised as a whole, as machine code for one kind of processor."""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import binding as llvm

from compiler.memory import memory_module


class Processor(NamedTuple):
    """What code is made for: LLVM's name of a system, and of a processor; an ending for symbols."""

    triple: str
    name: str
    ending: str = ""


def object_file(bitcode: bytes, symbols: set[str], processor: Processor) -> bytes:
    """Machine code of a module; of its functions only those named can be seen from outside."""
    module, machine = optimised_module(bitcode, symbols, processor)
    made: bytes = machine.emit_object(module)
    return made


def optimised_module(bitcode: bytes, symbols: set[str], processor: Processor) -> tuple[Any, Any]:
    """The module as it will be machine code, and what makes that of it."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(processor.triple)
    machine = target.create_target_machine(cpu=processor.name, opt=3, reloc="pic", codemodel="small")
    module = llvm.parse_bitcode(bitcode)
    module.triple, module.data_layout = processor.triple, str(machine.target_data)
    _hide_all_but(symbols, module)
    _run(_first_passes(machine), module)
    # The functions for memory come in last: LLVM removes pairs of calls that count references up and down, and knows
    # them by their names.
    module.link_in(llvm.parse_assembly(memory_module()))
    _hide_all_but(symbols, module)
    _run(_passes(machine, unrolled=True), module)
    module.verify()
    for function in map(module.get_function, symbols):  # nobody but the library's own table asks for it
        function.visibility = "hidden"
        function.name += processor.ending
    return module, machine


def _hide_all_but(kept: set[str], module: Any) -> None:
    for each in (*module.functions, *module.global_variables):
        if not each.is_declaration and each.name not in kept:
            each.linkage = llvm.Linkage.internal


def _run(passes: tuple[Any, Any], module: Any) -> None:
    manager, builder = passes
    manager.run(module, builder)


def _passes(machine: Any, *, unrolled: bool = False) -> tuple[Any, Any]:
    """Those of Numba; unrolled loops come last, since all that follows would take longer."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.slp_vectorization, options.loop_vectorization, options.loop_unrolling = False, True, unrolled
    builder = llvm.create_pass_builder(machine, options)
    return builder.getModulePassManager(), builder


def _first_passes(machine: Any) -> tuple[Any, Any]:
    """What Numba does before the last time."""
    manager, builder = _passes(machine)
    manager.add_loop_rotate_pass()
    manager.add_instruction_combine_pass()
    manager.add_jump_threading_pass()
    manager.add_refprune_pass()
    return manager, builder
