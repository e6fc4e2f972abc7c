"""prime-rl: metrics and the episodes of evaluations."""

from helpers.source_bytes import read_only_run, rows_at, values_of, write_json, write_lines


def episode(question, score, group="g0", *, weight=1.0, ok=True, idx=0, **trace):
    made = {
        "agent": {"name": "solver"}, "ok": ok, "rewards": {"correct": {"score": score, "weight": weight}},
        "nodes": [
            {"message": {"role": "user", "content": question}, "sampled": False},
            {"message": {"role": "assistant", "content": [{"type": "text", "text": f"answer {score}"}]}, "sampled": True},
        ],
        "calls": [{"usage": {"prompt_tokens": 9, "completion_tokens": 30}, "finish_reason": "stop"}],
    }  # fmt: skip
    task = {"type": "Gsm8k", "data": {"idx": idx, "prompt": question, "answer": "4"}, "hash": f"h{idx}", "key": f"h{idx}"}
    return {
        "id": "e", "env": {"id": "gsm8k-v1", "name": "gsm8k"}, "task": task, "group": {"id": group}, "ok": ok, "errors": [],
        "traces": [made | trace],
    }  # fmt: skip


def write_run(folder, steps, subset="all"):
    for step, episodes in steps.items():
        write_lines(folder / f"rollouts/step_{step}/eval/{subset}/traces.jsonl", episodes)
    return folder


def test_metrics_settings_and_samples_are_one_run(tmp_path):
    folder = write_run(tmp_path / "math-s3", {0: [episode("a", 0.0)], 50: [episode("a", 1.0)]})
    rows = [
        {"step": s, "time": 1.79e9 + s, "optim/lr": 1e-6, "eval/gsm8k/effective/solver/avg@1": 0.5} for s in (0, 1, 2, 1, 2)
    ]
    write_lines(folder / "metrics.jsonl", rows)
    write_json(folder / "configs/rl.json", {"model": {"name": "Qwen/Qwen3-0.6B"}, "seed": 3})
    write_lines(folder / "rollouts/step_1/train/all/traces.jsonl", [episode("t", 1.0)])
    run = read_only_run(tmp_path)
    assert (run.name, run.tool, list(run.samples)) == ("math-s3", "prime-rl run", [0, 50])
    assert run.settings == {"model.name": "Qwen/Qwen3-0.6B", "seed": 3}
    assert [step for step, _ in values_of(run, "optim/lr")] == [0, 1, 2, 1, 2] and not values_of(run, "time")
    assert run.points[0].wall_time == 1.79e9
    assert run.remarks == [
        "steps go back from 2 to 1: the run was resumed there",
        "4 values were written again for the same step (first at step 1); the last one counts",
    ]


def test_damaged_settings_do_not_hide_the_run(tmp_path):
    write_run(tmp_path, {0: [episode("a", 1.0)]})
    write_lines(tmp_path / "configs/rl.json", ["{"], end="")
    run = read_only_run(tmp_path)
    assert run.settings == {} and len(rows_at(run, 0)) == 1 and "rl.json was left out" in run.remarks[0]


def test_samples_have_texts_lengths_and_the_weighted_reward(tmp_path):
    cut = episode("b", 0.5, weight=2.0, calls=[{"usage": {"completion_tokens": 512}, "finish_reason": "length"}])
    write_run(tmp_path, {10: [episode("a", 1.0), episode("a", 0.0), cut]})
    rows = rows_at(read_only_run(tmp_path), 10)
    assert [(row.benchmark, row.sample, row.value, row.tokens, row.truncated) for row in rows] == [
        ("gsm8k", 0, 1.0, 30, False), ("gsm8k", 1, 0.0, 30, False), ("gsm8k", 0, 1.0, 512, True),
    ]  # fmt: skip
    assert (rows[0].prompt, rows[0].output, rows[0].gold) == ("a", "answer 1.0", "4")


def test_an_item_is_its_data_and_not_its_generated_index(tmp_path):
    write_run(tmp_path, {0: [episode("a", 1.0, idx=0), episode("b", 1.0, idx=1)], 5: [episode("a", 1.0, idx=7)]})
    run = read_only_run(tmp_path)
    assert rows_at(run, 5)[0].item == rows_at(run, 0)[0].item != rows_at(run, 0)[1].item
    keyed = episode("a", 1.0)
    keyed["task"] |= {"key": "durable"}
    write_run(tmp_path / "k", {0: [keyed]})
    assert rows_at(read_only_run(tmp_path / "k"), 0)[0].item != rows_at(run, 0)[0].item


def test_failed_episodes_count_as_wrong_and_are_told(tmp_path):
    failed = episode("a", 1.0, ok=False)
    failed["traces"] = []
    write_run(tmp_path, {20: [episode("a", 1.0), failed]})
    run = read_only_run(tmp_path)
    assert [row.value for row in rows_at(run, 20)] == [1.0, 0.0]
    assert run.remarks == ["step_20: 1 episodes failed and count as wrong"]


def test_effective_is_read_only_where_all_is_missing(tmp_path):
    write_run(tmp_path / "a", {0: [episode("a", 1.0), episode("b", 0.0, ok=False)]})
    write_run(tmp_path / "a", {0: [episode("a", 1.0)]}, "effective")
    run = read_only_run(tmp_path / "a")
    assert len(rows_at(run, 0)) == 2 and not any("effective" in remark for remark in run.remarks)
    write_run(tmp_path / "b", {0: [episode("a", 1.0)]}, "effective")
    assert "leaves out the episodes that failed" in read_only_run(tmp_path / "b").remarks[0]


def test_rewards_outside_0_and_1_and_missing_ones(tmp_path):
    write_run(tmp_path, {0: [episode("a", -1.0), episode("b", 1.0, rewards={"x": None}), episode("c", 1.0, rewards={})]})
    run = read_only_run(tmp_path)
    assert [row.value for row in rows_at(run, 0)] == [None, 0.0, 0.0]
    assert run.remarks == ["step_0: 1 rewards are not from 0 to 1, and their samples have no verdict"]


def test_the_trainable_agent_counts(tmp_path):
    several = episode("a", 0.0)
    several["traces"] = [
        {"agent": {"name": "judge", "trainable": False}, "rewards": {"x": {"score": 0.9}}},
        {"agent": {"name": "solver"}, "rewards": {"x": {"score": 1.0}}},
    ]
    write_run(tmp_path, {0: [several]})
    run = read_only_run(tmp_path)
    assert rows_at(run, 0)[0].value == 1.0 and "several agents (judge, solver)" in run.remarks[0]


def test_a_second_group_is_a_second_item_unless_all_have_one(tmp_path):
    twice = [episode("a", 1.0, group) for group in ("g1", "g2")] + [episode("b", 1.0, "g3"), episode("c", 1.0, "g4")]
    write_run(tmp_path / "twice", {0: twice})
    rows = rows_at(read_only_run(tmp_path / "twice"), 0)
    assert len({row.item for row in rows}) == 4 and rows[1].item == f"{rows[0].item}#2"
    again = [episode(question, 1.0, f"{question}{n}") for n in range(2) for question in ("a", "b") for _ in range(3)]
    write_run(tmp_path / "again", {0: again})
    rows = rows_at(read_only_run(tmp_path / "again"), 0)
    assert len({row.item for row in rows}) == 2 and {row.sample for row in rows} == set(range(6))
