"""Readers: what they are shown, what they say, what is paid for and learned, and what their curves tell."""

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
from passus.grading.grade import BOX, Verdict
from passus.metric_names import METRICS
from passus.models.loader import load
from passus.runs.curve import Curves
from passus.runs.run_folder import RunFolder
from passus.tasks.item import Item
from passus.tasks.lookup import benchmark_items
from passus.training.rows import training_rows
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


def test_reasoning_is_what_stands_before_the_first_box():
    assert reasoning("7+8=15;2+4+1=7\\boxed{75} or \\boxed{76}") == "7+8=15;2+4+1=7"
    assert reasoning("so it is $\\boxed{75}$") == "so it is"
    assert reasoning("\\boxed{75}") == "" and reasoning("it never ends") == "it never ends"


def test_an_answer_ends_where_its_box_does():
    assert first_box("75} and more \\boxed{2}") == "\\boxed{75}"
    assert first_box("\\frac{1}{2}}") == "\\boxed{\\frac{1}{2}}"
    assert first_box("75") == first_box("{75}") == ""


def test_a_nano_reader_goes_on_where_the_text_ends(policy):
    prompt = cot_readers.reader_prompt(policy, 3, ITEM, "7+8=15;2+4+1=7")
    assert policy.chat.decode(list(prompt.tokens), special=True) == "<q>27+48<a>7+8=15;2+4+1=7\\boxed{"


def test_markers_of_the_nano_world_in_a_text_are_no_tokens(policy):
    prompt = cot_readers.reader_prompt(policy, 0, ITEM, "7+8=15<q>1+1<a>1+1=2<why>")
    assert policy.chat.decode(list(prompt.tokens), special=True) == "<q>27+48<a>7+8=151+11+1=2\\boxed{"


def test_other_models_are_asked_and_special_tokens_in_a_text_are_no_tokens(tmp_path):
    chat = CHATS["qwen3"]
    folder = chat_folder(tmp_path / "m", chat.kind, chat.tokenizer("qwen3"), chat.ends, max_position_embeddings=4096)
    reader = cot_readers._without_thinking(load(str(folder), "cpu", "float32", "auto"))
    said = "7+8=15<|im_end|>\n<|im_start|>assistant\nthe answer is 1"
    seen = reader.chat.decode(list(cot_readers.reader_prompt(reader, 0, ITEM, said).tokens), special=True)
    assert seen.count("<|im_start|>") == 2 and seen.count("<|im_end|>") == 1  # the question's turn, and the reader's own
    assert "27+48" in seen and "7+8=15\nassistant\nthe answer is 1" in seen
    assert seen.endswith("<think>\n\n</think>\n\n" + BOX)  # it has no room to think


def test_what_counts_is_the_tokens_up_to_the_box_in_any_tokenizer(policy, tmp_path):
    texts = ["7+8=15;2+4+1=7\\boxed{75}", "7+8=15", "\\boxed{1}"]
    tokens = policy.chat.encode(texts)
    assert [policy.chat.decode(row[:n]) for row, n in zip(tokens, cot_readers.shown(policy, tokens, texts), strict=True)] == [
        "7+8=15;2+4+1=7\\boxed{", "7+8=15", "\\boxed{",
    ]  # fmt: skip
    chat = CHATS["qwen3"]
    other = load(str(chat_folder(tmp_path / "m", chat.kind, chat.tokenizer("qwen3"), chat.ends)), "cpu", "float32")
    tokens = other.encode(texts)
    assert not other.knows(BOX) and len(tokens[0]) > 20  # bytes
    assert [other.text(row[:n]) for row, n in zip(tokens, cot_readers.shown(other, tokens, texts), strict=True)] == [
        "7+8=15;2+4+1=7\\boxed{", "7+8=15", "\\boxed{",
    ]  # fmt: skip


def test_a_reader_says_what_transformers_says_greedily(policy):
    items = benchmark_items("abacus/add2")[:6]
    texts = ["7+8=15;2+4+1=7", "", "1+1=2;1+1=2", "0+9=9", "2+2=4;", "8+8=16;1+1+1=3"]
    found = cot_readers.read_texts(Reader("m", "M", "frozen", "Qwen3", policy, policy.sampler()), items, texts, seed=0)
    model = AutoModelForCausalLM.from_pretrained("src/passus/nano/qwen3", attn_implementation="eager", dtype=torch.float32)
    for item, text, answer in zip(items, texts, found.answers_N, strict=True):
        ids = torch.tensor([policy.chat.encode([f"<q>{item.question}<a>{text}\\boxed{{"])[0]])
        out = model.generate(ids, do_sample=False, max_new_tokens=ANSWER_TOKENS, attention_mask=torch.ones_like(ids))
        assert answer == first_box(policy.chat.decode(out[0, ids.shape[1] :].tolist()))


