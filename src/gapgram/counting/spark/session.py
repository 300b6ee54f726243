"""A Spark session of our own or a user's, and Spark's failures said in a sentence."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from gapgram.errors import EngineError, TextError, UsageError

JAVA = 17
_GONE = (ConnectionError, Py4JNetworkError)
DEFAULT_MASTER = "local[*,4]"  # all cores; a task is tried four times, as on a cluster


@contextlib.contextmanager
def session_for(
    session: SparkSession | None, master: str | None, settings: Mapping[str, str]
) -> Iterator[SparkSession]:
    """The user's session, or the one that is running in this process, else a new one that ends with the work.

    A session that was there is left as it was: its SQL settings are copied, not changed. Failures of Spark come out as
    errors of this package.
    """
    if session is not None and not isinstance(session, SparkSession):
        raise UsageError(f"Spark session: expected one of pyspark.sql, found {type(session).__name__}")
    with sentences():
        session = session or SparkSession.getActiveSession()
        if session is not None:
            if master is not None or settings:
                raise UsageError("a Spark session is running: its master and settings are its own; leave them out")
            yield _copied(session)
            return
        own = _start(master, settings)
        try:
            yield own
        finally:
            with contextlib.suppress(*_GONE):
                own.stop()


def is_local(spark: SparkSession) -> bool:
    """Whether all tasks run on this machine, so that they see its files."""
    master: str = spark.sparkContext.master
    return master.startswith("local")


def _start(master: str | None, settings: Mapping[str, str]) -> SparkSession:
    check_java()
    wanted = {
        "spark.app.name": "gapgram",
        "spark.master": master or DEFAULT_MASTER,
        "spark.log.level": "FATAL",  # what fails is said in one sentence
        "spark.driver.maxResultSize": "0",  # the vocabulary and the distinct statistics of a long text are large
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if wanted["spark.master"].startswith("local") and "SPARK_LOCAL_IP" not in os.environ:
        wanted |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    builder = SparkSession.builder
    for name, value in {**wanted, **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _copied(session: SparkSession) -> SparkSession:
    """A session of the same cluster with settings of its own, which start as the user's."""
    copy = session.newSession()
    for name, value in session.conf.getAll.items():
        if copy.conf.isModifiable(name):
            copy.conf.set(name, value)
    return copy


def check_java() -> None:
    """Refuse to start without Java 17 or later, in a sentence; Spark itself would say it in many."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    advice = f"install Java {JAVA} (on Debian: apt-get install openjdk-{JAVA}-jre-headless), or set JAVA_HOME to one"
    if not java or not os.access(java, os.X_OK):
        where = f"JAVA_HOME is {home} and holds no bin/java" if home else "no java was found"
        raise EngineError(f"Spark needs Java {JAVA} or later, and {where}: {advice}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    match = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    if match and int(match[1]) < JAVA:
        raise EngineError(f"Spark needs Java {JAVA} or later, and {java} is Java {match[1]}: {advice}")


@contextlib.contextmanager
def sentences() -> Iterator[None]:
    """Turn what Spark throws into one error of ours: what failed, where it says so."""
    try:
        yield
    except _GONE as error:
        raise EngineError(
            f"Spark's Java process is gone ({type(error).__name__}): it may have run out of memory; give it more "
            "(--spark-conf spark.driver.memory=4g)"
        ) from None
    except (PySparkException, Py4JError) as error:
        raise _said(str(error)) from None


# What Spark calls a file that is not there, and one that it cannot read.
_MISSING = re.compile(r"Path does not exist: (\S+?)\.?(?:\s|$)|FileNotFoundException: (?:File )?(\S+)")
_UNREADABLE = re.compile(r"rror while reading file (\S+?)\.?(?:\s|$)")
_CAUSES = (
    re.compile(r"^Caused by: (.+)$", re.MULTILINE),
    re.compile(r"^((?:\w+\.)*[A-Z]\w*(?:Error|Exception): .+)$", re.MULTILINE),
)


def _said(message: str) -> EngineError | TextError:
    if match := _MISSING.search(message):
        path = shown_path(match[1] or match[2])
        return TextError(f"{path}: no such file, nor any that the name stands for")
    if match := _UNREADABLE.search(message):
        return TextError(f"{shown_path(match[1])}: Spark cannot read it: {_cause(message)}")
    cause = _cause(message)
    if cause.startswith("gapgram.errors."):  # said by a worker
        return EngineError(cause.partition(": ")[2])
    return EngineError(f"Spark failed: {cause}")


def _cause(message: str) -> str:
    """The last cause that a stack of Java or Python names, else the first line."""
    for pattern in _CAUSES:
        if causes := pattern.findall(message):
            return str(causes[-1])
    return next((line.strip() for line in message.splitlines() if line.strip()), "it did not say why")


def shown_path(path: str) -> str:
    """A path as people write it: that of a local file without its scheme."""
    for scheme in ("file://", "file:"):
        if path.startswith(scheme):
            return unquote(path.removeprefix(scheme))
    return path
