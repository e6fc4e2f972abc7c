"""MEL: which pairs become lessons, which lessons are kept, the gradient of a lesson, and exact resume."""

from dataclasses import replace

import pytest
import torch

from helpers.small_run import assert_same, record, run_small, small_config, stop_in_step
from helpers.tiers import slow_cases
from passus.engine.interface import Prompt, Rollout, SamplingParams
from passus.errors import Stop, UsageError
from passus.grading.verdict import Grade, Verdict
from passus.methods.presets import PRESETS
from passus.metric_names import METRICS
from passus.models.loader import load
from passus.runs.run_folder import RunFolder
from passus.tasks.item import Item
from passus.training import mel
from passus.training.build_rows import lesson_rows
from passus.training.mel import Lesson, LessonBatch
from passus.training.rollout_batch import RolloutBatch
from passus.training.setup import prepare
from passus.training.step_metrics import UpdateStats
from passus.training.update import _accumulate_objective

TABLES = {"method": {"name": "mel"}, "train": {"steps": 3, "prompts": 8, "max_tokens": 40}, "eval": {"every": 3, "limit": 2}}
RIGHT, WRONG, CUT = (Grade(verdict, None) for verdict in (Verdict.CORRECT, Verdict.WRONG, Verdict.TRUNCATED))


def groups(grades: list[list[Grade]], texts: list[str] | None = None) -> RolloutBatch:
    flat = [grade for group in grades for grade in group]
    items = [Item("abacus/add2", n, "27+48", "75") for n in range(len(grades))]
    rollout = Rollout([[2]] * len(flat), [[0.0]] * len(flat), [True] * len(flat))
    return RolloutBatch(
        len(grades[0]), items, [Prompt((3,), n) for n in range(len(grades))], rollout, texts or ["x"] * len(flat), flat
    )


def test_pairs_come_only_from_groups_with_correct_and_wrong_answers():
    used = groups([[RIGHT, RIGHT], [WRONG, WRONG], [RIGHT, WRONG], [CUT, RIGHT]])
    assert [mel.solution_pair(used, d) for d in range(4)] == [None, None, (5, 4), None]


def test_a_bare_answer_is_paired_only_where_no_solution_has_steps():
    texts = ["\\boxed{74}", "7+8=14\\boxed{74}", "\\boxed{75}", "\\boxed{75}"]
    assert mel.solution_pair(groups([[WRONG, WRONG, RIGHT, RIGHT]], texts), 0) == (1, 2)


class Scripted:
    """A sampler with fixed outputs: first the lessons, then the replays."""

    def __init__(self, policy, written: list[str], solved: list[str]):
        self.policy, self.texts, self.asked = policy, {"lesson": written, "replay": solved}, {}

    def generate(self, prompts, params):
        self.asked[params.stream] = [self.policy.chat.decode(list(prompt.tokens), special=True) for prompt in prompts]
        end = self.policy.chat.tokenizer.eos_token_id
        tokens = [[*self.policy.chat.encode([text])[0], end] for text in self.texts[params.stream]]
        return Rollout(tokens, [[0.0] * len(row) for row in tokens], [True] * len(tokens))


@pytest.fixture(scope="module")
def policy():
    return load("nano/qwen3", "cpu", "float32")


USED = groups([[WRONG, RIGHT], [WRONG, RIGHT]], ["7+8=14;2+4+1=7\\boxed{74}", "7+8=15;2+4+1=7\\boxed{75}"] * 2)
PARAMS = SamplingParams(2, 40, 0, "train", 1)


def taught(policy, kind: str):
    solved = ["7+8=15;2+4+1=7\\boxed{75}", "\\boxed{74}", "\\boxed{75}", "\\boxed{74}"]  # with the lessons, and without
    scripted = Scripted(policy, ["7+8=15", "75"], solved)
    method = PRESETS["mel"].model_copy(update={"lessons": kind})
    return mel.write_lessons(policy, scripted, method, USED, PARAMS), scripted


def test_a_lesson_is_kept_if_the_problem_is_solved_with_it(policy):
    found, scripted = taught(policy, "validated")
    assert scripted.asked["lesson"][0] == "<q>27+48<wrong>7+8=14;2+4+1=7<right>7+8=15;2+4+1=7<why>"
    assert scripted.asked["replay"][0] == "<lesson>7+8=15<q>27+48<a>"
    assert [(one.kept, one.helped, one.leaks) for one in found.lessons] == [(True, True, False), (False, False, True)]
    assert (
        policy.chat.decode(found.kept[0].tokens) == "7+8=15" and found.kept[0].tokens[-1] == policy.chat.tokenizer.eos_token_id
    )
    metrics = found.metrics()
    assert (metrics["lessons/helped"], metrics["lessons/plain"], metrics["lessons/uplift"]) == (0.5, 0.5, 0.0)
    assert metrics["lessons/leaks"] == 0 and set(metrics) <= set(METRICS)


def test_control_conditions(policy):
    everything, _ = taught(policy, "all")
    assert [one.kept for one in everything.lessons] == [True, True] and everything.metrics()["lessons/leaks"] == 0.5
    shuffled, scripted = taught(policy, "shuffled")
    assert scripted.asked["replay"][0].startswith("<lesson>75<q>") and policy.chat.decode(shuffled.lessons[0].tokens) == "75"
    critique, scripted = taught(policy, "critique")
    assert scripted.asked["lesson"][0] == "<q>27+48<wrong>7+8=14;2+4+1=7<why>" and len(critique.lessons) == 2
    assert "R!" not in mel.CRITIQUE.format(question="Q?", wrong="W!") and len(critique.kept) == 1
    solution, _ = taught(policy, "solution")
    assert solution.kept[0].tokens == USED.rollout.tokens[1] and solution.kept[0].context == [3]


