"""Prompts of released chat templates, and the answers in completions."""

import pytest
from tokenizers import Regex, pre_tokenizers

from helpers.model_folders import CHATS, THINK, byte_tokenizer, chat_folder, trl_template
from passus.engine.eager import EagerEngine
from passus.engine.interface import SamplingParams
from passus.errors import UsageError
from passus.models import loader
from passus.models.chat_format import ChatFormat
from passus.models.policy import Policy
from passus.tasks.item import Item


def load(path, **settings) -> Policy:
    return loader.load(str(path), "cpu", "float32", **settings)


def refused(path, part: str, **settings) -> None:
    """Checks that loading fails with a message that says what was expected."""
    with pytest.raises(UsageError, match=part) as caught:
        load(path, **settings)
    assert "expected:" in str(caught.value)


def question(text: str) -> Item:
    return Item("made", 0, text, "")


@pytest.fixture(scope="module", params=CHATS)
def released(request, tmp_path_factory):
    made = CHATS[request.param]
    path = tmp_path_factory.mktemp(request.param)
    return made, chat_folder(path, made.kind, made.tokenizer(request.param), made.ends)


QUESTION = "How many is 6 x 7?"


def test_prompts_of_released_templates(released):
    made, folder = released
    policy = load(folder, question_template="{question} Use \\boxed{}.")
    prompt = policy.prompt(question(QUESTION), 5)
    text = policy.chat.decode(prompt.tokens, special=True)
    assert text.count(f"{QUESTION} Use \\boxed{{}}.") == 1
    assert text.endswith(made.tail)
    assert policy.chat.tokenizer.bos_token_id is None or prompt.tokens.count(policy.chat.tokenizer.bos_token_id) == 1
    assert prompt.tokens[0] == policy.chat.tokenizer.convert_tokens_to_ids(made.bos or "<|im_start|>")
    assert prompt.item == 5


def test_thinking_switches_of_released_templates(released):
    made, folder = released
    if made.thinking_off is None:
        for thinking in ("on", "off"):
            refused(folder, "no such switch", thinking=thinking)
        return
    default, on, off = (load(folder, thinking=t).chat.render(question(QUESTION)) for t in ("default", "on", "off"))
    assert default == on != off
    assert on.endswith(made.tail) and off.endswith(made.tail + made.thinking_off)


def test_decoding_stops_at_each_end_token(released):
    made, folder = released
    policy = load(folder)
    ends = set(policy.chat.tokenizer.convert_tokens_to_ids(made.ends))
    assert set(policy.end_tokens) == ends
    params = SamplingParams(96, 48, seed=1, stream="x", temperature=1.5)
    rollout = EagerEngine(policy.model, policy.end_tokens).generate([policy.prompt(question("1"), 0)], params)
    assert {t[-1] for t, done in zip(rollout.tokens, rollout.finished, strict=True) if done} == ends
    for tokens, done in zip(rollout.tokens, rollout.finished, strict=True):
        assert not ends & set(tokens[:-1]) and (done or len(tokens) == 48)
    assert not any(word in text for text in policy.chat.batch_decode(rollout.tokens) for word in made.ends)


@pytest.mark.parametrize(("name", "day"), [("llama3_2", "26 Jul 2024"), ("smollm3", "26 July 2024")])
def test_the_date_in_a_template_is_a_constant(name, day):
    """Otherwise a run that is resumed tomorrow would have other prompts."""
    assert f"Today Date: {day}\n" in ChatFormat(CHATS[name].tokenizer(name)).render(question("1"))


@pytest.mark.parametrize("writes", ["<s> $A", "<s> $A </s>", "$A"])
@pytest.mark.parametrize("template", ["{question}", "<s>{question}", "Q: {question}\nA:"])
def test_the_start_token_of_a_base_model(tmp_path, writes, template):
    """The prompt has one start token if the tokenizer writes one, and no end token after the question."""
    tokenizer = byte_tokenizer(["<s>", "</s>"], bos="<s>", eos="</s>", writes=writes)
    policy = load(chat_folder(tmp_path, "llama", tokenizer, ["</s>"]), question_template=template)
    tokens = policy.prompt(question("1 + 1"), 0).tokens
    has_start = "<s>" in writes or "<s>" in template
    expected = "<s>" * has_start + template.removeprefix("<s>").replace("{question}", "1 + 1")
    assert policy.chat.decode(tokens, special=True) == expected


