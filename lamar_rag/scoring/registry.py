"""The rerankers that are known by name: LAMAR and the thirteen that its paper compares. Data only.

Where sources differ, the one that is followed is named in `source` or `note`. docs/rerankers.md says how
each row is tested, and what only its weights could show.
"""

from __future__ import annotations

from lamar_rag.scoring.recipe import DEFAULT_INSTRUCTION, PromptFrame, Recipe

_EMPTY_THINK = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
_YES_NO_SYSTEM = (
    "Judge whether the Document meets the requirements based on the Query and the Instruct provided. "
)
_PRISM_INSTRUCTION = (
    'Judge if the document is relevant to the query. Reply "yes" or "no".\n'
    'On "yes", also emit:\n'
    "<contribution>One sentence covering every core point the document contributes to the query, "
    "without elaboration.</contribution>\n"
    "<evidence>Self-contained rewrite of the query-relevant content. Rules:\n"
    "- Faithful: rephrase only; add or infer nothing.\n"
    "- Self-contained: evidence alone must fully answer the query.\n"
    "- Concise: drop query-irrelevant background.\n"
    "- Verbatim (no translation): proper nouns, terms, abbreviations, numbers, dates, code, URLs.\n"
    "- Output language: multilingual doc -> query's language; else doc's language.</evidence>"
)
_GEMMA_QUESTION = (
    "Given a query A and a passage B, determine whether the passage contains an answer to the query by "
    "providing a prediction of either 'Yes' or 'No'."
)


def _judge_frame(system: str) -> PromptFrame:
    chat = f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n"
    asked = "<Instruct>: {instruction}\n<Query>: {query}\n<Document>:"
    return PromptFrame(head=(chat + asked,), lead=" ", foot=(_EMPTY_THINK,))


_QWEN3_FRAME = _judge_frame(_YES_NO_SYSTEM + 'Note that the answer can only be "yes" or "no".')
_PRISM_FRAME = _judge_frame(_YES_NO_SYSTEM)


def _qwen3(size: str, millions: int) -> Recipe:
    return Recipe(
        f"Qwen/Qwen3-Reranker-{size}",
        "causal_lm",
        short_name=f"qwen3-reranker-{size.lower()}",
        licence="Apache-2.0",
        parameters_millions=millions,
        source="model card",
        max_length=8192,
        frame=_QWEN3_FRAME,
        positive="yes",
        negative="no",
        instruction=DEFAULT_INSTRUCTION,
        note="instruction of the card and the serving engines; the repository's example has another",
    )


def _prism(size: str, millions: int) -> Recipe:
    return Recipe(
        f"infgrad/Prism-Qwen3.5-Reranker-{size}",
        "causal_lm",
        short_name=f"prism-reranker-{size.lower()}",
        licence="MIT",
        parameters_millions=millions,
        source="author's usage script",
        max_length=10240,
        frame=_PRISM_FRAME,
        positive="yes",
        negative="no",
        instruction=_PRISM_INSTRUCTION,
    )


