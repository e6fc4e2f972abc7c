"""CoT readers: their prompts and answers, the tokens that are rewarded and trained, and the findings from their curves."""

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from helpers.model_folders import CHATS, chat_folder, nano_folder, small_model
from helpers.small_run import assert_same, run_small, small_config, stop_in_step
from helpers.synthetic_curves import curve
from passus.analysis import analyse
from passus.config.resolve import resolve
from passus.engine.interface import Rollout
from passus.errors import Stop, UsageError
from passus.evaluation import cot_readers
from passus.evaluation.cot_readers import ANSWER_TOKENS, Reader, first_box, reasoning
from passus.figures import kinds
from passus.grading.boxes import BOX
from passus.grading.verdict import Verdict
from passus.metric_names import METRICS
from passus.models.loader import load
from passus.runs.curve import Curves
from passus.runs.run_folder import RunFolder
from passus.tasks.item import Item
from passus.tasks.lookup import benchmark_items
from passus.training.build_rows import training_rows
from passus.training.setup import prepare
from passus.training.step import sample_groups
from passus.training.step_metrics import Times

ITEM = Item("abacus/add2", 0, "27+48", "75")
TABLES = {
    "reward": {"reader": "live"},
    "train": {"steps": 4, "max_tokens": 40},
    "eval": {"every": 2, "limit": 4, "readers": ["live", "frozen", "nano/llama3.2", "none", "shuffled"]},
}


@pytest.fixture(scope="module")
def policy():
    return load("nano/qwen3", "cpu", "float32")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run_small(tmp_path_factory.mktemp("readers") / "arm", **TABLES)


def test_reasoning_is_the_text_before_the_first_box():
    assert reasoning("7+8=15;2+4+1=7\\boxed{75} or \\boxed{76}") == "7+8=15;2+4+1=7"
    assert reasoning("so it is $\\boxed{75}$") == "so it is"
    assert reasoning("\\boxed{75}") == "" and reasoning("it never ends") == "it never ends"


def test_an_answer_ends_with_its_box():
    assert first_box("75} and more \\boxed{2}") == "\\boxed{75}"
    assert first_box("\\frac{1}{2}}") == "\\boxed{\\frac{1}{2}}"
    assert first_box("75") == first_box("{75}") == ""


def test_a_nano_reader_continues_the_text(policy):
    prompt = cot_readers.reader_prompt(policy, 3, ITEM, "7+8=15;2+4+1=7")
    assert policy.chat.decode(list(prompt.tokens), special=True) == "<q>27+48<a>7+8=15;2+4+1=7\\boxed{"


def test_markers_of_the_nano_world_are_removed_from_a_text(policy):
    prompt = cot_readers.reader_prompt(policy, 0, ITEM, "7+8=15<q>1+1<a>1+1=2<why>")
    assert policy.chat.decode(list(prompt.tokens), special=True) == "<q>27+48<a>7+8=151+11+1=2\\boxed{"


def test_other_models_are_asked_in_a_user_turn_without_the_special_tokens_of_a_text(tmp_path):
    chat = CHATS["qwen3"]
    folder = chat_folder(tmp_path / "m", chat.kind, chat.tokenizer("qwen3"), chat.ends, max_position_embeddings=4096)
    reader = cot_readers._without_thinking(load(str(folder), "cpu", "float32", "auto"))
    text = "7+8=15<|im_end|>\n<|im_start|>assistant\nthe answer is 1"
    prompt = reader.chat.decode(list(cot_readers.reader_prompt(reader, 0, ITEM, text).tokens), special=True)
    assert prompt.count("<|im_start|>") == 2 and prompt.count("<|im_end|>") == 1  # the turns of question and answer
    assert "27+48" in prompt and "7+8=15\nassistant\nthe answer is 1" in prompt
    assert prompt.endswith("<think>\n\n</think>\n\n" + BOX)  # thinking is off


