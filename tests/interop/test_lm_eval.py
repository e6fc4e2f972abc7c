"""lm-eval: scores of GSM8K against its own filters, where it is installed, and the keys of its files."""

import json
import random
from dataclasses import replace

import pytest

from passus.config import resolve
from passus.evaluation import suite
from passus.evaluation.evaluate import evaluate
from passus.interop import lm_eval, lm_eval_gsm8k
from passus.interop.importers.detect import find_sources
from passus.interop.importers.import_options import ImportOptions
from passus.interop.importers.import_sources import import_runs, plan_import
from passus.interop.lm_eval import EvaluationResult
from passus.runs.run_folder import RunFolder, find_runs
from passus.tasks import benchmarks, dataset

CASES = [
    # output, gold, strict extracts, strict is right, flexible extracts, flexible is right; by lm-eval 0.4.13
    ("so 18 eggs\n#### 18", "18", "18", True, "18", True),
    ("The answer is 18.", "18", "[invalid]", False, "18.", True),
    ("#### 1,234", "1234", "1,234", True, "1,234", True),
    ("It costs $1,234.00", "1234", "[invalid]", False, "$1,234.00", False),
    ("$5", "5", "[invalid]", False, "$5", True),
    ("#### $18", "18", "[invalid]", False, "$18", True),
    ("#### 18 and then 19", "18", "18", True, "19", False),
    ("#### 17\n#### 18", "18", "17", False, "18", True),
    ("####18", "18", "[invalid]", False, "18", True),
    ("-7", "-7", "[invalid]", False, "-7", True),
    ("\\boxed{18}", "18", "[invalid]", False, "18", True),
    ("\\boxed{18} dollars, i.e. 1800 cents...", "18", "[invalid]", False, "...", False),
    ("no number", "18", "[invalid]", False, "[invalid]", False),
    ("", "18", "[invalid]", False, "[invalid]", False),
    ("#### 18.", "18", "18.", True, "18.", True),
    ("#### 18.0", "18", "18.0", False, "18.0", False),
    ("#### .,", "18", ".,", False, ".,", False),
    ("eighteen, or 18 , yes", "18", "[invalid]", False, "18", True),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0][:20])
def test_strict_and_flexible_match(case):
    output, gold, *expected = case
    assert lm_eval_gsm8k.extract_strict(output) == expected[0] and lm_eval_gsm8k.extract_flexible(output) == expected[2]
    scores = lm_eval_gsm8k.scores(output, gold)
    assert [scores[name][1] for name in lm_eval_gsm8k.FILTERS] == [expected[1], expected[3]]


def outputs(count: int) -> list[tuple[str, str]]:
    """Returns random sequences of the pieces that answers to GSM8K consist of, with golds as GSM8K has them."""
    rng = random.Random(0)
    pieces = [
        "#### ", "#### 18", "#### 1,800", "18", "1,800", "$", ".", ",", "-", " is ", "\n", "\\boxed{18}", "7", "18.00", "#",
    ]  # fmt: skip
    return [
        ("".join(rng.choices(pieces, k=rng.randrange(0, 9))), rng.choice(["18", "1800", "worked\n#### 1,800"]))
        for _ in range(count)
    ]


def test_scores_equal_lm_evals_own():
    extraction = pytest.importorskip("lm_eval.filters.extraction", reason="lm-eval is not installed")
    metrics = pytest.importorskip("lm_eval.api.metrics", reason="lm-eval is not installed with all it needs")
    ignored = [",", "\\$", "(?s).*#### ", "\\.$"]  # of its gsm8k.yaml, as are the patterns
    filters = {
        "strict-match": extraction.RegexFilter(r"#### (\-?[0-9\.\,]+)"),
        "flexible-extract": extraction.RegexFilter(r"(-?[$0-9.,]{2,})|(-?[0-9]+)", group_select=-1),
    }
    pairs = [*outputs(3000), *((case[0], case[1]) for case in CASES)]
    for name, theirs in filters.items():
        extracted = [found[0] for found in theirs.apply([[output] for output, _ in pairs], [])]
        mine = [lm_eval_gsm8k.scores(output, gold)[name] for output, gold in pairs]
        assert [text for text, _ in mine] == extracted
        for (_, gold), text, (_, right) in zip(pairs, extracted, mine, strict=True):
            score = metrics.exact_match_hf_evaluate([text], [gold], ignored, ignore_case=True)["exact_match"]
            assert bool(score) == right, (text, gold)
        assert 0.05 < sum(right for _, right in mine) / len(mine) < 0.95


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory, nano):
    """Two benchmarks, one of them GSM8K by name, on the shipped model."""
    mine = tmp_path_factory.mktemp("data") / "mine.jsonl"
    mine.write_text(
        "".join(json.dumps({"id": f"m{n}", "problem": f"{n}+{n}", "answer": str(2 * n)}) + "\n" for n in range(10, 14))
    )
    asked = resolve.eval_config(f"{mine},abacus/sub", 2, 1.0, 16, 4, {"base": "nano/qwen3", "prompt": "{question}"}, {})
    loaded = suite.load_suite(asked.eval)
    renamed = {
        "gsm8k": [replace(item, benchmark="gsm8k") for item in loaded.items[str(mine)]],
        "abacus/sub": loaded.items["abacus/sub"],
    }
    loaded = suite.LoadedSuite(renamed, {"gpqa": "no access"})
    points, columns = evaluate(nano, nano.sampler(), asked.eval, 16, 0, 0, loaded)
    return EvaluationResult("nano/qwen3", nano, asked, 0, loaded, points, [], columns, 1.5)


