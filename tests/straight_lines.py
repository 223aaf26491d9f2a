"""Each recipe written out with plain transformers calls, one pair at a time: the oracles of scoring.

Nothing of lamar_rag is used: the prompts stand here a second time, as whole strings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

StraightLine = Callable[[Path, str, Sequence[str]], list[float]]

THINK = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
JUDGE = "Judge whether the Document meets the requirements based on the Query and the Instruct provided. "
WEB_SEARCH = "Given a web search query, retrieve relevant passages that answer the query"
PRISM = """Judge if the document is relevant to the query. Reply "yes" or "no".
On "yes", also emit:
<contribution>One sentence covering every core point the document contributes to the query, without \
elaboration.</contribution>
<evidence>Self-contained rewrite of the query-relevant content. Rules:
- Faithful: rephrase only; add or infer nothing.
- Self-contained: evidence alone must fully answer the query.
- Concise: drop query-irrelevant background.
- Verbatim (no translation): proper nouns, terms, abbreviations, numbers, dates, code, URLs.
- Output language: multilingual doc -> query's language; else doc's language.</evidence>"""


def pair_logits(folder: Path, query: str, documents: Sequence[str]) -> list[float]:
    """Sequence classification of the tokenizer's pair; the raw logit."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        return [
            model(**tokenizer([query], [document], return_tensors="pt")).logits[0, 0].item()
            for document in documents  # as lists: transformers takes a lone "" for no second text
        ]


def single_string_logits(folder: Path, query: str, documents: Sequence[str]) -> list[float]:
    """Nemotron: one string, sequence classification."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    scores = []
    for document in documents:
        inputs = tokenizer(f"question:{query} \n \n passage:{document}", return_tensors="pt")
        with torch.inference_mode():
            logits = model(input_ids=inputs.input_ids, attention_mask=inputs.attention_mask).logits
        scores.append(logits[0, 0].item())
    return scores


def _last_logits(folder: Path, sequences: Sequence[Sequence[int]]):
    """Return the last position's logits of every token sequence, full vocabulary."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.inference_mode():
        return [model(input_ids=torch.tensor([ids])).logits[0, -1].float() for ids in sequences]


def _prompts(folder: Path, prompts: Sequence[str]):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = [tokenizer(prompt, add_special_tokens=False).input_ids for prompt in prompts]
    return tokenizer, _last_logits(folder, ids)


def judge_margins(folder: Path, query: str, documents: Sequence[str], system: str, instruction: str):
    """Qwen3-Reranker and Prism: the margin "yes" - "no" after an empty think block."""
    prompts = [
        f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n"
        f"<Instruct>: {instruction}\n<Query>: {query}\n<Document>: {document}{THINK}"
        for document in documents
    ]
    tokenizer, logits = _prompts(folder, prompts)
    yes, no = (tokenizer.convert_tokens_to_ids(word) for word in ("yes", "no"))
    return [(row[yes] - row[no]).item() for row in logits]


def qwen3_margins(folder: Path, query: str, documents: Sequence[str]) -> list[float]:
    """Qwen3-Reranker with the card's instruction."""
    system = JUDGE + 'Note that the answer can only be "yes" or "no".'
    return judge_margins(folder, query, documents, system, WEB_SEARCH)


def prism_margins(folder: Path, query: str, documents: Sequence[str]) -> list[float]:
    """Prism with the author's instruction."""
    return judge_margins(folder, query, documents, JUDGE, PRISM)


def gemma_yes(folder: Path, query: str, documents: Sequence[str]) -> list[float]:
    """bge-reranker-v2-gemma: pieces tokenized one by one, as the authors' runner does; the logit of "Yes"."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    question = (
        "Given a query A and a passage B, determine whether the passage contains an answer to the query by "
        "providing a prediction of either 'Yes' or 'No'."
    )
    encode = lambda text: tokenizer(text, add_special_tokens=False).input_ids  # noqa: E731
    sequences = [
        [
            tokenizer.bos_token_id,
            *encode(f"A: {query}"),
            *encode("\n"),
            *encode(f"B: {document}"),
            *encode("\n"),
            *encode(question),
        ]
        for document in documents
    ]
    yes = encode("Yes")[0]
    return [row[yes].item() for row in _last_logits(folder, sequences)]


def contextual_logits(folder: Path, query: str, documents: Sequence[str]) -> list[float]:
    """Contextual AI: the logit of vocabulary id 0."""
    prompts = [
        "Check whether a given document contains information helpful to answer the query.\n"
        f"<Document> {document}\n<Query> {query} ??"
        for document in documents
    ]
    return [row[0].item() for row in _prompts(folder, prompts)[1]]


def zerank_yes(folder: Path, query: str, documents: Sequence[str]) -> list[float]:
    """zerank-2: the query as system turn, the document as user turn; the logit of "Yes"."""
    prompts = [
        f"<|im_start|>system\n{query}<|im_end|>\n<|im_start|>user\n{document}<|im_end|>\n<|im_start|>assistant\n"
        for document in documents
    ]
    tokenizer, logits = _prompts(folder, prompts)
    return [row[tokenizer.convert_tokens_to_ids("Yes")].item() for row in logits]


JINA_HEAD = (
    "<|im_start|>system\nYou are a search relevance expert who can determine a ranking of the passages based on how "
    "relevant they are to the query. If the query is a question, how relevant a passage is depends on how well it "
    "answers the question. If not, try to analyze the intent of the query and assess how well each passage satisfies "
    "the intent. If an instruction is provided, you should follow the instruction when determining the ranking."
    "<|im_end|>\n<|im_start|>user\n"
)


def jina_block(folder: Path, query: str, documents: Sequence[str]):
    """Return the documents' vectors and the query's vector of one block, as float64."""
    import torch
    from safetensors.torch import load_file
    from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    model = Qwen3ForCausalLM.from_pretrained(folder, config=Qwen3Config.from_pretrained(folder)).eval()
    passages = "\n".join(
        f'<passage id="{i}">\n{document}<|embed_token|>\n</passage>' for i, document in enumerate(documents)
    )
    prompt = (
        f"{JINA_HEAD}I will provide you with {len(documents)} passages, each indicated by a numerical identifier. "
        f"Rank the passages based on their relevance to query: {query}\n{passages}\n"
        f"<query>\n{query}<|rerank_token|>\n</query>{THINK}"
    )
    ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=False).input_ids
    with torch.inference_mode():
        hidden = model(input_ids=ids, output_hidden_states=True).hidden_states[-1][0]
        first, second = weights["projector.0.weight"], weights["projector.2.weight"]
        projected = torch.relu(hidden @ first.T) @ second.T
    vectors = projected.double().numpy()
    mark, ask = (tokenizer.convert_tokens_to_ids(t) for t in ("<|embed_token|>", "<|rerank_token|>"))
    return vectors[(ids[0] == mark).numpy()], vectors[(ids[0] == ask).numpy()][0]


def cosines(query: np.ndarray, documents: np.ndarray) -> np.ndarray:
    """Return cosines, shape (n,)."""
    return documents @ query / (np.linalg.norm(documents, axis=1) * np.linalg.norm(query))


def jina_cosines(folder: Path, query: str, documents: Sequence[str]) -> list[float]:
    """jina-reranker-v3 with all documents in one block."""
    vectors, asked = jina_block(folder, query, documents)
    return cosines(asked, vectors).tolist()
