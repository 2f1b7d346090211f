"""The interpreter is released while scores are made; threads and forks are safe."""

import multiprocessing
import os
import random
import signal
import sys
import threading
import time

import pytest

from swerl_reward import ratio, score_batch, score_contents

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


@pytest.mark.skipif(os.name == "nt", reason="no signals there")
@pytest.mark.parametrize(
    "work",
    [
        lambda batch: score_batch(*[list(part) * 20 for part in batch]),
        lambda batch: [ratio(batch[2][0] * 30, batch[2][1] * 30)],
        lambda batch: [score_contents({}, {"a": batch[2][0] * 30}, {"a": batch[2][1] * 30})],
    ],
    ids=["score_batch", "ratio", "score_contents"],
)
def test_ctrl_c_stops_the_work(work):
    batch = heavy(8, 100_000)
    sent = []

    def interrupt():
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.3, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        work(batch)
    # Processor time of all threads, so that a busy machine fails nothing; the whole takes ten times as long.
    assert time.process_time() - sent[0] < 1.5
    assert ratio("tide", "diet") == 0.25 and score_batch([{}], [{}], [""])[0].outcome == "tags"


@pytest.mark.skipif(os.name == "nt", reason="no signals there")
def test_an_alarm_is_a_time_limit():
    class Late(Exception):
        pass

    def late(*_):
        raise Late

    batch = heavy(1, 3_000_000)
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(Late):
            score_batch(*batch)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(os.name == "nt", reason="no signals there")
def test_a_signal_whose_handler_returns_stops_nothing():
    batch = heavy(8, 20_000)
    expected = score_batch(*batch)
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
    timers = [threading.Timer(0.05 * n, os.kill, (os.getpid(), signal.SIGUSR1)) for n in range(3)]
    try:
        for timer in timers:
            timer.start()
        while not seen:
            assert score_batch(*batch) == expected
    finally:
        for timer in timers:
            timer.join()
        signal.signal(signal.SIGUSR1, before)