def test_trained_tokens_end_with_the_opened_box_in_any_tokenizer(policy, tmp_path):
    texts = ["7+8=15;2+4+1=7\\boxed{75}", "7+8=15", "\\boxed{1}"]

    def trained_texts(writer):
        tokens = writer.chat.encode(texts)
        counts = cot_readers.reasoning_tokens(writer, tokens, texts)
        return [writer.chat.decode(row[:count]) for row, count in zip(tokens, counts, strict=True)]

    assert trained_texts(policy) == ["7+8=15;2+4+1=7\\boxed{", "7+8=15", "\\boxed{"]
    chat = CHATS["qwen3"]
    other = load(str(chat_folder(tmp_path / "m", chat.kind, chat.tokenizer("qwen3"), chat.ends)), "cpu", "float32")
    assert not other.chat.has_token(BOX) and len(other.chat.encode(texts)[0]) > 20  # a tokenizer of bytes
    assert trained_texts(other) == ["7+8=15;2+4+1=7\\boxed{", "7+8=15", "\\boxed{"]


def test_a_reader_answers_as_greedy_decoding_of_transformers(policy):
    items = benchmark_items("abacus/add2")[:6]
    texts = ["7+8=15;2+4+1=7", "", "1+1=2;1+1=2", "0+9=9", "2+2=4;", "8+8=16;1+1+1=3"]
    reading = cot_readers.read_texts(Reader("m", "M", "frozen", "Qwen3", policy, policy.sampler()), items, texts, seed=0)
    model = AutoModelForCausalLM.from_pretrained("src/passus/nano/qwen3", attn_implementation="eager", dtype=torch.float32)
    for item, text, answer in zip(items, texts, reading.answers_N, strict=True):
        ids = torch.tensor([policy.chat.encode([f"<q>{item.question}<a>{text}\\boxed{{"])[0]])
        out = model.generate(ids, do_sample=False, max_new_tokens=ANSWER_TOKENS, attention_mask=torch.ones_like(ids))
        assert answer == first_box(policy.chat.decode(out[0, ids.shape[1] :].tolist()))


class ScriptedSampler:
    """Returns given completions, whatever the prompts are."""

    def __init__(self, policy, completions: list[str]):
        self.policy, self.completions, self.prompts = policy, completions, []

    def generate(self, prompts, params):
        assert params.temperature == 0 and params.samples == 1
        self.prompts = [self.policy.chat.decode(list(prompt.tokens), special=True) for prompt in prompts]
        tokens = self.policy.chat.encode(self.completions[: len(prompts)])
        return Rollout(tokens, [[0.0] * len(row) for row in tokens], [False] * len(tokens))


def test_answers_are_graded_and_a_text_that_exceeds_the_context_is_truncated(policy):
    texts = ["7+8=15", "7+8=15" * 100, "2", "3"]
    sampler = ScriptedSampler(policy, ["75}", "76}", "75"])
    reading = cot_readers.read_texts(Reader("m", "M", "frozen", "Qwen3", policy, sampler), [ITEM] * 4, texts, seed=0)
    assert len(sampler.prompts) == 3
    verdicts = [grade.verdict for grade in reading.grades_N]
    assert verdicts == [Verdict.CORRECT, Verdict.TRUNCATED, Verdict.WRONG, Verdict.TRUNCATED]
    assert reading.lengths_N == [3, 0, 3, 2] and reading.tokens > 8


def test_the_readers_answer_is_rewarded_and_the_policys_own_is_recorded(whole):
    rows = whole.read_rows("samples", 1)
    metrics = whole.metrics()[0]
    assert metrics["train/read_accuracy"] == pytest.approx(np.mean([row["reward"] for row in rows]))
    assert metrics["train/accuracy"] == np.mean([row["verdict"] == "correct" for row in rows])
    assert metrics["train/read_accuracy"] != metrics["train/accuracy"]
    assert {name for name in metrics if "read" in name} <= set(METRICS)


def test_only_the_reasoning_is_trained(tmp_path):
    run = prepare(small_config(**TABLES), RunFolder(tmp_path), lambda: None)
    batch, _ = sample_groups(run, 1, Times())
    rows = training_rows(run, batch)
    trained = run.policy.chat.batch_decode(rows.completions_N)
    assert any(text.endswith(BOX) for text in trained)
    for text, completion in zip(trained, batch.texts_N, strict=True):
        assert text == completion.partition(BOX)[0] + BOX if BOX in completion else text == completion
    for n, tokens in enumerate(rows.completions_N):
        assert rows.sampled_NL[n, : len(tokens)].tolist() == pytest.approx(batch.rollout.logps[n][: len(tokens)])
        assert not rows.sampled_NL[n, len(tokens) :].any()


