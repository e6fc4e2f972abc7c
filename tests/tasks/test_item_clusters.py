"""Clusters of items: by a field of a user's file, by shared text and by section in benchmarks of the table."""

import json
from dataclasses import replace

import pytest

from passus.errors import UsageError
from passus.tasks import dataset
from passus.tasks.benchmark_spec import Benchmark
from passus.tasks.benchmarks import find_benchmark
from passus.tasks.lookup import benchmark_items

PASSAGE = "A train leaves the station at eight in the morning and arrives at noon, and it stops for ten minutes in five towns. "
ROWS = [
    {"problem": PASSAGE + "How long does it stop in all?", "answer": "50"},
    {"problem": "What is 2+2?", "answer": "4"},
    {"problem": PASSAGE + "How long does it go?", "answer": "190"},
]


def write(path, rows) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def clusters(name: str) -> list[str]:
    dataset._load_items.cache_clear()
    return [item.cluster for item in benchmark_items(name)]


def test_a_users_file_says_what_belongs_together(tmp_path):
    rows = [row | {"passage": n % 2, "cluster": text} for n, (row, text) in enumerate(zip(ROWS, "xyx", strict=True))]
    path = write(tmp_path / "mine.jsonl", rows)
    assert clusters(path) == ["x", "y", "x"]
    assert clusters(f"{path}?cluster=passage") == ["0", "1", "0"]
    assert clusters(f"{path}?cluster=") == ["", "", ""]


def test_without_a_field_a_users_items_are_independent(tmp_path):
    """Every question of a user's file may begin with the same instruction."""
    assert clusters(write(tmp_path / "mine.jsonl", ROWS)) == ["", "", ""]


def test_null_is_a_cluster_of_its_own_and_a_passage_is_named_by_its_hash(tmp_path):
    path = write(
        tmp_path / "mine.jsonl", [row | {"passage": text} for row, text in zip(ROWS, (PASSAGE, None, PASSAGE), strict=True)]
    )
    first, second, third = clusters(f"{path}?cluster=passage")
    assert first == third and len(first) == 16 and second == ""


@pytest.mark.parametrize(
    ("row", "reason"), [({}, "no 'passage'"), ({"passage": [1]}, r"passage is \[1\], not a text or a number")]
)
def test_a_row_without_the_named_field_is_an_error_with_its_line(tmp_path, row, reason):
    path = write(tmp_path / "mine.jsonl", [ROWS[0] | {"passage": "a"}, ROWS[1] | row])
    with pytest.raises(UsageError, match=f"line 2 is not an item.*{reason}"):
        clusters(f"{path}?cluster=passage")


def test_questions_of_the_table_that_begin_alike_are_one_cluster(tmp_path, monkeypatch):
    write(tmp_path / "table.jsonl", [row | {"id": f"t-{n}"} for n, row in enumerate(ROWS)])
    monkeypatch.setenv("PASSUS_DATA", str(tmp_path))
    items = dataset.load_items(Benchmark("table", "", "", 3, ("table.jsonl",)))
    assert [item.cluster for item in items] == ["t-0", "", "t-0"]


def test_exercises_of_one_section_are_one_cluster(tmp_path, monkeypatch):
    college = find_benchmark("college_math")
    assert college is not None
    sources = ["Calculus/exercise.3.5.1", "Calculus/exercise.3.5.12", "Calculus/exercise.3.6.1"]
    write(tmp_path / "college_math.jsonl", [row | {"source": source} for row, source in zip(ROWS, sources, strict=True)])
    monkeypatch.setenv("PASSUS_DATA", str(tmp_path))
    items = dataset.load_items(replace(college, items=3))
    assert [item.cluster for item in items] == ["Calculus/exercise.3.5", "Calculus/exercise.3.5", "Calculus/exercise.3.6"]


@pytest.mark.parametrize("name", ["abacus/add3", "words"])
def test_generated_tasks_have_no_clusters(name):
    assert not any(item.cluster for item in benchmark_items(name))


def test_clusters_do_not_change_the_fingerprint(tmp_path):
    items = benchmark_items(write(tmp_path / "mine.jsonl", ROWS))
    assert dataset.fingerprint(items) == dataset.fingerprint([replace(item, cluster="a") for item in items])