def test_a_shuffled_lesson_must_be_complete(policy):
    class Cut(Scripted):
        def generate(self, prompts, params):
            rollout = super().generate(prompts, params)
            return replace(rollout, finished=[True, False]) if params.stream == "lesson" else rollout

    scripted = Cut(policy, ["7+8=15", "7+8"], ["\\boxed{75}"] * 4)
    method = PRESETS["mel"].model_copy(update={"lessons": "shuffled"})
    found = mel.write_lessons(policy, scripted, method, USED, PARAMS)
    assert [one.kept for one in found.lessons] == [False, True]
    assert policy.chat.decode(found.kept[0].tokens) == "7+8=15"
    alone = groups([[WRONG, RIGHT]], ["7+8=14\\boxed{74}", "7+8=15\\boxed{75}"])
    assert mel.write_lessons(policy, Scripted(policy, [], []), method, alone, PARAMS).lessons == []  # there is no other's


def test_the_uplift_is_measured_against_new_samples_of_the_same_problems(policy):
    found, scripted = taught(policy, "validated")
    assert scripted.asked["replay"][2:] == [policy.chat.decode([3], special=True)] * 2  # the prompts once more, without lessons
    assert found.plain == 0.5


def test_an_answer_leaks_only_as_a_number_of_its_own():
    assert mel.contains_answer("5", "so it is 5") and mel.contains_answer("75", "7+8=15, 75.")
    assert (
        not mel.contains_answer("5", "7+8=15") and not mel.contains_answer("75", "175") and not mel.contains_answer("5", "1.5")
    )


def test_a_pair_that_does_not_fit_the_context_is_dropped_and_counted(policy):
    method = PRESETS["mel"]
    found = mel.write_lessons(
        policy, Scripted(policy, [], []), method, USED, replace(PARAMS, max_tokens=policy.context_length - 5)
    )
    assert found.lessons == [] and found.too_long == 2 and found.metrics()["lessons/built"] == 0


def test_prompts_for_real_models_contain_the_pair_and_the_question():
    text = mel.PAIR.format(question="Q?", wrong="W!", right="R!")
    assert text.index("Q?") < text.index("W!") < text.index("R!")
    assert mel.NOTES.format(lesson="note", question="Q?").endswith("Q?")


def test_the_gradient_is_that_of_the_mean_log_likelihood_of_the_lesson(tmp_path):
    """Compared with transformers' forward pass: the log-likelihood of each kept lesson, without its context."""
    run = prepare(small_config(**TABLES), RunFolder(_new(tmp_path)), lambda: None)
    contexts, written = [[2, 9, 10, 5, 11], [2, 12, 5]], [[11, 12, 1], [13, 14, 15, 16, 1]]
    kept = [Lesson(n, True, True, False, contexts[n], written[n]) for n in range(2)]
    rows = lesson_rows(run, LessonBatch(kept, 0, 0.0, 0))
    stats = UpdateStats(0.0)
    _accumulate_objective(run, rows[0], [0, 1], stats, False)
    loss = stats.sums["lessons"]
    mine = {name: p.grad.clone() for name, p in run.policy.model.named_parameters() if p.grad is not None}
    run.optimizer.zero_grad()
    expected = 0
    for context, tokens in zip(contexts, written, strict=True):
        ids = torch.tensor([context + tokens])
        run.policy.model.set_attn_implementation("eager")
        logps = run.policy.model(ids).logits[0, len(context) - 1 : -1].log_softmax(-1)
        expected = expected - logps[torch.arange(len(tokens)), torch.tensor(tokens)].mean() / 8
    expected.backward()
    torch.testing.assert_close(loss, expected.detach())
    for name, p in run.policy.model.named_parameters():
        torch.testing.assert_close(mine[name], p.grad, atol=1e-6, rtol=1e-4)


def _new(path):
    (path / "run").mkdir()
    return path / "run"


def test_without_weight_it_is_grpo_to_the_bit(tmp_path):
    plain = run_small(tmp_path / "grpo", **TABLES | {"method": {"name": "grpo"}})
    idle = run_small(tmp_path / "mel", **TABLES | {"method": {"name": "mel", "lesson_coef": 0.0}})
    assert record(idle.path)["weights"] == record(plain.path)["weights"]
    for mine, theirs in zip(idle.metrics(), plain.metrics(), strict=True):
        same = [key for key in theirs if key != "train/num_tokens" and not key.startswith("time/")]
        assert {key: mine[key] for key in same} == {key: theirs[key] for key in same}
    assert any(row["lessons/built"] for row in idle.metrics())


@pytest.mark.parametrize("kind", ["validated", *slow_cases("shuffled", "solution")])
def test_mel_trains_and_resumes_exactly(tmp_path, kind):
    tables = TABLES | {"method": {"name": "mel", "lessons": kind}, "train": TABLES["train"] | {"updates": 2}}
    whole = run_small(tmp_path / "whole", **tables)
    with pytest.raises(Stop):
        run_small(tmp_path / "cut", check_stop=stop_in_step(tmp_path / "cut", 3), **tables)
    assert_same(run_small(tmp_path / "cut", **tables).path, whole.path)
    rows = whole.metrics()
    assert set(rows[0]) <= set(METRICS) and any(row.get("train/lesson_loss") for row in rows)


def test_one_sample_per_prompt_is_refused():
    with pytest.raises(UsageError, match=r"train\.samples = 1"):
        small_config(method={"name": "mel"}, train={"samples": 1})
