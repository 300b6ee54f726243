"""gapgram convert: a model in another layout, quantised, or in another format."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from gapgram.cli.options import model_argument, option, print_json, shared, talk

if TYPE_CHECKING:
    from pathlib import Path

    from gapgram import Mixture, Model
    from gapgram.models.open import AnyModel

_ARPA_NAMES = (".arpa", ".arpa.gz")
_NEMO_NAME = ".nemo"


@click.command()
@model_argument
@option("-o", "--output", required=True, metavar="MODEL", help="Model file to write.")
@option(
    "--layout", choices=["compact", "fast"],
    help="Layout to write: compact, a third of the size, or fast to score with.  [default: compact; of a mixture's "
    "models, that which they have]",
)
@option(
    "--quantise", "bits", type=click.IntRange(1, 8), metavar="BITS",
    help="Keep 2**BITS different counts for each pattern, from 1 to 8 bits: smaller, and only nearly the same model.",
)
@option(
    "--labels", type=click.IntRange(1), metavar="N",
    help="Number of labels of the recogniser, for a file of NeMo from an ARPA file.  [default: those of the tokenizer]",
)
@shared("memory", "json", "quiet")
def command(
    model: str, output: str, layout: str | None, bits: int | None, labels: int | None, memory: str | None,
    as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Write a model in another layout or format.

    Models that gapgram train has written: both layouts give the same probabilities, bit for bit, and each can be made
    from the other. A quantised model cannot be made exact again, and says in its signature that it is quantised.

    A mixture becomes one file, with its models in it. Those stay as they are, unless --layout says otherwise.

    ARPA files and binary files of KenLM become a model file that opens at once; any of them, and modified Kneser-Ney
    models, become an ARPA file where the name to write ends in .arpa or .arpa.gz.

    Where it ends in .nemo they become the file that NVIDIA NeMo's NGPU-LM loads: modified Kneser-Ney models trained
    with the recogniser's tokenizer, or files that gapgram arpa --encoding nemo wrote.
    """
    from gapgram import Mixture, Model, load
    from gapgram.errors import UsageError
    from gapgram.system.atomic_file import check_writable
    from gapgram.system.memory import default_memory

    check_writable(output, [model])
    limit = memory or default_memory()
    opened = load(model, memory=limit, progress=not quiet)
    if labels and not output.endswith(_NEMO_NAME):
        raise UsageError(f"{output}: --labels is for files whose names end in {_NEMO_NAME}")
    if output.endswith(_NEMO_NAME) and not (layout or bits):
        sizes = _convert_to_nemo(opened, output, labels, quiet)
        words = f"{output} written: {sizes['after']['bytes']:,} bytes, {sizes['after']['num_arcs']:,} arcs"
    elif isinstance(opened, Model) and not output.endswith((*_ARPA_NAMES, _NEMO_NAME)):
        sizes = _convert_own(opened, output, layout or "compact", bits)
        words = _told(model, output, layout or "compact", **sizes)
    elif isinstance(opened, Mixture) and not bits and not output.endswith((*_ARPA_NAMES, _NEMO_NAME)):
        sizes = _convert_mixture(opened, output, layout)
        words = f"{output} written: {sizes['after']['bytes']:,} bytes, {len(opened.models)} models in it"
    elif layout or bits:
        raise UsageError(
            f"{model} to {output}: --layout and --quantise are for models that gapgram train has written, not for "
            "ARPA; --layout also for mixtures"
        )
    else:
        sizes = _convert_backoff(opened, output, quiet)
        words = f"{output} written: {sizes['after']['bytes']:,} bytes, {sum(sizes['after']['grams']):,} grams"
    if as_json:
        print_json({"model": model, "output": output, **sizes})
    else:
        talk(words, quiet)


def _convert_own(opened: Model, output: str, layout: str, bits: int | None) -> dict[str, Any]:
    """Write a model of gapgram's own; returns the figures before and after."""
    before = _size(opened)
    if bits and layout == "compact":
        converted = opened.quantised(bits, output=output)
    else:
        converted = (opened.quantised(bits) if bits else opened).with_layout(layout, output=output)
    return {"before": before, "after": _size(converted)}


def _told(model: str, output: str, layout: str, *, before: dict[str, Any], after: dict[str, Any]) -> str:
    return (
        f"{output} written, {layout}: {after['bytes']:,} bytes, {after['bytes_per_gram']:.2f} a gram; "
        f"{model}, {before['layout']}: {before['bytes']:,} bytes, {before['bytes_per_gram']:.2f} a gram"
    )


def _convert_mixture(opened: Mixture, output: str, layout: str | None) -> dict[str, Any]:
    """Write a mixture with its models as one file; returns the figures of both files."""
    before = opened.path
    opened.save(output, whole=True, layout=layout)
    return _figures(before, output, str(opened.signature))


def _convert_to_nemo(opened: AnyModel, output: str, n_labels: int | None, quiet: bool) -> dict[str, Any]:
    """Write the file of NGPU-LM; returns the figures of both files."""
    from gapgram.models.arpa.writing import to_backoff
    from gapgram.models.nemo import nemo_labels, write_nemo

    labels = nemo_labels(opened, n_labels)
    numbers = write_nemo(to_backoff(opened, progress=not quiet), output, *labels)
    return _figures(opened.path, output, str(opened.signature), **numbers)


def _convert_backoff(opened: AnyModel, output: str, quiet: bool) -> dict[str, Any]:
    """Write a backoff model, or an ARPA file; returns the figures of both files."""
    from gapgram.models.arpa.writing import to_backoff, write_arpa
    from gapgram.models.backoff import write_backoff

    backoff = to_backoff(opened, progress=not quiet)
    (write_arpa if output.endswith(_ARPA_NAMES) else write_backoff)(backoff, output)
    figures = _figures(opened.path, output, str(opened.signature), grams=backoff.grams.sizes())
    return {**figures, "after": {**figures["after"], "signature": backoff.signature}}


def _figures(before: Path | None, output: str, signature: str, **more: Any) -> dict[str, Any]:
    """The sizes and signatures of both files, and more of the second."""
    sizes = [os.path.getsize(path) for path in (before or output, output)]
    return {
        "before": {"bytes": sizes[0], "signature": signature},
        "after": {"bytes": sizes[1], **more, "signature": signature},
    }


def _size(model: Model) -> dict[str, Any]:
    from gapgram.reporting.model_info import size_info

    return {**size_info(model), "signature": str(model.signature)}
