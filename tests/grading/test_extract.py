"""Extraction in its two modes: boxes alone, and announced answers."""

import json
from collections import Counter
from pathlib import Path

import pytest

from passus.grading.closing_text import answer_turn, strip_courtesy
from passus.grading.commitment import NoAnswer
from passus.grading.extract import extract_answer
from passus.grading.grade import grade, grade_all
from passus.grading.multiple_choice import ChoiceReading
from passus.grading.verdict import ANY, BOXED, MATH, Rule, Verdict

HERE = Path(__file__).parent


def is_correct(output: str, gold: str, rule: Rule = MATH) -> bool:
    return grade(output, gold, truncated=False, rule=rule).verdict is Verdict.CORRECT


def score(name: str) -> tuple[int, float, list[str], list[str]]:
    """Returns the number of pairs of a file, the share that is graded as labelled, and the ids of both kinds of errors."""
    rows = [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]
    rules = [Rule("choice", tuple(row.get("choices") or ())) if row["kind"] == "choice" else MATH for row in rows]
    grades = grade_all([row["output"] for row in rows], [row["gold"] for row in rows], rules, [False] * len(rows))
    graded = [(row, result.verdict is Verdict.CORRECT) for row, result in zip(rows, grades, strict=True)]
    accepted = [row["id"] for row, correct in graded if correct and not row["correct"]]
    rejected = [row["id"] for row, correct in graded if not correct and row["correct"]]
    return len(rows), 1 - (len(accepted) + len(rejected)) / len(rows), accepted, rejected


def test_announced_answers_of_the_development_half():
    """The rules were developed on these pairs (docs/grading.md)."""
    count, agreement, accepted, _ = score("announced_dev.jsonl")
    assert count >= 800 and agreement >= 0.985 and accepted == []


def test_announced_answers_of_the_second_half():
    """This half was set aside and scored once: 95.3 %, with 5 false accepts. Since then the rules were developed on it too."""
    count, agreement, accepted, _ = score("announced_second.jsonl")
    assert count >= 1000 and agreement >= 0.985 and accepted == []


@pytest.mark.slow
def test_announced_answers_of_the_third_file():
    """This file was set aside and scored once: 97.1 %, with 8 false accepts. Since then the rules were developed on it too."""
    count, agreement, accepted, _ = score("announced_third.jsonl")
    assert count >= 1500 and agreement >= 0.985 and accepted == []


@pytest.mark.slow
def test_announced_answers_of_the_fourth_file():
    """This file was set aside and scored once: 98.4 %, with 3 false accepts. Since then the rules were developed on it too."""
    count, agreement, accepted, _ = score("announced_fourth.jsonl")
    assert count >= 1700 and agreement >= 0.985 and accepted == []


@pytest.mark.slow
def test_announced_answers_of_the_fifth_file():
    """This file was set aside and scored once: 98.3 %, with no false accept. Since then the rules were developed on it too."""
    count, agreement, accepted, _ = score("announced_fifth.jsonl")
    assert count >= 1300 and agreement >= 0.998 and accepted == []


@pytest.mark.slow
def test_announced_answers_of_the_sixth_file():
    """This file was set aside and scored once: 98.4 %, with no false accept. Since then the rules were developed on it too."""
    count, agreement, accepted, _ = score("announced_sixth.jsonl")
    assert count >= 1200 and agreement >= 0.998 and accepted == []


MARKERS = [
    "<|end_of_sentence|>", "<|end▁of▁sentence|>", "<｜end▁of▁sentence｜>", "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>",
    "<|end_of_solution|>", "<end_of_utterance>", "<pad><pad>", "[end of text]",
    "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nThe answer is 9.",
]  # fmt: skip
CHANNELS = "<|channel|>analysis<|message|>Perhaps the answer is 57.<|end|><|start|>assistant<|channel|>final<|message|>"


@pytest.mark.parametrize("marker", MARKERS)
def test_a_marker_of_any_spelling_ends_the_turn(marker):
    for answer in ("So the final answer is **56**.", "The final answer is **\\(56\\)**", "**56**", "#### 56"):
        assert is_correct(f"We subtract 24 from 80.\n\n{answer}{marker}", "56")


