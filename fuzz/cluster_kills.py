"""Counting with Spark while a part of it is killed or stopped at random, or its disk is full.

    python -m fuzz.cluster_kills --times 20

A worker of Python, an executor or the driver's Java is killed; a worker is stopped and hangs; the driver is killed and
the run resumed; the folder of counts has little room (a tmpfs, for which one has to be root). Each run ends with the
same bytes as counting here, or with an error of a few lines, and the old file is there. Spark starts two executors on
this machine; it and Java 17 have to be there.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import click

from fuzz.kills import OLD
from fuzz.seeds import made_lines

KINDS = {
    "worker": "pyspark.daemon", "executor": "CoarseGrainedExecutorBackend", "driver": "SparkSubmit",
    "hanging": "pyspark.daemon", "resumed": "gapgram train", "full": "",
}  # fmt: skip
LATER = {"hanging": signal.SIGSTOP}  # what is sent, if not SIGKILL
SPECULATION = {"": "true", ".task.duration.threshold": "10s", ".interval": "1s", ".quantile": "0.5"}  # of tasks
FULL_BYTES = 1 << 17
SETTINGS = ("spark.ui.enabled=false", "spark.executor.memory=512m", "spark.driver.memory=512m", "spark.log.level=OFF")


def descendants(root: int) -> dict[int, str]:
    """The command lines of all processes that a process has started, and these, by number."""
    parents, commands = dict[int, int](), dict[int, str]()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                commands[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
            except (OSError, IndexError):
                continue
    found, waiting = dict[int, str](), {root}
    while waiting:
        found |= {each: commands[each] for each in waiting if each in commands}
        waiting = {child for child, parent in parents.items() if parent in waiting}
    return found


def train(text: Path, output: Path, kind: str | None, seconds: float) -> tuple[int, str, bool]:
    """(exit code, what was said, whether one of a kind was killed) of a run, so long after there is one to kill."""
    shards = output.with_name(f"shards{time.time_ns()}")
    if kind == "full":
        shards = output.with_name("small") / shards.name
    settings = [*SETTINGS, *(f"spark.speculation{name}={value}" for name, value in SPECULATION.items())]
    command = [sys.executable, "-W", "ignore", "-m", "gapgram", "train", str(text), "-o", str(output), "-q", "-n", "3"]
    options = ["--model", "mkn", "--engine", "spark", "--master", "local-cluster[2,1,512]"]
    options += ["--shards", f"file:{shards}"]
    options += [word for setting in settings for word in ("--spark-conf", setting)]
    with tempfile.TemporaryFile() as said:
        process, killed, due = subprocess.Popen([*command, *options], stderr=said), kind is None, 0.0
        while process.poll() is None:
            time.sleep(0.05)
            wanted = [] if killed else [p for p, line in descendants(process.pid).items() if KINDS[kind or ""] in line]
            due = due or (time.time() + seconds if wanted else 0.0)
            if wanted and time.time() >= due:
                pid = min(wanted) if kind == "resumed" else max(wanted)
                subprocess.run(["kill", f"-{LATER.get(kind or '', signal.SIGKILL).value}", str(pid)], check=False)
                killed = True
        code = process.returncode
        if kind == "resumed" and killed and code:
            said.truncate(0)
            code = subprocess.run([*command, *options, "--resume"], stderr=said, check=False).returncode
        said.seek(0)
        return code, said.read().decode("utf-8", "replace"), killed or kind == "full"


@click.command()
@click.option("--times", default=20, show_default=True, help="Runs of each kind.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(KINDS)), help="What is killed; or all.")
@click.option("--seed", default=1, show_default=True)
def main(times: int, kinds: tuple[str, ...], seed: int) -> None:
    """Kill."""
    draw, failed = random.Random(seed), False
    with tempfile.TemporaryDirectory() as folder:
        text, output, here = (Path(folder) / name for name in ("text", "output", "here"))
        text.write_text("\n".join([*made_lines(3000, words=300), ""]), "utf-8")
        plain = [sys.executable, "-m", "gapgram", "train", str(text), "-o", str(here), "-q"]
        subprocess.run([*plain, "-n", "3", "--model", "mkn"], check=True)
        begun = time.time()
        assert train(text, output, None, 0.0)[0] == 0
        took = time.time() - begun
        for kind in kinds or KINDS:
            came, small = Counter[str](), Path(folder) / "small"
            if kind == "full":
                small.mkdir()
                subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={FULL_BYTES}", "gapgram", str(small)], check=True)
            for _ in range(times):
                output.write_bytes(OLD)
                code, said, killed = train(text, output, kind, draw.random() * took * 0.6)
                now = output.read_bytes()
                if code == 0:
                    what = "the same bytes" if now == here.read_bytes() else "ANOTHER MODEL"
                else:
                    ours = any(line.startswith("gapgram: ") for line in said.splitlines()[-3:])  # Java may talk before
                    sentence = ours and "Traceback" not in said and now == OLD
                    what = "an error" if sentence else f"SAID {said[-300:]!r}"
                came[what if killed else f"{what}, killed too late"] += 1
                print(f"  {kind}: {what}{'' if killed else ' (not killed)'}", flush=True)
            if kind == "full":
                subprocess.run(["umount", str(small)], check=True)
            failed = failed or any(what[0].isupper() for what in came)
            print(f"{kind}: {', '.join(f'{n} {what}' for what, n in came.items())}", flush=True)
    raise SystemExit(int(failed))


if __name__ == "__main__":
    main()
