"""OpenCompass: percent, details in all their forms, and replicas in the predictions."""

from helpers.source_bytes import read_only_run, rows_at, values_of, write_json


def write_results(folder, content, model="grpo-s0-step_40", dataset="aime2024", predictions=None):
    write_json(folder / "results" / model / f"{dataset}.json", content)
    (folder / "configs").mkdir(exist_ok=True)
    if predictions is not None:
        write_json(folder / "predictions" / model / f"{dataset}.json", predictions)


def test_details_by_number(tmp_path):
    details = {
        "type": "GEN",
        "0": {"prompt": "q0", "origin_prediction": "it is 4", "predictions": "4", "references": "4", "correct": True},
        "1": {"prompt": [{"role": "HUMAN", "prompt": "q1"}], "predictions": "5", "references": "6", "correct": [False]},
    }
    write_results(tmp_path / "20260801_120000", {"accuracy": 50.0, "details": details})
    run = read_only_run(tmp_path)
    assert (run.name, list(run.samples)) == ("grpo-s0", [40]) and values_of(run, "aime2024/accuracy") == [(40, 50.0)]
    rows = rows_at(run, 40)
    assert [(row.value, row.extracted, row.gold, row.benchmark) for row in rows] == [
        (1.0, "4", "4", "aime2024"), (0.0, "5", "6", "aime2024"),
    ]  # fmt: skip
    assert (rows[0].prompt, rows[0].output, rows[1].prompt) == ("q0", "it is 4", "HUMAN: q1")
    assert "the scores are in percent" in run.remarks and any("no predictions beside" in remark for remark in run.remarks)


def predictions(n, q):
    rows = [(f"prompt {j}", f"text {i} {j}", f"gold {j}") for i in range(n) for j in range(q)]
    return {str(m): {"origin_prompt": p, "prediction": t, "gold": g} for m, (p, t, g) in enumerate(rows)}


def test_replicas_of_an_example_in_both_forms(tmp_path):
    right = [[True, False, True], [False, False, False]]
    as_objects = [
        {
            "example_abbr": f"math_{j}",
            "predictions": [{"pred": f"p{i}", "answer": f"gold {j}", "correct": right[j][i]} for i in range(3)],
        }
        for j in range(2)
    ]
    as_columns = [
        {"example_abbr": f"math_{j}", "pred": [f"p{i}" for i in range(3)], "answer": [f"gold {j}"] * 3, "correct": right[j]}
        for j in range(2)
    ]
    for name, details in (("a", as_objects), ("b", as_columns)):
        write_results(tmp_path / name, {"accuracy (3 runs average)": 33.3, "details": details}, predictions=predictions(3, 2))
        rows = rows_at(read_only_run(tmp_path / name), 40)
        assert [(row.sample, row.value) for row in rows] == [(0, 1), (1, 0), (2, 1), (0, 0), (1, 0), (2, 0)]
        assert [row.output for row in rows] == ["text 0 0", "text 1 0", "text 2 0", "text 0 1", "text 1 1", "text 2 1"]
        assert (rows[0].prompt, rows[0].gold, rows[0].extracted) == ("prompt 0", "gold 0", "p0")


def test_replicas_by_number_are_samples_of_one_item(tmp_path):
    details = {str(m): {"prompt": f"q{m % 2}", "references": "1", "correct": m % 3 == 0} for m in range(6)}
    write_results(tmp_path / "t", {"accuracy": 1.0, "details": details})
    rows = rows_at(read_only_run(tmp_path), 40)
    assert len({row.item for row in rows}) == 2 and {row.sample for row in rows} == {0, 1, 2}


def test_predictions_in_parts(tmp_path):
    details = {str(m): {"predictions": "x", "references": "1", "correct": True} for m in range(3)}
    write_results(tmp_path, {"accuracy": 1.0, "details": details})
    folder = tmp_path / "predictions" / "grpo-s0-step_40"
    write_json(folder / "aime2024_0.json", {"0": {"prediction": "a"}, "1": {"prediction": "b"}})
    write_json(folder / "aime2024_1.json", {"0": {"prediction": "c"}})
    assert [row.output for row in rows_at(read_only_run(tmp_path), 40)] == ["a", "b", "c"]


def test_results_without_details_are_means(tmp_path):
    for step, score in ((20, 10.0), (40, 20.0)):
        write_results(tmp_path / "time", {"accuracy": score, "text": "no number"}, f"model-step_{step}", "gsm8k")
    run = read_only_run(tmp_path)
    assert values_of(run, "gsm8k/accuracy") == [(20, 10), (40, 20)] and not run.samples
    assert any("--dump-eval-details" in remark for remark in run.remarks)


def test_samples_without_a_verdict(tmp_path):
    write_results(tmp_path, {"score": 1.0, "details": [{"example_abbr": "a_0", "pred": ["x"]}, 3]})
    run = read_only_run(tmp_path)
    assert [row.value for row in rows_at(run, 40)] == [None, None] and any(
        "2 samples have no verdict" in r for r in run.remarks
    )