def test_the_answer_begins_after_markers_and_channels():
    for lead in (CHANNELS, "<|start_header_id|>assistant<|end_header_id|>\n\n", "<|im_start|>assistant\n"):
        assert is_correct(f"{lead}The day of the week is **Saturday**.", "Saturday")
        assert is_correct(f"{lead}The set is **$\\{{9, 3, 5\\}}$**.<|return|>", "\\{3,5,9\\}")
    assert not is_correct(f"{CHANNELS}I do not know.", "57")


VERBS = ["is given by", "comes to", "amounts to", "turns out to be", "works out as", "is found to be", "is calculated as"]
SELF_REFERENCES = ["That is our final answer.", "This is the answer.", "And that's the answer to the question!"]


def test_verbs_that_state_a_value_and_sentences_about_the_answer():
    sentences = [f"{subject} {verb} $56$." for verb in VERBS for subject in ("Thus the exponent $n$", "The number of apples")]
    sentences += [f"We have found that the slope is $56$. {reference}" for reference in SELF_REFERENCES]
    sentences += ["So the answer is 56 ($56).", "The answer is 56 (i.e., 56.0).", "Therefore, the total is **56** (56)."]
    assert [sentence for sentence in sentences if not is_correct(f"We add.\n\n{sentence}", "56")] == []
    others = ["The total is not given by $56$.", "Tom says it is 56. This is the answer.", "The answer is 56 (57)."]
    others += ["It is 55 or 56. That is our final answer.", "The total is 56. That is the answer to the previous problem."]
    others += ["The total is 56. That is not our final answer.", "The radius is given as 56."]
    assert [sentence for sentence in others if is_correct(f"We add.\n\n{sentence}", "56")] == []


def test_the_text_of_an_option_is_no_further_letter():
    rule = Rule("choice")
    for line in ("**A) HF**", "A. BE", "**A – classical conditioning**", "The correct statement is A."):
        assert is_correct(f"We compare them.\n\n{line}", "A", rule)
    for line in ("A – incorrect", "**A – not classical**", "A – this is wrong", "B – one\nA – two", "A – classical?"):
        assert not is_correct(f"We compare them.\n\n{line}", "A", rule)
    for line in (
        "The correct statements are A, C, and D.",
        "The correct ones are A, C and D.",
        "A, C and D are the correct ones.",
        "So the correct ones are A, C and D only.",
    ):
        assert is_correct(f"We compare them.\n\n{line}", "ACD", rule)
        assert not is_correct(f"We compare them.\n\n{line.replace('correct', 'incorrect')}", "ACD", rule)
        assert not is_correct(f"We compare them.\n\n{line.replace('.', '?')}", "ACD", rule)


INVENTED = "\n\nQ: Tom has 5 hats and buys 3 more. How many hats does he have?\nA: "


@pytest.mark.parametrize(
    ("output", "gold"),
    [
        ("12 + 30 = 42.\n#### 42" + INVENTED + "5 + 3 = 8\n#### 8", "42"),
        ("Hence \\boxed{42}." + INVENTED + "\\boxed{8}", "42"),
        ("**Final Answer**\nWe add the three numbers of the list.\n$$\n42\n$$", "42"),
        ("**No**. The product is $45, which has to be compared with the budget.", "No"),
        ("The answer is about **8.6**.", "8.6"),
        ("The answer is only $12$.", "12"),
        ("So we have 42 apples left. Done!", "42"),
        ("We add the numbers.\n\n✅ **42**", "42"),
        ("Therefore, the day that we were asked about is Monday.", "Monday"),
        ("So the number we want is 17.", "17"),
        ("The value we were asked for is $x+1$.", "x+1"),
        ("配方得 $y=(x-1)^2$,因此不等式的解集为 $(0, 6)$。", "(0,6)"),
    ],
)
def test_what_surrounds_an_answer_does_not_hide_it(output, gold):
    assert is_correct(output, gold)


