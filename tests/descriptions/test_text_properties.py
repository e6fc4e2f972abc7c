"""What must hold for any text: order, names, units, noise, size."""

import random
import time

import pytest

from passus.analysis.read_text import read_text
from passus.errors import UsageError

SENTENCES = [
    "GRPO is at 0.2 at step 0, at 0.4 at step 50 and at 0.6 at step 100.",
    "PPO is at 0.1 at step 0, at 0.3 at step 50 and at 0.4 at step 100.",
    "RLOO is at 0.3 at step 0, at 0.5 at step 50 and at 0.5 at step 100.",
]
CLAIMS = [
    "GRPO ends above PPO.",
    "PPO is the best at step 100.",
    "RLOO is ahead of GRPO at step 50.",
    "GRPO overtakes RLOO between steps 50 and 100.",
    "PPO gains more than 50 points.",
]
VERDICTS = ["supported", "contradicted", "supported", "supported", "contradicted"]


def verdicts(text: str, claims: list[str]) -> list[str]:
    found = {claim.text: claim.verdict for claim in read_text(text).claims}
    return [found.get(claim, "") for claim in claims]


def test_hand_made_claims():
    assert verdicts(" ".join(SENTENCES + CLAIMS), CLAIMS) == VERDICTS


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_sentences_does_not_matter(seed):
    shuffled = [*SENTENCES, *CLAIMS]
    random.Random(seed).shuffle(shuffled)
    assert verdicts("\n\n".join(shuffled), CLAIMS) == VERDICTS


@pytest.mark.parametrize(
    "names", [("DAPO", "SFT", "KTO"), ("Qwen3-4B", "Qwen3-8B", "Llama-3.1-8B"), ("LoRA r=8", "LoRA r=64", "Full FT")]
)
def test_renamed_series_have_the_same_verdicts(names):
    def renamed(text: str) -> str:
        for old, new in zip(("GRPO", "PPO", "RLOO"), names, strict=True):
            text = text.replace(old, f"\0{new}")
        return text.replace("\0", "")

    claims = [renamed(claim) for claim in CLAIMS]
    assert verdicts(" ".join(map(renamed, SENTENCES)) + " " + " ".join(claims), claims) == VERDICTS


@pytest.mark.parametrize("write", ["{:.0%}", "{:.1%}", "{}", "about {}", "~{}", "roughly {:.0%}"])
def test_units_do_not_matter(write):
    def rewritten(sentence: str) -> str:
        for value in ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6"):
            sentence = sentence.replace(f"at {value}", f"at {write.format(float(value))}")
        return sentence

    text = " ".join([*map(rewritten, SENTENCES), *CLAIMS])
    assert verdicts(text, CLAIMS) == VERDICTS
    values = {(c.name, p.x): round(p.y, 6) for c in read_text(text).series for p in c.points}
    assert values["GRPO", 50] == 0.4 and values["RLOO", 100] == 0.5 and len(values) == 9


ALPHABET = (
    "abc ABC 019 .,;:%~-+*#|()[]\"'`\n\t«»\u2014\u2192 \u00b1 \U0001f600 step at from to GRPO PPO 0.5 10% between and rises"
)


@pytest.mark.parametrize("seed", range(40))
def test_random_text_is_read_without_an_error(seed):
    draw = random.Random(seed)
    words = ALPHABET.split(" ")
    read_text("".join(draw.choice([*words, " ", "\n", "\n* ", "| ", "**", ". "]) for _ in range(600)))


@pytest.mark.parametrize(
    "text",
    [
        "\u6a21\u578b\u7684\u51c6\u786e\u7387\u4ece0.2\u63d0\u9ad8\u52300.5\u3002",
        "Die Genauigkeit von GRPO steigt von 0,2 auf 0,5.",
        "\u0627\u0644\u062f\u0642\u0629 0.5",
        "\u0422\u043e\u0447\u043d\u043e\u0441\u0442\u044c GRPO \u0440\u0430\u0441\u0442\u0435\u0442 \u0434\u043e 0,5.",
        "",
        "\n\n\n",
        "#",
        "|",
        "* ",
        "---",
        "```",
    ],
)
def test_other_languages_and_nothing_at_all(text):
    curves = read_text(text)
    assert not any(claim.verdict == "contradicted" for claim in curves.claims)


@pytest.mark.parametrize(
    "piece",
    [
        "1 ",
        "0.5, ",
        "lorem ipsum ",
        "GRPO rises to 0.5 at step 10 and ",
        "(",
        "*",
        "#",
        "|",
        "[",
        "GRPO, ",
        "«S0» ",
        "0.5\n",
        "a: 1\n",
    ],
)
def test_long_runs_of_one_thing_are_read(piece):
    read_text(piece * (60_000 // len(piece)))


def test_deep_lists_are_read():
    read_text("\n".join(f"{'  ' * depth}* item {depth}: 0.5" for depth in range(200)))


def test_the_time_grows_with_the_text_and_no_faster():
    """Twice the text takes about twice the steps of the reader; counted, not timed."""
    import sys

    def calls(text: str) -> int:
        count = 0

        def trace(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(trace)
        try:
            read_text(text)
        finally:
            sys.setprofile(None)
        return count

    text = "\n\n".join(SENTENCES + CLAIMS)
    small, large = (calls("\n\n".join([text] * n)) for n in (8, 32))
    assert large < 6 * small


def test_a_text_beyond_the_limit_is_refused():
    start = time.monotonic()
    with pytest.raises(UsageError, match="characters"):
        read_text("a" * 2_000_001)
    assert time.monotonic() - start < 60  # it is not read first
