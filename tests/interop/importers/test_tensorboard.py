"""TensorBoard: both forms of scalars, sessions, resumes, settings in texts, and what is torn."""

import math

from helpers.source_bytes import event, event_file, field, read_only_run, tensor_event, text_event, values_of
from passus.interop.importers.detect import find_sources
from passus.interop.importers.tensorboard import _read_plain


def write_events(folder, events, time=1794795146, suffix=".0", cut=0):
    folder.mkdir(parents=True, exist_ok=True)
    data = event_file(events)
    path = folder / f"events.out.tfevents.{time}.host.123{suffix}"
    path.write_bytes(data[: len(data) - cut])
    return path


def test_simple_values_with_time_and_step(tmp_path):
    write_events(tmp_path / "grpo-s0", [event(s, "train/reward", s / 4, 1.79e9 + s) for s in range(4)])
    run = read_only_run(tmp_path)
    assert (run.name, run.tool, run.remarks) == ("grpo-s0", "TensorBoard", [])
    assert values_of(run, "train/reward") == [(0, 0.0), (1, 0.25), (2, 0.5), (3, 0.75)]
    assert [point.wall_time for point in run.points] == [1.79e9 + s for s in range(4)]


def test_the_fast_path_gives_what_the_fields_give(tmp_path):
    tags = ["a", "x" * 50, "x" * 90, "x" * 115, "x" * 200, "é" * 20]
    events = [event(step, tag, 0.5) for tag in tags for step in (1, 127, 128, 70_000)]
    assert 16 <= sum(_read_plain(e) is not None for e in events) < len(events)
    write_events(tmp_path, events)
    assert [(p.step, p.name) for p in read_only_run(tmp_path).points] == [(s, t) for t in tags for s in (1, 127, 128, 70_000)]


def test_scalars_as_tensors(tmp_path):
    events = [tensor_event(s, "eval/acc", 0.5, as_list=s % 2 == 0) for s in (1, 2)]
    vector = field(1, 1.79e9) + field(2, 3) + field(5, field(1, field(1, "hist") + field(8, field(1, 1) + field(4, bytes(12)))))
    write_events(tmp_path, [*events, vector])
    assert [(p.step, p.name, p.value) for p in read_only_run(tmp_path).points] == [(1, "eval/acc", 0.5), (2, "eval/acc", 0.5)]


def test_sessions_follow_each_other_in_order_of_their_time(tmp_path):
    write_events(tmp_path, [event(s, "r", 2.0) for s in (4, 5, 6)], time=1794795200)
    write_events(tmp_path, [event(s, "r", 1.0) for s in range(6)], time=1794795146, suffix=".9")
    run = read_only_run(tmp_path)
    assert [step for step, _ in values_of(run, "r")] == [0, 1, 2, 3, 4, 5, 4, 5, 6] and dict(values_of(run, "r"))[5] == 2.0
    assert run.remarks == [
        "steps go back from 5 to 4: the run was resumed there",
        "2 values were written again for the same step (first at step 4); the last one counts",
    ]


def test_nan_is_a_gap_and_a_torn_record_is_dropped(tmp_path):
    write_events(tmp_path, [event(1, "r", math.nan), event(2, "r", math.inf), event(3, "r", 1.0)], cut=10)
    run = read_only_run(tmp_path)
    assert len(run.points) == 2 and all(math.isnan(point.value) for point in run.points)
    assert "the last record is cut off" in run.remarks[0]


def test_settings_in_texts_of_hugging_face(tmp_path):
    texts = [text_event("args/text_summary", '{"seed": 42, "output_dir": "x"}'), text_event("note/text_summary", "words")]
    texts.append(text_event("model_config/text_summary", '{"_name_or_path": "Qwen/Qwen3-0.6B"}'))
    write_events(tmp_path, [*texts, event(1, "train/loss", 1.0)])
    settings = read_only_run(tmp_path).settings
    assert settings == {"seed": 42, "output_dir": "x", "model_config._name_or_path": "Qwen/Qwen3-0.6B"}


def test_a_folder_is_a_run_and_one_without_scalars_says_so(tmp_path):
    write_events(tmp_path / "grpo-s0" / "tb", [event(1, "r", 1.0)])
    write_events(tmp_path / "grpo-s0" / "tb" / "1794795146.123", [text_event("_hparams_", "{}")])
    found = find_sources(tmp_path)
    runs = [run for source in found for run in source.read()]
    assert sorted(run.name for run in runs) == ["grpo-s0", "grpo-s0/tb/1794795146.123"]
    assert [len(run.points) for run in runs] == [1, 0] and runs[1].remarks == ["the event files have no scalars"]


def test_records_that_are_no_events_are_told(tmp_path):
    write_events(tmp_path, [b"\xff" * 20, event(1, "r", 1.0), field(2, -3 & (1 << 64) - 1) + event(1, "r", 1.0)[9:]])
    run = read_only_run(tmp_path)
    assert len(run.points) == 2 and any("1 records cannot be parsed" in remark for remark in run.remarks)


def test_lengths_beyond_the_file_end_the_reading(tmp_path):
    path = write_events(tmp_path, [event(1, "r", 1.0)])
    path.write_bytes(path.read_bytes() + b"\xff" * 12 + b"x" * 100)
    run = read_only_run(tmp_path)
    assert len(run.points) == 1 and "cut off" in run.remarks[0]
    path.write_bytes(b"")
    assert read_only_run(tmp_path).points == []
