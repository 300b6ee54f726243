"""Many people typing at once: latency and errors of a running service.

    gapgram serve glm.model --port 8000 &
    python benchmarks/serve_load.py http://127.0.0.1:8000 TEXT [--clients 200] [--seconds 60] [--think 0.5]

Every client keeps one connection and asks, one after the other, what comes after the beginning of a random line of
TEXT; every second question also gives the first letter of the next word. After each answer it thinks for a random
time, `--think` seconds on average, 0 for none. Latency is from sending a question to having read its answer. Clients
and service share the machine's cores. Only Python's own library is used, so that clients cost little.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

PERCENTILES = (50, 90, 95, 99)


@dataclass
class Tally:
    """What all clients met."""

    milliseconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def report(self, seconds: float) -> dict[str, object]:
        """Figures by name."""
        ordered = sorted(self.milliseconds)
        return {
            "requests": len(ordered),
            "errors": len(self.errors),
            "requests_per_second": round(len(ordered) / seconds, 1),
            **{f"p{p}_ms": round(ordered[min(len(ordered) - 1, len(ordered) * p // 100)], 2) for p in PERCENTILES},
            "max_ms": round(ordered[-1], 2),
            "first_errors": self.errors[:3],
        }


def questions(path: str, model: str, seed: int, n: int = 20_000) -> list[bytes]:
    """Bodies of requests, from random places of a text."""
    with open(path, encoding="utf-8") as text:
        lines = [words for words in map(str.split, text) if len(words) > 3]
    draw = random.Random(seed)
    bodies = []
    for i in range(n):
        words = draw.choice(lines)
        at = draw.randrange(len(words))
        prefix = words[at][:1] if i % 2 else ""
        body = {"model": model, "context": " ".join(words[max(0, at - 20) : at]), "start": at <= 20, "prefix": prefix}
        bodies.append(json.dumps({**body, "k": 5}).encode())
    return bodies


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, body: bytes) -> None:
    """One question and its answer; raises where it is no good answer."""
    head = ["POST /api/predict HTTP/1.1", f"host: {host}", "content-type: application/json"]
    writer.write("\r\n".join([*head, f"content-length: {len(body)}", "\r\n"]).encode() + body)
    headers = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(headers.split(b"content-length: ")[1].split(b"\r\n")[0])
    answer = json.loads(await reader.readexactly(length))
    if not headers.startswith(b"http/1.1 200") or "predictions" not in answer:
        raise ValueError(f"{headers.splitlines()[0]!r} {answer}")


async def client(url: str, bodies: list[bytes], tally: Tally, end: float, think: float, seed: int) -> None:
    """One person typing until the end."""
    place, draw = urlsplit(url), random.Random(seed)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    await asyncio.sleep(draw.random() * think)
    while time.perf_counter() < end:
        begun = time.perf_counter()
        try:
            await asyncio.wait_for(ask(reader, writer, place.netloc, draw.choice(bodies)), 30)
        except (OSError, EOFError, ValueError, asyncio.TimeoutError) as error:
            tally.errors.append(f"{type(error).__name__}: {error}")
            writer.close()
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
        else:
            tally.milliseconds.append(1000 * (time.perf_counter() - begun))
        if think:
            await asyncio.sleep(draw.uniform(0, 2 * think))
    writer.close()


async def load(arguments: argparse.Namespace) -> Tally:
    """All clients at once."""
    tally, bodies = Tally(), questions(arguments.text, arguments.model, seed=1)
    end = time.perf_counter() + arguments.seconds
    common = (arguments.url, bodies, tally, end, arguments.think)
    await asyncio.gather(*(client(*common, seed) for seed in range(arguments.clients)))
    return tally


def main() -> None:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("text")
    parser.add_argument("--model", default="glm")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--think", type=float, default=0.5, help="mean seconds between an answer and the next question")
    arguments = parser.parse_args()
    busy = os.getloadavg()[0]
    tally = asyncio.run(load(arguments))
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "load_average_before": round(busy, 2)}
    print(json.dumps({**vars(arguments), **machine, **tally.report(arguments.seconds)}, indent=2))


if __name__ == "__main__":
    main()
