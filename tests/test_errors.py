"""Hints at misspelt names: the distance, who wins, and when there is no hint."""

from itertools import product

import pytest

from passus.config.experiment import load_experiment
from passus.config.resolve import nearest_key
from passus.errors import UsageError, edit_distance, nearest
from passus.methods.presets import PRESETS


def one_edit_away(text: str, letters: str, longest: int) -> set[str]:
    """All texts that one insertion, deletion, replacement or swap of neighbours makes of a text."""
    deleted = {text[:i] + text[i + 1 :] for i in range(len(text))}
    replaced = {text[:i] + letter + text[i + 1 :] for i in range(len(text)) for letter in letters}
    swapped = {text[:i] + text[i + 1] + text[i] + text[i + 2 :] for i in range(len(text) - 1)}
    inserted = {text[:i] + letter + text[i:] for i in range(len(text) + 1) for letter in letters}
    return {made for made in deleted | replaced | swapped | inserted if len(made) <= longest}


def test_the_distance_is_the_least_number_of_edits_that_a_search_finds():
    """From every text of up to three letters to every other, by breadth-first search through texts of up to five."""
    texts = ["".join(letters) for n in range(4) for letters in product("abc", repeat=n)]
    for start in texts:
        edits, reached = {start: 0}, {start}
        while reached:
            farther = {made for text in reached for made in one_edit_away(text, "abc", 5)} - edits.keys()
            edits |= dict.fromkeys(farther, edits[next(iter(reached))] + 1)
            reached = farther
        assert {text: edit_distance(start, text) for text in texts} == {text: edits[text] for text in texts}


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("gpro", "grpo"), ("grop", "grpo"), ("GRPO", "grpo"), ("dr-grpo", "dr_grpo"), ("drgrpo", "dr_grpo"), ("rlo", "rloo"),
        ("cipso", "cispo"), ("mle", "mel"), ("reinforce", "reinforce_pp"), ("ppo", None), ("foo", None), ("x", None),
        ("", None), ("banana", None), ("g" * 300, None),
    ],
)  # fmt: skip
def test_the_nearest_method_wins_and_where_none_is_near_there_is_no_hint(word, hint):
    assert nearest(word, PRESETS) == hint


def test_a_name_is_found_by_its_last_part_but_the_whole_name_goes_first():
    models = ["nano/qwen3", "nano/qwen2.5", "nano/llama3.2"]
    assert [nearest(word, models) for word in ("qwen3", "llama3.1", "5", "nano/qwen")] == [
        models[0],
        models[2],
        None,
        models[0],
    ]
    assert nearest("steps", ["train.steps", "step"]) == "train.steps"
    assert nearest("add2", ["add3", "abacus/add2"]) == "abacus/add2"


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("train.stpes", "train.steps"), ("stepz", "train.steps"), ("trian.steps", "train.steps"), ("train.every", "eval.every"),
        ("train.warmup", "train.optimizer.warmup"), ("model.rank", "model.lora.rank"), ("sede", "seed"), ("train.zebra", None),
        ("zebra", None),
    ],
)  # fmt: skip
def test_fields_are_looked_for_in_their_table_then_in_others(key, hint):
    assert nearest_key(key) == hint


def test_the_hint_reaches_the_message():
    with pytest.raises(UsageError, match=r"write: grpo$"):
        load_experiment("families", ["method.name=gpro"])
    with pytest.raises(UsageError) as refused:
        load_experiment("families", ["method.name=banana"])
    assert "write:" not in str(refused.value)


@pytest.mark.parametrize(
    ("override", "hint"),
    [
        ("model.tuning=forzen", "frozen"), ("train.optimizer.schedule=cosin", "cosine"), ("run.device=gpu", None),
        ("figure=heatmp", "heatmap"), ("model.tuning=3", None),
    ],
)  # fmt: skip
def test_a_field_with_fixed_choices_names_the_nearest(override, hint):
    with pytest.raises(UsageError) as refused:
        load_experiment("families", [override])
    assert str(refused.value).partition("write: ")[2] == (hint or "")