RECIPES: tuple[Recipe, ...] = (
    Recipe(
        "nlpai-lab/LAMAR-600m",
        "cross_encoder",
        short_name="lamar-600m",
        licence="MIT",
        parameters_millions=568,
        source="model card",
        max_length=8192,
        note="the card gives raw logits; its probability is the sigmoid that sentence-transformers would apply",
    ),
    Recipe(
        "BAAI/bge-reranker-v2-m3",
        "cross_encoder",
        short_name="bge-reranker-v2-m3",
        licence="Apache-2.0",
        parameters_millions=568,
        source="FlagEmbedding's runner",
        max_length=512,
        note="the runner reads 512 tokens by default; the model supports max_length=8192",
    ),
    Recipe(
        "BAAI/bge-reranker-v2-gemma",
        "causal_lm",
        short_name="bge-reranker-v2-gemma",
        licence="Apache-2.0 (card); Gemma terms (body)",
        parameters_millions=2506,
        source="FlagEmbedding's runner",
        max_length=512,
        frame=PromptFrame(
            head=("A: {query}", "\n"), lead="B: ", foot=("\n", _GEMMA_QUESTION), begin_token=True
        ),
        positive="Yes",
        foot_is_extra=True,
    ),
    Recipe(
        "jinaai/jina-reranker-v2-base-multilingual",
        "cross_encoder",
        short_name="jina-reranker-v2",
        licence="CC-BY-NC-4.0",
        parameters_millions=278,
        source="model card",
        max_length=1024,
        remote_code=True,
    ),
    Recipe(
        "jinaai/jina-reranker-v3",
        "listwise",
        short_name="jina-reranker-v3",
        licence="CC-BY-NC-4.0",
        parameters_millions=597,
        source="the repository's modeling file",
        max_length=2048,
        probability_scale=None,
        note="max_length is a document's; scores depend on the other candidates; loaded without the repository's code",
    ),
    Recipe(
        "Alibaba-NLP/gte-multilingual-reranker-base",
        "cross_encoder",
        short_name="gte-multilingual-reranker",
        licence="Apache-2.0",
        parameters_millions=306,
        source="model card",
        max_length=512,
        remote_code=True,
        note="transformers' own gte reads converted checkpoints without remote code; supports max_length=8192",
    ),
    _qwen3("0.6B", 596),
    _qwen3("4B", 4022),
    Recipe(
        "nvidia/llama-nemotron-rerank-1b-v2",
        "single_string",
        short_name="nemotron-rerank-1b-v2",
        licence="NVIDIA Open Model License, Llama 3.2 Community License",
        parameters_millions=1236,
        source="model card",
        max_length=8192,
        frame=PromptFrame(head=("question:{query} \n \n passage",), lead=":", begin_token=True),
        remote_code=True,
    ),
    Recipe(
        "ContextualAI/ctxl-rerank-v2-instruct-multilingual-1b",
        "causal_lm",
        short_name="ctxl-rerank-v2-1b",
        licence="CC-BY-NC-SA-4.0",
        parameters_millions=1000,
        source="model card",
        max_length=8192,
        frame=PromptFrame(
            head=(
                "Check whether a given document contains information helpful to answer the query.\n<Document>",
            ),
            lead=" ",
            tail="\n",
            foot=("<Query> {query}{spaced_instruction} ??",),
        ),
        vocabulary_id=0,
        instruction="",
        probability_scale=None,
        note="supports max_length=32768; the authors run it in bfloat16",
    ),
    Recipe(
        "zeroentropy/zerank-2-reranker",
        "causal_lm",
        short_name="zerank-2",
        licence="CC-BY-NC-4.0 (elsewhere stated as Apache-2.0)",
        parameters_millions=4022,
        source="model card",
        max_length=32768,
        frame=PromptFrame(
            head=("<|im_start|>system\n{query}<|im_end|>\n<|im_start|>user",),
            lead="\n",
            foot=("<|im_end|>\n<|im_start|>assistant\n",),
        ),
        positive="Yes",
        probability_scale=5.0,
    ),
    _prism("0.8B", 800),
    _prism("2B", 2000),
    _prism("4B", 4000),
)

_registered: dict[str, Recipe] = {}


def register_recipe(recipe: Recipe) -> Recipe:
    """Make a recipe of your own known by its model's name (and short name); it goes before a built-in one.

    Registration holds for this process; a process that unpickles a `Reranker` registers for itself.
    """
    if not isinstance(recipe, Recipe):
        raise ValueError(
            f"got a {type(recipe).__name__}, expected a Recipe: register_recipe(Recipe(model, scoring, ...))"
        )
    for name in filter(None, (recipe.model, recipe.short_name)):
        _registered[name] = recipe
    return recipe


def find_recipe(name: str) -> Recipe | None:
    """Return the recipe of a hub id, short name or registered name; of names that differ in case the exact one."""
    if name in _registered:
        return _registered[name]
    wanted = name.lower()
    own = (recipe for key, recipe in _registered.items() if key.lower() == wanted)
    known = (r for r in RECIPES if wanted in (r.model.lower(), r.short_name))
    return next(own, None) or next(known, None)
