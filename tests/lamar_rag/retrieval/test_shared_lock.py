from __future__ import annotations

import threading

from lamar_rag.retrieval.shared_lock import SharedLock


def start(work) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_readers_share() -> None:
    lock = SharedLock()
    both = threading.Barrier(2, timeout=10)

    def read() -> None:
        with lock.reading():
            both.wait()  # breaks unless the other reader is inside too

    threads = [start(read) for _ in range(2)]
    for thread in threads:
        thread.join()
    assert not both.broken


def test_a_writer_waits_for_readers_and_goes_before_new_ones() -> None:
    lock = SharedLock()
    order: list[str] = []
    inside, leave = threading.Event(), threading.Event()

    def read_first() -> None:
        with lock.reading():
            inside.set()
            leave.wait(10)
            order.append("first reader")

    def write() -> None:
        with lock.writing():
            order.append("writer")

    def read_second() -> None:
        with lock.reading():
            order.append("second reader")

    threads = [start(read_first)]
    inside.wait(10)
    threads.append(start(write))
    while not lock._waiting_writers and not order:
        pass
    threads.append(start(read_second))
    threads[-1].join(0.1)
    assert order == []
    leave.set()
    for thread in threads:
        thread.join(10)
    assert order == ["first reader", "writer", "second reader"]


def test_writers_exclude_each_other() -> None:
    lock = SharedLock()
    most = inside = 0

    def write() -> None:
        nonlocal most, inside
        for _ in range(50):
            with lock.writing():
                inside += 1
                most = max(most, inside)
                threading.Event().wait(0.0001)
                inside -= 1

    threads = [start(write) for _ in range(4)]
    for thread in threads:
        thread.join(30)
    assert most == 1


def test_the_lock_is_free_after_an_error() -> None:
    lock = SharedLock()
    for hold in (lock.reading, lock.writing):
        try:
            with hold():
                raise KeyError
        except KeyError:
            pass
    with lock.writing():
        pass


def test_an_interrupted_writer_does_not_hold_readers_back(monkeypatch) -> None:
    lock = SharedLock()

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(lock._condition, "wait_for", interrupted)
    try:
        with lock.writing():
            raise AssertionError("the writer went on")
    except KeyboardInterrupt:
        monkeypatch.undo()
    read = threading.Event()

    def reader() -> None:
        with lock.reading():
            read.set()

    start(reader)
    assert read.wait(5)
