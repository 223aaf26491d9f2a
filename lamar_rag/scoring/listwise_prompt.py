"""The one prompt that holds every document of a block: the form of jina-reranker-v3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

DOCUMENT_TOKEN, QUERY_TOKEN = "<|embed_token|>", "<|rerank_token|>"

# Kept as the authors' code has it, to the character: the model was trained on it.
_SYSTEM = (
    "You are a search relevance expert who can determine a ranking of the passages based on how relevant they are "
    "to the query. If the query is a question, how relevant a passage is depends on how well it answers the "
    "question. If not, try to analyze the intent of the query and assess how well each passage satisfies the intent. "
    "If an instruction is provided, you should follow the instruction when determining the ranking."
)


def without_markers(text: str) -> str:
    """Return a text without the two tokens at which the model is read, nor any that their removal would leave."""
    while QUERY_TOKEN in text or DOCUMENT_TOKEN in text:
        text = text.replace(QUERY_TOKEN, "").replace(DOCUMENT_TOKEN, "")
    return text


def listwise_prompt(query: str, documents: Sequence[str], instruction: str | None = None) -> str:
    """Return the prompt of one block; query and documents are without markers."""
    passages = "\n".join(
        f'<passage id="{i}">\n{document}{DOCUMENT_TOKEN}\n</passage>' for i, document in enumerate(documents)
    )
    instruct = f"<instruct>\n{instruction}\n</instruct>\n" if instruction else ""
    return (
        f"<|im_start|>system\n{_SYSTEM}<|im_end|>\n<|im_start|>user\n"
        f"I will provide you with {len(documents)} passages, each indicated by a numerical identifier. "
        f"Rank the passages based on their relevance to query: {query}\n{instruct}{passages}\n"
        f"<query>\n{query}{QUERY_TOKEN}\n</query><|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    )


def blocks(lengths: Sequence[int], capacity: int, largest: int, per_block: int) -> Iterator[slice]:
    """Yield the documents of one block after another.

    A block is closed after the document that makes it `per_block` long or leaves room for less than one
    more document of the largest size (the authors' rule).

    Args:
        lengths: tokens of each document.
        capacity: tokens of documents in a block.
        largest: tokens that a document may have.
    """
    start, left = 0, capacity
    for end, length in enumerate(lengths, start=1):
        left -= length
        if end - start >= per_block or left <= largest:
            yield slice(start, end)
            start, left = end, capacity
    if start < len(lengths):
        yield slice(start, len(lengths))
