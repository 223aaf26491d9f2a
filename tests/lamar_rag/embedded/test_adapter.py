"""The adapter: 4-bit blocks there and back, and a cross-encoder made of an encoder and what training changed."""

from __future__ import annotations

import numpy as np
import pytest

from lamar_rag.embedded.adapter import Adapter, read_adapter
from lamar_rag.embedded.q4_blocks import dequantize_q4, quantize_q4


def test_values_on_the_grid_come_back_exactly():
    grid = np.array([*range(-8, 8)] * 2, np.float32) * 0.25
    assert len(quantize_q4(grid)) == 18
    np.testing.assert_array_equal(dequantize_q4(quantize_q4(grid)), grid)
    np.testing.assert_array_equal(dequantize_q4(quantize_q4(np.zeros(64, np.float32))), np.zeros(64))
    with pytest.raises(ValueError, match="got 33 weights, expected a multiple of 32"):
        quantize_q4(np.zeros(33, np.float32))


def test_other_values_are_within_a_step_of_the_grid():
    weights = np.random.default_rng(0).normal(size=(50, 32)).astype(np.float32)
    found = dequantize_q4(quantize_q4(weights)).reshape(weights.shape)
    step = np.abs(weights).max(axis=1, keepdims=True) / 8
    # half a step, a whole one at the far end that the grid has not, and the scale's own rounding
    assert (np.abs(found - weights) <= 1.02 * step).all()
    assert np.sqrt(((found - weights) ** 2).mean() / (weights**2).mean()) < 0.1


def test_an_adapter_adds_differences_and_brings_new_tensors(tmp_path):
    matrix = np.random.default_rng(1).normal(size=(4, 64)).astype(np.float32)
    differences = {
        "a.weight": matrix,
        "a.bias": np.float32([0.5, -2.0]),
        "head.weight": np.float32([[1.0, 2.0]]),
    }
    size = Adapter(differences, {"layers": "3"}).save(tmp_path / "a.safetensors")
    assert size == (tmp_path / "a.safetensors").stat().st_size
    found = read_adapter(tmp_path / "a.safetensors")
    assert found.about == {"layers": "3"}
    base = {"a.weight": np.ones((4, 64), np.float32), "a.bias": np.zeros(2, np.float32), "b": np.float32([7])}
    applied = found.apply(base)
    quantized = dequantize_q4(quantize_q4(matrix)).reshape(4, 64)
    np.testing.assert_allclose(applied["a.weight"], 1 + quantized)
    np.testing.assert_array_equal(applied["a.bias"], [0.5, -2.0])
    np.testing.assert_array_equal(applied["head.weight"], [[1.0, 2.0]])
    np.testing.assert_array_equal(applied["b"], [7.0])
    assert base["a.bias"].tolist() == [0.0, 0.0]


def test_another_file_is_named(tmp_path):
    (tmp_path / "x.safetensors").write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match="which is no adapter"):
        read_adapter(tmp_path / "x.safetensors")
