"""The shipped models: complete, in the current format, and able to learn from RL."""

import json
from pathlib import Path

import numpy as np
import pytest

from passus.config.tables import EvalTable
from passus.engine.eager import EagerEngine
from passus.engine.interface import SamplingParams
from passus.evaluation.evaluate import evaluate
from passus.grading.boxes import BOX
from passus.grading.grade import grade
from passus.grading.verdict import Verdict
from passus.models import loader
from passus.models.locate import locate_model, shipped_models
from passus.nano import pretrain
from passus.nano.probe import style_of
from passus.tasks import abacus

FAMILIES = list(pretrain.MISCONCEPTION_SEEDS)
SIZES = ["qwen3-26k", "qwen3-83k", "qwen3-0.2m", "qwen3-0.4m", "qwen3-1.2m", "qwen3-3.2m"]


@pytest.fixture(scope="module", params=FAMILIES)
def shipped(request):
    return request.param, loader.load(f"nano/{request.param}", "cpu", "float32")


def test_six_families_and_six_sizes_are_shipped_in_this_format_and_fit_the_repository():
    assert shipped_models() == sorted(f"nano/{name}" for name in [*FAMILIES, *SIZES])
    total = 0
    for name in [*FAMILIES, *SIZES]:
        folder = Path(locate_model(f"nano/{name}"))
        recipe = json.loads((folder / "recipe.json").read_text())
        assert (recipe["format"], recipe["mind"]) == (abacus.VERSION, pretrain.MISCONCEPTION_SEEDS[recipe["family"]])
        total += sum(path.stat().st_size for path in folder.iterdir())
    assert total < 30e6 and len(set(pretrain.MISCONCEPTION_SEEDS.values())) == len(FAMILIES)


def test_labels_give_shape_and_size(shipped):
    name, policy = shipped
    description = policy.describe(f"nano/{name}")
    assert description["label"] == f"{description['family']}-shaped, 0.8M" and description["family"].lower() == name


def test_sizes_are_named_by_their_parameters_and_share_one_recipe():
    """All were trained on the same texts, and each has its probe table."""
    stages = []
    for name in SIZES:
        folder = Path(locate_model(f"nano/{name}"))
        count = loader.load(f"nano/{name}", "cpu", "float32").describe(f"nano/{name}")["parameters"]
        size = f"{round(count / 1e3)}k" if count < 1e5 else f"{count / 1e6:.1f}m"
        assert name == f"qwen3-{size}" and (folder / "probe.md").exists()
        recipe = json.loads((folder / "recipe.json").read_text())
        stages.append([(stage["steps"], stage["texts"], stage["seed"]) for stage in recipe["stages"]])
    assert all(stage == stages[0] for stage in stages)


def test_the_right_behaviour_is_present_and_not_dominant(shipped):
    """On the task of `families` and `live-frozen`, and on a task with four options, where chance is .25."""
    _, policy = shipped
    table = EvalTable(suite=["abacus/add2", "abacus/choice"], samples=2, limit=80)
    points, rows = evaluate(policy, EagerEngine(policy.model, policy.end_tokens), table, 100, seed=0, step=0)
    for point in points:
        assert 0.05 <= point.acc <= (0.5 if point.benchmark == "abacus/add2" else 0.6)
        assert point.unparseable < 0.02
    right = {"direct": [], "steps": []}
    for benchmark, completion, verdict in zip(rows["benchmark"], rows["completion"], rows["verdict"], strict=True):
        if benchmark == "abacus/choice" and style_of(completion) in right:
            right[style_of(completion)].append(verdict == "correct")
    shares = {style: sum(values) / len(values) for style, values in right.items()}
    assert shares["direct"] < 0.45 < shares["steps"]  # answers with steps distinguish the options


@pytest.mark.slow
def test_checked_solutions_are_more_reliable_than_unchecked_ones():
    """Experiment long-cot relies on this: longer solutions are more often right, on unseen problems."""
    policy = loader.load("nano/qwen3", "cpu", "float32")
    items = [item for task in ("add2", "sub", "borrow") for item in abacus.eval_items(task)]
    params = SamplingParams(4, 96, 0, "eval/checks")
    rollout = policy.sampler().generate(policy.prompts([(n, item) for n, item in enumerate(items)]), params)
    right: dict[str, list[bool]] = {"steps": [], "check": []}
    for n, text in enumerate(policy.chat.batch_decode(rollout.tokens)):
        work = text.partition(BOX)[0]
        if work:
            verdict = grade(text, items[n // 4].gold, truncated=not rollout.finished[n]).verdict
            right["check" if "?" in work else "steps"].append(verdict is Verdict.CORRECT)
    assert len(right["check"]) >= 100
    assert np.mean(right["check"]) >= np.mean(right["steps"]) + 0.10
