"""Reward models: a whole experiment, training that resumes exactly, and a policy that a reward model rewards."""

import math
import shutil
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from transformers import AutoModelForSequenceClassification

from helpers.command import passus, passus_in_process
from helpers.reward_models import ITEM, TEXTS, padded_scores, random_reward_model
from helpers.small_run import run_small, small_config
from passus.atomic_io import read_lines
from passus.cli.eval import eval as passus_eval
from passus.cli.ls import list_runs, print_runs
from passus.cli.report import report as passus_report
from passus.cli.show import show_samples
from passus.config.experiment import load_experiment
from passus.errors import Stop, UsageError
from passus.evaluation import candidate_files, candidate_generation, candidate_sets
from passus.figures import export, kinds
from passus.grading.verdict import Verdict
from passus.metric_names import METRICS
from passus.models import reward_head
from passus.models.loader import load
from passus.runs.checksums import CHECKSUMS, read_checksums
from passus.runs.record_check import find_damage
from passus.runs.run_folder import RunFolder
from passus.training.reward_model import train
from passus.training.reward_model.setup import EncodedProblem, RewardModelRun
from passus.training.setup import prepare

EXPERIMENT = """
name = "small"
[method]
name = "reward_model"
[task]
name = "abacus/add2+sub"
limit = 24
[candidates]
sources = ["nano/qwen3", "nano/llama3.2"]
temperatures = [0.8, 1.0]
samples = 3
pool = 8
[model]
base = "nano/qwen3-26k"
[train]
steps = 6
prompts = 4
samples = 6
max_tokens = 32
learning_rate = 1e-3
[eval]
every = 3
suite = ["abacus/add2", "abacus/sub"]
limit = 6
[run]
device = "cpu"
save_every = 2
keep_checkpoints = 0
"""
ARMS = ["from-qwen3", "from-llama3.2", "qwen3-26k"]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    """The run folders of a whole experiment: two generators of candidates, then the reward model."""
    folder = tmp_path_factory.mktemp("rm")
    (folder / "small.toml").write_text(EXPERIMENT)
    for arm in ARMS:
        done = passus_in_process("run", "small.toml", "--out", "runs", "--arm", arm, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder / "runs"


@pytest.mark.slow
def test_the_runner_starts_a_reward_model_after_its_generators(experiment):
    """In processes of their own, two at a time, the arms record what they record one by one."""
    folder = experiment.parent
    done = passus("run", "small.toml", "--out", "at-once", "--jobs", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    for arm in ARMS[:2]:
        for file in sorted((experiment / arm / "candidates").iterdir()):
            assert candidate_files.read_candidates(
                folder / "at-once" / arm / "candidates" / file.name
            ) == candidate_files.read_candidates(file)
    for name in ("metrics.jsonl", "evals.jsonl"):
        assert timeless(folder / "at-once" / ARMS[2] / name) == timeless(experiment / ARMS[2] / name)


def timeless(path: Path) -> list[dict]:
    """The rows of a JSONL file, without measured times."""
    return [{k: v for k, v in row.items() if not k.startswith("time/")} for row in read_lines(path)]


def test_an_experiment_samples_candidates_trains_and_evaluates(experiment):
    run = RunFolder(experiment / "qwen3-26k")
    files = sorted((experiment / "from-qwen3" / "candidates").glob("eval-*.parquet"))
    rows = [row for path in files for row in candidate_files.read_candidates(path)]
    assert len(rows) == 12 * 2 * 2
    texts = [row["completion"] for row in rows]
    assert sum(a != b for a, b in zip(texts[:24], texts[24:], strict=True)) > 12  # each temperature has noise of its own
    evals = run.evals()
    assert [(point.step, point.benchmark) for point in evals] == [
        (s, b) for s in (0, 3, 6) for b in ("abacus/add2", "abacus/sub")
    ]
    assert evals[0].acc == pytest.approx(evals[0].mean)  # an untrained reward model chooses at random
    assert evals[0].mean < evals[0].pass_at_k["8"] and evals[0].k == 8
    values = {(row["benchmark"], row["item"]): row["value"] for row in run.read_rows("items", 6)}
    own = [value for (benchmark, _), value in values.items() if benchmark == "abacus/add2"]
    assert np.mean(own) == pytest.approx(evals[-2].acc)
    metrics = run.metrics()
    assert len(metrics) == 6 and metrics[0]["train/loss"] == pytest.approx(math.log(2), abs=1e-6)
    assert {name for name in metrics[0] if name != "step" and name != "progress"} <= set(METRICS)
    about = run.meta()["launches"][0]["data"]
    assert about["problems"] + about["dropped"] == 24 and len(about["candidates"]) == 64


def test_transformers_loads_a_checkpoint_and_gives_the_same_scores(experiment):
    mine = reward_head.load(f"{experiment / 'qwen3-26k'}@6", "cpu", "float32")
    theirs = AutoModelForSequenceClassification.from_pretrained(experiment / "qwen3-26k" / "checkpoints" / "step-000006")
    rows = [reward_head.encode_pair(mine, item, text) for item, text in TEXTS]
    found = reward_head.score_sequences(mine, rows, [[n] for n in range(4)]).tolist()
    assert padded_scores(theirs, rows).tolist() == pytest.approx(found, rel=1e-4, abs=1e-5)
    assert padded_scores(theirs, rows, left=True).tolist() == pytest.approx(found, rel=1e-4, abs=1e-5)


def train_again(experiment: Path, path: Path, check_stop=lambda: None, **tables) -> None:
    """Trains the experiment's reward model once more, on the same candidates."""
    path.mkdir(parents=True, exist_ok=True)
    config = RunFolder(experiment / "qwen3-26k").config()
    if tables:
        config = config.model_copy(update={name: getattr(config, name).model_copy(update=new) for name, new in tables.items()})
    needs = [str(Path("..") / experiment.name / name) for name in ("from-qwen3", "from-llama3.2")]
    run = RunFolder(path)
    train.train(config, run, needs, check_stop, lambda text: None)


@pytest.mark.parametrize(("tuning", "system"), [("live", ""), ("live", "1+1=2"), ("frozen", "1+1=2")])
def test_a_reward_model_resumes_exactly(experiment, tuning, system):
    folder = experiment.parent / f"again-{tuning}-{len(system)}"
    changes = {"model": {"tuning": tuning, "system": system}}
    train_again(experiment, folder / "a", **changes)

    def stop():
        if len(RunFolder(folder / "b").metrics()) >= 3:
            raise Stop

    with pytest.raises(Stop):
        train_again(experiment, folder / "b", stop, **changes)
    train_again(experiment, folder / "b", **changes)
    for part in ("metrics.jsonl", "evals.jsonl"):
        assert timeless(folder / "a" / part) == timeless(folder / "b" / part)
    loaded = reward_head.load(str(folder / "a"), "cpu", "float32")
    assert loaded.chat.system == system  # prompts are formatted as in training
    if (tuning, system) == ("live", ""):
        assert [point.acc for point in RunFolder(folder / "a").evals()] == [
            point.acc for point in RunFolder(experiment / "qwen3-26k").evals()
        ]
    if tuning == "frozen":
        scorer = loaded
        resumed = reward_head.resume(
            RunFolder(folder / "a").config().model, folder / "a" / "checkpoints" / "step-000006", "cpu", "float32", 0
        )
        texts = [[text for item, text in TEXTS if item is ITEM]]
        mine, theirs = (reward_head.score_completions(one, [ITEM], texts, 100)[0] for one in (scorer, resumed))
        assert mine == theirs and len(set(mine)) == 3 and scorer.adapter is not None
        was = scorer.fingerprint
        next(p for name, p in scorer.model.named_parameters() if "lora_B" in name).data.add_(1.0)
        assert scorer.fingerprint != was  # another adapter is another reward source


def test_changed_candidates_are_refused_when_a_run_resumes(experiment, tmp_path):
    shutil.copytree(experiment, tmp_path / "runs")
    RunFolder(tmp_path / "runs" / "from-qwen3").forget_checksums()
    path = tmp_path / "runs" / "from-qwen3" / "candidates" / "train-1.parquet"
    rows = pyarrow.parquet.read_table(path).to_pylist()
    rows[0]["verdict"] = "wrong" if rows[0]["verdict"] == "correct" else "correct"
    candidate_files.write_candidates(path, {name: [row[name] for row in rows] for name in candidate_files.COLUMNS})
    shutil.rmtree(tmp_path / "runs" / "qwen3-26k" / "checkpoints" / "step-000006")
    with pytest.raises(UsageError, match="the candidates have changed"):
        train_again(tmp_path / "runs", tmp_path / "runs" / "qwen3-26k")


def test_fewer_eval_items_are_refused_when_a_run_resumes(experiment, tmp_path):
    shutil.copytree(experiment, tmp_path / "runs")
    with pytest.raises(UsageError, match="items or their pools have changed"):
        train_again(tmp_path / "runs", tmp_path / "runs" / "qwen3-26k", eval={"limit": 5})


def test_missing_candidates_are_refused(experiment, tmp_path):
    with pytest.raises(UsageError, match="does not exist yet"):
        candidate_sets.gather_candidates(RunFolder(experiment / "qwen3-26k").config(), tmp_path, ["from-qwen3"])


def test_a_generator_that_has_changed_is_refused(experiment, tmp_path):
    shutil.copytree(experiment / "from-qwen3", tmp_path / "from-qwen3")
    run = RunFolder(tmp_path / "from-qwen3")
    other = run.config().model_copy(update={"model": run.config().model.model_copy(update={"base": "nano/llama3.2"})})
    with pytest.raises(UsageError, match="has changed since its first answers"):
        candidate_generation.generate_candidates(other, run, lambda: None, lambda text: None)


@pytest.mark.parametrize("arm", ["from-qwen3", "qwen3-26k"])
def test_show_and_ls_know_candidates_and_reward_models(experiment, arm, capsys):
    show_samples(experiment / arm, None, 3, "wrong")
    said = capsys.readouterr().out
    assert said.count("completion") == 3 and "score" in said and "candidates that are wrong" in " ".join(said.split())
    if arm == "qwen3-26k":
        assert "--step 3 --verdict wrong" in said  # where there are items
    print_runs(list_runs(experiment), experiment)
    assert {(row["step"], row["steps"]) for row in list_runs(experiment)} == {(0, None), (6, 6)}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("train.updates=2", "train.updates with method.name"), ("eval.on_regression=stop", "eval.on_regression with"),
        ("reward.values.correct=2", r"\[reward\] with"), ('eval.readers=["live"]', "eval.readers with"),
    ],
)  # fmt: skip
def test_settings_that_do_not_apply_to_a_reward_model_are_refused(given, words):
    with pytest.raises(UsageError, match=words):
        load_experiment("reward-model", [given])


