"""A short run of every fuzzer, and that each of them can fail."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from fuzz.apart import try_all
from fuzz.corpora import complaints
from fuzz.corpora import tried as tried_laws
from fuzz.faults import AllocationFault, jobs, tried
from fuzz.questions import Impossible, expect
from fuzz.readers import READERS
from fuzz.run import campaign
from fuzz.sealed import SealedFile
from fuzz.threads import used_by_threads
from tests.support.faults import Fault
from tests.support.running import HANGING_SECONDS

from gapgram.arrays import Floats
from gapgram.errors import UsageError
from gapgram.text.vocabulary import Vocabulary

ROOT = Path(__file__).resolve().parents[1]
INPUTS = {"model": 400, "tables": 300, "parquet": 120, "tokeniser": 60}
USUAL_INPUTS = 100


@pytest.mark.parametrize("name", READERS)
def test_changed_inputs_are_refused_or_give_possible_answers(seeds: dict[str, Path], name: str) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    if name == "tokeniser":
        pytest.importorskip("sentencepiece")
        pytest.importorskip("tokenizers")
    outcome = campaign(READERS[name], seeds, range(INPUTS.get(name, USUAL_INPUTS)), seed=1)
    assert outcome.failures == []
    assert outcome.refused + outcome.answered == outcome.tried


@pytest.mark.parametrize("number", [146, 3, 5, 7, 120])  # in 146 a discount would be zero
def test_no_word_of_a_random_text_is_without_probability(number: int) -> None:
    looked, wrong = tried_laws(number)
    assert looked > 50
    assert wrong == []


class _Odd:
    """A model that leaves a word without probability."""

    vocabulary = Vocabulary.of(["a"])

    def distribution(self, context: object) -> Floats:
        return np.array([0.0, 0.0, 1.0, 0.0])

    def log10_prob(self, word: str, context: object) -> float:
        return 0.0


def test_a_word_without_probability_is_found() -> None:
    assert list(complaints(_Odd(), [["a"]], 1e-9)) == ["after ['a']: no probability for ['<unk>', '<s>', 'a']"]


def test_objects_that_change_may_be_used_by_threads() -> None:
    command = [sys.executable, "-m", "fuzz.threads", "--seconds", "8"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=HANGING_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("errors none") == 9


def test_an_error_in_a_thread_is_counted() -> None:
    outcome = used_by_threads([lambda draw: 1 // 0], 0.05, threads=2)
    assert outcome["ZeroDivisionError: integer division or modulo by zero"] == outcome["calls"] > 0


def test_kernels_as_plain_python_read_inside_their_arrays() -> None:
    """Where a place outside raises an error."""
    command = [sys.executable, "-m", "fuzz.run", "--reader", "tables", "--reader", "backoff-tables", "--inputs", "25"]
    environment = {**os.environ, "GAPGRAM_KERNELS": "python", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=HANGING_SECONDS)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("none failed") == 2


@pytest.fixture(scope="module")
def fault_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults")


@pytest.mark.filterwarnings("ignore::gapgram.errors.DiscountWarning")
def test_whatever_fails_the_file_is_the_old_one_or_the_new_one(fault_folder: Path) -> None:
    for name, job in jobs(fault_folder).items():
        assert tried(job, fault_folder, (Fault, AllocationFault), 1.7) > 3, name


def test_a_file_taken_apart_and_sealed_again_has_the_same_bytes(seeds: dict[str, Path]) -> None:
    for name in ("mkn", "classes-compact", "backoff", "session"):
        parsed = SealedFile.parse(seeds[name].read_bytes())
        again = SealedFile.parse(parsed.sealed())
        assert [(s.name, s.dtype, s.shape, s.data) for s in again.sections] == [
            (s.name, s.dtype, s.shape, s.data) for s in parsed.sections
        ]


@pytest.mark.parametrize(("seed", "number"), [(1003, 4001), (1005, 19316), (3003, 866)])
def test_what_long_runs_found_is_refused(seeds: dict[str, Path], seed: int, number: int) -> None:
    """Compact tables: twice the last context of a pattern had no end; a code stood for more than can be counted."""
    outcome = campaign(READERS["model"], seeds, range(number, number + 1), seed=seed)
    assert (outcome.refused, outcome.failures) == (1, [])


def test_an_input_is_the_same_for_ever(seeds: dict[str, Path]) -> None:
    reader = READERS["model"]
    assert reader.input(seeds, 3, 1) == reader.input(seeds, 3, 1) != reader.input(seeds, 4, 1)


def attempt(number: int) -> None:
    """What inputs can do: be refused, answered, wrong, raise, crash, or take too long."""
    if number == 1:
        raise UsageError("refused")
    if number == 3:
        expect(False, "one is two")
    if number == 4:
        raise ZeroDivisionError("a foreign error")
    if number == 5:
        os.kill(os.getpid(), signal.SIGSEGV)
    if number == 6:
        begun = time.process_time()
        while time.process_time() < begun + 1.1:
            random.random()
    if number == 7:
        os.kill(os.getpid(), signal.SIGPROF)
    if number == 8:
        bytearray(1 << 30)


def test_every_way_to_fail_is_told(tmp_path: Path) -> None:
    outcome = try_all(range(10), attempt, tmp_path)
    assert (outcome.tried, outcome.refused) == (10, 1)
    found = {number: what.partition(":")[0] for number, what in outcome.failures}
    assert found == {3: Impossible.__name__, 4: "ZeroDivisionError", 5: "crash", 6: "slow", 7: "hang", 8: "MemoryError"}
    assert list(tmp_path.iterdir()) == []
