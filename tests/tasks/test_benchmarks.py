# ruff: noqa: RUF001 (Chinese punctuation)
"""The table of benchmarks against its data, where the data is present: every file, every item, every family's prompt."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.model_folders import CHATS
from passus.cli import catalogue
from passus.errors import UsageError
from passus.models.chat_format import ChatFormat
from passus.tasks import benchmarks, dataset, prompt
from passus.tasks.few_shot import boxed_style
from passus.tasks.lookup import ABACUS, benchmark_items, benchmark_name, expand_suites

LOCAL = [row for row in (*benchmarks.BENCHMARKS, *benchmarks.TRAINING) if row.files]


@pytest.fixture(scope="module")
def families():
    made = {name: chat.tokenizer(name) for name, chat in CHATS.items()}
    return {name: ChatFormat(tokenizer, prompt.AUTO) for name, tokenizer in made.items()}


@pytest.mark.parametrize("row", LOCAL, ids=lambda row: f"{row.name}-{row.items}")
def test_every_file_loads_whole(real_data, row):
    items = dataset.load_items(row)
    assert len(items) == row.items == len({item.id for item in items})
    assert [item.index for item in items] == list(range(len(items)))
    assert sum(item.rule.kind == "judge" for item in items) == row.judged
    for item in items:
        assert item.question.strip() and item.gold.strip() and item.rule.tolerance in (0.0, row.tolerance)
        if item.rule.kind == "choice":
            assert set(item.gold) <= set("ABCDEFGHIJ"[: len(item.rule.choices) or 4]), item


@pytest.mark.slow
def test_every_prompt_renders_with_every_family(real_data, families):
    for row in [row for row in LOCAL if row in benchmarks.BENCHMARKS]:
        for item in dataset.load_items(row):
            for name, chat in families.items():
                text = chat.render(item)
                assert item.question.strip() in text and "\\boxed{}" in text, (row.name, item.index, name)
                assert text.endswith(CHATS[name].tail) or CHATS[name].tail in text[-60:], (row.name, item.index, name)


def test_every_file_of_the_folder_is_in_the_table(real_data):
    assert {path.name for path in real_data.glob("*.jsonl")} == {name for row in LOCAL for name in row.files}


def test_stand_ins_and_subsets_are_what_they_say(real_data):
    problems = {
        name: {item.question for item in benchmark_items(name)}
        for name in ("aime24", "aimo2024", "aimo_aime", "math500", "math")
    }
    assert not problems["aime24"] & problems["aimo2024"] and problems["math500"] <= problems["math"]
    assert {item.rule.kind for item in benchmark_items("gaokao")} == {"math"}
    tolerances = {item.gold: item.rule.tolerance for item in benchmark_items("minerva_math")}
    assert tolerances["9.6"] == 0.01 and tolerances["15625"] == 0.0


def test_short_answers_of_reference_texts(real_data):
    """There are as many as the table says, and none is long."""
    by_id = {item.id: item for item in benchmark_items("chatglm_math")}
    short = [item for item in by_id.values() if item.rule.kind != "judge"]
    assert len(short) == 136 and max(len(item.gold) for item in short) <= 40
    assert sum(item.rule.kind == "choice" for item in short) == 2


SHORT = {
    ("201斤等于多少千克", "100.5千克"): ("100.5", False),
    ("求面积", "代入得到面积 = 14。\n\n所以，△ABC的面积是14平方单位。"): ("14", False),
    ("|B|=？", "所以 27 |B| = 3故 |B| = 1\\/9."): ("1/9", False),
    ("侧面积是", "因此，这个圆锥的侧面积是 2π ."): ("2\\pi", False),
    ("截面面积为", "故截面面积=三角形面积*2=2√6."): ("2\\sqrt{6}", False),
    ("叉积", "所以A和B的叉积为(7, 10, -9)。"): ("(7, 10, -9)", False),
    ("收益率为多少？", "所以投资者的收益率为20%。"): ("20\\%", False),
    ("k的值为() A.0 B.1 C.2 D.3", "所以，实数k的值为1，选B."): ("B", True),
    ("共栽多少株？", "26株。解析：一边应该有60/5+1=13个。"): None,
    ("标准方程为", "所以，标准方程为x^2/16-y^2/9=1。"): None,
    ("a,b的值为", "所以，a=2，b=3。"): None,
    ("求解", "所以综上x=3/2，y=-1/6"): None,
    ("对边是多少？", "所以，对边的长度大约为2.83单位。"): None,
    ("单价各是多少元？", "椅子的单价是 40 元。"): None,
    ("证明极限为½", "因此极限为1\\/2。"): None,
    ("标准差", "√17.07 = 4.13。所以，标准差是 4.13。"): None,
    ("求X", "因此， X= 2 是方程 2的X次方+X=6 的解。"): None,
}


@pytest.mark.parametrize("texts", SHORT, ids=lambda texts: texts[1][-12:])
def test_the_short_answer_rule(texts):
    from passus.tasks.reference_answer import short_answer

    assert short_answer(*texts) == SHORT[texts]


def test_names_and_aliases_find_one_row_each():
    seen: dict[str, str] = {}
    for row in benchmarks.BENCHMARKS:
        for name in {benchmarks.normalize_name(n) for n in (row.name, *row.aliases)}:
            assert seen.setdefault(name, row.name) == row.name, name
    spellings = {
        "AIME2024": "aime24", "aime2025": "aime25", "MATH-500": "math500", "Math 500": "math500",
        "hendrycks_math500": "math500",
        "OMNI-MATH500": "omni_math500", "gpqa:diamond": "gpqa", "GPQA_diamond": "gpqa", "ChatGLMMath": "chatglm_math",
        "KACYAN": "kaoyan", "MMMLU STEM": "mmlu_stem", "Olympiad Bench": "olympiadbench", "Gaokao2023EN": "gaokao2023en",
        "College Math": "college_math", "Minerva Math": "minerva_math", "AIMO2024": "aimo2024", "GAOKAO": "gaokao",
        "gsm8k_cot": "gsm8k", "abacus/add2": "abacus/add2",
    }  # fmt: skip
    assert {name: benchmark_name(name) for name in spellings} == spellings


@pytest.mark.parametrize(
    ("name", "write"), [("aime124", "aime24"), ("gsm8", "gsm8k"), ("kimi21", "kimi12"), ("abacus/ad2", "abacus/add2")]
)
def test_unknown_benchmarks_name_the_nearest(name, write):
    with pytest.raises(UsageError, match=f"write: {write}"):
        benchmark_name(name)


def test_suites_have_the_charts_order():
    assert expand_suites(["kimi12"]) == [
        "omni_math500", "math500", "aimo2024", "aime24", "chatglm_math", "gaokao", "gpqa", "biology", "chemistry", "physics",
        "kaoyan",
    ]  # fmt: skip
    assert expand_suites(["acemath7", "gsm8k"]) == [
        "gsm8k", "math500", "minerva_math", "gaokao2023en", "olympiadbench", "college_math", "mmlu_stem",
    ]  # fmt: skip
    assert expand_suites(["mel5"]) == ["aime24", "aime25", "amc23", "math500", "olympiadbench"]
    assert expand_suites(["abacus"]) == list(ABACUS)
    for row in benchmarks.SUITES:
        assert [benchmark_name(name) for name in row.members] == list(row.members)


def test_the_documented_table_is_the_one_in_the_code():
    page = (Path(__file__).parents[2] / "docs/benchmarks.md").read_text(encoding="utf-8")
    assert catalogue.markdown() in page, "write it again: python -m passus.cli.catalogue"


def lines(path: Path, *rows: dict) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_a_file_of_the_users_own(tmp_path):
    mine = lines(tmp_path / "mine.jsonl", {"q": "1+1?", "gold": 2}, {"q": "2+2?", "gold": "4"})
    items = benchmark_items(f"{mine}?problem=q&answer=gold&tolerance=0.1")
    assert [(item.question, item.gold, item.index, item.rule.tolerance) for item in items] == [
        ("1+1?", "2", 0, 0.1),
        ("2+2?", "4", 1, 0.1),
    ]
    choice = lines(tmp_path / "choice.jsonl", {"id": "a", "question": "Pick", "choices": ["x", "y"], "answer": "B"})
    (item,) = benchmark_items(choice)
    assert (item.question, item.gold, item.rule.kind, item.id) == ("Pick\nA. x\nB. y", "B", "choice", "a")
    text = lines(tmp_path / "text.jsonl", {"problem": "Pick", "choices": ["x", "y"], "answer": "y", "id": None})
    assert benchmark_items(text)[0].gold == "B" and benchmark_items(text)[0].id == "#0"
    index = lines(tmp_path / "index.jsonl", {"problem": "Pick", "choices": ["x", "y"], "answer": 1})
    assert benchmark_items(f"{index}?form=index")[0].gold == "B"


BROKEN = {
    "no file": ("", "no file"),
    "not JSON": ('{"problem": "a", "answer": "1"}\n{"problem": "b"\n', "line 2 is not JSON"),
    "no answer": ('{"problem": "a"}\n', "line 1 is not an item .*no 'answer'"),
    "same id": (
        '{"id": "a", "problem": "a", "answer": "1"}\n\n{"id": "a", "problem": "b", "answer": "2"}\n',
        "line 3: id 'a' is also .*line 1",
    ),
    "empty": ("\n", "no items"),
    "no option": ('{"problem": "a", "choices": ["x", "y"], "answer": "z"}\n', "line 1 .*neither a letter"),
    "empty problem": ('{"problem": " ", "answer": "1"}\n', "line 1 .*empty"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_say_where(tmp_path, case):
    text, part = BROKEN[case]
    path = tmp_path / f"{case.replace(' ', '-')}.jsonl"
    if text:
        path.write_text(text)
    with pytest.raises(UsageError, match=part):
        benchmark_items(str(path))


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("problm=q", "problem"),
        ("kind=number", "kind=number"),
        ("tolerance=x", "could not convert"),
        ("tolerance=2", "between 0 and 1"),
    ],
)
def test_bad_mappings_are_refused(query, part):
    with pytest.raises(UsageError, match=part):
        benchmark_name(f"mine.jsonl?{query}")


def hub_rows(monkeypatch, rows: dict) -> list[tuple]:
    """Replaces the hub by rows per dataset and config; returns the recorded calls."""
    calls = []

    def load(name, config, **options):
        calls.append((name, config, options))
        return rows[name, config]

    monkeypatch.setattr("datasets.load_dataset", load)
    monkeypatch.delenv("PASSUS_DATA", raising=False)
    dataset._load_items.cache_clear()
    return calls


def test_gpqa_comes_through_the_users_own_access_and_is_not_kept(monkeypatch):
    wrong = {f"Incorrect Answer {n}": f"wrong {n}" for n in (1, 2, 3)}
    rows = [{"Question": f"Which {n}?", "Correct Answer": f"right {n}\n"} | wrong for n in range(40)]
    calls = hub_rows(monkeypatch, {("Idavidrein/gpqa", "gpqa_diamond"): rows})
    items = benchmark_items("gpqa")
    assert calls[0][2]["streaming"] and benchmarks.find_benchmark("gpqa").private
    for n, item in enumerate(items):
        assert item.rule.choices["ABCD".index(item.gold)] == f"right {n}" and len(set(item.rule.choices)) == 4
    assert {item.gold for item in items} == set("ABCD")  # the right one moves
    dataset._load_items.cache_clear()
    assert benchmark_items("gpqa") == items


def test_hub_rows_of_every_form(monkeypatch):
    boxes = ["so \\boxed{\\frac{1}{2}}", "\\boxed{3} is wrong, \\fbox{\\frac{1}{2}}.", "$\\boxed \\frac{1}{2}$."]
    answers = {("openai/gsm8k", "main"): [{"question": "q", "answer": "x <<1+1=2>>2\n#### 1,002"}]}
    answers |= {
        ("EleutherAI/hendrycks_math", s): [{"problem": s, "solution": boxes[len(s) % 3]}] for s in benchmarks.MATH_SUBJECTS
    }
    answers |= {("cais/mmlu", s): [{"question": s, "choices": ["a", "b", "c", "d"], "answer": 2}] for s in benchmarks.STEM}
    whole = {("AI-MO/aimo-validation-amc", None): [142.0, "025", 7], ("math-ai/aime25", None): ["336^\\circ", "70"]}
    answers |= {
        key: [{"id": n, "problem": f"p{n}", "answer": a} for n, a in enumerate(values)] for key, values in whole.items()
    }
    answers |= {("my/set", None): [{"text": "t", "a": "5"}]}
    hub_rows(monkeypatch, answers)
    assert [item.gold for item in benchmark_items("aimo_amc")] == ["142", "25", "7"]
    assert [item.gold for item in benchmark_items("aime25")] == ["336", "70"]
    assert benchmark_items("gsm8k")[0].gold == "1002"
    assert [item.gold for item in benchmark_items("math")] == ["\\frac{1}{2}"] * 7
    assert {item.gold for item in benchmark_items("mmlu_stem")} == {"C"} and len(benchmark_items("mmlu_stem")) == 18
    assert benchmark_items("hub:my/set?problem=text&answer=a")[0].gold == "5"


def test_shots_are_turns_of_a_chat_or_a_plain_text(tmp_path, families):
    mine = lines(tmp_path / "mine.jsonl", {"problem": "Is it?", "choices": ["yes", "no"], "answer": "A"})
    (item,) = benchmark_items(mine)
    shot = replace(item, style=boxed_style("choice", "en", 5))
    assert [m["role"] for m in prompt.chat_messages(shot, prompt.AUTO, "Be brief.")] == [
        "system",
        *["user", "assistant"] * 5,
        "user",
    ]
    assert families["qwen3"].render(shot).count("<|im_start|>assistant") == 6
    text = prompt.plain_prompt(shot, prompt.AUTO, "Be brief.")
    assert text.startswith("Be brief.\n\nQuestion: ") and text.endswith("letters.\nAnswer:") and text.count("\nAnswer: ") == 5
    assert prompt.plain_prompt(shot, "Q {question} A", "").endswith("Q Is it?\nA. yes\nB. no A")
    assert "\\boxed" not in prompt.plain_prompt(item, "{question}", "")


def test_a_template_that_takes_no_system_line_is_named():
    from passus.models.load_checks import check_template

    chat = ChatFormat(CHATS["mistral"].tokenizer("mistral"), prompt.AUTO, "default", "Be brief.")
    with pytest.raises(UsageError, match=r"model\.system"):
        check_template("made", chat)
    with_system = ChatFormat(CHATS["qwen2_5"].tokenizer("qwen2_5"), prompt.AUTO, "default", "Be brief.")
    assert "<|im_start|>system\nBe brief.<|im_end|>" in with_system.render(benchmark_items("abacus/add2")[0])


def test_show_prints_what_a_model_sees(tmp_path, capsys, monkeypatch):
    from passus.cli.benchmarks import list_benchmarks, pull_benchmark
    from passus.cli.show import show

    lines(tmp_path / "aime24.jsonl", {"id": "I-1", "problem": "What is 1+1?", "answer": "2"})
    monkeypatch.setenv("PASSUS_DATA", "")
    monkeypatch.setenv("COLUMNS", "200")
    show("AIME2024", model="nano/llama3.2", data=tmp_path)
    output = capsys.readouterr().out
    assert "aime24, item 0 of 1, id I-1, for nano/llama3.2" in output
    unknown = "<pad>" * len("What is ")  # this tokenizer knows digits and signs
    assert f"<q>{unknown}1+1?<pad><pad>" in output and output.count("<pad>") > 40 and "\\boxed{}.<a>" in output
    assert "gold  2" in output
    with pytest.raises(UsageError, match="0 to 0"):
        show("aime24", item=3)
    pull_benchmark("aime24")
    assert "aime24: 1 items" in capsys.readouterr().out
    list_benchmarks(json_=True)
    rows = {row["name"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    assert rows["aime24"]["here"] == "local file" and rows["gpqa"]["here"].startswith("hub") and rows["amc23"]["here"] == "no"
    assert rows["words"]["items"] == 500
    dataset._load_items.cache_clear()


def test_a_file_of_the_folder_one_stands_in_does_not_shadow_the_tables(tmp_path, monkeypatch):
    lines(tmp_path / "here" / "aime24.jsonl", {"problem": "my own notes", "answer": "1"})
    data = lines(tmp_path / "data" / "aime24.jsonl", {"problem": "2+2", "answer": "4"})
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PASSUS_DATA", str(Path(data).parent))
    assert [item.question for item in benchmark_items("aime24")] == ["2+2"]
    assert [item.question for item in benchmark_items("aime24.jsonl")] == ["my own notes"]


def test_commands_that_lost_their_backslash_get_it_back(tmp_path):
    mine = lines(tmp_path / "mine.jsonl", {"problem": "\x0crac12 of\tan hour\ttext{ x}", "answer": "\x0crac{7}{12}"})
    (item,) = benchmark_items(str(mine))
    assert item.gold == "\\frac{7}{12}" and item.question.startswith("\\frac12") and "\\ttext" not in item.question


@pytest.mark.parametrize(
    "row, reason",
    [
        ({"problem": "p", "answer": "A", "choices": {"text": ["x"], "label": ["A"]}}, "not a list"),
        ({"problem": "p", "answer": "A", "choices": "AB"}, "not a list"),
        ({"problem": "p", "answer": "A", "kind": "chioce"}, "kind is 'chioce'"),
        ({"problem": "p", "answer": "L", "choices": [str(n) for n in range(12)]}, "12 options"),
    ],
)
def test_rows_that_would_be_wrong_items_are_refused(tmp_path, row, reason):
    with pytest.raises(UsageError, match=reason):
        benchmark_items(str(lines(tmp_path / "mine.jsonl", row)))


def test_rows_that_are_right_are_taken(tmp_path):
    rows = [
        {"problem": "a", "answer": 5, "solution": None}, {"problem": "b", "answer": "4", "solution": ""},
        {"problem": "c", "answer": "so #### (1,2)"}, {"problem": "d", "answer": "so #### 1,200", "id": 1},
    ]  # fmt: skip
    items = benchmark_items(str(lines(tmp_path / "mine.jsonl", *rows)))
    assert [item.gold for item in items] == ["5", "4", "(1,2)", "1200"] and [item.solution for item in items][:2] == ["", ""]
    assert [item.id for item in items] == ["#0", "#1", "#2", "1"]
