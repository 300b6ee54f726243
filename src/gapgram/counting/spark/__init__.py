"""Counting on a cluster: Apache Spark reads the text and counts its bands, the driver puts them together.

`open_text` is the engine; `gapgram train --engine spark` and `gapgram.train(spark=SparkOptions())` call it. The text
is read twice: for its vocabulary (`text`), which is then sent to all workers, and for its windows, which are shuffled
by bands of oldest words and counted (`bands`). The counts of the bands are written to a folder (`shards`); from these
the workers lay out parts of the model (`parts`), which the driver puts one after the other. No table depends on how the
text was partitioned or in which order its lines came, so the model is the same, bit for bit, as that of the local
engine.

    engine      a text on a cluster to counts
    session     a Spark session of our own or a user's; its failures in a sentence
    text        lines of text as Spark reads them, and their vocabulary
    refusal     which line of a text breaks the rules
    plan        what is counted together
    bands       what runs on the workers: ids to windows, windows to tables
    batches     Arrow batches as arrays
    shards      counts as files, or as Parquet
    parts       counts to parts of the model's file
    sample      the sentences that weights are learned from
"""

from __future__ import annotations

from gapgram.errors import to_install

try:
    import pyarrow  # noqa: F401
    import pyspark  # noqa: F401
except ImportError as error:
    raise ImportError(f"counting with Spark needs PySpark and PyArrow: {to_install('spark')}") from error

from gapgram.counting.spark.engine import TextOnSpark, open_text
from gapgram.counting.spark.session import is_local, session_for

__all__ = ["TextOnSpark", "is_local", "open_text", "session_for"]
