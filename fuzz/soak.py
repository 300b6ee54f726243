"""A service asked by several clients for long, with all kinds of questions, its memory watched; then `fuzz.threads`.

    python -m fuzz.soak --minutes 60

Fails where an answer is neither one of ours nor in time, or where memory grows once everything was asked.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import click
from tests.support.running_service import Service

from fuzz.mutations import mutated_value
from fuzz.seeds import made_files

CLIENTS = 8
THREADS_SECONDS = 60
MOST_GROWTH = 0.05  # of memory, from a tenth of the time on
_QUESTIONS: dict[str, dict[str, Any]] = {
    "predict": {"context": "w1 w2", "k": 5, "prefix": "w"},
    "explain": {"context": "w1", "word": "w2"},
    "score": {"text": "w1 w2 w3\nw4 never"},
    "generate": {"begin": "w1", "sentences": 2, "max_words": 8},
}


def ask(url: str, draw: random.Random, seen: Counter[int]) -> None:
    """Ask one question, often an odd one; `seen` counts the statuses of answers, 0 for none."""
    name = draw.choice(list(_QUESTIONS))
    body: Any = {"model": draw.choice(("mkn", "classes")), **_QUESTIONS[name]}
    if draw.random() < 0.3:
        body = mutated_value(body, draw)
    elif draw.random() < 0.3:
        body["context" if name in ("predict", "explain") else "text"] = "x" * draw.randrange(5000)
    data = json.dumps(body).encode("utf-8", "surrogatepass")
    request = urllib.request.Request(f"{url}api/{name}", data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()
            seen[answer.status] += 1
    except urllib.error.HTTPError as error:
        seen[error.code] += 1
        error.close()
    except OSError:
        seen[0] += 1


def resident(service: Service) -> int:
    """The bytes that a service holds."""
    pages = Path(f"/proc/{service.pid}/statm").read_text().split()[1]
    return int(pages) * 4096


def soak(service: Service, seconds: float) -> tuple[Counter[int], list[int]]:
    """(answers by status, memory at eleven moments)."""
    seen: Counter[int] = Counter()
    end, lock = time.monotonic() + seconds, threading.Lock()

    def client(number: int) -> None:
        own: Counter[int] = Counter()
        draw = random.Random(number)
        while time.monotonic() < end:
            ask(service.url, draw, own)
        with lock:
            seen.update(own)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    memory = []
    for _ in range(11):
        memory.append(resident(service))
        time.sleep(seconds / 11)
    for thread in threads:
        thread.join()
    return seen, memory


@click.command()
@click.option("--minutes", default=60.0, show_default=True)
def main(minutes: float) -> None:
    """Ask a service for long."""
    with tempfile.TemporaryDirectory() as folder:
        files = made_files(Path(folder))
        service = Service([files["mkn"], files["classes"]])
        try:
            seen, memory = soak(service, 60 * minutes)
        finally:
            service.stop()
    print(f"{sum(seen.values()):,} requests: {dict(sorted(seen.items()))}")
    print("memory, MiB: " + " ".join(f"{n >> 20}" for n in memory))
    threads = subprocess.run([sys.executable, "-m", "fuzz.threads", "--seconds", str(THREADS_SECONDS)], check=False)
    odd = [status for status in seen if status == 0 or status >= 500]
    grown = max(memory[2:]) > (1 + MOST_GROWTH) * memory[1] + (8 << 20)
    raise SystemExit(int(bool(odd) or grown or threads.returncode != 0))


if __name__ == "__main__":
    main()