@pytest.mark.parametrize(
    ("output", "gold"),
    [
        ("The answer is 8.\n\nUser: Please check the 5 hats again, I think one is missing.\nSorry, the answer is 7.", "8"),
        ("**Yes**. The sides are 5, 12 and 14. So it is not a right triangle.", "Yes"),
        ("**Yes**. Wait, 25 + 144 is 169, so no.", "Yes"),
        ("So the person we are looking for is not Priya.", "Priya"),
        ("So the number we want is 17 or 18.", "17"),
        ("The answer is about 40 or 50.", "40"),
    ],
)
def test_the_same_words_around_another_answer(output, gold):
    assert not is_correct(output, gold)


@pytest.mark.parametrize(
    "output",
    [
        "综上,正确的选项有 B、C。",
        "因此正确选项包括 B 和 C。",
        "所以正确的是 BC。",
        "综上，符合题意的有 B、C。",
        "故选项 B、C 正确。",
    ],
)
def test_several_correct_options_in_chinese(output):
    assert is_correct(output, "BC", Rule("choice", ()))
    assert not is_correct(output.replace("正确", "不正确").replace("符合", "不符合"), "BC", Rule("choice", ()))


TAKEN_BACK = [
    "However, this does not satisfy the second condition.", "Actually, checking again, this fails the condition.",
    "Upon verification, the condition is violated.", "This answer needs to be corrected.", "However, this root is extraneous.",
    "On second thought, the answer is 31.", "However, the final answer is $31$.", "The correct answer is 31.",
    "But we double counted, so the total is 31.", "This cannot be the final answer because it must be odd.",
    "But 42 is not prime, so the answer is 31.", "Hold on, the question asks for half of that, so the answer is 31.",
    "但是检验发现这不满足条件，所以答案是31。", "其实应该是31。", "经检验，不满足题意。", "然而42不满足条件，因此答案是31。",
]  # fmt: skip
CONFIRMED = [
    "Note that $x=31$ does not satisfy the condition.", "However, $31$ fails the condition, so it is rejected.",
    "Wait, let me verify: yes, this is correct.", "So the answer is 42 cubic units.", "注意31不符合题意，舍去。",
    "There are no other solutions, since $x=31$ does not work.", "Checking: it does not exceed 200, as required.",
]  # fmt: skip


def test_the_text_after_a_box_may_take_it_back():
    box = "We get $\\boxed{42}$. "
    assert [after for after in TAKEN_BACK if is_correct(box + after, "42")] == []
    assert [after for after in TAKEN_BACK if "31" in after and not is_correct(box + after, "31")] == []
    assert [after for after in CONFIRMED if not is_correct(box + after, "42")] == []


CLOSING = [
    ("The bakery sold 56 loaves on Tuesday.", "56"), ("There are 56 eggs that are not broken.", "56"),
    ("So Ann won the race.", "Ann"),
    ("56 students do not take the bus.", "56"), ("**Answer**: The farmer needs 56 feet (56).", "56"),
    ("Ann ran the fastest.", "Ann"),
    ("So the value of $a_{16}$ is equal to $56$.", "56"), ("This gives us a final answer of 56 students.", "56"),
    ("So the number of students who do not walk would be 56.", "56"), ("So, the project ends in **January**.", "January"),
]  # fmt: skip
NOT_CLOSING = [
    "56 students are not enough.", "Suppose the bakery sold 56 loaves.", "The bakery sold more than 56 loaves.",
    "Answer: The farmer needs 56 feet (57).", "The first shop sold 56 loaves.", "Tom would answer 56.",
    "If one left, it would be 56 students.", "The bakery did not sell 56 loaves.", "The 56 students who walk live nearby.",
]  # fmt: skip


def test_closing_sentences_with_any_verb():
    assert [sentence for sentence, gold in CLOSING if not is_correct(f"We subtract 24 from 80.\n\n{sentence}", gold)] == []
    assert [sentence for sentence in NOT_CLOSING if is_correct(f"We subtract 24 from 80.\n\n{sentence}", "56")] == []


