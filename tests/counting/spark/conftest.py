"""One Spark session for all tests of the engine, on this machine; Java 17 and the extra have to be there."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gapgram
from gapgram.errors import DiscountWarning, to_install

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _lacking() -> str | None:
    try:
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError as missing:
        return f"{missing.name} is not installed: {to_install('spark')}"
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        return "no java on this machine: apt-get install openjdk-17-jre-headless"
    return None


@pytest.fixture(scope="session")
def spark_here() -> None:
    """Skips where Spark cannot run, or fails where the tests were told to need it."""
    lacking = _lacking()
    if lacking:
        assert not os.environ.get("GAPGRAM_NEEDS_SPARK"), f"the tests were told to need Spark, and {lacking}"
        pytest.skip(lacking)


@pytest.fixture(scope="session")
def spark(spark_here: None) -> Iterator[SparkSession]:
    """A user's session, with settings that cut even small texts into many partitions."""
    from gapgram.counting.spark.session import session_for

    settings = {
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # quick to start
        "spark.sql.files.openCostInBytes": "1",
        "spark.sql.shuffle.partitions": "2",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PySpark's own modules
        with session_for(None, "local[2,2]", settings) as session:
            yield session


@pytest.fixture
def both(spark: SparkSession, tmp_path: Path) -> Callable[..., tuple[bytes, bytes]]:
    """The model files of the local engine and of Spark, for the same texts and options."""

    def trained(texts: object, *, partition_bytes: int = 1 << 20, **options: Any) -> tuple[bytes, bytes]:
        files = []
        spark.conf.set("spark.sql.files.maxPartitionBytes", str(partition_bytes))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscountWarning)
            for name, engine in (("local", None), ("spark", gapgram.SparkOptions(session=spark))):
                output = tmp_path / "out put" / f"{name}.model"
                output.parent.mkdir(exist_ok=True)
                gapgram.train(texts, output=output, spark=engine, **options)  # type: ignore[arg-type]
                files.append(output.read_bytes())
        assert sorted(path.name for path in (tmp_path / "out put").iterdir()) == ["local.model", "spark.model"]
        return files[0], files[1]

    return trained