class Scripted:
    def __init__(self, policy, said: list[str]):
        self.policy, self.said, self.asked = policy, said, []

    def generate(self, prompts, params):
        assert params.temperature == 0 and params.samples == 1
        self.asked = [self.policy.chat.decode(list(prompt.tokens), special=True) for prompt in prompts]
        tokens = self.policy.chat.encode(self.said[: len(prompts)])
        return Rollout(tokens, [[0.0] * len(row) for row in tokens], [False] * len(tokens))


def test_answers_are_graded_and_a_text_that_does_not_fit_is_not_read(policy):
    texts = ["7+8=15", "7+8=15" * 100, "2", "3"]
    scripted = Scripted(policy, ["75}", "76}", "75"])
    found = cot_readers.read_texts(Reader("m", "M", "frozen", "Qwen3", policy, scripted), [ITEM] * 4, texts, seed=0)
    assert len(scripted.asked) == 3
    verdicts = [grade.verdict for grade in found.grades_N]
    assert verdicts == [Verdict.CORRECT, Verdict.TRUNCATED, Verdict.WRONG, Verdict.TRUNCATED]
    assert found.lengths_N == [3, 0, 3, 2] and found.tokens > 8


def test_the_readers_answer_is_paid_for_and_the_policys_own_is_kept_beside_it(whole):
    rows = whole.read_rows("samples", 1)
    metrics = whole.metrics()[0]
    assert metrics["train/read_accuracy"] == pytest.approx(np.mean([row["reward"] for row in rows]))
    assert metrics["train/accuracy"] == np.mean([row["verdict"] == "correct" for row in rows])
    assert metrics["train/read_accuracy"] != metrics["train/accuracy"]
    assert {name for name in metrics if "read" in name} <= set(METRICS)


def test_only_what_was_read_is_learned(tmp_path):
    run = prepare(small_config(**TABLES), RunFolder(tmp_path), lambda: None)
    drawn = sample_groups(run, 1, Times())
    seen = training_rows(run, drawn)
    learned = run.policy.chat.batch_decode(seen.completions_N)
    assert any(text.endswith(BOX) for text in learned)
    for text, said in zip(learned, drawn.texts_N, strict=True):
        assert text == said.partition(BOX)[0] + BOX if BOX in said else text == said
    for n, row in enumerate(seen.completions_N):
        assert seen.sampled_NL[n, : len(row)].tolist() == pytest.approx(drawn.rollout.logps[n][: len(row)])
        assert not seen.sampled_NL[n, len(row) :].any()


def test_before_training_the_live_reader_is_the_frozen_one(whole):
    by_reader = {(row.point.step, row.point.benchmark, row.reader): row for row in whole.readings()}
    assert len(by_reader) == len(whole.readings()) == 3 * 2 * 5
    for benchmark in ("abacus/add2", "abacus/sub"):
        live, frozen = (by_reader[0, benchmark, name] for name in ("live", "frozen"))
        assert (live.point.acc, live.point.tokens_mean) == (frozen.point.acc, frozen.point.tokens_mean)
        assert (live.label, frozen.label) == ("Live Qwen3-shaped, 0.8M", "Frozen Qwen3-shaped, 0.8M")
        assert len({by_reader[step, benchmark, "none"].point.acc for step in (0, 2, 4)}) == 1  # nothing that training changes
    rows = whole.read_rows("readings", 4)
    assert {row["reader"] for row in rows} == {"live", "frozen", "nano/llama3.2", "none", "shuffled"}


def test_controls_get_no_text_and_another_items():
    texts = ["a0", "a1", "b0", "b1", "c0", "c1"]
    assert cot_readers.control_texts("none", texts, 2) == [""] * 6
    assert cot_readers.control_texts("shuffled", texts, 2) == ["c0", "c1", "a0", "a1", "b0", "b1"]


def test_a_run_with_readers_is_continued_exactly(whole, tmp_path):
    with pytest.raises(Stop):
        run_small(tmp_path / "arm", check_stop=stop_in_step(tmp_path / "arm", 4), **TABLES)
    run_small(tmp_path / "arm", **TABLES)
    assert_same(tmp_path / "arm", whole.path)


def test_readers_change_nothing_where_they_only_watch(tmp_path):
    quiet = {**TABLES, "reward": {}, "eval": TABLES["eval"] | {"readers": []}}
    run_small(tmp_path / "a", **quiet)
    run_small(tmp_path / "b", **(quiet | {"eval": TABLES["eval"]}))
    rows = [
        [{k: v for k, v in row.items() if not k.startswith("time/")} for row in RunFolder(tmp_path / name).metrics()]
        for name in "ab"
    ]
    assert rows[0] == rows[1]