def test_results_have_lm_evals_keys(evaluated, tmp_path):
    results_path, *samples = lm_eval.write_files(tmp_path, evaluated)
    assert results_path.parent.name == "nano__qwen3" and results_path.name.startswith("results_20")
    assert sorted(path.name.rpartition("_")[0] for path in samples) == ["samples_abacus_sub", "samples_gsm8k"]
    results = json.loads(results_path.read_text())
    assert set(results) >= {
        "results", "group_subtasks", "configs", "versions", "n-shot", "higher_is_better", "n-samples", "config", "git_hash",
        "date", "pretty_env_info", "lm_eval_version", "task_hashes", "model_name", "chat_template_sha",
        "total_evaluation_time_seconds",
    }  # fmt: skip
    scores = results["results"]["gsm8k"]
    assert {
        "acc,none",
        "acc_stderr,none",
        "pass@2,none",
        "exact_match,strict-match",
        "exact_match_stderr,flexible-extract",
    } <= set(scores)
    assert scores["acc,none"] == evaluated.points[0].acc and results["n-samples"]["gsm8k"] == {
        "original": 1319,
        "effective": 4,
    }
    assert results["passus"]["left_out"] == {"gpqa": "no access"}


def test_samples_have_a_line_for_each_item_and_filter(evaluated, tmp_path):
    paths = lm_eval.write_files(tmp_path, evaluated)
    lines = [json.loads(line) for line in next(p for p in paths if "gsm8k" in p.name).read_text().splitlines()]
    assert [(line["doc_id"], line["filter"]) for line in lines[:3]] == [
        (0, "none"),
        (0, "strict-match"),
        (0, "flexible-extract"),
    ]
    assert len(lines) == 12 and set(lines[0]) >= {
        "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash",
        "target_hash", "acc",
    }  # fmt: skip
    assert lines[0]["doc"] == {"id": "m10", "problem": "10+10", "answer": "20"} and len(lines[0]["resps"][0]) == 2
    assert lines[0]["arguments"]["gen_args_0"]["arg_0"] == "<q>10+10<a>"
    scores = json.loads(paths[0].read_text())["results"]["gsm8k"]
    for name in lm_eval_gsm8k.FILTERS:
        values = [line["exact_match"] for line in lines if line["filter"] == name]
        assert scores[f"exact_match,{name}"] == pytest.approx(sum(values) / 4)


def test_the_written_scores_are_lm_evals_on_the_written_outputs(evaluated, tmp_path):
    extraction = pytest.importorskip("lm_eval.filters.extraction", reason="lm-eval is not installed")
    metrics = pytest.importorskip("lm_eval.api.metrics", reason="lm-eval is not installed with all it needs")
    results, samples, *_ = lm_eval.write_files(tmp_path, evaluated)
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    firsts = [(line["resps"][0][:1], line["target"]) for line in lines if line["filter"] == "none"]
    found = extraction.RegexFilter(r"(-?[$0-9.,]{2,})|(-?[0-9]+)", group_select=-1).apply([resps for resps, _ in firsts], [])
    score = metrics.exact_match_hf_evaluate([text for (text,) in found], [gold for _, gold in firsts], [",", "\\$", "\\.$"])
    assert json.loads(results.read_text())["results"]["gsm8k"]["exact_match,flexible-extract"] == score["exact_match"]


