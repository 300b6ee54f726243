"""Where and how to count with Spark, checked, without Spark being there: it is an extra."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapgram.errors import UsageError
from gapgram.lattice import Lattice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from gapgram.counting.spark import CountedText

ENGINES = ("local", "spark")


@dataclass(frozen=True)
class Cluster:
    """A session of the user's, or the master and settings of one to start; and the folder of shards to keep."""

    session: SparkSession | None
    master: str | None
    settings: Mapping[str, str]
    shards: str | None

    @classmethod
    def of(
        cls,
        engine: str,
        session: SparkSession | None,
        master: str | None,
        settings: Mapping[str, str] | None,
        shards: str | None,
    ) -> Cluster | None:
        """The cluster that options ask for; None for the local engine."""
        if engine not in ENGINES:
            raise UsageError(f"engine {engine!r}: expected {' or '.join(ENGINES)}")
        if engine == "spark":
            return cls(session, master, settings or {}, shards)
        if session is not None or master is not None or settings or shards is not None:
            raise UsageError("a Spark session, master, settings and shards are for the engine spark (--engine spark)")
        return None

    @contextlib.contextmanager
    def counted(self, texts: list[Any], lattice: Lattice, tmp: Path, **reading: Any) -> Iterator[CountedText]:
        """The counts of a text; temporary files go into `tmp`."""
        try:
            from gapgram.counting import spark as engine
        except ImportError as missing:
            raise UsageError(str(missing)) from None
        with engine.session_for(self.session, self.master, self.settings) as session, contextlib.ExitStack() as stack:
            shards = self.shards or stack.enter_context(_temporary(tmp, local=engine.is_local(session)))
            yield stack.enter_context(engine.count_text(session, texts, lattice, shards=shards, copies=tmp, **reading))


@contextlib.contextmanager
def _temporary(tmp: Path, *, local: bool) -> Iterator[str]:
    if not local:
        raise UsageError(
            "Spark runs on other machines: name a folder for the counts that they and this one reach, which does not "
            "exist yet (--shards hdfs://… or s3a://…)"
        )
    folder = Path(tempfile.mkdtemp(prefix=".gapgram-shards-", dir=tmp))
    try:
        yield f"file:{folder / 'shards'}"  # not as a URI: Java takes % as it is
    finally:
        shutil.rmtree(folder, ignore_errors=True)
