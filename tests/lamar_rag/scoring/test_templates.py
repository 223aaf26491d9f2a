from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from straight_lines import pair_logits
from tiny_models import WORDS, tiny_cross_encoder, tiny_tokenizer
from tiny_rerankers import (
    DECODER,
    SMALL,
    byte_level_tokenizer,
    tiny_gemma,
    tiny_nemotron,
    tiny_qwen3,
)

from lamar_rag import Document
from lamar_rag.scorer_factory import build_scorer
from lamar_rag.scoring.cross_encoder import CrossEncoderScorer
from lamar_rag.scoring.encoding import RequestEncoder
from lamar_rag.scoring.frame_template import FrameTemplate
from lamar_rag.scoring.pair_template import PairTemplate
from lamar_rag.scoring.recipe import DEFAULT_INSTRUCTION, PromptFrame, Recipe
from lamar_rag.types import ScoringOptions

SYSTEM = (
    "Judge whether the Document meets the requirements based on the Query and the Instruct provided. "
    'Note that the answer can only be "yes" or "no".'
)
QUERY = "What does the cat eat?"
FOOT = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
GEMMA_FOOT = (
    "\nGiven a query A and a passage B, determine whether the passage contains an answer to the query by "
    "providing a prediction of either 'Yes' or 'No'."
)
LONG = "The cat eats fish, and birds watch the moon. " * 100
WINDOWS = ScoringOptions(long_documents="windows")


def qwen_head(query: str, instruction: str = DEFAULT_INSTRUCTION) -> str:
    return (
        f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n"
        f"<Instruct>: {instruction}\n<Query>: {query}\n<Document>: "
    )


@pytest.fixture(scope="module")
def qwen3(tmp_path_factory):
    folder = tiny_qwen3(tmp_path_factory.mktemp("qwen3"))
    with build_scorer(folder, recipe="Qwen/Qwen3-Reranker-0.6B", device="cpu") as scorer:
        yield scorer


@pytest.fixture(scope="module")
def gemma(tmp_path_factory):
    folder = tiny_gemma(tmp_path_factory.mktemp("gemma"))
    with build_scorer(folder, recipe="bge-reranker-v2-gemma", device="cpu") as scorer:
        yield scorer


@pytest.fixture
def encoded(monkeypatch):
    """Every request that was encoded, in order."""
    seen, encode = [], RequestEncoder.encode

    def spy(self, query, texts, options):
        seen.append(encode(self, query, texts, options))
        return seen[-1]

    monkeypatch.setattr(RequestEncoder, "encode", spy)
    return seen


def decoded(scorer, ids) -> str:
    """The text of byte-level tokens, to the byte."""
    from tokenizers import Tokenizer, decoders

    backend = Tokenizer.from_str(scorer._load().encoder._tokenizer.to_str())
    backend.decoder = decoders.ByteLevel()
    return backend.decode(ids.tolist(), skip_special_tokens=False)


def read(scorer, text: str) -> int:
    return len(scorer._load().encoder._tokenizer.encode(text, add_special_tokens=False).ids)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [180, 211, 512])
def test_of_a_frame_only_the_document_is_cut(qwen3, encoded, limit):
    scored = qwen3.score(QUERY, [Document(LONG), Document("fish")], ScoringOptions(max_length=limit))
    long, short = (text.ids for text in encoded[0].inputs)
    assert len(long) == limit
    head, foot = qwen_head(QUERY), FOOT
    text = decoded(qwen3, long)
    assert text.startswith(head)
    assert text.endswith(foot)
    middle = text[len(head) : -len(foot)]
    assert len(middle) > 20
    assert LONG.startswith(middle)
    assert decoded(qwen3, short) == head + "fish" + foot
    assert scored.truncated.tolist() == [True, False]


@pytest.mark.slow
def test_a_document_that_just_fits_is_not_cut(qwen3, encoded):
    whole = read(qwen3, qwen_head(QUERY) + LONG + FOOT)
    for limit, cut in ((whole, False), (whole - 1, True)):
        scored = qwen3.score(QUERY, [Document(LONG)], ScoringOptions(max_length=limit))
        assert scored.truncated.tolist() == [cut]
        assert len(encoded[-1].inputs[0].ids) == limit


@pytest.mark.slow
def test_the_query_gets_three_quarters_of_the_room_beside_the_prompt(qwen3, encoded):
    limit = 300
    query = "fish cat moon bird " * 200
    scored = qwen3.score(query, [Document(LONG), Document("fish")], ScoringOptions(max_length=limit))
    assert scored.truncated.tolist() == [True, True]
    bare, foot = qwen_head(""), FOOT
    text = decoded(qwen3, encoded[0].inputs[0].ids)
    before, behind = bare.split("<Query>: ")
    assert text.startswith(before + "<Query>: fish cat")
    assert text.endswith(foot)
    kept = text.removeprefix(before + "<Query>: ").split(behind)[0]
    assert query.startswith(kept)
    share = int(0.75 * (limit - read(qwen3, bare) - read(qwen3, foot)))
    assert read(qwen3, kept) in (share, share - 1)
    assert len(encoded[0].inputs[0].ids) == limit


