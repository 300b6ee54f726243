"""The page without a service: static files, or one, in which models are asked by the library compiled to WebAssembly.

The views are those of `static`; behind them stands another `api.js`, of `static_alone`, and what `python -m compiler`
has put into `wasm`.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from gapgram.counts.layouts import COMPACT
from gapgram.errors import ModelFileError, UsageError
from gapgram.models.model import Model
from gapgram.models.unbounded import UnboundedModel
from gapgram.system.atomic_file import check_writable, no_folder, written_aside
from gapgram.system.memory import show_size
from gapgram.web import limits
from gapgram.web.app import overview
from gapgram.web.served import ServedModel

WASM = "gapgram.wasm"
MOST_IN_A_FILE, MOST_IN_A_FOLDER = 32 << 20, 1 << 30  # bytes of models
_SERVED = re.compile(r"<!--served-->.*?<!--/served-->", re.DOTALL)
_ALONE = re.compile(r"<!--alone (.*?)-->", re.DOTALL)
_IMPORT = re.compile(r'^import \{ (.*?) \} from "\./([\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_POLICY = "default-src {0}; style-src {0} 'unsafe-inline'; img-src {0} data:; script-src {1} 'wasm-unsafe-eval'"


def write_page(served: Sequence[ServedModel], held_out: Sequence[str], output: str | Path) -> Path:
    """Write the page with some models: one file if `output` ends in .html, else files in that folder; what to open.

    held_out: sentences that the models have not seen, from which examples are taken.
    """
    for one in served:
        _check_model(one)
    if not _resource("wasm", WASM).is_file():
        raise UsageError(
            "this installation has no library for WebAssembly, which pages without a service need: install a wheel of "
            "a release, or GAPGRAM_WASM=1 pip install . in a clone"
        )
    path = Path(output)
    as_file = path.suffix == ".html"
    with tempfile.TemporaryDirectory() as scratch:
        models = {f"{i}.model": _compact(one, Path(scratch) / str(i)) for i, one in enumerate(served)}
        size, most = sum(map(_size, models.values())), MOST_IN_A_FILE if as_file else MOST_IN_A_FOLDER
        if size > most:
            advice = "write a folder (-o FOLDER), or make" if as_file else "make"
            raise UsageError(
                f"{show_size(size)} of models are too many for one page, which may have {show_size(most)}: "
                f"{advice} them smaller (gapgram prune --size)"
            )
        data = _data(served, held_out, list(models))
        if as_file:
            check_writable(path, models.values())
            with written_aside(path) as file:
                file.write(_one_file(data, models).encode())
            return path
        if path.exists() and not path.is_dir():
            raise ModelFileError(f"{path}: a file; name a folder, or a file that ends in .html")
        if not path.absolute().parent.is_dir():
            raise no_folder(path, path.absolute().parent)
        path.mkdir(exist_ok=True)
        for name, content in {**_modules(), **_files(data)}.items():
            (path / name).write_bytes(content)
        for name, model in models.items():
            shutil.copyfile(model, path / name)
    return path / "index.html"


def _check_model(served: ServedModel) -> None:
    """Refuse kinds of models that the library does not read, or reads otherwise."""
    model, name = served.model, served.model.path or served.name
    if not isinstance(model, Model):
        raise UsageError(f"{name}: a page has models that gapgram train has written, not those of KenLM or ARPA files")
    if isinstance(model, UnboundedModel):
        raise UsageError(f"{name}: holds its training text (train --unbounded), which a page cannot ask")
    if model.tokeniser is not None:
        raise UsageError(f"{name}: counts tokens of a tokeniser, which a page without a service does not have")


def _compact(served: ServedModel, scratch: Path) -> Path:
    """The file of a model in the compact layout."""
    model = served.model
    assert isinstance(model, Model)
    if model.layout == COMPACT and model.path is not None:
        return Path(model.path)
    model.with_layout(COMPACT, output=scratch)
    return scratch


def _size(path: Path) -> int:
    return path.stat().st_size


def _data(served: Sequence[ServedModel], held_out: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """What the service says of its models, where each lies, and what explanations have beside the library's figures."""
    data = overview(served, limits.SECONDS, held_out).model_dump()
    for about, one, file in zip(data["models"], served, names, strict=True):
        about |= {"file": file, "splits": bool(one.model.splitting), "patterns": []}
    return {**data, "lattices": [_lattice(one.model) for one in served]}


