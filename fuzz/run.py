"""The command: change files of every kind at random, open and ask them, and say what failed.

    python -m fuzz.run --reader model --inputs 10000
    GAPGRAM_KERNELS=python python -m fuzz.run --reader tables --inputs 500
    GAPGRAM_KERNELS=numba NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=/tmp/checked python -m fuzz.run --inputs 1000
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import click

from fuzz.apart import Outcome, try_all
from fuzz.readers import READERS, Reader
from fuzz.seeds import made_files


def campaign(reader: Reader, files: dict[str, Path], numbers: range, seed: int, keep: Path | None = None) -> Outcome:
    """Try the inputs of a reader; those that fail are kept in a folder."""
    folder = next(iter(files.values())).parent
    for name in reader.seeds:  # what is loaded once is no fault of an input
        _warm(reader, files[name], folder)

    def attempt(number: int) -> None:
        path = folder / f"{reader.name}.input"
        path.write_bytes(reader.input(files, number, seed))
        reader.read(path)

    outcome = try_all(numbers, attempt, folder)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        for number, what in outcome.failures:
            name = f"{reader.name}-{seed}-{number}"
            (keep / name).write_bytes(reader.input(files, number, seed))
            (keep / f"{name}.txt").write_text(what, "utf-8")
    return outcome


def _warm(reader: Reader, seed: Path, folder: Path) -> None:
    """Read an input that nothing was changed in."""
    if reader.name == "http":
        seed = folder / "plain.request"
        request = {"path": "/api/predict", "method": "POST", "headers": [["host", "localhost"]], "type": "http"}
        seed.write_text(json.dumps({**request, "body": json.dumps({"model": "m", "context": "w1"})}), "utf-8")
    reader.read(seed)


@click.command()
@click.option("--reader", "names", multiple=True, type=click.Choice(list(READERS)), help="May be repeated; or all.")
@click.option("--inputs", default=1000, show_default=True, help="How many, of each reader.")
@click.option("--first", default=0, help="The number of the first.")
@click.option("--seed", default=1, show_default=True)
@click.option("--keep", type=click.Path(path_type=Path), help="A folder for inputs that fail.")
@click.option("--log", type=click.Path(path_type=Path), help="A file to which a line of JSON is added for each reader.")
def main(names: tuple[str, ...], inputs: int, first: int, seed: int, keep: Path | None, log: Path | None) -> None:
    """Try the inputs of readers; exit code 1 where one fails."""
    failed = False
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        files = made_files(Path(folder))
        for name in names or READERS:
            if not files.keys() >= set(READERS[name].seeds):
                print(f"{name}: not tried, what makes its files is not installed", flush=True)
                continue
            begun = time.time()
            outcome = campaign(READERS[name], files, range(first, first + inputs), seed, keep)
            failed = failed or bool(outcome.failures)
            kinds = ", ".join(f"{n} {kind}" for kind, n in outcome.by_kind().items()) or "none failed"
            counted = f"{outcome.tried:,} tried, {outcome.refused:,} refused, {outcome.answered:,} answered, {kinds}"
            took = f"slowest {outcome.slowest:.2f} s, {time.time() - begun:.0f} s in all"
            print(f"{name}: {counted}; {took}", flush=True)
            for number, what in outcome.failures[:10]:
                print(f"    {number}: {what}")
            if log is not None:
                line = {
                    "reader": name, "seed": seed, "first": first, "tried": outcome.tried,
                    "refused": outcome.refused, "answered": outcome.answered, "failures": outcome.by_kind(),
                }  # fmt: skip
                with log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
    raise SystemExit(int(failed))


if __name__ == "__main__":
    main()