def test_before_training_the_live_reader_equals_the_frozen_one(whole):
    by_reader = {(row.point.step, row.point.benchmark, row.reader): row for row in whole.readings()}
    assert len(by_reader) == len(whole.readings()) == 3 * 2 * 5
    for benchmark in ("abacus/add2", "abacus/sub"):
        live, frozen = (by_reader[0, benchmark, name] for name in ("live", "frozen"))
        assert (live.point.acc, live.point.tokens_mean) == (frozen.point.acc, frozen.point.tokens_mean)
        assert (live.label, frozen.label) == ("Live Qwen3-shaped, 0.8M", "Frozen Qwen3-shaped, 0.8M")
        assert len({by_reader[step, benchmark, "none"].point.acc for step in (0, 2, 4)}) == 1  # training does not change it
    rows = whole.read_rows("readings", 4)
    assert {row["reader"] for row in rows} == {"live", "frozen", "nano/llama3.2", "none", "shuffled"}


def test_controls_get_no_text_or_the_text_of_another_item():
    texts = ["a0", "a1", "b0", "b1", "c0", "c1"]
    assert cot_readers.control_texts("none", texts, 2) == [""] * 6
    assert cot_readers.control_texts("shuffled", texts, 2) == ["c0", "c1", "a0", "a1", "b0", "b1"]


def test_a_run_with_readers_resumes_exactly(whole, tmp_path):
    with pytest.raises(Stop):
        run_small(tmp_path / "arm", check_stop=stop_in_step(tmp_path / "arm", 4), **TABLES)
    run_small(tmp_path / "arm", **TABLES)
    assert_same(tmp_path / "arm", whole.path)


@pytest.mark.slow
def test_readers_without_rewards_do_not_change_training(tmp_path):
    unread = {**TABLES, "reward": {}, "eval": TABLES["eval"] | {"readers": []}}
    run_small(tmp_path / "a", **unread)
    run_small(tmp_path / "b", **(unread | {"eval": TABLES["eval"]}))
    rows = [
        [{k: v for k, v in row.items() if not k.startswith("time/")} for row in RunFolder(tmp_path / name).metrics()]
        for name in "ab"
    ]
    assert rows[0] == rows[1]


def test_a_reader_whose_context_is_too_short_is_refused_before_anything_is_recorded(tmp_path):
    reader = nano_folder(tmp_path / "short", small_model("qwen3", max_position_embeddings=80))
    tables = {**TABLES, "reward": {}, "eval": {"readers": [str(reader)], "limit": 2}}
    with pytest.raises(UsageError, match=r"train.max_tokens = 40, but reader .*short has a context of 80 tokens") as refused:
        run_small(tmp_path / "arm", **tables)
    assert "train.max_tokens=" in str(refused.value) and not (tmp_path / "arm" / "config.toml").exists()


def test_only_texts_that_a_reader_is_given_must_fit_its_context(tmp_path):
    reader = nano_folder(tmp_path / "short", small_model("qwen3", max_position_embeddings=80))
    tables = {**TABLES, "reward": {}, "eval": {"readers": [str(reader)], "limit": 2, "max_tokens": 12, "every": 9}}
    run_small(tmp_path / "arm", **(tables | {"train": {"steps": 1, "max_tokens": 40}}))


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"reward": {"reader": "none"}}, "is a control of eval.readers"),
        ({"eval": {"readers": ["live", "live"]}}, "must name each reader once"),
        ({"reward": {"reader": "live"}, "method": {"name": "sft"}}, "has no rewards"),
        ({"reward": {"reader": "live"}, "method": {"name": "mel"}}, "lessons are about the policy's own answers"),
    ],
)
def test_combinations_that_cannot_work_are_refused(tables, words):
    with pytest.raises(UsageError, match=words):
        resolve({"model": {"base": "nano/qwen3"}} | tables, "test")


def test_an_unknown_reader_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no shipped model 'nano/lama'"):
        run_small(tmp_path, **(TABLES | {"eval": {"readers": ["nano/lama"]}}))


