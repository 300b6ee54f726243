"""A wheel for this platform: the one for all platforms, and machine code of all kernels for any processor of a kind.

    python wheels/platform_wheel.py PURE_WHEEL FOLDER

is run by a Python into which the wheel was installed: its `gapgram warmup` compiles. `make wheels` does all of it, and
then `wheels/check_wheel.py`.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from gapgram.native.shipped import FOLDER, PROCESSORS, folder_name
from gapgram.native.store import digest_of_native

PLATFORMS = {"x86_64": "manylinux_2_17_x86_64"}  # the code calls no library: all functions are found when it is loaded
_PURE, _TAG = "Root-Is-Purelib: true", "Tag: py3-none-any"


def compiled(folder: Path, machine: str) -> dict[str, bytes]:
    """The machine code of all kernels by the name of its file in the wheel."""
    processor = {"NUMBA_CPU_NAME": PROCESSORS[machine][0], "NUMBA_CPU_FEATURES": ""}
    subprocess.run(
        [sys.executable, "-m", "gapgram.warmup"], check=True,
        env={**os.environ, **processor, "NUMBA_CACHE_DIR": str(folder)},
    )  # fmt: skip
    place = "/".join(("gapgram", *FOLDER.parts[-2:], folder_name(machine, digest_of_native())))
    (made,) = (folder / "gapgram").glob("kernels-*")
    return {f"{place}/{path.name}": path.read_bytes() for path in sorted(made.iterdir())}


def with_code(pure: Path, code: dict[str, bytes], tag: str, out: Path) -> Path:
    """The wheel with more files, for one platform; all its files are listed anew."""
    with ZipFile(pure) as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/RECORD")}
    (about,) = (name for name in files if name.endswith(".dist-info/WHEEL"))
    text = files[about].decode()
    assert _PURE in text and _TAG in text, text
    files[about] = text.replace(_PURE, "Root-Is-Purelib: false").replace(_TAG, f"Tag: py3-none-{tag}").encode()
    record = about.replace("WHEEL", "RECORD")
    files |= code
    lines = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in files.items()]
    files[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    made = out / pure.name.replace("-any.whl", f"-{tag}.whl")
    with ZipFile(made, "w", ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            entry = ZipInfo(name)  # of 1980: the same files make the same wheel
            entry.external_attr, entry.compress_type = 0o644 << 16, ZIP_DEFLATED
            wheel.writestr(entry, data)
    return made


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main() -> None:
    """Make the wheel where there is a kind of processor to compile for."""
    pure, out, machine = Path(sys.argv[1]), Path(sys.argv[2]), platform.machine()
    if sys.platform != "linux" or machine not in PROCESSORS:
        sys.exit(f"no wheel for {sys.platform} on {machine}: the one for all platforms is there")
    with TemporaryDirectory() as folder:
        code = compiled(Path(folder), machine)
    made = with_code(pure, code, PLATFORMS[machine], out)
    print(f"{made}: {len(code)} kernels, {made.stat().st_size:,} bytes; the pure wheel has {pure.stat().st_size:,}")


if __name__ == "__main__":
    main()
