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

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from gapgram.errors import EngineError, TextError, UsageError

JAVA = 17
DEFAULT_MASTER = "local[*,4]"  # all cores; a task is tried four times, as on a cluster


@contextlib.contextmanager
def session_for(
    session: SparkSession | None, master: str | None, settings: Mapping[str, str], *, shown: bool
) -> Iterator[SparkSession]:
    """The user's session where there is one, else a new one that ends with the work.

    The user's SQL settings are copied, not changed. Failures of Spark come out as errors of this package.
    """
    with sentences():
        if session is None:
            own = _start(master, settings, shown)
            try:
                yield own
            finally:
                own.stop()
            return
        if master is not None or settings:
            raise UsageError("a Spark session was given: its master and settings are its own")
        if not isinstance(session, SparkSession):
            raise UsageError(f"Spark session: expected a SparkSession, found {type(session).__name__}")
        yield _copied(session)


def is_local(spark: SparkSession) -> bool:
    """Whether all tasks run on this machine, so that they see its files."""
    return spark.sparkContext.master.startswith("local")


def _start(master: str | None, settings: Mapping[str, str], shown: bool) -> SparkSession:
    check_java()
    if SparkSession.getActiveSession() is not None:
        raise UsageError("a Spark session is running in this process: pass it on (spark=session)")
    wanted = {
        "spark.app.name": "gapgram",
        "spark.master": master or os.environ.get("MASTER") or DEFAULT_MASTER,
        "spark.log.level": "FATAL",  # what fails is said in one sentence
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": str(shown and sys.stderr.isatty()).lower(),
        "spark.sql.shuffle.partitions": "200",
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
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603
    found = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    if found and int(found[1]) < JAVA:
        raise EngineError(f"Spark needs Java {JAVA} or later, and {java} is Java {found[1]}: {advice}")


@contextlib.contextmanager
def sentences() -> Iterator[None]:
    """Turn what Spark throws into one error of ours: what failed, where it says so."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise _said(str(error)) from None


def _said(message: str) -> EngineError | TextError:
    found = re.search(r"Path does not exist: (\S+?)\.? SQLSTATE|Path does not exist: (\S+)|FileNotFoundException: (?:File )?(\S+)", message)
    if found:
        path = next(g for g in found.groups() if g)
        return TextError(f"{shown_path(path)}: no such file, nor any that the name stands for")
    found = re.search(r"rror while reading file (\S+?)\.?\s", message)
    if found:
        cause = _innermost(message)
        return TextError(f"{shown_path(found[1])}: cannot be read by Spark: {cause}")
    return EngineError(f"Spark failed: {_innermost(message)}")


def _innermost(message: str) -> str:
    """The last cause of a Java stack, or the last line of a Python one; else the first line."""
    causes = re.findall(r"^Caused by: (.+)$", message, re.MULTILINE) or re.findall(
        r"^((?:\w+\.)*[A-Z]\w*(?:Error|Exception): .+)$", message, re.MULTILINE
    )
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return causes[-1] if causes else (lines[0] if lines else "it did not say why")


def shown_path(path: str) -> str:
    """A path as people write it: that of a local file without its scheme."""
    for scheme in ("file://", "file:"):
        if path.startswith(scheme):
            return unquote(path.removeprefix(scheme))
    return path