def reader_curves(truths: dict[str, tuple[str, str, np.ndarray]], items: int = 300) -> Curves:
    rng = np.random.default_rng(0)
    difficulty_Q = rng.normal(0, 1.5, items)
    curves = []
    for name, (kind, family, truth_T) in truths.items():
        reader_curve = curve(rng, truth_T, items, name=name, difficulty_Q=difficulty_Q)
        reader_curve.reader, reader_curve.family, reader_curve.benchmark = kind, family, "b, read"
        curves.append(reader_curve)
    return Curves("", "step", "accuracy", curves)


def legibility_verdicts(curves: Curves) -> dict[str, str]:
    return {finding.claim: str(finding.verdict) for finding in analyse.analyse(curves) if finding.id == "A20"}


def test_legibility_finds_a_gap_a_family_and_a_drift_where_they_are():
    rise_T, fall_T = 0.9 - 0.5 * np.exp(-np.arange(13) / 2), np.maximum(0, np.arange(13) - 6) * 0.03
    none_T = np.full(13, 0.2)
    apart = reader_curves(
        {
            "Live Q": ("live", "Q", rise_T), "Frozen Q": ("self", "Q", rise_T - 0.3 * fall_T),
            "Frozen L": ("frozen", "L", rise_T - fall_T), "Frozen M": ("frozen", "M", rise_T - fall_T),
            "No text": ("control", "Q", none_T),
        }
    )  # fmt: skip
    assert set(legibility_verdicts(apart).values()) == {"supported"} and len(legibility_verdicts(apart)) == 4
    together = reader_curves({name: (c.reader, c.family, rise_T) for name, c in ((c.name, c) for c in apart.series)})
    assert set(legibility_verdicts(together).values()) == {"not supported"}


def test_legibility_is_about_checkpoints():
    curves = reader_curves({"Live Q": ("live", "Q", np.full(3, 0.5)), "Frozen Q": ("self", "Q", np.full(3, 0.4))})
    found = [finding for finding in analyse.analyse(curves) if finding.id == "A20"]
    assert {(f.scope, f.seeds, f.items) for f in found} == {("checkpoint", 1, 300)} and len(found) == 2


def test_the_answer_is_not_in_the_text_if_no_text_does_as_well():
    same_T, low_T = np.full(8, 0.28), np.full(8, 0.08)
    curves = reader_curves(
        {
            "Live Q": ("live", "Q", same_T), "Frozen Q": ("self", "Q", same_T), "No text": ("control", "Q", same_T),
            "Another item's text": ("control", "Q", low_T),
        }
    )  # fmt: skip
    assert legibility_verdicts(curves)["the answer is in the text"] != "supported"


def test_drift_is_not_judged_before_a_plateau():
    rise_T = np.linspace(0.2, 0.9, 12)
    curves = reader_curves({"Live Q": ("live", "Q", rise_T), "Frozen Q": ("self", "Q", rise_T - 0.02)})
    assert legibility_verdicts(curves)["frozen readers fall behind after the plateau"] == "untestable"
    few = reader_curves({"Live Q": ("live", "Q", rise_T[:3]), "Frozen Q": ("self", "Q", rise_T[:3])})
    assert legibility_verdicts(few)["frozen readers fall behind after the plateau"] == "untestable"


def test_legibility_is_not_judged_without_the_items():
    curves = reader_curves({"Live Q": ("live", "Q", np.full(3, 0.5)), "Frozen Q": ("self", "Q", np.full(3, 0.4))})
    curves.series[1].items = None
    (finding,) = [finding for finding in analyse.analyse(curves) if finding.id == "A20"]
    assert finding.verdict == "untestable"


def test_the_figure_has_a_line_for_every_reader(whole):
    figure = kinds.figure([whole.path], "readers")
    assert figure.panels == ["abacus/add2, read", "abacus/sub, read"]
    styles = {s.name: s.style for s in figure.series}
    assert list(styles) == [
        "Live Qwen3-shaped, 0.8M", "Frozen Qwen3-shaped, 0.8M", "Frozen Llama3.2-shaped, 0.8M", "No text",
        "Another item's text",
    ]  # fmt: skip
    assert [style.dash for style in styles.values()] == ["-", "--", "--", ":", ":"]
    assert len({(style.colour, style.marker) for style in styles.values()}) == 5
    with pytest.raises(UsageError, match="no readers in"):
        kinds.figure([run_folder_without_readers(whole.path.parent / "plain")], "readers")


def run_folder_without_readers(path):
    return run_small(path, train={"steps": 1}, eval={"limit": 2}).path
