"""How Numba translates kernels, for code that is built ahead of time.

A target like Numba's own, but for what happens to a function once it is translated. Numba optimises it and makes it
machine code, and does both again inside every function that calls it. Here a function stays as it was translated until
all that an object file needs is linked into one module, which is optimised once. No function gets a form that Python
could call (`compiler.entries` adds one to each kernel of the table of signatures), and none is compiled again for each
constant that it is called with.

This is the one place that depends on Numba's insides: `pyproject.toml` pins the version that a build takes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, ClassVar

from llvmlite import binding as llvm
from numba import jit
from numba.core import cgutils, cpu
from numba.core.callconv import RETCODE_USEREXC, CPUCallConv
from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen
from numba.core.descriptors import TargetDescriptor
from numba.core.dispatcher import Dispatcher
from numba.core.errors import ForceLiteralArg
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.runtime.context import NRTContext
from numba.core.sigutils import normalize_signature
from numba.core.target_extension import CPU, dispatcher_registry, jit_registry, target_override, target_registry
from numba.core.types import Array
from numba.core.types.misc import unliteral
from numba.core.typing import Context as TypingContext
from numba.extending import overload
from numba.np.arrayobj import raise_with_shape_context

NAME = "gapgram"


class Library(CPUCodeLibrary):  # type: ignore[misc]
    """The module of a function, and the libraries of the functions that it calls."""

    def finalize(self) -> None:
        """Leave the module as it is: it is optimised with all that an object file needs."""
        self._finalized = True

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave that to `compiler.optimise`: only say how the machine lays out numbers."""
        ll_module.data_layout = self._codegen._data_layout

    def get_pointer_to_function(self, name: str) -> int:
        """None of its functions has an address."""
        return 0


class _Codegen(JITCPUCodegen):  # type: ignore[misc]
    _library_class = Library

    def _add_module(self, module: Any) -> None:
        pass


class _Calls(CPUCallConv):  # type: ignore[misc]
    """How functions call each other: what was raised is not told, only that something was."""

    def return_user_exc(self, builder: Any, *_: Any, **__: Any) -> None:
        """Raise an error."""
        self._return_errcode_raw(builder, RETCODE_USEREXC)

    def return_status_propagate(self, builder: Any, status: Any) -> None:
        """Raise what a function that was called raised."""
        self._return_errcode_raw(builder, status.code)

    def set_try_status(self, builder: Any) -> None:
        """Refuse a function that wants to know what was raised."""
        raise NotImplementedError("kernels do not catch errors")


class _Memory(NRTContext):  # type: ignore[misc]
    """Reference counts, but for values whose type holds no memory: Numba would look into each of them."""

    _holds: ClassVar[dict[Any, bool]] = {}

    def _call_incref_decref(self, builder: Any, typ: Any, value: Any, funcname: str) -> None:
        if typ not in self._holds:
            self._holds[typ] = self._context.data_model_manager[typ].contains_nrt_meminfo()
        if self._holds[typ]:
            super()._call_incref_decref(builder, typ, value, funcname)

    def get_meminfos(self, builder: Any, ty: Any, val: Any) -> Any:
        """The memory of a value: an array has one."""
        if type(ty) is Array:
            return [(ty, builder.extract_value(val, 0))]
        return super().get_meminfos(builder, ty, val)


class _Context(cpu.CPUContext):  # type: ignore[misc]
    allow_dynamic_globals = False  # constant arrays become part of the code
    _bytes_of: ClassVar[dict[Any, int]] = {}
    _has_registries = False

    def init(self) -> None:
        super().init()
        self._internal_codegen = _Codegen(NAME)

    def get_abi_sizeof(self, ty: Any) -> int:
        """The bytes of a value: LLVM is asked by a text that it reads, once."""
        if ty not in self._bytes_of:
            self._bytes_of[ty] = super().get_abi_sizeof(ty)
        return self._bytes_of[ty]

    @cached_property
    def call_conv(self) -> Any:
        return _Calls(self)

    @property
    def nrt(self) -> Any:
        return _Memory(self, self.enable_nrt)

    def load_additional_registries(self) -> None:
        """Import all modules once; what is new in them is always taken."""
        if not self._has_registries:
            rtsys.initialize(cpu_target.target_context)  # other users of Numba in this process share it
            super().load_additional_registries()
            self._has_registries = True
        for registry in list(self._registries):
            self.install_registry(registry)

    def post_lowering(self, mod: Any, library: Library) -> None:
        """Link nothing of Numba's: `compiler.memory` has what is needed."""

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


target_registry[NAME] = _Processor
TARGET = _Target(NAME)


class KernelDispatcher(Dispatcher):
    """What Numba knows of a function for this target."""

    _compiler: Any

    targetdescr = TARGET
    is_kernel = False  # but one of Numba's own
    inlining = ""  # an attribute of LLVM's

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Forget which arguments of a kernel are constants: it would be compiled for each of these too."""
        return super().get_call_template(tuple(map(unliteral, args)) if self.is_kernel else args, kws)

    def compile(self, sig: Any) -> Any:
        """Compile for these types, and for this target whatever is called."""
        types, result = normalize_signature(sig)
        if types in self.overloads:
            return self.overloads[types].entry_point
        with self._compiling_counter, target_override(NAME):
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
jit_registry[_Processor] = partial(jit, _target=NAME)


def dispatcher_of(function: Callable[..., Any], inlining: str) -> KernelDispatcher:
    """A function as other kernels call it; inlining: "alwaysinline", "noinline", or "" where LLVM decides."""
    made: KernelDispatcher = jit(_target=NAME)(function)
    made.is_kernel, made.inlining = True, inlining
    return made


@overload(raise_with_shape_context, target=NAME)  # type: ignore[untyped-decorator]
def _shapes_differ(src_shapes: Any, index_shape: Any) -> Callable[..., None]:
    """Numba would write a message with both shapes, and compile all that this takes."""

    def impl(src_shapes: Any, index_shape: Any) -> None:
        raise ValueError("an array was assigned to a part of another shape")

    return impl


def linked(libraries: list[Library]) -> Any:
    """One module with all that some libraries hold and need; each comes before those that it needs itself."""
    seen, order = set[Library](), list[Library]()

    def visit(one: Library) -> None:
        seen.add(one)
        for other in one._linking_libraries:
            if other not in seen:
                visit(other)
        order.append(one)

    for library in libraries:
        visit(library)
    module = llvm.parse_assembly("")
    module.data_layout = TARGET.target_context.codegen()._data_layout
    for library in reversed(order):  # of a library that is only needed, what nothing calls is left out
        own = library._final_module if library in libraries else library._get_module_for_linking()
        module.link_in(own, preserve=True)
    return module