def _lattice(model: Any) -> list[dict[str, Any]]:
    discounts, lattice = model.parts.arrays.discounts.tolist(), model.counts.lattice
    return [
        {
            "pattern": str(pattern), "chain": pattern.is_contiguous and not pattern.classes, "discounts": discounts[i],
            "below": [str(below) for below in lattice.below(pattern)] if pattern in lattice.patterns else [],
        }
        for i, pattern in enumerate(lattice.stored)
    ]  # fmt: skip


def _resource(*place: str) -> Any:
    return files("gapgram.web").joinpath(*place)


def _module(name: str) -> str:
    """A module of the page: those of `static_alone` come before those of `static`."""
    places = (_resource(folder, name) for folder in ("static_alone", "wasm", "static"))
    text: str = next(place for place in places if place.is_file()).read_text("utf-8")
    return text


def _imported(name: str) -> Iterator[str]:
    """The modules that one needs, those that need nothing first."""
    for _, other in _IMPORT.findall(_module(name)):
        yield from _imported(other)
    yield name


def _modules() -> dict[str, bytes]:
    return {name: _module(name).encode() for name in dict.fromkeys(_imported("app.js"))}


def _bundled() -> str:
    """All modules as one script: each is a function that gives what it exports."""
    functions = []
    for name in dict.fromkeys(_imported("app.js")):
        text = _IMPORT.sub(lambda found: f"const {{ {found[1]} }} = {_variable(found[2])};\n", _module(name))
        exported = ", ".join(found[1] for found in _EXPORT.findall(text))
        body = _EXPORT.sub(r"\1", text)
        functions.append(f"const {_variable(name)} = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();\n")
    return "".join(functions)


def _variable(name: str) -> str:
    """What a module is called in the script.

    >>> _variable("api.js")
    'api_js'
    """
    return name.replace(".", "_")


def _shell(data: dict[str, Any], host: str, scripts: str) -> str:
    """The page's HTML without the service's parts; `host` is where it may load from, `scripts` which may run."""
    html = _ALONE.sub(r"\1", _SERVED.sub("", _resource("static", "index.html").read_text("utf-8")))
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY.format(host, scripts)}">'
    told = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    html = html.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{policy}')
    return html.replace("</body>", f'<script type="application/json" id="page">{told}</script>\n</body>')


def _files(data: dict[str, Any]) -> dict[str, bytes]:
    """What lies beside the modules and the models."""
    html = _shell(data, "'self'", "'self'").replace("/static/", "")
    others = {name: _resource("static", name).read_bytes() for name in ("style.css", "icon.svg")}
    return {"index.html": html.encode(), **others, WASM: _resource("wasm", WASM).read_bytes()}


def _one_file(data: dict[str, Any], models: dict[str, Path]) -> str:
    script = _bundled()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    icon = base64.b64encode(_resource("static", "icon.svg").read_bytes()).decode()
    held = {WASM: _resource("wasm", WASM).read_bytes(), **{name: path.read_bytes() for name, path in models.items()}}
    packed = {name: base64.b64encode(gzip.compress(content, mtime=0)).decode() for name, content in held.items()}
    blobs = "".join(f'<script type="application/gzip" id="{name}">{text}</script>\n' for name, text in packed.items())
    html = _shell(data, "data:", f"'sha256-{digest}'")
    html = html.replace("/static/icon.svg", f"data:image/svg+xml;base64,{icon}")
    style = _resource("static", "style.css").read_text("utf-8")
    html = html.replace('<link rel="stylesheet" href="/static/style.css">', f"<style>\n{style}</style>")
    html = html.replace('<script type="module" src="/static/app.js"></script>\n', "")
    return html.replace("</body>", f'{blobs}<script type="module">{script}</script>\n</body>')
