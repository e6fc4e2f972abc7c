"""The table of benchmarks, training sets and suites, and how a name finds its row.

Scores say what they may be compared with: a stand-in for a set that was never published says that it is one.
"""

import re
from functools import cache
from urllib.parse import parse_qsl

from passus.errors import UsageError, nearest
from passus.tasks.benchmark_spec import Benchmark, Fields, Hub, Suite

AMERICAN = "problems are the Mathematical Association of America's"
QWEN = "MIT (Qwen2.5-Math's evaluation)"
STEM = (
    "abstract_algebra", "astronomy", "college_biology", "college_chemistry", "college_computer_science",
    "college_mathematics", "college_physics", "computer_security", "conceptual_physics", "electrical_engineering",
    "elementary_mathematics", "high_school_biology", "high_school_chemistry", "high_school_computer_science",
    "high_school_mathematics", "high_school_physics", "high_school_statistics", "machine_learning",
)  # fmt: skip
MATH_SUBJECTS = (
    "algebra", "counting_and_probability", "geometry", "intermediate_algebra", "number_theory", "prealgebra", "precalculus",
)  # fmt: skip
INTEGER = Fields(form="integer")
GSM8K = Fields(problem="question", form="hashes", id="", solution="answer")
MATH = Fields(answer="solution", form="boxed", id="")

