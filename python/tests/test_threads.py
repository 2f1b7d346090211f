"""The interpreter is released while scores are made; threads and forks are safe."""

import multiprocessing
import random
import sys
import threading
import time

import pytest

from swerl_reward import ratio, score_batch

ALPHABET = "abcdefgh \n"


def heavy(samples, length):
    """A batch of long random rewrites, a second of work or so for a core."""
    rng = random.Random(1)
    text = lambda: "".join(rng.choices(ALPHABET, k=length)) + "\n"  # noqa: E731
    context, oracle = {"a": "x\n"}, {"a": text()}
    edit = "```\n### a\n<<<<<<< SEARCH\nx\n=======\n{}\n>>>>>>> REPLACE\n```"
    outputs = [f"<think>t</think><solution>\n{edit.format(text())}\n</solution>" for _ in range(samples)]
    return [context] * samples, [oracle] * samples, outputs


class Ticker(threading.Thread):
    """Counts in Python, which takes the interpreter."""

    def __init__(self):
        super().__init__(daemon=True)
        self.ticks = 0
        self.stopped = False

    def run(self):
        while not self.stopped:
            self.ticks += 1
            time.sleep(0.001)


@pytest.mark.parametrize(
    "work",
    [
        lambda batch: score_batch(*batch),
        lambda batch: [ratio(batch[2][0] * 8, batch[2][1] * 8) for _ in range(4)],
    ],
    ids=["score_batch", "ratio"],
)
def test_a_thread_makes_progress(work):
    batch = heavy(32, 20_000)
    ticker = Ticker()
    ticker.start()
    # While this thread holds the interpreter it gives it away only every switch interval, so
    # ticks within one call of the native part are its doing.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        before, start = ticker.ticks, time.monotonic()
        work(batch)
        ticks, seconds = ticker.ticks - before, time.monotonic() - start
    finally:
        sys.setswitchinterval(interval)
        ticker.stopped = True
    assert ticks >= 5, f"{ticks} ticks in {seconds} s"


def test_threads_agree():
    batch = heavy(8, 2_000)
    expected = score_batch(*batch)
    results = [None] * 6

    def run(index):
        results[index] = [score_batch(*batch) for _ in range(3)]

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(results))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[expected] * 3] * len(results)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_batch_after_a_fork():
    batch = heavy(8, 500)
    expected = score_batch(*batch)  # the parent's threads exist now, the child has none of them
    with multiprocessing.get_context("fork").Pool(2) as pool:
        results = [pool.apply_async(score_batch, batch) for _ in range(4)]
        assert [result.get(timeout=120) for result in results] == [expected] * 4
