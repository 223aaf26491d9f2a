"""Builds the XLM-R tokenizer of multilingual-e5-small from its pieces, as a `tokenizers` Unigram."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamar_rag.extras import require

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_WORD_MARK = "▁"


def nmt_nfkc_charsmap() -> bytes:
    """Return sentencepiece's compiled `nmt_nfkc` rule.

    The rule is not to be had by itself, but every model carries it: a throw-away model of one line does.
    """
    sentencepiece = require("sentencepiece", extra="embedded", purpose="building the e5 tokenizer")
    require("google.protobuf", extra="embedded", purpose="building the e5 tokenizer")
    from sentencepiece import sentencepiece_model_pb2

    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c d e f"]),
        model_writer=written,
        vocab_size=12,
        hard_vocab_limit=False,
        normalization_rule_name="nmt_nfkc",
        minloglevel=2,
    )
    model = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]
    model.ParseFromString(written.getvalue())
    return bytes(model.normalizer_spec.precompiled_charsmap)


def build_xlmr_tokenizer(pieces: Sequence[tuple[str, float]], *, unk: int, charsmap: bytes) -> Tokenizer:
    """Return a tokenizer that puts `<s> a </s>` around one text and `<s> a </s> </s> b </s>` around two.

    Args:
        pieces: (piece, log probability), in the order of their ids.
        unk: id of the unknown piece.
        charsmap: sentencepiece's compiled normalisation rule.
    """
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )

    tokenizer = Tokenizer(models.Unigram(list(pieces), unk_id=unk, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Precompiled(charsmap), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=_WORD_MARK, prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(replacement=_WORD_MARK, prepend_scheme="always")
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    ids = {token: tokenizer.token_to_id(token) for token in [*special, "<mask>"]}
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True, normalized=False)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", ids["<s>"]), ("</s>", ids["</s>"])],
    )
    return tokenizer