BENCHMARKS = (
    Benchmark(
        "aime24", "AIME 2024 I and II", "competition", 30, ("aime24.jsonl",),
        hub=Hub("HuggingFaceH4/aime_2024", "train", INTEGER), aliases=("aime2024", "aime24_avg", "AIME 2024"), samples=64,
        licence=f"MIT (Qwen2.5-Math's evaluation); {AMERICAN}",
        compare="published AIME24 figures with as many samples: avg@16 to avg@64; at 30 items one sample says little",
    ),
    Benchmark(
        "aime25", "AIME 2025 I and II", "competition", 30, ("aime25.jsonl",),
        hub=Hub("math-ai/aime25", "test", INTEGER), aliases=("aime2025", "AIME 2025"), samples=64,
        licence=f"none stated (glm-simple-evals); {AMERICAN}", compare="published AIME25 figures with as many samples",
    ),
    Benchmark(
        "amc23", "AMC 12 2023, integer answers", "competition", 40, ("amc23.jsonl",), aliases=("amc2023", "amc12_2023"),
        samples=16, licence=f"{QWEN}; {AMERICAN}", compare="published AMC23 figures with as many samples",
    ),
    Benchmark(
        "aimo2024", "AIMO validation, AIME and AMC 12 of 2022 and 2023", "competition", 143,
        ("aimo_validation_aime.jsonl", "aimo_validation_amc.jsonl"), only=("source", ("2022", "2023")), aliases=("aimo",),
        samples=16, licence=f"Apache-2.0 (PRIME); {AMERICAN}",
        compare="nothing published: a stand-in for the 10 public problems of the AIMO prize, without AIME24's problems",
    ),
    Benchmark(
        "aimo_aime", "AIMO validation, AIME 2022 to 2024", "competition", 90, ("aimo_validation_aime.jsonl",),
        hub=Hub("AI-MO/aimo-validation-aime", "train", INTEGER), aliases=("aimo_validation_aime",), samples=16,
        licence=f"Apache-2.0 (PRIME); {AMERICAN}", compare="figures on AI-MO's set; its last 30 items are AIME24",
    ),
    Benchmark(
        "aimo_amc", "AIMO validation, AMC 12 of 2022 and 2023", "competition", 83, ("aimo_validation_amc.jsonl",),
        hub=Hub("AI-MO/aimo-validation-amc", "train", INTEGER), aliases=("aimo_validation_amc", "amc"), samples=16,
        licence=f"Apache-2.0 (PRIME); {AMERICAN}", compare="figures on AI-MO's set; it holds AMC23",
    ),
    Benchmark(
        "math500", "MATH500", "competition", 500, ("math500.jsonl",),
        hub=Hub("HuggingFaceH4/MATH-500", "test", Fields(id="unique_id")),
        aliases=("math_500", "hendrycks_math500", "minerva_math500"), licence="MIT",
        compare="published MATH-500 figures, avg@4 or greedy; a part of math",
    ),
    Benchmark(
        "math", "MATH, whole test set", "competition", 5000, ("math.jsonl",),
        hub=Hub("EleutherAI/hendrycks_math", "test", MATH, MATH_SUBJECTS),
        aliases=("hendrycks_math", "math_test", "MATH5000"), samples=1, licence="MIT",
        compare="figures on all 5000 test problems; it holds MATH500",
    ),
    Benchmark(
        "omni_math500", "OMNI-MATH500, a draw of our own", "olympiad", 500, ("omni_math500.jsonl",),
        licence="MIT (rStar); none stated (omni-math-rule)",
        compare="nothing published: the members of the 500 that reports name were never listed",
    ),
    Benchmark(
        "omni_math", "Omni-MATH", "olympiad", 4419, ("omni_math.jsonl",),
        kind="judge", judged=1583, samples=1,
        licence="MIT (rStar); none stated (omni-math-rule)",
        compare="published Omni-MATH figures, with a judge; without one, the 2836 items that a rule can grade",
    ),
    Benchmark(
        "gsm8k", "GSM8K test", "grade school", 1319, ("gsm8k.jsonl",), Fields(form="hashes"),
        hub=Hub("openai/gsm8k", "test", GSM8K, ("main",)),
        aliases=("gsm8k_cot", "gsm8k_test"), samples=1, licence="MIT",
        compare="published GSM8K figures with no shots; lm-eval's strict and flexible scores are written beside ours",
    ),
    Benchmark(
        "minerva_math", "Minerva Math (OCWCourses)", "undergraduate", 272, ("minerva_math.jsonl",),
        aliases=("minerva", "minervamath", "ocwcourses"), tolerance=0.01, licence=f"{QWEN}; text from MIT OpenCourseWare",
        compare="published Minerva Math figures; lm-eval's task of this name is another one, MATH with Minerva's prompt",
    ),
    Benchmark(
        "gaokao2023en", "Gaokao 2023 in English", "school", 385, ("gaokao2023en.jsonl",), aliases=("gaokao2023_en",),
        licence=QWEN, compare="published Gaokao2023EN figures; two problems end in their answer, which is cut off here",
    ),
    Benchmark(
        "olympiadbench", "OlympiadBench, English maths, text only, open-ended", "olympiad", 675, ("olympiadbench.jsonl",),
        aliases=("olympiad", "olympiad_bench"), licence=QWEN, compare="published OlympiadBench figures on 674 or 675 items",
    ),
    Benchmark(
        "college_math", "College Math", "undergraduate", 2818, ("college_math.jsonl",), samples=1,
        licence="MIT (Qwen2.5-Math's evaluation); each item carries its textbook's", compare="published College Math figures",
    ),
    Benchmark(
        "mmlu_stem", "MMLU STEM", "science", 3018, ("mmlu_stem.jsonl",),
        hub=Hub("cais/mmlu", "test", Fields(problem="question", form="index", id=""), STEM),
        aliases=("MMMLU STEM", "mmlu-stem"), kind="choice", shots=5, samples=1, licence=QWEN,
        compare="published five-shot figures, roughly: the five examples are ours, not those of MMLU's dev split",
    ),
    Benchmark(
        "gaokao", "GAOKAO-Bench maths 2010 to 2022, fill-in", "school", 167, ("gaokao_bench_math.jsonl",),
        only=("type", ("cloze",)), aliases=("GAOKAO_bmk", "gaokao_math"), language="zh", licence="Apache-2.0",
        compare="Kimi k1.5's panel has as many items; that they are the same ones is not published",
    ),
    Benchmark(
        "gaokao_bench_math", "GAOKAO-Bench maths 2010 to 2022, choice and fill-in", "school", 599,
        ("gaokao_bench_math.jsonl",), language="zh", licence="Apache-2.0", compare="figures on GAOKAO-Bench's objective maths",
    ),
    Benchmark(
        "gaokao_mathqa", "GAOKAO maths of AGIEval, choice", "school", 351, ("gaokao_mathqa.jsonl",),
        aliases=("agieval_gaokao_mathqa",), kind="choice", language="zh", licence="MIT (AGIEval)", compare="figures on AGIEval",
    ),
    Benchmark(
        "gaokao_mathcloze", "GAOKAO maths of AGIEval, fill-in", "school", 118, ("gaokao_mathcloze.jsonl",),
        aliases=("agieval_gaokao_mathcloze",), language="zh", licence="MIT (AGIEval)", compare="figures on AGIEval",
    ),
    Benchmark(
        "biology", "GAOKAO Biology of AGIEval", "science", 210, ("gaokao_biology.jsonl",),
        aliases=("gaokao_biology", "agieval_gaokao_biology"), kind="choice", language="zh", licence="MIT (AGIEval)",
        compare="figures on AGIEval; Kimi k1.5's panel of this name is another set, of 266 items, not published",
    ),
    Benchmark(
        "chemistry", "GAOKAO Chemistry of AGIEval", "science", 207, ("gaokao_chemistry.jsonl",),
        aliases=("gaokao_chemistry", "agieval_gaokao_chemistry"), kind="choice", language="zh", licence="MIT (AGIEval)",
        compare="figures on AGIEval; Kimi k1.5's panel of this name is another set, of 133 items, not published",
    ),
    Benchmark(
        "physics", "GAOKAO Physics of AGIEval", "science", 200, ("gaokao_physics.jsonl",),
        aliases=("gaokao_physics", "agieval_gaokao_physics"), kind="choice", language="zh", licence="MIT (AGIEval)",
        compare="figures on AGIEval; Kimi k1.5's panel of this name is another set, of 111 items, not published",
    ),
    Benchmark(
        "gaokao_bench_biology", "GAOKAO-Bench Biology", "science", 150, ("gaokao_bench_biology.jsonl",), kind="choice",
        language="zh", licence="Apache-2.0", compare="figures on GAOKAO-Bench",
    ),
    Benchmark(
        "gaokao_bench_chemistry", "GAOKAO-Bench Chemistry", "science", 124, ("gaokao_bench_chemistry.jsonl",), kind="choice",
        language="zh", licence="Apache-2.0", compare="figures on GAOKAO-Bench",
    ),
    Benchmark(
        "gaokao_bench_physics", "GAOKAO-Bench Physics, one or more options right", "science", 64,
        ("gaokao_bench_physics.jsonl",), kind="choice", language="zh", licence="Apache-2.0",
        compare="figures on GAOKAO-Bench that give nothing for a part of the right options",
    ),
    Benchmark(
        "kaoyan", "KAOYAN: entrance exam of graduate schools, maths I, 1987 to 2023", "undergraduate", 391,
        ("kaoyan_math.jsonl",), aliases=("kaoyan_math", "KACYAN"), language="zh",
        licence="CC BY-NC-SA 4.0; exam text belongs to the examining body",
        compare="nothing published: a stand-in, read from printed papers; the set that reports name is not public",
    ),
    Benchmark(
        "chatglm_math", "ChatGLMMath (MathUserEval)", "users' questions", 567, ("chatglm_math.jsonl",),
        aliases=("chatglmmath", "math_user_eval"), judged=431, short_answers=True, language="zh", licence="MIT",
        compare="judged figures, with a judge; without one it is the 136 items whose reference text ends in a short answer",
    ),
    Benchmark(
        "gpqa", "GPQA diamond", "science", 198,
        hub=Hub(
            "Idavidrein/gpqa", "train",
            Fields(
                problem="Question", answer="Correct Answer", id="", solution="", form="option",
                choices="Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3",
            ),
            ("gpqa_diamond",), gated=True,
        ),
        aliases=("gpqa_diamond", "gpqa_diamond_cot_zeroshot", "gpqa_diamond_zeroshot"), kind="choice", samples=8,
        licence="CC BY 4.0; its authors ask that it not be put online in plain text",
        compare="published GPQA diamond figures, avg@8; the order of the options is ours",
    ),
)  # fmt: skip

