"""How Numba compiles kernels.

A target like Numba's own, but for what happens to a function once it is translated. Numba optimises it and makes it
machine code, and does both again inside every function that calls it. Here a function stays as it was translated until
all that a kernel needs is linked into one module, which is optimised once. No function gets a form that Python could
call either: `compiling` adds one to each kernel that Python calls. A kernel is compiled once for numbers of a kind, not
again for each constant that it is called with.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, ClassVar

from llvmlite import binding as llvm
from numba import jit
from numba.core import cgutils, config, cpu
from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen
from numba.core.descriptors import TargetDescriptor
from numba.core.dispatcher import Dispatcher
from numba.core.errors import ForceLiteralArg
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.sigutils import normalize_signature
from numba.core.target_extension import CPU, dispatcher_registry, jit_registry, target_override, target_registry
from numba.core.types.misc import unliteral
from numba.extending import overload
from numba.np.arrayobj import raise_with_shape_context

from gapgram.native import TARGET_NAME, array_values, new_arrays
from gapgram.native.quicker import KernelCompiler
from gapgram.native.remembering import MemoryContext, TypingContext, n_declared
from gapgram.native.writing import Calls


class Library(CPUCodeLibrary):  # type: ignore[misc]
    """The module of a function, and the libraries of the functions that it calls."""

    def finalize(self) -> None:
        """Leave the module as it is: it will not run by itself."""
        self._finalized = True

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave that to `whole_module`: only say how the machine lays out numbers."""
        ll_module.data_layout = self._codegen._data_layout

    def get_pointer_to_function(self, name: str) -> int:
        """None of its functions has an address."""
        return 0

    def whole_module(self, kept: set[str], memory: str, *, twice: bool) -> Any:
        """The module with all that its functions need, optimised; only the names `kept` can be seen from outside.

        memory: a module with the functions for memory. It comes in last: Numba removes calls that count the users of
        some memory where they undo each other, and knows these calls by the names of the functions.
        twice: LLVM also does all that it can before it comes in; else the functions that Python calls, which take the
        arguments, are left as they are written, too.
        """
        module = self._final_module
        for function in () if twice else filter(lambda each: not each.is_declaration, module.functions):
            function.add_function_attribute("noinline")
            function.add_function_attribute("optnone")
        for library in _needed(self):
            module.link_in(library._get_module_for_linking(), preserve=True)
        _hide_all_but(kept, module)
        _run(_first_passes(self._codegen) if twice else _least_passes(self._codegen), module)
        module.link_in(llvm.parse_assembly(memory))
        _hide_all_but(kept, module)
        _run(self._codegen._module_pass_manager() if twice else _passes(self._codegen), module)
        module.verify()
        return module


def _hide_all_but(kept: set[str], module: Any) -> None:
    for each in (*module.functions, *module.global_variables):
        if not each.is_declaration and each.name not in kept:
            each.linkage = llvm.Linkage.internal


def _run(passes: tuple[Any, Any], module: Any) -> None:
    manager, builder = passes
    manager.run(module, builder)


def _least_passes(codegen: Any) -> tuple[Any, Any]:
    """What is to be done before users of memory are no longer counted by calls."""
    manager = llvm.newpassmanagers.create_new_module_pass_manager()
    manager.add_always_inliner_pass()
    manager.add_sroa_pass()
    manager.add_simplify_cfg_pass()
    manager.add_refprune_pass()
    return manager, codegen._pass_builder(opt=1)


def _passes(codegen: Any) -> tuple[Any, Any]:
    """Numba's, but loops are not unrolled: all that follows would take longer."""
    options = llvm.create_pipeline_tuning_options(speed_level=int(config.OPT))
    options.slp_vectorization, options.loop_vectorization = False, bool(config.LOOP_VECTORIZE)
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(codegen._tm, options)
    return builder.getModulePassManager(), builder


def _first_passes(codegen: Any) -> tuple[Any, Any]:
    """What Numba does before the last time."""
    manager, builder = _passes(codegen)
    manager.add_loop_rotate_pass()
    manager.add_instruction_combine_pass()
    manager.add_jump_threading_pass()
    manager.add_refprune_pass()
    return manager, builder


def _needed(library: Library) -> list[Library]:
    """The libraries that a library needs, each before those that it needs itself, so that none is thought useless."""
    seen, order = {library}, []

    def visit(one: Library) -> None:
        for other in one._linking_libraries:
            if other not in seen:
                seen.add(other)
                visit(other)
        order.append(one)

    visit(library)
    return order[-2::-1]


class _Codegen(JITCPUCodegen):  # type: ignore[misc]
    _library_class = Library

    def _add_module(self, module: Any) -> None:
        pass


