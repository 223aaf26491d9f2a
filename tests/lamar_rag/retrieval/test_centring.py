from __future__ import annotations

import numpy as np
import pytest

from lamar_rag.retrieval.centring import LanguageCentring, shipped_centring, unit_vectors


def two_languages() -> LanguageCentring:
    vectors = {
        "query": {"de": np.array([[1.0, 0.0]], np.float32), "en": np.array([[0.0, 1.0]], np.float32)},
        "passage": {
            "de": np.array([[0.75, 0.25], [0.25, 0.75]], np.float32),
            "en": np.array([[0.0, 1.0]], np.float32),
        },
    }
    return LanguageCentring.estimate("by-hand", vectors)


def test_means_by_language_and_over_languages():
    means = two_languages().means["passage"]
    assert np.allclose(means["de"], [0.5, 0.5])
    assert np.allclose(means["en"], [0.0, 1.0])
    assert np.allclose(means["*"], [0.25, 0.75])  # languages weigh alike, however many texts they have


def test_apply_subtracts_and_renormalises():
    centred = two_languages().apply(np.array([[0.8, 0.1]], np.float32), "passage", ["de"])
    # by hand: (0.8 - 0.5, 0.1 - 0.5) = (0.3, -0.4), length 0.5
    assert np.allclose(centred, [[0.6, -0.8]])


def test_an_unknown_language_takes_the_mean_over_languages():
    centring = two_languages()
    vector = np.array([[0.25, 1.75]], np.float32)
    assert np.allclose(centring.apply(vector, "passage", ["und"]), [[0.0, 1.0]])
    assert np.allclose(centring.apply(vector, "passage", ["mi"]), [[0.0, 1.0]])


def test_any_form_of_a_code_takes_its_languages_mean():
    centring = two_languages()
    vector = np.array([[0.8, 0.1]], np.float32)
    assert np.array_equal(
        centring.apply(vector, "passage", ["deu_Latn"]), centring.apply(vector, "passage", ["de"])
    )


def test_the_input_stays_and_a_zero_stays_zero():
    centring = two_languages()
    vectors = np.array([[0.5, 0.5], [1.0, 0.0]], np.float32)
    before = vectors.copy()
    centred = centring.apply(vectors, "passage", ["de", "de"])
    assert np.array_equal(vectors, before)
    assert centred[0].tolist() == [0.0, 0.0]
    assert centred.dtype == np.float32


def test_save_and_load(tmp_path):
    path = tmp_path / "means.safetensors"
    two_languages().save(path)
    loaded = LanguageCentring.load(path)
    assert loaded.name == "by-hand"
    assert loaded.languages == ["de", "en"]
    for kind in ("query", "passage"):
        for language, mean in two_languages().means[kind].items():
            assert np.allclose(loaded.means[kind][language], mean, atol=1e-3)


def test_errors(tmp_path):
    with pytest.raises(ValueError, match="1 languages for 2 vectors"):
        two_languages().apply(np.zeros((2, 2), np.float32), "query", ["de"])
    from safetensors.numpy import save_file

    save_file({"query/*": np.zeros(2, np.float32)}, str(tmp_path / "half.safetensors"))
    with pytest.raises(ValueError, match="passage"):
        LanguageCentring.load(tmp_path / "half.safetensors")


def test_shipped_means_cover_the_languages_of_the_paper():
    centring = shipped_centring("multilingual-e5-small")
    assert centring is not None
    assert len(centring.languages) == 51
    assert {"ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"} <= set(centring.languages)
    assert shipped_centring("some/other-model") is None


def test_unit_vectors():
    assert np.allclose(unit_vectors(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)), [[0.6, 0.8], [0.0, 0.0]])
