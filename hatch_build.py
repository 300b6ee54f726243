"""The build hook: kernels are compiled where a wheel or an editable installation is made (`compiler`)."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # it is only asked what a build needs
    BuildHookInterface = object

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))

from compiler import NUMBA  # noqa: E402


def needed() -> list[str]:
    """Numba, NumPy's headers, and a linker where the system has none."""
    has_linker = any(map(shutil.which, ("cc", "gcc", "clang"))) and sys.platform != "win32"
    numba = f"numba=={NUMBA}; python_version < '3.15'"  # there is none for later ones
    wants_zig = "GAPGRAM_WHEEL" in os.environ or "GAPGRAM_WASM" in os.environ or not has_linker
    return [numba, "numpy>=2", *(["ziglang>=0.13"] if wants_zig else [])]


class KernelBuildHook(BuildHookInterface):  # type: ignore[misc]
    """Puts `gapgram._kernels` into the wheel, and, where there is ziglang, the library for WebAssembly.

    GAPGRAM_WHEEL names another platform, of `compiler.platforms`, that the wheel is to be for. GAPGRAM_WASM asks for
    ziglang, 95 MB, where a build would not need it.
    """

    def dependencies(self) -> list[str]:
        """What a build needs beside the backend."""
        return needed()

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the library; where Numba cannot be had, make a wheel whose kernels run as plain Python."""
        if find_spec("numba") is None:
            self.app.display_warning(
                "there is no Numba for this Python: the package comes without compiled kernels, and will be slow"
            )
            return
        from compiler.build import build, build_here
        from compiler.library import OF_PAGE, build_for_page
        from compiler.platforms import PLATFORMS, BuildError, library_of, this_platform

        try:
            if version == "editable":
                build_here(sys.stderr)
                build_for_page()
                return
            wanted = os.environ.get("GAPGRAM_WHEEL")
            if wanted and wanted not in PLATFORMS:
                raise BuildError(f"GAPGRAM_WHEEL={wanted}: expected one of {', '.join(PLATFORMS)}")
            target = PLATFORMS[wanted] if wanted else this_platform()
            library = library_of(target, native=not wanted)
            out = ROOT / "build" / "wheel-kernels" / target.tag / library
            out.parent.mkdir(parents=True, exist_ok=True)
            build(target, out, native=not wanted, progress=sys.stderr)
            build_for_page()
        except BuildError as error:
            sys.exit(f"gapgram: the kernels were not built: {error}")
        build_data["pure_python"] = False
        build_data["force_include"][str(out)] = f"gapgram/{library}"
        if OF_PAGE.is_dir():
            build_data["force_include"][str(OF_PAGE)] = "gapgram/web/wasm"
        else:
            self.app.display_warning("gapgram page will not work: there was no ziglang; GAPGRAM_WASM=1 asks for it")
        platform = wanted or sysconfig.get_platform().replace("-", "_").replace(".", "_")
        if library.endswith((".abi3.so", ".pyd")):
            build_data["tag"] = f"cp310-abi3-{platform}"
        else:
            build_data["infer_tag"] = True


if __name__ == "__main__":  # for pip, by lines: what a build in a clone needs
    sys.stdout.write("\n".join(each.partition(";")[0] for each in ("hatchling>=1.27", *needed(), "")))
