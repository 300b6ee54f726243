"""`gapgram serve` as its users run it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from tests.support.running import HANGING_SECONDS

START = "import sys; from gapgram.cli.serve import command; command(sys.argv[1:], standalone_mode=False)"


class Service:
    """`gapgram serve` in a process of its own, on a port it chose itself; it can go away and come back."""

    def __init__(self, paths: list[Path]) -> None:
        self._paths, self.port = paths, 0
        self.start()

    def start(self) -> None:
        arguments = [*map(str, self._paths), "--port", str(self.port)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, *arguments], env=environment, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if line.startswith("open http://"):
                self.port = int(line.split("/")[2].rpartition(":")[2])
                break
        else:
            raise AssertionError("the service did not start")
        _wait_for(f"{self.url}api/health")

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def stop(self) -> int:
        assert self._process.stderr is not None
        self._process.terminate()
        code = self._process.wait(HANGING_SECONDS)
        self._process.stderr.close()
        return code


def _wait_for(url: str) -> None:
    for _ in range(10 * HANGING_SECONDS):
        try:
            urllib.request.urlopen(url, timeout=HANGING_SECONDS).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"{url} does not answer")