def test_a_truncated_weights_file_is_refused(experiment, tmp_path):
    shutil.copytree(experiment / "qwen3-26k" / "checkpoints" / "step-000006", tmp_path / "m")
    file = tmp_path / "m" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(UsageError, match="cannot be loaded"):
        reward_head.load(str(tmp_path / "m"), "cpu", "float32")


def test_a_stopped_generator_resumes_with_the_missing_files(experiment, tmp_path):
    shutil.copytree(experiment / "from-qwen3", tmp_path / "from-qwen3")
    run = RunFolder(tmp_path / "from-qwen3")
    missing = tmp_path / "from-qwen3" / "candidates" / "eval-1.parquet"
    was = candidate_files.read_candidates(missing)
    missing.unlink()
    kept = tmp_path / "from-qwen3" / "candidates" / "eval-0.8.parquet"
    stamp = kept.stat().st_mtime_ns
    candidate_generation.generate_candidates(run.config(), run, lambda: None, lambda text: None)
    assert candidate_files.read_candidates(missing) == was and kept.stat().st_mtime_ns == stamp


@pytest.mark.parametrize("place", ["write:eval-1.parquet", "record:eval-1.parquet"])
def test_a_generator_is_killed_while_it_writes_a_file(experiment, tmp_path, monkeypatch, place):
    """A file that appeared without its checksum is generated again, and until then the run is not complete."""
    shutil.copytree(experiment / "from-qwen3", tmp_path / "from-qwen3")
    run = RunFolder(tmp_path / "from-qwen3")
    path, config = run.path / "candidates" / "eval-1.parquet", run.config()
    was = candidate_files.read_candidates(path)
    lost = [checksum for checksum in read_checksums(run.path / CHECKSUMS)[0] if checksum.file != "candidates/eval-1.parquet"]
    path.unlink()
    run.begin_record()
    run._checksums.cut(lost, 0)
    run._checksums.seal(0)

    def fault(reached):
        if reached == place:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("passus.atomic_io.fault", fault)
        patch.setattr("passus.runs.checksum_writer.fault", fault)
        with pytest.raises(KeyboardInterrupt):
            candidate_generation.generate_candidates(config, RunFolder(run.path), lambda: None, lambda text: None)
    assert path.exists() == (place == "record:eval-1.parquet") and find_damage(run.path) == []
    assert not candidate_generation.has_all_candidates(run.path, config)
    candidate_generation.generate_candidates(config, RunFolder(run.path), lambda: None, lambda text: None)
    assert candidate_generation.has_all_candidates(run.path, config) and candidate_files.read_candidates(path) == was
    assert find_damage(run.path) == []