def test_several_options_that_are_correct():
    for sentence in ("Hence, options B and C are correct.", "Options **B** and **C** are correct.", "所以B、C正确。"):
        assert is_correct(f"We check each one.\n\n{sentence}", "BC", Rule("choice"))
    for sentence in (
        "Options B and C are not correct.",
        "B and C are correct?",
        "B、C不正确。",
        "If options B and C are correct, D.",
    ):
        assert not is_correct(f"We check each one.\n\n{sentence}", "BC", Rule("choice"))


DISOWNED_BOXES = [
    "It would be wrong to write $\\boxed{42}$.", "Do not write $\\boxed{42}$.", "The answer is not $\\boxed{42}$.",
    "$\\boxed{41}$ or $\\boxed{42}$, I cannot tell.", "$\\boxed{42}$ cannot be right.", "A student wrote $\\boxed{42}$.",
    "If there were 7 rows, the answer would be $\\boxed{42}$.", "The answer might be $\\boxed{42}$.", "$\\boxed{42}$?",
]  # fmt: skip
OWNED_BOXES = [
    "The number of seats that are not taken is $\\boxed{42}$.", "The answer is $\\boxed{42}$, not $41$.",
    "The answer is not 41 but $\\boxed{42}$.", "The number of students who said yes is $\\boxed{42}$.",
    "It would be wrong to write $\\boxed{40}$. The answer is 42.", "Hence the book has $\\boxed{42}$ pages.",
    "The answer is $\\boxed{42}$. It would be wrong to write $\\boxed{40}$.",
]  # fmt: skip


def test_the_sentence_around_a_box_may_disown_it():
    """In the mode `any`. The mode `boxed` reads the box alone."""
    assert [output for output in DISOWNED_BOXES if is_correct(output, "42")] == []
    assert [output for output in OWNED_BOXES if not is_correct(output, "42")] == []
    boxed = [grade(output, "42", truncated=False, extract=BOXED).verdict for output in DISOWNED_BOXES]
    assert boxed == [Verdict.CORRECT] * len(DISOWNED_BOXES)


REMARKS = [
    "This took 4 steps.", "Confidence: 95%", "(A week has 7 days.)", "Note that we used 2 formulas.", "Fun fact: 7 is prime.",
    "The other 3 numbers were not needed.", "Difficulty: 3/10", "By the way, 6 and 7 are consecutive.",
]  # fmt: skip


@pytest.mark.parametrize("remark", REMARKS)
def test_a_remark_after_the_answer_is_no_answer(remark):
    for sentence in ("Therefore, the number of seats is 42.", "So there are 42 seats in total.", "**Answer: 42**"):
        assert is_correct(f"There are 6 rows.\n\n{sentence}\n\n{remark}", "42")
    assert is_correct(f"Counting on,\n\nFinal answer: Monday\n{remark}", "Monday")


def test_variants_of_announcements():
    """Answers in open wordings, and answers that are hedged, taken back, denied, reported, assumed or partial."""
    count, agreement, accepted, _ = score("announced_variants.jsonl")
    assert count >= 400 and agreement >= 0.97 and accepted == []


def test_neighbours_of_the_wordings_in_the_files():
    """Disowned boxes, remarks, answers in words, percentages and later announcements, with the cases that still fail."""
    count, agreement, accepted, _ = score("announced_neighbours.jsonl")
    assert count >= 450 and agreement >= 0.97 and accepted == []


@pytest.mark.skipif(not (HERE / "announced_heldout.jsonl").exists(), reason="the half that was set aside is not here")
def test_announced_answers_of_the_other_half():
    count, agreement, accepted, _ = score("announced_heldout.jsonl")
    assert count >= 700 and agreement >= 0.985 and len(accepted) <= count / 1000


def test_single_sentences():
    """Short outputs that announce 36 or B, and others that mention it: reported, assumed, planned, rejected, hedged."""
    rows = [json.loads(line) for line in (HERE / "announced_sentences.jsonl").read_text(encoding="utf-8").splitlines()]
    wrong = [
        row["output"]
        for row in rows
        for lead in ("", "We work step by step. Take $a=3$ and $b=33$ first.\n\n")
        if is_correct(lead + row["output"], row["gold"], Rule(row["kind"])) is not row["correct"]
    ]
    assert len(rows) >= 500 and wrong == []