TRAINING = (
    Benchmark(
        "gsm8k", "GSM8K train", "grade school", 7473, ("gsm8k_train.jsonl",), Fields(form="hashes"),
        hub=Hub("openai/gsm8k", "train", GSM8K, ("main",)), licence="MIT",
    ),
    Benchmark(
        "math", "MATH train", "competition", 7469, ("math_train.jsonl",),
        hub=Hub("EleutherAI/hendrycks_math", "train", MATH, MATH_SUBJECTS),
        aliases=("math_train", "hendrycks_math"), licence="MIT",
    ),
)  # fmt: skip

SUITES = (
    Suite(
        "kimi12", "Kimi k1.5's grid", ("omni_math500", "math500", "aimo2024", "aime24", "chatglm_math", "gaokao", "gpqa",
        "biology", "chemistry", "physics", "kaoyan"), "items",
        "eleven panels and their total, in the chart's order; the chart's own total is nearest to a mean over items",
    ),
    Suite(
        "acemath7", "AceMath's seven", ("gsm8k", "math500", "minerva_math", "gaokao2023en", "olympiadbench", "college_math",
        "mmlu_stem"), "benchmarks", "the average counts every benchmark the same, as AceMath's does",
    ),
    Suite(
        "mel5", "MEL's five", ("aime24", "aime25", "amc23", "math500", "olympiadbench"), "benchmarks",
        "the average counts every benchmark the same",
    ),
    Suite("abacus", "the nano world", (), "benchmarks", "every kind of problem of abacus, each counting the same"),
)  # fmt: skip