class _Context(cpu.CPUContext):  # type: ignore[misc]
    allow_dynamic_globals = False  # constant arrays become part of the code
    _n_declared = -1
    _bytes_of: ClassVar[dict[Any, int]] = {}

    def init(self) -> None:
        super().init()
        self._internal_codegen = _Codegen(TARGET_NAME)

    def get_abi_sizeof(self, ty: Any) -> int:
        """The bytes of a value: LLVM is asked by a text that it reads, once."""
        if ty not in self._bytes_of:
            self._bytes_of[ty] = super().get_abi_sizeof(ty)
        return self._bytes_of[ty]

    @cached_property
    def call_conv(self) -> Any:
        return Calls(self)

    @property
    def nrt(self) -> Any:
        return MemoryContext(self, self.enable_nrt)

    def refresh(self) -> None:
        """Numba asks for this a thousand times: declarations are looked for where there are new ones."""
        if self._n_declared != n_declared(self._registries):
            super().refresh()
            for registry in (array_values.registry, new_arrays.registry):
                self.install_registry(registry)  # the last that is declared is taken
            self._n_declared = n_declared(self._registries)
        else:
            self.typing_context.refresh()

    def load_additional_registries(self) -> None:
        """Import all modules once; what is new in them is always taken."""
        if self._n_declared < 0:
            rtsys.initialize(cpu_target.target_context)  # other users of Numba in this process share it
            super().load_additional_registries()
        for registry in list(self._registries):
            self.install_registry(registry)

    def pair_first(self, builder: Any, val: Any, ty: Any) -> Any:
        """The next item of what is gone over."""
        return builder.extract_value(val, 0)

    def pair_second(self, builder: Any, val: Any, ty: Any) -> Any:
        """Whether there is one."""
        return builder.extract_value(val, 1)

    def post_lowering(self, mod: Any, library: Library) -> None:
        """Link nothing of Numba's: `memory` has what is needed."""

    def add_dynamic_addr(self, builder: Any, intaddr: int, info: str) -> Any:
        """The address of a function, which nobody asks for: it is called by its name."""
        return cgutils.get_null_value(cgutils.voidptr_t)

    def create_cpython_wrapper(self, *_: Any, **__: Any) -> None:
        pass

    def create_cfunc_wrapper(self, *_: Any, **__: Any) -> None:
        pass

    def get_executable(self, library: Library, fndesc: Any, env: Any) -> Callable[..., Any]:
        return [].append  # under which Numba finds the function again; each time another one, and never called


class _Target(TargetDescriptor):  # type: ignore[misc]
    options = cpu.CPUTargetOptions

    @cached_property
    def typing_context(self) -> Any:
        return TypingContext()

    @cached_property
    def target_context(self) -> Any:
        return _Context(self.typing_context, self._target_name)


class _Processor(CPU):  # type: ignore[misc]
    """Whatever Numba knows about processors holds for this one."""


target_registry[TARGET_NAME] = _Processor
TARGET = _Target(TARGET_NAME)


class KernelDispatcher(Dispatcher):
    """What Numba knows of a function for this target."""

    _compiler: Any

    targetdescr = TARGET
    is_kernel = False  # but one of Numba's own
    inlining = ""  # an attribute of LLVM's

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{**options, "pipeline_class": KernelCompiler})

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Forget which arguments of a kernel are constants: it would be compiled for each of these too."""
        return super().get_call_template(tuple(map(unliteral, args)) if self.is_kernel else args, kws)

    def compile(self, sig: Any) -> Any:
        """Compile for these types, and for this target whatever is called."""
        types, result = normalize_signature(sig)
        if types in self.overloads:
            return self.overloads[types].entry_point
        with self._compiling_counter, target_override(TARGET_NAME):
            try:
                compiled = self._compiler.compile(types, result)
            except ForceLiteralArg as error:
                raise error.bind_fold_arguments(lambda args, kws: self.fold_argument_types(args, kws)[1]) from None
        self.add_overload(compiled)
        if self.inlining:
            function = compiled.library._final_module.get_function(compiled.fndesc.llvm_func_name)
            function.add_function_attribute(self.inlining)
        return compiled.entry_point


dispatcher_registry[_Processor] = KernelDispatcher
jit_registry[_Processor] = partial(jit, _target=TARGET_NAME)


def dispatcher_of(function: Callable[..., Any], inlining: str) -> KernelDispatcher:
    """A function as other kernels call it; inlining: "alwaysinline", "noinline", or "" where LLVM decides."""
    made: KernelDispatcher = jit(_target=TARGET_NAME)(function)
    made.is_kernel, made.inlining = True, inlining
    return made


@overload(raise_with_shape_context, target=TARGET_NAME)  # type: ignore[untyped-decorator]
def _shapes_differ(src_shapes: Any, index_shape: Any) -> Callable[..., None]:
    """Numba would write a message with both shapes, and compile all that this takes."""

    def impl(src_shapes: Any, index_shape: Any) -> None:
        raise ValueError("an array was assigned to a part of another shape")

    return impl