@pytest.mark.slow
@pytest.mark.parametrize(
    "query", ["猫は魚を食べる🙂" * 200, "🙂👩‍👩‍👧" * 200, "e\u0301" * 500, "\U00013000" * 400]
)
def test_a_query_of_characters_with_several_tokens_keeps_its_share(qwen3, encoded, query):
    limit = 300
    share = int(0.75 * (limit - read(qwen3, qwen_head("")) - read(qwen3, FOOT)))
    scored = qwen3.score(query, [Document(LONG)], ScoringOptions(max_length=limit))
    assert scored.truncated.tolist() == [True]
    text = decoded(qwen3, encoded[0].inputs[0].ids)
    kept = text.split("<Query>: ")[1].split("\n<Document>:")[0]
    assert share - 4 <= read(qwen3, kept) <= share
    assert len(encoded[0].inputs[0].ids) == limit


@pytest.mark.slow
def test_a_query_that_names_fields_is_text(qwen3, encoded):
    query = "{instruction} {query} {document} {spaced_instruction} {0} \\1"
    qwen3.score(query, [Document("{query}")])
    assert decoded(qwen3, encoded[0].inputs[0].ids) == qwen_head(query) + "{query}" + FOOT
    qwen3.score("cat", [Document("fish")], ScoringOptions(instruction="{query} \\g<1>"))
    assert decoded(qwen3, encoded[1].inputs[0].ids) == qwen_head("cat", "{query} \\g<1>") + "fish" + FOOT


@pytest.mark.slow
def test_an_instruction_changes_the_prompt_and_the_score(qwen3, encoded):
    own = ScoringOptions(instruction="Find a page about birds")
    scores = [qwen3.score(QUERY, [Document("fish")], options).scores for options in (own, ScoringOptions())]
    assert decoded(qwen3, encoded[0].inputs[0].ids) == qwen_head(QUERY, own.instruction) + "fish" + FOOT
    assert decoded(qwen3, encoded[1].inputs[0].ids) == qwen_head(QUERY) + "fish" + FOOT
    assert abs(scores[0] - scores[1]) > 1e-3


@pytest.mark.slow
def test_a_lone_surrogate_in_query_or_instruction_is_replaced(qwen3, encoded):
    qwen3.score("a \ud800", [Document("b \udfff")], ScoringOptions(instruction="c \udc80"))
    assert decoded(qwen3, encoded[0].inputs[0].ids) == qwen_head("a \ufffd", "c \ufffd") + "b \ufffd" + FOOT


@pytest.mark.slow
def test_a_prompt_without_room_is_named(qwen3):
    with pytest.raises(
        ValueError, match=r"got max_length=32, but the query and the text around a document take"
    ):
        qwen3.score(QUERY, [Document("fish")], ScoringOptions(max_length=32))


@pytest.mark.slow
@pytest.mark.parametrize("limit", [220, 260])
def test_windows_of_a_frame_cover_every_token(qwen3, encoded, limit):
    text = " ".join(f"{n} cat" for n in range(300))
    options = ScoringOptions(long_documents="windows", max_length=limit)
    scored = qwen3.score(QUERY, [Document("fish"), Document(text)], options)
    assert scored.truncated.tolist() == [False, False]
    owners = encoded[0].owners.tolist()
    assert owners[0] == 0
    assert owners[1:] == [1] * (len(owners) - 1)
    pieces = []
    for row, owner in zip(encoded[0].inputs, owners, strict=True):
        assert len(row.ids) <= limit
        piece = decoded(qwen3, row.ids)
        assert piece.startswith(qwen_head(QUERY).rstrip())
        assert piece.endswith(FOOT)
        if owner == 1:
            pieces.append(piece.removeprefix(qwen_head(QUERY).rstrip()).removesuffix(FOOT))
    assert len(pieces) > 3
    assert [len(row.ids) for row in encoded[0].inputs[2:]] == [limit] * (len(pieces) - 1)
    covered = 0  # characters that a window has had, from the front without a gap
    joined = f" {text}"
    for piece in pieces:
        # the lead blank of a later window stands before the document's own
        start = joined.find(piece if covered == 0 else piece.removeprefix(" "))
        assert 0 <= start <= covered
        covered = max(covered, start + len(piece.removeprefix(" ")))
    assert covered >= len(text)
    assert pieces[-1].endswith("299 cat")