def test_model_prompt_may_repeat_the_start_token_of_a_chat_template(tmp_path):
    template = "{{ bos_token }}{{ messages[0].content }}"
    tokenizer = byte_tokenizer(["<s>", "</s>"], bos="<s>", eos="</s>", template=template, writes="<s> $A")
    policy = load(chat_folder(tmp_path, "llama", tokenizer, ["</s>"]), question_template="<s>{question}")
    assert policy.chat.decode(policy.prompt(question("1"), 0).tokens, special=True) == "<s>1"


THOUGHTS = [
    ("<think>6 * 7</think>so \\boxed{42}", "so \\boxed{42}"),
    ("<think>\\boxed{1}</think>\\boxed{2}", "\\boxed{2}"),
    ("<think>a</think>b</think>c", "c"),
    ("<think>is it \\boxed{42}", ""),
    ("\\boxed{42}<think>or", ""),
    ("a</think>b<think>c", ""),
    ("", ""),
]


def thinker(special=(), added=(), template=None, prompt="{question}", thinking="default") -> ChatFormat:
    tokenizer = byte_tokenizer(["<eos>", *special], tuple(added), eos="<eos>", template=template)
    return ChatFormat(tokenizer, prompt, thinking)


def answers(chat: ChatFormat, *texts: str) -> list[str]:
    tokens = [chat.tokenizer(text + "<eos>", add_special_tokens=False)["input_ids"] for text in texts]
    return chat.answers(tokens, chat.batch_decode(tokens))


@pytest.mark.parametrize("marks", [{"special": THINK}, {"added": THINK}, {}], ids=["special", "added", "plain"])
def test_the_answer_follows_the_thinking(marks):
    chat = thinker(**marks)
    completions, expected = zip(*THOUGHTS, strict=True)
    assert answers(chat, *completions) == list(expected)
    assert answers(chat, "\\boxed{7} at once", "b</think>c") == ["\\boxed{7} at once", "c"]


@pytest.mark.parametrize("marks", [{"special": THINK}, {"added": THINK}, {}], ids=["special", "added", "plain"])
def test_thinking_that_the_prompt_opened(marks):
    chat = thinker(template="{{ messages[0].content }}<a>{% if add_generation_prompt %}<think>\n{% endif %}", **marks)
    assert answers(chat, "6 * 7</think>\\boxed{42}", "\\boxed{42}", "") == ["\\boxed{42}", "", ""]


@pytest.mark.parametrize(
    ("name", "thinking", "opens"),
    [
        ("deepseek_r1_distill", "default", True), ("qwen3_5_think", "default", True), ("qwen3_5_think", "on", True),
        ("qwen3_5_think", "off", False), ("qwen3", "on", False), ("qwen3", "off", False), ("llama3_2", "default", False),
    ],
)  # fmt: skip
def test_released_templates_that_open_thinking_in_the_prompt(name, thinking, opens):
    chat = thinker(template=trl_template(name), thinking=thinking, added=THINK)
    assert answers(chat, "\\boxed{42}", "x</think>y") == ["" if opens else "\\boxed{42}", "y"]


def test_a_prompt_without_a_template_may_open_thinking():
    chat = thinker(prompt="Think between <think> and </think>. {question}\nAssistant: <think>")
    assert answers(chat, "\\boxed{42}", "x</think>\\boxed{42}") == ["", "\\boxed{42}"]
    speaks_of_it = thinker(prompt="{question} Begin with <think>, and then </think>.")
    assert answers(speaks_of_it, "\\boxed{42}") == ["\\boxed{42}"]


@pytest.mark.parametrize("name", ["qwen3", "smollm3"])
def test_answers_with_each_thinking_switch(name):
    tokenizer = CHATS[name].tokenizer(name)
    for thinking in ("default", "on", "off"):
        chat = ChatFormat(tokenizer, thinking=thinking)
        done, cut = (tokenizer(t, add_special_tokens=False)["input_ids"] for t in ("7<|im_end|>", "<think>7"))
        assert chat.answers([done, cut], chat.batch_decode([done, cut])) == ["7", ""]
        assert chat.batch_decode([done]) == ["7"]


def test_a_tokenizer_that_gives_up_on_a_text_is_an_error_of_usage():
    """The tokenizers library panics where a regular expression takes too many steps."""
    tokenizer = byte_tokenizer(["<e>"], eos="<e>")
    hostile = pre_tokenizers.Split(Regex(r"(?:\d|\d\d)+[xy]$"), "isolated")
    tokenizer.backend_tokenizer.pre_tokenizer = hostile
    with pytest.raises(UsageError, match=r"the tokenizer of .* fails: .*retry-limit"):
        ChatFormat(tokenizer).encode(["1" * 60 + "! x"])
