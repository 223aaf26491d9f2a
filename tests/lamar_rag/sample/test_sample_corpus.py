from __future__ import annotations

import unicodedata
from collections import defaultdict

import pytest

from lamar_rag.languages import detect_language
from lamar_rag.sample_corpus import sample_documents, sample_questions

LANGUAGES = {"ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"}
SCRIPTS = {"ar": "ARABIC", "el": "GREEK", "hi": "DEVANAGARI", "ru": "CYRILLIC", "th": "THAI", "zh": "CJK"}


@pytest.fixture(scope="module")
def by_topic():
    topics = defaultdict(dict)
    for document in sample_documents():
        topics[document.metadata["topic"]][document.language] = document
    return topics


def test_counts_and_ids(by_topic):
    documents = sample_documents()
    assert len({document.id for document in documents}) == len(documents) == 334
    parallel = [topic for topic, languages in by_topic.items() if len(languages) > 1]
    alone = [next(iter(languages)) for languages in by_topic.values() if len(languages) == 1]
    assert len(parallel) == 27
    assert all(set(by_topic[topic]) == LANGUAGES for topic in parallel)
    assert len(alone) == 10
    assert len(set(alone)) == 10


def test_each_text_is_in_its_language():
    wrong = [d.id for d in sample_documents() if detect_language(f"{d.title}. {d.text}") != d.language]
    assert wrong == []


def test_each_text_is_in_its_script():
    for document in sample_documents():
        letters = [unicodedata.name(c).split()[0] for c in document.text if c.isalpha()]
        script = SCRIPTS.get(document.language, "LATIN")
        share = sum(name.startswith(script) for name in letters) / len(letters)
        assert share > 0.9, (document.id, share)


def test_texts_are_short_and_of_one_size(by_topic):
    for document in sample_documents():
        assert document.title
        assert 60 <= len(document.text) <= 700, document.id


def test_questions_have_the_case_that_they_state(by_topic):
    questions = sample_questions()
    assert {q.language for q in questions if q.case == "same-language"} == LANGUAGES
    assert len({q.language for q in questions if q.case == "other-language"}) >= 8
    for question in questions:
        passages = by_topic[question.topic]
        if question.case == "same-language":
            assert question.answer in passages[question.language].text, question.id
        else:
            assert question.case == "other-language"
            assert question.language not in passages, question.id
        assert detect_language(question.question) == question.language, question.id