ANNOUNCED = [
    ("blah\nA: 288", "288"), ("x\nAnswer $9$", "9"), ("**Final Answer**\n\n$\\frac{1}{2}$\n\nI hope this helps!", "1/2"),
    ("We add. Thus the sum is $12$.", "12"), ("Thus the value of $x$ is $12$ cm.", "12"), ("#### 72", "72"),
    ("The answer is 5<|im_end|>", "5"), ("The final answer is: $5$</s>", "5"), ("所以答案是5。希望对你有帮助！", "5"),
    ("答：小明有5个苹果。", "5"), ("So she sold 48 + 24 = 72 clips.", "72"), ("<answer> $5$ </answer>", "5"),
    ('{"answer": 5}', "5"),
    ("Final Answer: The final answer is $42$. I hope it is correct.", "42"), ("The answer is not 7 but 8.", "8"),
    ("x\n\\[\nx=5.\n\\]", "5"), ("Therefore, x = 3 or x = -2.", "x=3,-2"), ("The area is 7 cm².", "7"), ("-8", "-8"),
    ("The answer is 42. Let me double-check: 6*7=42. Yes, it's correct.", "42"), ("| **Final answer** | **12 years** |", "12"),
    ("The answer is 7. Wait, no, it is 8.", "8"), ("The answer is 7. I change my answer to 8.", "8"),
    ("Final answer:\n- -7", "-7"),
    ("Previous attempt: \"... so the answer is 43.\"\n\nAnswer: 42", "42"),
    ("If it were so, the answer would be 6. It is not. Answer: 7", "7"),
    ("Write \\boxed{} around it.\n\nAnswer: 7", "7"), ("It follows that the day of the week is Thursday.", "Thursday"),
    ("<think>maybe 3</think>The answer is 7.", "7"), ("The answer is $\\frac12$, not $\\frac13$.", "1/2"),
]  # fmt: skip


@pytest.mark.parametrize(("output", "gold"), ANNOUNCED)
def test_an_announced_answer_is_read_by_any_and_not_by_boxed(output, gold):
    assert is_correct(output, gold)
    assert grade(output, gold, truncated=False, extract=BOXED).verdict in (Verdict.UNPARSEABLE, Verdict.WRONG)


@pytest.mark.parametrize(
    "output",
    [
        "The answer is 7. I withdraw this.", "The answer is 7. I change my answer.", "The answer is 7. Wait, no, it is 8.",
        "The answer is 7. Actually it's 8.", "The answer is 7... or 8.", "The answer is 7 or 8.",
        "The answer is either 7 or 8.",
        "The answer might be 7.", "Perhaps the answer is 7.", "The answer is 7?", "Is the answer 7?", "The answer is not 7.",
        "The answer isn't 7.", "The answer cannot be $x = 7$.", "If the answer is 7 we are done.",
        "A student says the answer is 7.",
        "One might think that the answer is 7.", "The answer is 7. The answer is 8.", "Answer: 7\n\nAnswer: 8",
        "The answer is 7. Correction: 8.", "The answer is 7. Edit: it should be 8.", "The answer is 7, but I am not sure.",
        "答案是7。不对，应该是8。", "答案是7还是8？", "答案可能是7。", "答案不是7。",
        "The answer to part (a) is 7. Part (b) is open.",
        "Format example: 'The answer is 7.' I will use it later.", "The answer is at least 7.", "The answer is 7 times larger",
        "Had it been even, the answer would be 7.", "Therefore it is not $7$.",
        "Final answer: 7 (but see below)\n\nOn reflection, 8.",
        "\\boxed{7} Wait, this is wrong. I withdraw it.", "\\boxed{7}\nI made a mistake, the answer is 8.", "so \\boxed{7",
        "The answer is 7 increased by 3.",
    ],
)  # fmt: skip
def test_an_answer_that_is_taken_back_hedged_or_not_announced_is_none(output):
    assert not is_correct(output, "7")


