"""Prompts that a tokenizer cannot represent, on cases counted by hand."""

from importlib.resources import files

import pytest
from transformers import AutoTokenizer

from helpers.model_folders import byte_tokenizer
from passus.errors import UsageError
from passus.models.chat_format import ChatFormat
from passus.models.lossy_prompts import PROMPTS_COMPARED, check_lossy_prompts, find_lossy_prompts
from passus.tasks.item import Item
from passus.tasks.prompt import AUTO, BOXED


@pytest.fixture(scope="module")
def nano():
    """The tokenizer of the shipped models, which knows digits, signs and the letters A to F."""
    return AutoTokenizer.from_pretrained(str(files("passus") / "nano/qwen3"))


def items(*questions: str, **fields) -> list[Item]:
    return [Item("mine", n, question, "1", **fields) for n, question in enumerate(questions)]


def test_the_share_and_an_example(nano):
    found = find_lossy_prompts(ChatFormat(nano), "mine", items("1+2", "one", "3*4", "(5)"))
    assert (found.lossy, found.compared, found.share, found.is_question) == (1, 4, 0.25, True)
    assert found.text == "<q>one<a>" and found.seen == "<q><pad><pad><pad><a>"
    assert str(found).startswith("mine: the tokenizer cannot represent 1 of 4 prompts (25 %)")


def test_a_space_is_lost_where_the_tokenizer_knows_none(nano):
    assert find_lossy_prompts(ChatFormat(nano), "mine", items("1 + 2")).seen == "<q>1<pad>+<pad>2<a>"


def test_nothing_is_lost_in_known_signs_or_in_bytes(nano):
    assert find_lossy_prompts(ChatFormat(nano), "mine", items("12+34", "A>B")) is None
    chat = ChatFormat(byte_tokenizer(["<s>"], bos="<s>", writes="<s> $A"))
    assert find_lossy_prompts(chat, "mine", items("one\n\ttwo", "\u03b1 ≤ β", "问题\uff1a", "e\u0301 \U0001f600")) is None


def test_a_line_around_the_question_is_told_apart_from_the_question(nano):
    style = BOXED["math", "en"]
    found = find_lossy_prompts(ChatFormat(nano, AUTO), "mine", items("1+2", "3+4", style=style))
    assert found.lossy == 2 and not found.is_question
    with pytest.raises(UsageError, match=r'write: model\.prompt = "\{question\}"'):
        check_lossy_prompts([found], 0.5)


def test_the_allowed_share_is_a_limit_per_source(nano):
    found = find_lossy_prompts(ChatFormat(nano), "mine", items(*["1+1"] * 199, "one"))
    assert found.share == 0.005
    check_lossy_prompts([found], 0.01)
    check_lossy_prompts([found], 0.005)
    with pytest.raises(UsageError, match=r"model\.lossy_prompts = 0\.01 "):
        check_lossy_prompts([found], 0.004)


def test_a_large_set_is_compared_in_part(nano):
    questions = ["one" if n % 2 else "1+1" for n in range(3 * PROMPTS_COMPARED)]
    found = find_lossy_prompts(ChatFormat(nano), "mine", items(*questions))
    assert found.compared == PROMPTS_COMPARED and found.share == 0.5
    assert find_lossy_prompts(ChatFormat(nano), "mine", []) is None
