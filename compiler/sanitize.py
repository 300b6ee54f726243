"""Object files whose reads and writes are checked by a sanitizer: `compiler.optimise` with one pass more.

llvmlite has no such passes; the program `opt` of the same LLVM has them.
"""

from __future__ import annotations

import subprocess

from llvmlite import binding as llvm

from compiler.optimise import Processor, optimised_module

_PASSES = {"address": "asan", "thread": "tsan-module,function(tsan)"}


def object_file(bitcode: bytes, symbols: set[str], processor: Processor, sanitizer: str) -> bytes:
    """As `compiler.optimise.object_file`."""
    module, machine = optimised_module(bitcode, symbols, processor)
    for function in module.functions:
        if not function.is_declaration:
            function.add_function_attribute(f"sanitize_{sanitizer}")
    command = [f"opt-{llvm.llvm_version_info[0]}", f"-passes={_PASSES[sanitizer]}"]
    done = subprocess.run(command, input=module.as_bitcode(), capture_output=True, check=True)
    made: bytes = machine.emit_object(llvm.parse_bitcode(done.stdout))
    return made
