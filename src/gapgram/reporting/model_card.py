"""A model card, what a stranger wants to know of a model file, in Markdown; written to a hub with its model."""

from __future__ import annotations

import hashlib
import mmap
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapgram.errors import FetchError, ModelFileError, UsageError
from gapgram.models.model import Model
from gapgram.models.open import load
from gapgram.models.places import hub_client, hub_repository
from gapgram.queries.language_model import LanguageModel
from gapgram.reporting.model_info import tokeniser_info, train_summary

if TYPE_CHECKING:  # of a model of gapgram's own no other kind is needed
    from gapgram.models.mixture import Mixture

_HUB_NAMES = {"language": "language", "licence": "license", "license": "license"}  # as the sites read them
_USE = """```python
import gapgram

model = gapgram.load("{file}")
model.score("{sentence}")
model.predict("the words before", k=5)
```

```console
$ gapgram perplexity {file} TEXT
```
"""

_SENTENCES = {True: "One sentence, as it is written.", False: "one sentence , its words separated by spaces"}


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return hashlib.sha256(mapped).hexdigest()


def model_card(model: Model | Mixture) -> str:
    """The card of a model, or of a mixture, that has a file."""
    path = model.path or Path("model")
    n_bytes = path.stat().st_size if model.path else 0
    if isinstance(model, Model):
        about, figures = model.about, _figures(model, n_bytes)
    else:
        about, figures = _common_about(model), _figures_of_mixture(model, n_bytes)
    figures |= tokeniser_info(model)
    if model.path is not None:
        figures["sha256"] = sha256_of(path)
    return "\n".join([
        _front_matter(about),
        f"# {_cell(about.get('name', path.name))}\n",
        "An n-gram language model, made with gapgram.\n",
        *(["## About\n", _table(about)] if about else []),
        "## What it is\n",
        _table({name: f"{value:,}" if isinstance(value, int) else str(value) for name, value in figures.items()}),
        "## How to use it\n",
        _USE.format(file=path.name, sentence=_SENTENCES[model.cuts_text]),
        _tokenisation(model, about),
        f"Signature, on which every figure depends: `{model.signature}`\n",
    ])  # fmt: skip


def _figures(model: Model, n_bytes: int) -> dict[str, Any]:
    """What a model is and was trained on."""
    return {
        **train_summary(model.parts, n_bytes), "layout": model.layout, "discounts": str(model.parts.discounts),
        "pruned": model.counts.pruned or "no",
    }  # fmt: skip


def _figures_of_mixture(mixture: Mixture, n_bytes: int) -> dict[str, Any]:
    """What a mixture is, and what it mixes."""
    mixed = zip(mixture.names, mixture.weights.tolist(), mixture.models, strict=True)
    return {
        "order": mixture.order, "model": "mixture", "vocabulary": len(mixture.vocabulary), "bytes": n_bytes,
        **{
            f"model {i}": f"{weight:.4f} of {Path(name).name}: {_told(model)}"
            for i, (name, weight, model) in enumerate(mixed, 1)
        },
    }  # fmt: skip


def _told(model: LanguageModel) -> str:
    return ", ".join(f"{name} {value}" for name, value in model.facts().items() if name != "file")


def _common_about(mixture: Mixture) -> dict[str, str]:
    """What all models of a mixture say of themselves alike."""
    abouts = [model.about if isinstance(model, Model) else {} for model in mixture.models]
    return {name: text for name, text in abouts[0].items() if all(about.get(name) == text for about in abouts)}


def _tokenisation(model: LanguageModel, about: dict[str, str]) -> str:
    """How text must be cut for this model."""
    if model.tokeniser is not None:
        return f"It takes raw text: the model holds its tokeniser, {_cell(str(model.tokeniser))}.\n"
    if model.splitting:
        return "It takes raw text: it cuts punctuation marks off words itself.\n"
    said = f": {_cell(about['tokenisation'])}" if "tokenisation" in about else ""
    return f"Text must be tokenised as the training text was{said}.\n"


def _front_matter(about: dict[str, str]) -> str:
    known = {_HUB_NAMES[name]: value for name, value in about.items() if name in _HUB_NAMES}
    lines = [f"{name}: {_quoted(value)}" for name, value in known.items()]
    return "\n".join(["---", *lines, "tags:", "- n-gram", "- language-model", "---", ""])


def _quoted(value: str) -> str:
    """A text as YAML reads it."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


def _table(entries: dict[str, str]) -> str:
    rows = [f"| {_cell(name)} | {_cell(value)} |" for name, value in entries.items()]
    return "\n".join(["| | |", "|---|---|", *rows, ""])


def _cell(text: str) -> str:
    """A text that stays in its cell."""
    return " ".join(text.split()).replace("|", "\\|")


def push(model: LanguageModel | str | PathLike[str], address: str, *, private: bool = False) -> str:
    """Write a model, which has a file, and its card to `hf://OWNER/NAME`; the address of the page that shows them.

    The repository is made if it is not there; `private`: only who may see it can. The account is the one that the hub's
    own program knows (`hf auth login`).
    """
    from gapgram.models.mixture import Mixture

    repository, file, revision = hub_repository(address)
    opened = model if isinstance(model, LanguageModel) else load(model)
    if not isinstance(opened, Model | Mixture):
        raise UsageError("push needs a model that gapgram train or mix has written")
    if opened.path is None:
        raise ModelFileError("a model is pushed from its file: save it first")
    hub, errors = hub_client()
    card = model_card(opened).replace(opened.path.name, address)
    try:
        api = hub.HfApi()
        api.create_repo(repository, private=private, exist_ok=True)
        parts = ((str(opened.path), file), (card.encode(), "README.md"))
        operations = [hub.CommitOperationAdd(path_in_repo=name, path_or_fileobj=held) for held, name in parts]
        done = api.create_commit(repository, operations, commit_message=f"Add {file}", revision=revision)
    except errors as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise FetchError(f"{address}: not written to the hub: {said}") from None
    return str(done.repo_url)
