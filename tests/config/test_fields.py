"""The fields of an experiment file: how many there are, and that each is documented once."""

import pytest

from passus.config.explain import explain
from passus.config.resolve import fields, inner_fields, resolve
from passus.methods.presets import PRESETS

MOST_FIELDS = 50
APART = ("method.", "fault.", "imported.")
"""Methods and faults have fields of their own; experiment files do not have [imported]."""


def test_there_are_few_fields_beside_methods_and_faults():
    assert len([key for key in fields() if not key.startswith(APART)]) <= MOST_FIELDS


def test_every_field_is_documented():
    for key, field in (fields() | inner_fields()).items():
        assert field.description and field.description.rstrip().endswith((".", '."')), key
        assert key in explain(key)


def test_all_fields_are_listed_by_table():
    listing = explain(None)
    assert all(key in listing for key in fields())
    assert listing.index("[model]") < listing.index("[task]") < listing.index("[run]")


@pytest.mark.parametrize(
    ("method", "kind"),
    [(name, {"sft": "sft", "reward_model": "reward_model", "candidates": "candidates"}.get(name, "rl")) for name in PRESETS],
)
def test_the_kind_of_a_run_follows_from_its_method(method, kind):
    tables = {"model": {"base": "nano/qwen3"}, "method": {"name": method}, "candidates": {"sources": ["a.parquet"]}}
    assert resolve(tables, "test").kind == kind


def test_weights_of_a_mixture_stand_in_its_name():
    config = resolve({"model": {"base": "nano/qwen3"}, "task": {"name": "abacus/add2*3+sub"}}, "test")
    assert config.task.mixture == ("abacus/add2+sub", (3, 1))
    names = [item.benchmark for _, item in config.task.items(0, 0, 8)]
    assert names.count("abacus/add2") == 6 and names.count("abacus/sub") == 2