def test_training_problems_that_are_eval_items_are_excluded(experiment, tmp_path):
    config = RunFolder(experiment / "qwen3-26k").config()
    rows = candidate_files.read_candidates(experiment / "from-qwen3" / "candidates" / "eval-1.parquet")
    leaked = [row | {"benchmark": "mine"} for row in rows[:5]]
    file = tmp_path / "mine.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(leaked), file)
    table = config.candidates.model_copy(update={"sources": [str(file)]})
    found = candidate_sets.gather_candidates(
        config.model_copy(update={"candidates": table}), experiment, ["from-qwen3", "from-llama3.2"]
    )
    assert found.overlapping == 5 and not any(row["benchmark"] == "mine" for row in found.train)


def test_the_class_loss_trains(experiment):
    train_again(experiment, experiment.parent / "classes" / "a", method={"loss": "classes"}, train={"steps": 3})
    losses = [row["train/loss"] for row in RunFolder(experiment.parent / "classes" / "a").metrics()]
    assert losses[0] == pytest.approx(math.log(2), abs=1e-6) and losses[-1] != losses[0]


def test_a_reward_model_is_refused_as_a_policy(experiment):
    with pytest.raises(UsageError, match="writes no text"):
        load(str(experiment / "qwen3-26k"), "cpu", "float32")