@pytest.mark.slow
def test_windows_of_a_frame_score_the_best_piece(qwen3, encoded):
    options = ScoringOptions(long_documents="windows", max_length=300)
    scored = qwen3.score(QUERY, [Document(LONG)], options)
    forward = qwen3._load().forward
    each = [forward([row]).item() for row in encoded[0].inputs]
    assert len(each) > 5
    assert np.ptp(each) > 1e-3
    assert abs(scored.scores[0] - max(each)) < 1e-5


@pytest.mark.slow
def test_the_limit_of_bge_gemma_does_not_count_the_foot(gemma, encoded):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(gemma.model)
    parts = GEMMA_FOOT[:1], GEMMA_FOOT[1:]
    foot = [i for part in parts for i in tokenizer(part, add_special_tokens=False).input_ids]
    head = [tokenizer.bos_token_id]
    head += [i for part in (f"A: {QUERY}", "\n") for i in tokenizer(part, add_special_tokens=False).input_ids]
    # FlagEmbedding's runner: query and document have max_length and the foot's length, then the foot follows
    for limit, options in ((512, ScoringOptions()), (100, ScoringOptions(max_length=100))):
        scored = gemma.score(QUERY, [Document(LONG)], options)
        ids = encoded[-1].inputs[0].ids.tolist()
        document = tokenizer(f"B: {LONG}", add_special_tokens=False).input_ids
        assert ids == [*[*head, *document][: limit + len(foot)], *foot]
        assert scored.truncated.tolist() == [True]


@pytest.mark.slow
def test_a_document_whose_end_was_cut_keeps_the_tail(qwen3):
    frame = PromptFrame(head=("Q {query}\n<Document>",), lead=" ", tail="\n", foot=("<Query>",))
    tokenizer = qwen3._load().encoder._tokenizer
    encoder = RequestEncoder(tokenizer, FrameTemplate(tokenizer, frame, 40), 4)
    row = encoder.encode("cat", [LONG], ScoringOptions()).inputs[0].ids
    assert len(row) == 40
    text = decoded(qwen3, row)
    assert text.startswith("Q cat\n<Document> The cat eats")
    assert text.endswith("\n<Query>")
    windows = encoder.encode("cat", [LONG], WINDOWS).inputs
    for i, window in enumerate(windows):
        text = decoded(qwen3, window.ids)
        assert text.startswith("Q cat\n<Document> ")
        assert text.endswith("\n<Query>")
        # the first has the document's own lead and the last its own tail, each a token
        assert len(window.ids) == (39 if i in (0, len(windows) - 1) else 40)


@pytest.mark.slow
def test_a_recipe_of_a_single_string_uses_its_instruction_and_its_foot(tmp_path, encoded):
    folder = tiny_nemotron(tmp_path)
    frame = PromptFrame(head=("{instruction} question:{query}",), lead=" passage:", foot=("\nEnd",))
    recipe = Recipe(str(folder), "single_string", frame=frame, instruction="Birds", foot_is_extra=True)
    scorer = build_scorer(folder, recipe=recipe, trust_remote_code=True, device="cpu")
    scorer.score("cat", [Document("fish"), Document(LONG)], ScoringOptions(max_length=64))
    assert decoded(scorer, encoded[0].inputs[0].ids) == "Birds question:cat passage:fish\nEnd"
    assert len(encoded[0].inputs[1].ids) == 64 + 2 * read(scorer, "\nEnd")  # as for bge gemma above


def texts(count: int = 15) -> list[str]:
    random = np.random.default_rng(3)
    return [" ".join(random.choice(WORDS, size=n)) for n in random.integers(1, 30, count)]


