"""A standalone cluster of a master and two workers, and what it does when parts of it die."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.support.corpora import golden_text

import gapgram

PROC = Path("/proc")
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

pytestmark = pytest.mark.skipif(not PROC.is_dir(), reason="processes are found by /proc")


def _spark_class(*arguments: str, folder: Path) -> subprocess.Popen[bytes]:
    import pyspark

    home = Path(pyspark.__file__).parent
    settings = {
        "SPARK_HOME": home,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": folder,
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
    }
    environment = {**os.environ, **{name: str(value) for name, value in settings.items()}}
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [home / "bin" / "spark-class", *arguments], cwd=folder, env=environment, stdout=log, stderr=log
        )


def _wait(what: str, until: Callable[[], object], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.02)


def _free_port() -> int:
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return int(some.getsockname()[1])


def _is_open(port: int) -> bool:
    with socket.socket() as some:
        return some.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def cluster(spark_here: None, tmp_path: Path) -> Iterator[tuple[str, list[int]]]:
    """The URL of a master with two workers of one core each, and the workers' process ids."""
    port, folder = _free_port(), tmp_path / "cluster"
    folder.mkdir()
    url, anywhere = f"spark://127.0.0.1:{port}", ("--host", "127.0.0.1", "--webui-port", "0")
    with ExitStack() as stack:

        def start(name: str, *arguments: str) -> int:
            process = _spark_class(f"org.apache.spark.deploy.{name}", *arguments, *anywhere, folder=folder)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            return process.pid

        start("master.Master", "--port", str(port))
        _wait("the master", lambda: _is_open(port))
        yield url, [start("worker.Worker", url, "--cores", "1", "--memory", "1g") for _ in range(2)]


def _stat(pid: int) -> tuple[int, bytes]:
    """The parent of a process and its command line; no parent where it is gone."""
    try:
        stat, command = (PROC / str(pid) / "stat").read_text(), (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return 0, b""
    return int(stat.rpartition(")")[2].split()[1]), command


def _below(roots: list[int], command: bytes) -> list[int]:
    """Processes that these have started, directly or not, with this in their command line."""
    parents = {int(path.name): _stat(int(path.name)) for path in PROC.iterdir() if path.name.isdigit()}
    found = []
    for pid, (_, own) in parents.items():
        up = pid
        while up in parents and up not in roots:
            up = parents[up][0]
        if up in roots and command in own:
            found.append(pid)
    return found


def _python_workers(roots: list[int]) -> list[int]:
    """Those that compute, each a child of the daemon that started it."""
    daemons = _below(roots, b"pyspark.daemon")
    return [pid for pid in daemons if _stat(pid)[0] in daemons]


def test_a_cluster_survives_the_loss_of_a_python_worker_and_of_an_executor(
    cluster: tuple[str, list[int]], tmp_path: Path
) -> None:
    url, workers = cluster
    text, events = tmp_path / "text", tmp_path / "events"
    text.write_text("\n".join(golden_text()))
    events.mkdir()
    settings = {
        "spark.eventLog.enabled": "true", "spark.eventLog.dir": events.as_uri(), "spark.eventLog.compress": "false",
        "spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": QUICK_JAVA, "spark.executor.extraJavaOptions": QUICK_JAVA,
    }  # fmt: skip
    arguments = [part for name, value in settings.items() for part in ("--spark-conf", f"{name}={value}")]
    training = subprocess.Popen(
        [
            sys.executable, "-m", "gapgram", "train", text, "-o", tmp_path / "spark.model", "-n", "3", "-q",
            "--engine", "spark", "--master", url, "--shards", f"{tmp_path}/shards", *arguments,
        ],
        stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        # A worker computes from its start on: it begins by importing what it computes with.
        _wait("a Python worker", lambda: _python_workers(workers) or training.poll())
        killed = _python_workers(workers)[0]
        os.kill(killed, signal.SIGKILL)
        executors = _below(workers, b"CoarseGrainedExecutorBackend")
        _wait("another Python worker", lambda: {*_python_workers(workers)} - {killed} or training.poll())
        os.kill(executors[0], signal.SIGKILL)
        _, said = training.communicate(timeout=600)
    finally:
        training.kill()
    assert training.returncode == 0, said.decode()

    gapgram.train(text, order=3, output=tmp_path / "local.model")
    assert (tmp_path / "spark.model").read_bytes() == (tmp_path / "local.model").read_bytes()
    logs = [path.read_text() for path in events.rglob("events_*") if path.is_file()]
    happened = [json.loads(line) for log in logs for line in log.splitlines()]
    removed = [event for event in happened if event["Event"] == "SparkListenerExecutorRemoved"]
    failed = [event for event in happened if event["Event"] == "SparkListenerTaskEnd" and event["Task Info"]["Failed"]]
    assert removed, "an executor was lost"
    assert any("Python" in json.dumps(event["Task End Reason"]) for event in failed), "a Python worker was lost"
