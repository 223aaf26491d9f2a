from __future__ import annotations

import threading
import time

import pytest

from lamar_rag.scoring.http_retry import (
    RetryPolicy,
    Stop,
    TransientHttpError,
    is_transient,
    retry_after_seconds,
)
from lamar_rag.types import ScoringCancelledError

NOON = 1445385600.0  # Wed, 21 Oct 2015 00:00:00 GMT


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("3", 3.0),
        ("0.25", 0.25),
        ("-5", 0.0),
        ("Wed, 21 Oct 2015 00:01:40 GMT", 100.0),
        ("Tue, 20 Oct 2015 23:00:00 GMT", 0.0),  # past
        ("soon", None),
        ("nan", None),
        ("inf", None),
        (None, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value, expected):
    assert retry_after_seconds(value, NOON) == expected


def test_which_statuses_pass():
    assert [status for status in range(100, 600) if is_transient(status)] == [429, *range(500, 600)]


class Recorder(Stop):
    """A stop that waits no time and remembers what it was asked."""

    def __init__(self):
        super().__init__()
        self.waits = []

    def wait(self, seconds):
        self.waits.append(seconds)


def failing(times, retry_after=None):
    calls = []

    def attempt():
        calls.append(None)
        if len(calls) <= times:
            raise TransientHttpError("HTTP 503", retry_after)
        return len(calls)

    return attempt


def test_waits_double_up_to_the_longest_with_jitter_on_top():
    stop = Recorder()
    assert RetryPolicy(retries=5, backoff=0.5, longest_wait=3.0).run(failing(5), stop) == 6
    for wait, base in zip(stop.waits, [0.5, 1.0, 2.0, 3.0, 3.0], strict=True):
        assert base <= wait <= base + 0.5


def test_what_the_server_asks_for_is_waited_and_capped():
    policy = RetryPolicy(retries=1, backoff=0.0, longest_wait=10.0)
    for asked, expected in ((7.5, 7.5), (0.0, 0.0), (86400.0, 10.0)):
        stop = Recorder()
        policy.run(failing(1, asked), stop)
        assert stop.waits == [expected]


def test_the_last_failure_is_raised_after_all_attempts():
    stop = Recorder()
    with pytest.raises(TransientHttpError, match="HTTP 503"):
        RetryPolicy(retries=2, backoff=0.0).run(failing(99), stop)
    assert len(stop.waits) == 2
    stop = Recorder()
    with pytest.raises(TransientHttpError):
        RetryPolicy(retries=0).run(failing(1), stop)
    assert stop.waits == []


def test_other_errors_are_not_tried_again():
    calls = []

    def attempt():
        calls.append(None)
        raise KeyError("x")

    with pytest.raises(KeyError):
        RetryPolicy(retries=3, backoff=0.0).run(attempt, Stop())
    assert len(calls) == 1


def test_waiting_ends_when_the_caller_cancels():
    cancel = threading.Event()
    threading.Timer(0.1, cancel.set).start()
    start = time.monotonic()
    with pytest.raises(ScoringCancelledError):
        Stop(cancel).wait(30.0)
    assert 0.05 < time.monotonic() - start < 5.0


def test_waiting_ends_when_another_request_failed():
    for stop in (Stop(), Stop(threading.Event())):
        threading.Timer(0.1, stop.fail).start()
        start = time.monotonic()
        with pytest.raises(ScoringCancelledError):
            stop.wait(30.0)
        assert time.monotonic() - start < 5.0


def test_waiting_takes_its_time_and_nothing_set_raises_nothing():
    start = time.monotonic()
    Stop(threading.Event()).wait(0.12)
    assert time.monotonic() - start >= 0.12
    Stop().check()