def test_a_policy_with_a_reward_model_as_reward_source_records_the_verifiers_accuracy(experiment, tmp_path):
    tables = {
        "reward": {"values": {"correct": 0.0}, "model": str(experiment / "qwen3-26k")},
        "train": {"steps": 2},
        "eval": {"limit": 3},
    }
    run = run_small(tmp_path / "arm", **tables)
    rows = run.read_rows("samples", 1)
    metrics = run.metrics()[0]
    assert metrics["train/reward"] == pytest.approx(np.mean([row["reward"] for row in rows]))
    assert metrics["train/reward"] == pytest.approx(metrics["train/reward_model"], abs=1e-5)
    assert metrics["train/accuracy"] == np.mean([row["verdict"] == Verdict.CORRECT for row in rows])
    scorer = reward_head.load(str(experiment / "qwen3-26k"), "cpu", "float32")
    config = small_config(**tables)
    (_, item), *_ = config.task.items(0, 0, 1)
    own = [row for row in rows if row["item"] == item.index]
    (values,) = reward_head.score_completions(scorer, [item], [[row["completion"] for row in own]], 4096)
    assert [row["reward"] for row in own] == pytest.approx(values, abs=1e-5)
    assert all(point.score is not None for point in run.evals())


def test_a_reward_model_that_cannot_read_the_task_is_refused_before_a_run_begins(experiment, tmp_path):
    tables = {
        "reward": {"model": str(experiment / "qwen3-26k")},
        "task": {"name": "words"},
        "eval": {"suite": ["words"], "limit": 2},
    }
    with pytest.raises(UsageError, match="tokenizer"):
        prepare(small_config(**tables), RunFolder(tmp_path / "arm"), lambda: None)


def test_a_changed_reward_model_is_refused_when_a_policy_resumes(experiment, tmp_path):
    shutil.copytree(experiment / "qwen3-26k", tmp_path / "rm")
    tables = {
        "reward": {"values": {"correct": 0.0}, "model": str(tmp_path / "rm")},
        "train": {"steps": 2},
        "eval": {"limit": 2},
    }
    run_small(tmp_path / "arm", **tables)
    shutil.rmtree(tmp_path / "rm" / "checkpoints" / "step-000006")
    with pytest.raises(UsageError, match="has changed since this run began"):
        run_small(tmp_path / "arm", **(tables | {"train": {"steps": 4}}))


