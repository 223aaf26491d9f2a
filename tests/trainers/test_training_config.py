"""Configurations: what a file says of another one, and its mistakes."""

from __future__ import annotations

import pytest
from lamar_trainers.training_config import load_config


def test_a_file_changes_what_it_names_of_the_one_it_extends(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("extends: smoke\nname: mine\nmodel: {layers: 3}\ndistill: {weights: {binary: 0.1}}\n")
    smoke, mine = load_config("smoke"), load_config(file)
    assert (mine.name, mine.model.layers, mine.model.base) == ("mine", 3, smoke.model.base)
    assert mine.distill.weights == {**smoke.distill.weights, "binary": 0.1}
    assert mine.synthesis == smoke.synthesis


def test_a_chain_of_files_is_read_and_a_circle_refused(tmp_path):
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text("extends: smoke\nseed: 7\n")
    second.write_text(f"extends: {first}\nname: second\n")
    assert (load_config(second).seed, load_config(second).name) == (7, "second")
    first.write_text(f"extends: {second}\n")
    with pytest.raises(ValueError, match=r"second\.yaml, which extends itself"):
        load_config(second)


def test_what_a_file_extends_has_to_be_there(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("extends: nothing\n")
    with pytest.raises(ValueError, match="got configuration nothing, expected a YAML file or one of mini"):
        load_config(file)


@pytest.mark.parametrize("name", ["mini", "paper", "smoke"])
def test_shipped_configurations_are_whole(name):
    assert load_config(name).distill.learning_rate > 0