@pytest.mark.parametrize(
    "output",
    [
        "The correct answer is **B**.", "Therefore, option B is correct.", "I'd go with (B).", "故选：B",
        "B选项正确", "x\n(B) 5 m/s",
        "The answer is B. Option A is incorrect because of C.", "A is wrong. C is wrong. So the answer is B.",
        "The answer is B, not C.",
        "Answer: C\n\nOn second thought I change my answer to B.", "The statement that is true is B.", "Then divide by 3. (B)",
    ],
)  # fmt: skip
def test_a_letter_among_options(output):
    assert is_correct(output, "B", Rule("choice"))


@pytest.mark.parametrize(
    "output",
    [
        "The answer is (B) or (C).", "B or C", "Either B or C", "The answer is not B.", "B is incorrect.", "Could be B.", "B?",
        "The answer is B. Wait, it is C.", "All except B", "Everything but B is right", "None of A, B is correct.", "不选B",
        "B/C",
        "Had it asked for the opposite, (B) would be the answer.", "The answer is B and C",
    ],
)  # fmt: skip
def test_no_letter(output):
    assert not is_correct(output, "B", Rule("choice"))


def test_boxed_reads_a_box_alone():
    read = [extract_answer(output, BOXED) for output in (r"\boxed{7}", r"\fbox{7}", r"\boxed 7", "7", "The answer is 7.")]
    assert [isinstance(answer, NoAnswer) for answer in read] == [False, False, False, True, True]
    choice = Rule("choice")
    assert grade("The answer is B.", "B", truncated=False, rule=choice, extract=BOXED).verdict is Verdict.UNPARSEABLE
    assert grade(r"\boxed{B}", "B", truncated=False, rule=choice, extract=BOXED).verdict is Verdict.CORRECT


def test_the_reason_says_why_there_is_no_answer():
    outputs = ["so it goes\non", r"\boxed{7", "The answer is 7. The answer is 8.", "The answer is 7. I withdraw this."]
    reasons = [grade(output, "7", truncated=False).reason for output in outputs]
    assert (
        len(Counter(reasons)) == 4 and "never closed" in reasons[1] and "different" in reasons[2] and "taken back" in reasons[3]
    )


def test_markers_and_courtesy_are_cut_off():
    assert answer_turn("<think>7</think> 8<|im_end|>\n<|im_start|>user\n9") == "8"
    assert answer_turn("<｜Assistant｜>8<｜end▁of▁sentence｜>") == "8" and answer_turn("x < 3") == "x < 3"
    assert strip_courtesy("It is 5. I hope this helps! Let me know if you have any questions. 😊") == "It is 5."


SIGNS = [
    "\\boxed", "\\boxed ", "\\boxed{", "\\boxed{}", " ", "\n", " \n", "the answer is ", "the answer is 8. ", "Answer: ",
    "**", "#### ",
    "$", "$$", "\\[", "\\(", "答案是", "故选", "B. ", "(", "1 ", "1+", "=", ". ", "<", "<|", "</think>", "wait ", "no, ",
    "I change my answer ",
    '"', "- ", "so the ", "{", "of the answer to ", "Final Answer\n", "hope ", "Option A is ", "| ",
    "if the answer is not 7 but ",
]  # fmt: skip


@pytest.mark.parametrize("sign", SIGNS)
def test_the_text_that_patterns_search_does_not_grow_with_the_output(monkeypatch, sign):
    """Only scans for boxes and markers see the whole output, each of them once; every other pattern sees its end."""
    from passus.grading import extract

    seen: list[int] = []
    committed = extract.committed_answer
    monkeypatch.setattr(extract, "committed_answer", lambda text, reading: seen.append(len(text)) or committed(text, reading))
    for reading in (extract.MATH_READING, ChoiceReading(("one", "two"))):
        extract_answer(sign * (1_000_000 // len(sign)), ANY, reading)
    assert all(length <= extract.TAIL for length in seen)


def test_boxes_are_found_in_one_pass():
    """32,000 boxes without a brace took 5.5 s when every one of them was searched for from the beginning."""
    for text in ("\\boxed" * 150_000, "\\boxed" + " " * 1_000_000, "\\boxed{" * 150_000, "\\fbox{{" * 150_000):
        assert isinstance(extract_answer(text, BOXED), NoAnswer) and isinstance(extract_answer(text, ANY), NoAnswer)
