"""The documents of one call as batches, several of which are under way at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass

from lamar_rag.scoring.http_retry import Stop
from lamar_rag.text import replace_surrogates
from lamar_rag.types import Document

_LOOK_SECONDS = 0.05  # between two looks at whether the call was given up


@dataclass(frozen=True, slots=True)
class RemoteText:
    """A text to be sent once, with the rows of the documents that have it and the first one's name."""

    text: str
    rows: list[int]
    label: str


def distinct_texts(documents: Sequence[Document], limit: int | None) -> tuple[list[RemoteText], list[int]]:
    """Return each text once, in the order of its first document, and the rows that were cut.

    Args:
        documents: the documents, at least one.
        limit: characters after which a text is cut, None leaves it whole.
    """
    found: dict[str, RemoteText] = {}
    cut: list[int] = []
    for row, document in enumerate(documents):
        if limit is not None and len(document.text) > limit:
            cut.append(row)
        text = replace_surrogates(document.text[:limit])
        if text not in found:
            found[text] = RemoteText(text, [], f"document {row} ({document.id or 'without id'})")
        found[text].rows.append(row)
    return list(found.values()), cut


def score_batches(
    texts: Sequence[RemoteText],
    work: Callable[[Sequence[RemoteText]], list[float]],
    *,
    batch_size: int,
    workers: int,
    stop: Stop,
    done: Callable[[int], None],
) -> list[float]:
    """Return the score of each text, in order; `done` is told the documents of each batch that is ready.

    The first failure, and `stop`, end the call at once: batches that have not begun never do, and what the
    server answers to those under way is thrown away.
    """
    batches = [texts[start : start + batch_size] for start in range(0, len(texts), batch_size)]
    ready: dict[int, list[float]] = {}

    def checked(batch: Sequence[RemoteText]) -> list[float]:
        stop.check()
        return work(batch)

    pool = ThreadPoolExecutor(min(workers, len(batches)), thread_name_prefix="lamar-remote")
    futures = {pool.submit(checked, batch): position for position, batch in enumerate(batches)}
    pending = set(futures)
    try:
        while pending:
            finished, pending = wait(pending, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
            stop.check()  # before what a request that was given up may have to say
            for future in finished:
                position = futures[future]
                ready[position] = future.result()
                done(sum(len(text.rows) for text in batches[position]))
    except BaseException:
        stop.fail()
        raise
    finally:
        # without waiting: a server may keep its last request hanging for as long as the timeout allows
        pool.shutdown(wait=False, cancel_futures=True)
    return [score for position in range(len(batches)) for score in ready[position]]