def test_the_report_compares_reward_models_with_majority_voting(experiment, tmp_path):
    out = tmp_path / "report.md"
    passus_report(experiment, out=out)
    rows = [line for line in out.read_text().splitlines() if line.startswith("| Qwen3-shaped, 26K | ")]
    last = [point for point in RunFolder(experiment / "qwen3-26k").evals() if point.step == 6]
    gap = np.mean([point.over_maj for point in last])
    assert gap == pytest.approx(np.mean([point.acc - point.maj_at_k["8"] for point in last]))
    assert any(f"{100 * gap:+.1f} points \\[" in row for row in rows)


def test_figures_of_reward_models(experiment, tmp_path):
    figure = kinds.figure([experiment])
    assert figure.y == "rm@8" and figure.x == "Training progress" and figure.panels == ["abacus/add2", "abacus/sub"]
    levels = {s.name: s.points[0].y for s in figure.series if s.reference and s.panel == "abacus/add2"}
    point = RunFolder(experiment / "qwen3-26k").evals()[0]
    assert levels == {"mean@k": point.mean, "maj@k": point.maj_at_k["8"], "pass@k": point.pass_at_k["8"]}
    by_k = kinds.figure([experiment], "rm-at-k")
    (mine,) = [s for s in by_k.series if not s.reference and s.panel == "abacus/add2"]
    assert [p.x for p in mine.points] == [1, 2, 4, 8] and all(p.low <= p.y <= p.high for p in mine.points)
    average = {s.name: s.points[-1].y for s in by_k.series if s.panel.startswith("Average")}
    last = [point for point in RunFolder(experiment / "qwen3-26k").evals() if point.step == 6]
    assert average["Qwen3-shaped, 26K"] == pytest.approx(np.mean([point.rm_at_k["8"] for point in last]))
    assert average["maj@k"] == pytest.approx(np.mean([point.maj_at_k["8"] for point in last]))
    assert not any(s.reference for s in kinds.figure([experiment], "heatmap").series)
    assert kinds.figure([experiment / "qwen3-26k"], "grid").y2 == ""  # a reward model generates no text
    with pytest.raises(UsageError, match="nothing to draw"):
        kinds.curves([experiment], y="length")
    paid = run_small(
        tmp_path / "arm",
        reward={"values": {"correct": 0.0}, "model": str(experiment / "qwen3-26k")},
        train={"steps": 2},
        eval={"limit": 2},
    )
    both = kinds.figure([paid.path], "reward-hacking")
    assert both.y2 == "Reward model's score" and all(p.tokens is not None for s in both.series for p in s.points)
    export.draw(both, tmp_path / "both.png")
    with pytest.raises(UsageError, match="no scores in"):
        kinds.figure([experiment], "reward-hacking")


def test_eval_with_a_selector_adds_rm_at_k(experiment, capsys):
    scorer = str(experiment / "qwen3-26k")
    code = passus_eval("nano/qwen3", suite="abacus/add2", samples=4, limit=5, max_tokens=32, device="cpu", selector=scorer)
    said = capsys.readouterr().out
    assert code == 0 and "pass@k / rm@k  1: " in said and "maj@4" in said


def test_problems_are_shuffled_in_every_epoch(experiment):
    found = [EncodedProblem([[n]], [True]) for n in range(24)]
    config = RunFolder(experiment / "qwen3-26k").config()
    run = RewardModelRun(
        config=config, folder=RunFolder(experiment / "nowhere"), policy=random_reward_model(), optimizer=None, progress=None,
        problems=found, pools=[], check_stop=lambda: None, started=0.0, micro_tokens=4096, encoded_pools=[], baselines=[],
    )  # fmt: skip
    first, second = train.draw_problems(run, 1), train.draw_problems(run, 2)
    assert len({one.sequences[0][0] for one in [*first, *second]}) == 8  # no problem comes twice in an epoch
    assert {one.sequences[0][0] for step in range(1, 7) for one in train.draw_problems(run, step)} == set(range(24))
    assert train.draw_problems(run, 1) == first
