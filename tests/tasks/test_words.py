"""Word problems: the task, the texts of its base model, and the script that makes a small one."""

import importlib.util
import random
import re
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

from passus.cli.run import run
from passus.config.experiment import load_experiment
from passus.engine.interface import SamplingParams
from passus.evaluation import suite
from passus.grading.grade import grade
from passus.grading.verdict import Verdict
from passus.models import loader
from passus.tasks import words
from passus.tasks.lookup import benchmark_items, benchmark_size, check_task, training_items, worked_solution

SCRIPT = Path(__file__).parents[2] / "scripts" / "pretrain_words.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("pretrain_words", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def base(script, tmp_path_factory):
    """A model after six pretraining steps."""
    folder = tmp_path_factory.mktemp("words") / "words-tiny"
    sizes = {"tokens": 2048, "device": "cpu", "workers": 0, "seed": 0, "hidden": 64, "layers": 2}
    model, tokenizer, done = script.pretrain(steps=6, seconds=3600, **sizes)
    assert done["steps"] == 6 and done["tokens"] > 6 * 1500 and done["loss"] < 8.5
    script.save(model, tokenizer, folder, {"done": done})
    return folder


@pytest.fixture(scope="module")
def tokenizer(base):
    return Tokenizer.from_file(str(base / "tokenizer.json"))


@pytest.fixture(scope="module")
def many():
    return [item for _, item in training_items("words", 0, seed=0, first=0, count=20_000)]


def kind_of(item):
    """Returns the question without numbers and names, which identifies its kind."""
    return re.sub(r"[0-9]+", "#", re.sub(r"\b[A-Z][a-z]+\b", "@", item.question))


def test_an_item_is_a_function_of_its_index():
    check_task("words", [])
    assert words.train_item(17) == words.train_item(17) != words.train_item(18)
    steps = [training_items("words", 0, seed=3, first=first, count=8) for first in (0, 8)]
    assert [*steps[0], *steps[1]] == training_items("words", 0, seed=3, first=0, count=16)
    assert training_items("words", 0, seed=4, first=0, count=8) != steps[0]


def test_training_never_sees_an_eval_problem(many, script):
    """The same numbers with other names count as the same problem, and pretraining is checked too."""

    def keys(items):
        return {(kind_of(item)[:12], tuple(re.findall(r"[0-9]+", item.question))) for item in items}

    held_out = benchmark_items("words")
    assert len(held_out) == len(keys(held_out)) == benchmark_size("words") == 500 and len(benchmark_items("words", 7)) == 7
    assert not {item.question for item in held_out} & {item.question for item in many}
    assert not keys(held_out) & keys(many)
    rng = random.Random(0)
    assert not {item.question for item in held_out} & {script.write_text(rng)[0] for _ in range(5000)}


def test_solutions_are_right_step_by_step(many):
    for item in [*benchmark_items("words"), *many[:3000]]:
        assert worked_solution(item) == item.solution
        equations = re.findall(r"([0-9]+) ([-+*/]) ([0-9]+) = ([0-9]+)", item.solution)
        assert 2 <= len(equations) <= 4 and equations[-1][-1] == item.gold
        for left, operation, right, result in equations:
            assert eval(f"{left} {operation} {right}", {"__builtins__": {}}) == int(result)
        graded = grade(item.solution, item.gold, truncated=False)
        assert graded.verdict == Verdict.CORRECT and graded.well_formed
        assert grade(item.solution, str(int(item.gold) + 1), truncated=False).verdict == Verdict.WRONG


def test_all_kinds_occur_and_answers_are_in_range(many):
    rng = random.Random(0)
    drawn = Counter(words.draw(rng, "train").kind for _ in range(2000))
    assert set(drawn) == set(words.KINDS) and len(drawn) >= 12 and min(drawn.values()) > 50
    assert len({kind_of(item)[-40:] for item in benchmark_items("words")}) >= 12
    answers = [int(item.gold) for item in many]
    assert min(answers) >= 0 and 5000 < max(answers) <= 10_000 and len(set(answers)) > 1000