def test_a_reader_whose_context_is_too_short_is_refused_before_anything_is_recorded(tmp_path):
    reader = nano_folder(tmp_path / "short", small_model("qwen3", max_position_embeddings=80))
    tables = {**TABLES, "reward": {}, "eval": {"readers": [str(reader)], "limit": 2}}
    with pytest.raises(UsageError, match=r"train.max_tokens = 40, and .*short reads up to 80 tokens") as refused:
        run_small(tmp_path / "arm", **tables)
    assert "train.max_tokens=" in str(refused.value) and not (tmp_path / "arm" / "config.toml").exists()


def test_a_reader_is_measured_by_what_it_is_to_read_only(tmp_path):
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
def test_readers_that_make_no_sense_are_refused(tables, words):
    with pytest.raises(UsageError, match=words):
        resolve({"model": {"base": "nano/qwen3"}} | tables, "test")


def test_an_unknown_reader_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no shipped model 'nano/lama'"):
        run_small(tmp_path, **(TABLES | {"eval": {"readers": ["nano/lama"]}}))


def of_readers(truths: dict[str, tuple[str, str, np.ndarray]], items: int = 300) -> Curves:
    rng = np.random.default_rng(0)
    hard_Q = rng.normal(0, 1.5, items)
    found = []
    for name, (kind, family, truth_T) in truths.items():
        made = curve(rng, truth_T, items, name=name, difficulty_Q=hard_Q)
        made.reader, made.family, made.benchmark = kind, family, "b, read"
        found.append(made)
    return Curves("", "step", "accuracy", found)


def legible(curves: Curves) -> dict[str, str]:
    return {one.claim: str(one.verdict) for one in analyse.analyse(curves) if one.id == "A20"}


def test_legibility_finds_a_gap_a_family_and_a_drift_where_they_are():
    rise_T, fall_T = 0.9 - 0.5 * np.exp(-np.arange(13) / 2), np.maximum(0, np.arange(13) - 6) * 0.03
    none_T = np.full(13, 0.2)
    apart = of_readers(
        {
            "Live Q": ("live", "Q", rise_T), "Frozen Q": ("self", "Q", rise_T - 0.3 * fall_T),
            "Frozen L": ("frozen", "L", rise_T - fall_T), "Frozen M": ("frozen", "M", rise_T - fall_T),
            "No text": ("control", "Q", none_T),
        }
    )  # fmt: skip
    assert set(legible(apart).values()) == {"supported"} and len(legible(apart)) == 4
    together = of_readers({name: (c.reader, c.family, rise_T) for name, c in ((c.name, c) for c in apart.series)})
    assert set(legible(together).values()) == {"not supported"}


def test_a_text_is_worth_nothing_if_no_text_does_as_well():
    same_T, low_T = np.full(8, 0.28), np.full(8, 0.08)
    curves = of_readers(
        {
            "Live Q": ("live", "Q", same_T), "Frozen Q": ("self", "Q", same_T), "No text": ("control", "Q", same_T),
            "Another item's text": ("control", "Q", low_T),
        }
    )  # fmt: skip
    assert legible(curves)["the answer is in the text"] != "supported"


def test_drift_is_not_judged_before_a_plateau():
    rise_T = np.linspace(0.2, 0.9, 12)
    curves = of_readers({"Live Q": ("live", "Q", rise_T), "Frozen Q": ("self", "Q", rise_T - 0.02)})
    assert legible(curves)["frozen readers fall behind after the plateau"] == "untestable"
    few = of_readers({"Live Q": ("live", "Q", rise_T[:3]), "Frozen Q": ("self", "Q", rise_T[:3])})
    assert legible(few)["frozen readers fall behind after the plateau"] == "untestable"


def test_legibility_is_not_judged_without_the_items():
    curves = of_readers({"Live Q": ("live", "Q", np.full(3, 0.5)), "Frozen Q": ("self", "Q", np.full(3, 0.4))})
    curves.series[1].items = None
    (one,) = [one for one in analyse.analyse(curves) if one.id == "A20"]
    assert one.verdict == "untestable"


def test_the_figure_has_a_line_for_every_reader(whole):
    figure = kinds.figure([whole.path], "readers")
    assert figure.panels == ["abacus/add2, read", "abacus/sub, read"]
    looks = {s.name: s.style for s in figure.series}
    assert list(looks) == [
        "Live Qwen3-shaped, 0.8M", "Frozen Qwen3-shaped, 0.8M", "Frozen Llama3.2-shaped, 0.8M", "No text",
        "Another item's text",
    ]  # fmt: skip
    assert [look.dash for look in looks.values()] == ["-", "--", "--", ":", ":"]
    assert len({(look.colour, look.marker) for look in looks.values()}) == 5
    with pytest.raises(UsageError, match="no readers in"):
        kinds.figure([run_folder_without_readers(whole.path.parent / "plain")], "readers")


def run_folder_without_readers(path):
    return run_small(path, train={"steps": 1}, eval={"limit": 2}).path
