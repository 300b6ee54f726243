"""Where and how to count with Spark, without Spark being there: it is an extra."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gapgram.errors import UsageError
from gapgram.text.corpus import TextRules

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from gapgram.counting.spark import TextOnSpark


@dataclass(frozen=True, kw_only=True)
class SparkOptions:
    """A session of the user's, or the master and settings of one to start; and where the counts go.

    session: to count with; without it one is started, with `master` and `settings`, and stopped again.
    master: local[2], spark://host:7077, yarn, k8s://…; by default all cores of this machine.
    settings: of Spark, by their names.
    shards: a new folder for the counts, which all machines of the cluster reach; kept. By default a temporary one
        beside the model, which does where all run on this machine.
    """

    session: SparkSession | None = None
    master: str | None = None
    settings: Mapping[str, str] | None = None
    shards: str | None = None

    @contextlib.contextmanager
    def open_text(
        self, texts: Iterable[object], rules: TextRules, folder: Path, *, resume: bool = False
    ) -> Iterator[TextOnSpark]:
        """A text that Spark reads; temporary files go into a folder."""
        try:
            from gapgram.counting import spark as engine
        except ImportError as missing:
            raise UsageError(str(missing)) from None
        with engine.session_for(self.session, self.master, self.settings or {}) as session:
            if self.shards is None and not engine.is_local(session):
                raise UsageError(
                    "Spark runs on other machines: name a folder for the counts that they and this one reach, which "
                    "does not exist yet (--shards hdfs://… or s3a://…)"
                )
            shards = self.shards or f"file:{folder / 'shards'}"  # not as a URI: Java takes % as it is
            with engine.open_text(session, texts, rules, shards=shards, copies=folder, resume=resume) as text:
                yield text