def tiny_bert(folder: Path) -> Path:
    """Save a random BERT sequence classifier with WordPiece and token types."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*names, *dict.fromkeys(WORDS), *(c for c in "bcfghijklmnpqrstuvwxyz?!.")]
    pieces += [f"##{chr(code)}" for code in range(97, 123)]
    backend = Tokenizer(
        models.WordPiece({p: i for i, p in enumerate(dict.fromkeys(pieces))}, unk_token="[UNK]")
    )
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    marks = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=128,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **marks,
    )
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(tokenizer), num_labels=1, initializer_range=0.4, max_position_embeddings=128, **SMALL
    )
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("bert"))


@pytest.mark.slow
@pytest.mark.parametrize("packed", [True, False])
def test_token_types_are_those_of_the_tokenizer(bert, packed, monkeypatch):
    from lamar_rag.scoring import model_loading

    if not packed:
        monkeypatch.setattr(model_loading, "can_pack", lambda *_: False)
    scorer = CrossEncoderScorer(bert, device="cpu")
    pool = [*texts(), "", "unknownword ☃ 猫", "[SEP] cat [MASK]"]
    expected = np.array(pair_logits(bert, QUERY.lower(), pool))
    scores = scorer.score(QUERY.lower(), [Document(text) for text in pool]).scores
    assert scorer._load().forward.is_packed is packed
    assert np.ptp(expected) > 0.5
    assert np.abs(scores - expected).max() < 1e-5


@pytest.mark.slow
def test_token_types_make_a_difference_and_sentence_transformers_agrees(bert, encoded):
    from sentence_transformers import CrossEncoder
    from torch import nn

    pool = [*texts(), "cat " * 300]
    query = "the dog barked"
    theirs = CrossEncoder(str(bert), device="cpu", activation_fn=nn.Identity(), max_length=128).predict(
        [(query, text) for text in pool]
    )
    scorer = CrossEncoderScorer(bert, device="cpu")
    assert np.abs(scorer.score(query, [Document(text) for text in pool]).scores - theirs).max() < 1e-5
    row = encoded[0].inputs[0]
    assert row.types.tolist() == [0] * 5 + [1] * (len(row.ids) - 5)  # [CLS] the dog barked [SEP]
    untyped = row._replace(types=np.zeros_like(row.types))
    logits = scorer._load().forward([row]).item(), scorer._load().forward([untyped]).item()
    assert abs(logits[0] - logits[1]) > 1e-3


def backend_of(pair: str | None):
    from tokenizers import processors

    backend = tiny_tokenizer().backend_tokenizer
    if pair is not None:
        backend.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", pair=pair, special_tokens=[("<s>", 0), ("</s>", 2)]
        )
    return backend


def test_the_form_of_a_pair_is_the_tokenizers(request):
    for pair in (None, "<s> $A </s> $B:1 </s>:1", "$A </s> $B", "<s> $A </s> </s> </s> $B"):
        backend = backend_of(pair)
        encoder = RequestEncoder(backend, PairTemplate(backend, 96, takes_types=False), 4)
        row = encoder.encode("the cat", ["le chat est"], ScoringOptions()).inputs[0]
        assert row.ids.tolist() == backend.encode("the cat", "le chat est").ids
        assert row.types is None
        typed = RequestEncoder(backend, PairTemplate(backend, 96, takes_types=True), 4)
        row = typed.encode("the cat", ["le chat est"], ScoringOptions()).inputs[0]
        assert row.types.tolist() == backend.encode("the cat", "le chat est").type_ids


def test_a_tokenizer_that_gives_the_document_first_is_refused():
    with pytest.raises(ValueError, match="pairs are no query and document in order: give the model a prompt"):
        PairTemplate(backend_of("<s> $B </s> $A"), 96, takes_types=False)


def test_a_tokenizer_without_special_tokens_joins_query_and_document():
    from tiny_rerankers import CHAT_SPECIALS, QWEN_SPLIT

    backend = byte_level_tokenizer(QWEN_SPLIT, CHAT_SPECIALS).backend_tokenizer
    encoder = RequestEncoder(backend, PairTemplate(backend, 96, takes_types=False), 4)
    row = encoder.encode("the cat", ["le chat"], ScoringOptions()).inputs[0]
    assert row.ids.tolist() == backend.encode("the cat", "le chat").ids


@pytest.mark.slow
def test_a_pair_of_a_causal_classifier_is_read_at_its_last_token(tmp_path):
    import torch
    from tiny_rerankers import CHAT_SPECIALS, QWEN_SPLIT
    from transformers import Qwen3Config, Qwen3ForSequenceClassification

    tokenizer = byte_level_tokenizer(QWEN_SPLIT, CHAT_SPECIALS)
    tokenizer.pad_token = tokenizer.eos_token
    torch.manual_seed(8)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        num_labels=1,
        pad_token_id=tokenizer.pad_token_id,
        max_position_embeddings=512,
        **DECODER,
    )
    Qwen3ForSequenceClassification(config).eval().save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    pool = texts()
    expected = np.array(pair_logits(tmp_path, QUERY, pool))
    assert np.ptp(expected) > 0.1
    scores = CrossEncoderScorer(tmp_path, device="cpu").score(QUERY, [Document(text) for text in pool]).scores
    assert np.abs(scores - expected).max() < 1e-5


@pytest.mark.slow
def test_text_that_looks_like_padding_is_read_as_transformers_does(tmp_path):
    folder = tiny_cross_encoder(tmp_path)
    pool = ["cat <pad> dog", "<pad>", "a </s> b", "<s> cat", "the <mask> sat", "<unk>"]
    expected = np.array(pair_logits(folder, "the <pad> cat", pool))
    scores = (
        CrossEncoderScorer(folder, device="cpu").score("the <pad> cat", [Document(t) for t in pool]).scores
    )
    assert np.abs(scores - expected).max() < 1e-5