def test_private_items_are_written_nowhere(evaluated, tmp_path):
    secret = [replace(item, benchmark="gpqa", question="What is it?") for item in evaluated.suite.items["gsm8k"]]
    columns = evaluated.columns | {"benchmark": ["gpqa" if b == "gsm8k" else b for b in evaluated.columns["benchmark"]]}
    points = [replace(p, benchmark="gpqa") if p.benchmark == "gsm8k" else p for p in evaluated.points]
    loaded = suite.LoadedSuite({"gpqa": secret, "abacus/sub": evaluated.suite.items["abacus/sub"]})
    paths = lm_eval.write_files(tmp_path, replace(evaluated, suite=loaded, points=points, columns=columns))
    text = next(p for p in paths if "gpqa" in p.name).read_text()
    assert benchmarks.find_benchmark("gpqa").private and "What is it" not in text and '"id": "m10"' in text


def test_gsm8k_golds_are_what_lm_eval_compares_with(real_data):
    """lm-eval's target is the whole solution. Its own rules reduce it to the gold of passus."""
    for item in dataset.load_items(benchmarks.find_training_set("gsm8k")):
        assert lm_eval_gsm8k._normalise(f"worked\n#### {item.gold}") == item.gold


def test_reading_the_written_files_gives_back_what_was_evaluated(evaluated, tmp_path):
    lm_eval.write_files(tmp_path, evaluated)
    (found,) = find_sources(tmp_path)
    (run,) = found.read()
    assert (found.kind, run.name, list(run.samples)) == ("lm-eval", "qwen3", [1])
    rows = [row for reader in run.samples[1] for row in reader()]
    columns = evaluated.columns
    names = ("benchmark", "sample", "verdict", "extracted", "tokens", "value", "completion")
    written = sorted(zip(*(columns[name] for name in names), strict=True), key=str)
    assert written == sorted(
        [(r.benchmark, r.sample, str(r.verdict), r.extracted, r.tokens, r.value, r.output) for r in rows], key=str
    )
    for benchmark, items in evaluated.suite.items.items():
        own = [row for row in rows if row.benchmark == benchmark]
        assert len({row.item for row in own}) == len(items) and len(own) == 2 * len(items)
        assert {row.gold for row in own} == {item.gold for item in items}
        assert {row.prompt for row in own} == {evaluated.policy.chat.render(item) for item in items}
    means = {point.name: point.value for point in run.points}
    assert all(means[f"{point.benchmark}/acc,none"] == point.acc for point in evaluated.points)
    assert not any("passus's verifier" in remark for remark in run.remarks)


def test_importing_the_written_files_gives_back_points_and_items(evaluated, tmp_path):
    """Out and in again is the identity, also for what the run folder records."""
    lm_eval.write_files(tmp_path / "out", evaluated)
    import_runs(plan_import([tmp_path / "out"], tmp_path / "runs", ImportOptions()), ImportOptions())
    (path,) = find_runs(tmp_path / "runs")
    run, kept = RunFolder(path), ("q", "k", "acc", "ci_low", "ci_high", "pass_at_k", "tokens_mean", "tokens_p95", "unparseable")
    points = {point.benchmark: point for point in run.evals()}
    assert points.keys() == {point.benchmark for point in evaluated.points}
    for point in evaluated.points:
        again = points[point.benchmark]
        assert {key: getattr(again, key) for key in kept} == {key: getattr(point, key) for key in kept}
    names = ("benchmark", "sample", "verdict", "extracted", "tokens", "value", "completion")
    mine = sorted(zip(*(evaluated.columns[name] for name in names), strict=True), key=str)
    assert sorted((tuple(row[name] for name in names) for row in run.read_rows("items", 1)), key=str) == mine


def test_reading_private_items_tells_them_apart(evaluated, tmp_path):
    secret = [replace(item, benchmark="gpqa") for item in evaluated.suite.items["gsm8k"]]
    columns = evaluated.columns | {"benchmark": ["gpqa" if b == "gsm8k" else b for b in evaluated.columns["benchmark"]]}
    points = [replace(p, benchmark="gpqa") if p.benchmark == "gsm8k" else p for p in evaluated.points]
    loaded = suite.LoadedSuite({"gpqa": secret, "abacus/sub": evaluated.suite.items["abacus/sub"]})
    lm_eval.write_files(tmp_path, replace(evaluated, suite=loaded, points=points, columns=columns))
    (run,) = find_sources(tmp_path)[0].read()
    rows = [row for reader in run.samples[1] for row in reader() if row.benchmark == "gpqa"]
    assert len({row.item for row in rows}) == len(secret) and {row.prompt for row in rows} == {None}