def test_a_slip_carries_over_to_later_steps():
    problem = words.draw(random.Random(1), "train")
    slips = iter([1, 0, 0, 0])
    text, answer = problem.work(lambda value: value + next(slips))
    assert text != problem.work()[0] and answer != problem.work()[1]


def test_texts_are_right_as_often_as_the_recipe_says(script):
    rng = random.Random(0)
    right = {"guess": [], "steps": [], "check": []}
    for _ in range(4000):
        state = rng.getstate()
        gold = words.draw(rng, "train").work()[1]
        rng.setstate(state)
        _, answer = script.write_text(rng)
        style = "guess" if answer.startswith("The answer") else "check" if "Let me check" in answer else "steps"
        right[style].append(grade(answer, str(gold), truncated=False).verdict == Verdict.CORRECT)
    shares = {style: sum(verdicts) / len(verdicts) for style, verdicts in right.items()}
    assert 0.05 < shares["guess"] < 0.15 and 0.6 < shares["steps"] < 0.75 and shares["check"] > 0.9
    assert 0.4 < sum(map(sum, right.values())) / 4000 < 0.48


def test_workers_make_what_one_process_makes(script, tokenizer, monkeypatch):
    """A pack is a function of its number. Texts that do not fit are left out."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "")  # a worker sets it; monkeypatch restores it
    shape = script.MicroBatchShape(2048, 16, 512)
    prompts, completions = script.make_pack(tokenizer, 0, 3, shape)
    script._start_worker(tokenizer.to_str())
    assert script._work(0, 3, shape) == (prompts, completions) != script._work(0, 4, shape)
    assert len(prompts) == len(completions) <= 16 and sum(map(len, prompts + completions)) <= 2048
    assert all(row[-1] == 1 and 1 not in row[:-1] for row in completions)


def test_filled_packs_and_plain_packs_ask_for_the_same_tokens(script, tokenizer):
    shape = script.MicroBatchShape(2048, 32, 512)
    texts = script.make_pack(tokenizer, 0, 0, shape)
    plain = script.pack(texts, shape, torch.device("cpu"))
    filled = script.packing.pack_to_shape(list(range(len(texts[0]))), *texts, shape, torch.device("cpu"))
    assert sorted(plain.targets_C.tolist()) == sorted(filled.targets_C.tolist()) == sorted(chain.from_iterable(texts[1]))


def test_the_made_folder_loads_and_samples(base, script, tokenizer):
    policy = loader.load(str(base), "cpu", "float32")
    item = words.train_item(0)
    assert policy.chat.render(item) == script.PROMPT.format(question=item.question)
    assert policy.end_tokens == [1] and policy.chat.tokenizer.pad_token_id == 0 and policy.context_length == 1024
    assert policy.text_config.model_type == "qwen3" and policy.vocabulary_size == 4096
    ids = policy.chat.tokenizer(item.solution)["input_ids"]
    assert policy.chat.decode(ids) == item.solution and ids == tokenizer.encode(item.solution).ids
    rollout = policy.sampler().generate([policy.prompt(item, 0)], SamplingParams(4, 12, seed=0, stream="train"))
    assert len(rollout.tokens) == 4 and all(0 < len(row) <= 12 for row in rollout.tokens)


@pytest.mark.slow
def test_the_experiment_fits_the_model(base, capsys):
    assert run("real/words", set_=[f"model.base={base}"], dry_run=True) == 0
    assert "32 prompts x 8 samples = 256 completions" in capsys.readouterr().out
    (arm,) = load_experiment("real/words", [f"model.base={base}"]).arms
    suite.check_prompt_lengths(loader.load(str(base), "cpu", "float32"), arm.config, suite.load_suite(arm.config.eval))