def spelled(name: str) -> str:
    """A name without what people spell differently."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


@cache
def _by_spelling(table: tuple[Benchmark, ...]) -> dict[str, Benchmark]:
    named = {spelled(row.name): row for row in table}
    return {spelled(alias): row for row in table for alias in row.aliases} | named


def benchmark(name: str) -> Benchmark | None:
    """Of the table by any of its spellings, or described by the name itself; None for what is neither."""
    return described(name) or _by_spelling(BENCHMARKS).get(spelled(name))


def training_set(name: str) -> Benchmark | None:
    return described(name) or _by_spelling(TRAINING).get(spelled(name))


def known_names(table: tuple[Benchmark, ...]) -> list[str]:
    return [name for row in table for name in (row.name, *row.aliases)]


HUB = "hub:"
FORMS = ("plain", "integer", "hashes", "boxed", "index")
KEYS = (
    "problem",
    "answer",
    "choices",
    "id",
    "solution",
    "form",
    "kind",
    "tolerance",
    "language",
    "config",
    "split",
    "revision",
)


def described(name: str) -> Benchmark | None:
    """`my/file.jsonl`, `my/file.jsonl?answer=gold&kind=choice`, `hub:owner/name?split=test&problem=question`."""
    source, _, query = name.partition("?")
    if not source.startswith(HUB) and not source.endswith(".jsonl"):
        return None
    given = dict(parse_qsl(query, keep_blank_values=True))
    for key in given:
        if key not in KEYS:
            raise UsageError(f"{name}: unknown key {key}", expected=", ".join(KEYS), write=nearest(key, KEYS))
    own = {key: value for key, value in given.items() if key in Fields.__dataclass_fields__}
    try:
        return _row(name, source, given, Fields(**own))  # type: ignore[arg-type]
    except ValueError as error:
        raise UsageError(f"{name}: {error}", expected="a mapping such as ?problem=question&answer=gold&kind=choice") from None


def _row(name: str, source: str, given: dict[str, str], fields: Fields) -> Benchmark:
    kind, language = given.get("kind", "math"), given.get("language", "en")
    tolerance = float(given.get("tolerance", "0"))
    allowed = {"kind": ("math", "choice", "judge"), "language": ("en", "zh"), "form": FORMS}
    for key, value in (("kind", kind), ("language", language), ("form", fields.form)):
        if value not in allowed[key]:
            raise ValueError(f"{key}={value} is none of {', '.join(allowed[key])}")
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance={tolerance} is not between 0 and 1")
    hub = None
    if source.startswith(HUB):
        hub = Hub(
            source.removeprefix(HUB), given.get("split", "test"), fields, (given.get("config", ""),), given.get("revision")
        )
    return Benchmark(
        name, name, "the user's own", 0, () if hub else (source,), fields, hub=hub, kind=kind, tolerance=tolerance,  # type: ignore[arg-type]
        language=language, compare="itself", own=True,  # type: ignore[arg-type]
    )  # fmt: skip
