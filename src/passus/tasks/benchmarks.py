"""The table of benchmarks, training sets and suites, and the lookup of a row by name.

Each row says which published scores its score may be compared with. A substitute for a set that was never published says so.
"""

import re
from functools import cache
from urllib.parse import parse_qsl

from passus.errors import UsageError, nearest
from passus.tasks.benchmark_spec import Benchmark, Fields, HubDataset, Suite

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
        hub=HubDataset("HuggingFaceH4/aime_2024", "train", INTEGER), aliases=("aime2024", "aime24_avg", "AIME 2024"),
        samples=64,
        licence=f"MIT (Qwen2.5-Math's evaluation); {AMERICAN}",
        comparable_to="published AIME24 scores with the same number of samples (avg@16 to avg@64); with 30 items one sample is "
        "not enough",
    ),
    Benchmark(
        "aime25", "AIME 2025 I and II", "competition", 30, ("aime25.jsonl",),
        hub=HubDataset("math-ai/aime25", "test", INTEGER), aliases=("aime2025", "AIME 2025"), samples=64,
        licence=f"none stated (glm-simple-evals); {AMERICAN}",
        comparable_to="published AIME25 scores with the same number of samples",
    ),
    Benchmark(
        "amc23", "AMC 12 2023, integer answers", "competition", 40, ("amc23.jsonl",), aliases=("amc2023", "amc12_2023"),
        samples=16, licence=f"{QWEN}; {AMERICAN}", comparable_to="published AMC23 scores with the same number of samples",
    ),
    Benchmark(
        "aimo2024", "AIMO validation, AIME and AMC 12 of 2022 and 2023", "competition", 143,
        ("aimo_validation_aime.jsonl", "aimo_validation_amc.jsonl"), only=("source", ("2022", "2023")), aliases=("aimo",),
        samples=16, licence=f"Apache-2.0 (PRIME); {AMERICAN}",
        comparable_to="nothing published: a substitute for the 10 public problems of the AIMO prize, without the problems of "
        "AIME24",
    ),
    Benchmark(
        "aimo_aime", "AIMO validation, AIME 2022 to 2024", "competition", 90, ("aimo_validation_aime.jsonl",),
        hub=HubDataset("AI-MO/aimo-validation-aime", "train", INTEGER), aliases=("aimo_validation_aime",), samples=16,
        licence=f"Apache-2.0 (PRIME); {AMERICAN}", comparable_to="scores on AI-MO's set; its last 30 items are AIME24",
    ),
    Benchmark(
        "aimo_amc", "AIMO validation, AMC 12 of 2022 and 2023", "competition", 83, ("aimo_validation_amc.jsonl",),
        hub=HubDataset("AI-MO/aimo-validation-amc", "train", INTEGER), aliases=("aimo_validation_amc", "amc"), samples=16,
        licence=f"Apache-2.0 (PRIME); {AMERICAN}", comparable_to="scores on AI-MO's set; it contains AMC23",
    ),
    Benchmark(
        "math500", "MATH500", "competition", 500, ("math500.jsonl",),
        hub=HubDataset("HuggingFaceH4/MATH-500", "test", Fields(id="unique_id")),
        aliases=("math_500", "hendrycks_math500", "minerva_math500"), licence="MIT",
        comparable_to="published MATH-500 scores, avg@4 or greedy; a subset of math",
    ),
    Benchmark(
        "math", "MATH, full test set", "competition", 5000, ("math.jsonl",),
        hub=HubDataset("EleutherAI/hendrycks_math", "test", MATH, MATH_SUBJECTS),
        aliases=("hendrycks_math", "math_test", "MATH5000"), samples=1, licence="MIT",
        comparable_to="scores on all 5000 test problems; it contains MATH500",
    ),
    Benchmark(
        "omni_math500", "OMNI-MATH500, our own sample", "olympiad", 500, ("omni_math500.jsonl",),
        licence="MIT (rStar); none stated (omni-math-rule)",
        comparable_to="nothing published: the members of the 500 items in reports were never listed",
    ),
    Benchmark(
        "omni_math", "Omni-MATH", "olympiad", 4419, ("omni_math.jsonl",),
        kind="judge", judged=1583, samples=1,
        licence="MIT (rStar); none stated (omni-math-rule)",
        comparable_to="published Omni-MATH scores, with a judge; without one, the score is over the 2836 items that a rule can "
        "grade",
    ),
    Benchmark(
        "gsm8k", "GSM8K test", "grade school", 1319, ("gsm8k.jsonl",), Fields(form="hashes"),
        hub=HubDataset("openai/gsm8k", "test", GSM8K, ("main",)),
        aliases=("gsm8k_cot", "gsm8k_test"), samples=1, licence="MIT",
        comparable_to="published zero-shot GSM8K scores; lm-eval's strict and flexible scores are written beside ours",
    ),
    Benchmark(
        "minerva_math", "Minerva Math (OCWCourses)", "undergraduate", 272, ("minerva_math.jsonl",),
        aliases=("minerva", "minervamath", "ocwcourses"), tolerance=0.01, licence=f"{QWEN}; text from MIT OpenCourseWare",
        comparable_to="published Minerva Math scores; lm-eval's task of this name is a different one, MATH with Minerva's "
        "prompt",
    ),
    Benchmark(
        "gaokao2023en", "Gaokao 2023 in English", "school", 385, ("gaokao2023en.jsonl",), aliases=("gaokao2023_en",),
        licence=QWEN, comparable_to="published Gaokao2023EN scores; two problems end in their answer, which is removed here",
    ),
    Benchmark(
        "olympiadbench", "OlympiadBench, English maths, text only, open-ended", "olympiad", 675, ("olympiadbench.jsonl",),
        aliases=("olympiad", "olympiad_bench"), licence=QWEN,
        comparable_to="published OlympiadBench scores on 674 or 675 items",
    ),
    Benchmark(
        "college_math", "College Math", "undergraduate", 2818, ("college_math.jsonl",), exercises="source", samples=1,
        licence="MIT (Qwen2.5-Math's evaluation); each item carries the licence of its textbook",
        comparable_to="published College Math scores",
    ),
    Benchmark(
        "mmlu_stem", "MMLU STEM", "science", 3018, ("mmlu_stem.jsonl",),
        hub=HubDataset("cais/mmlu", "test", Fields(problem="question", form="index", id=""), STEM),
        aliases=("MMMLU STEM", "mmlu-stem"), kind="choice", shots=5, samples=1, licence=QWEN,
        comparable_to="published five-shot scores, approximately: the five examples are ours, not those of MMLU's dev split",
    ),
    Benchmark(
        "gaokao", "GAOKAO-Bench maths 2010 to 2022, fill-in", "school", 167, ("gaokao_bench_math.jsonl",),
        only=("type", ("cloze",)), aliases=("GAOKAO_bmk", "gaokao_math"), language="zh", licence="Apache-2.0",
        comparable_to="Kimi k1.5's panel has the same number of items; whether they are the same items is not published",
    ),
    Benchmark(
        "gaokao_bench_math", "GAOKAO-Bench maths 2010 to 2022, choice and fill-in", "school", 599,
        ("gaokao_bench_math.jsonl",), language="zh", licence="Apache-2.0",
        comparable_to="scores on GAOKAO-Bench's objective maths questions",
    ),
    Benchmark(
        "gaokao_mathqa", "GAOKAO maths of AGIEval, choice", "school", 351, ("gaokao_mathqa.jsonl",),
        aliases=("agieval_gaokao_mathqa",), kind="choice", language="zh", licence="MIT (AGIEval)",
        comparable_to="scores on AGIEval",
    ),
    Benchmark(
        "gaokao_mathcloze", "GAOKAO maths of AGIEval, fill-in", "school", 118, ("gaokao_mathcloze.jsonl",),
        aliases=("agieval_gaokao_mathcloze",), language="zh", licence="MIT (AGIEval)", comparable_to="scores on AGIEval",
    ),
    Benchmark(
        "biology", "GAOKAO Biology of AGIEval", "science", 210, ("gaokao_biology.jsonl",),
        aliases=("gaokao_biology", "agieval_gaokao_biology"), kind="choice", language="zh", licence="MIT (AGIEval)",
        comparable_to="scores on AGIEval; Kimi k1.5's panel of this name is a different set of 266 items, not published",
    ),
    Benchmark(
        "chemistry", "GAOKAO Chemistry of AGIEval", "science", 207, ("gaokao_chemistry.jsonl",),
        aliases=("gaokao_chemistry", "agieval_gaokao_chemistry"), kind="choice", language="zh", licence="MIT (AGIEval)",
        comparable_to="scores on AGIEval; Kimi k1.5's panel of this name is a different set of 133 items, not published",
    ),
    Benchmark(
        "physics", "GAOKAO Physics of AGIEval", "science", 200, ("gaokao_physics.jsonl",),
        aliases=("gaokao_physics", "agieval_gaokao_physics"), kind="choice", language="zh", licence="MIT (AGIEval)",
        comparable_to="scores on AGIEval; Kimi k1.5's panel of this name is a different set of 111 items, not published",
    ),
    Benchmark(
        "gaokao_bench_biology", "GAOKAO-Bench Biology", "science", 150, ("gaokao_bench_biology.jsonl",), kind="choice",
        language="zh", licence="Apache-2.0", comparable_to="scores on GAOKAO-Bench",
    ),
    Benchmark(
        "gaokao_bench_chemistry", "GAOKAO-Bench Chemistry", "science", 124, ("gaokao_bench_chemistry.jsonl",), kind="choice",
        language="zh", licence="Apache-2.0", comparable_to="scores on GAOKAO-Bench",
    ),
    Benchmark(
        "gaokao_bench_physics", "GAOKAO-Bench Physics, one or more right options", "science", 64,
        ("gaokao_bench_physics.jsonl",), kind="choice", language="zh", licence="Apache-2.0",
        comparable_to="scores on GAOKAO-Bench that give no credit for a part of the right options",
    ),
    Benchmark(
        "kaoyan", "KAOYAN: graduate school entrance exam, maths I, 1987 to 2023", "undergraduate", 391,
        ("kaoyan_math.jsonl",), aliases=("kaoyan_math", "KACYAN"), language="zh",
        licence="CC BY-NC-SA 4.0; exam text belongs to the examining body",
        comparable_to="nothing published: a substitute, read from printed papers; the set in reports is not public",
    ),
    Benchmark(
        "chatglm_math", "ChatGLMMath (MathUserEval)", "users' questions", 567, ("chatglm_math.jsonl",),
        aliases=("chatglmmath", "math_user_eval"), judged=431, short_answers=True, language="zh", licence="MIT",
        comparable_to="judged scores, with a judge; without one, the score is over the 136 items whose reference text ends in "
        "a short answer",
    ),
    Benchmark(
        "gpqa", "GPQA diamond", "science", 198,
        hub=HubDataset(
            "Idavidrein/gpqa", "train",
            Fields(
                problem="Question", answer="Correct Answer", id="", solution="", form="option",
                choices="Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3",
            ),
            ("gpqa_diamond",), gated=True,
        ),
        aliases=("gpqa_diamond", "gpqa_diamond_cot_zeroshot", "gpqa_diamond_zeroshot"), kind="choice", samples=8,
        licence="CC BY 4.0; its authors ask that it not be published in plain text",
        comparable_to="published GPQA diamond scores, avg@8; the order of the options is ours",
    ),
)  # fmt: skip

TRAINING = (
    Benchmark(
        "gsm8k", "GSM8K train", "grade school", 7473, ("gsm8k_train.jsonl",), Fields(form="hashes"),
        hub=HubDataset("openai/gsm8k", "train", GSM8K, ("main",)), licence="MIT",
    ),
    Benchmark(
        "math", "MATH train", "competition", 7469, ("math_train.jsonl",),
        hub=HubDataset("EleutherAI/hendrycks_math", "train", MATH, MATH_SUBJECTS),
        aliases=("math_train", "hendrycks_math"), licence="MIT",
    ),
)  # fmt: skip

SUITES = (
    Suite(
        "kimi12", "Kimi k1.5's grid", ("omni_math500", "math500", "aimo2024", "aime24", "chatglm_math", "gaokao", "gpqa",
        "biology", "chemistry", "physics", "kaoyan"), "items",
        "eleven panels and their total, in the order of the chart; the total of the chart is closest to a mean over items",
    ),
    Suite(
        "acemath7", "AceMath's seven", ("gsm8k", "math500", "minerva_math", "gaokao2023en", "olympiadbench", "college_math",
        "mmlu_stem"), "benchmarks", "every benchmark has equal weight, as in AceMath's average",
    ),
    Suite(
        "mel5", "MEL's five", ("aime24", "aime25", "amc23", "math500", "olympiadbench"), "benchmarks",
        "every benchmark has equal weight",
    ),
    Suite("abacus", "the nano tasks", (), "benchmarks", "every task of abacus, with equal weight"),
)  # fmt: skip


HUB_PREFIX = "hub:"
FORMS = ("plain", "integer", "hashes", "boxed", "index")
QUERY_KEYS = (
    "problem", "answer", "choices", "id", "solution", "cluster", "form", "kind", "tolerance", "language", "config", "split",
    "revision",
)  # fmt: skip


def find_benchmark(name: str) -> Benchmark | None:
    """Returns the row of the table by any of its names, or the user's dataset that the name describes."""
    return custom_benchmark(name) or known_benchmark(name)


def known_benchmark(name: str) -> Benchmark | None:
    """Returns the row of the table by any of its names. The name is only looked up, whoever wrote it."""
    return _rows_by_name(BENCHMARKS).get(normalize_name(name))


def find_training_set(name: str) -> Benchmark | None:
    return custom_benchmark(name) or _rows_by_name(TRAINING).get(normalize_name(name))


def normalize_name(name: str) -> str:
    """Removes case and punctuation from a name."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


@cache
def _rows_by_name(table: tuple[Benchmark, ...]) -> dict[str, Benchmark]:
    by_name = {normalize_name(row.name): row for row in table}
    return {normalize_name(alias): row for row in table for alias in row.aliases} | by_name


def known_names(table: tuple[Benchmark, ...]) -> list[str]:
    return [name for row in table for name in (row.name, *row.aliases)]


def custom_benchmark(name: str) -> Benchmark | None:
    """Parses `my/file.jsonl`, `my/file.jsonl?answer=gold&kind=choice`, `hub:owner/name@revision?split=test`."""
    source, _, query = name.partition("?")
    if not source.startswith(HUB_PREFIX) and not source.endswith(".jsonl"):
        return None
    options = dict(parse_qsl(query, keep_blank_values=True))
    for key in options:
        if key not in QUERY_KEYS:
            raise UsageError(f"{name}: unknown key {key}", expected=", ".join(QUERY_KEYS), write=nearest(key, QUERY_KEYS))
    try:
        return _custom_row(name, source, options)
    except ValueError as error:
        raise UsageError(f"{name}: {error}", expected="a mapping such as ?problem=question&answer=gold&kind=choice") from None


def _custom_row(name: str, source: str, options: dict[str, str]) -> Benchmark:
    fields = Fields(**{key: value for key, value in options.items() if key in Fields.__dataclass_fields__})  # type: ignore[arg-type]  # the form is checked below
    kind, language = options.get("kind", "math"), options.get("language", "en")
    tolerance = float(options.get("tolerance", "0"))
    allowed = {"kind": ("math", "choice", "judge"), "language": ("en", "zh"), "form": FORMS}
    for key, value in (("kind", kind), ("language", language), ("form", fields.form)):
        if value not in allowed[key]:
            raise ValueError(f"{key}={value} is none of {', '.join(allowed[key])}")
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance={tolerance} is not between 0 and 1")
    hub = None
    if source.startswith(HUB_PREFIX):
        (dataset, _, revision), split = source.removeprefix(HUB_PREFIX).partition("@"), options.get("split", "test")
        hub = HubDataset(dataset, split, fields, (options.get("config", ""),), revision or options.get("revision"))
    return Benchmark(
        name, name, "the user's own", 0, () if hub else (source,), fields, hub=hub, kind=kind, tolerance=tolerance,  # type: ignore[arg-type]  # checked above
        language=language, comparable_to="itself", custom=True,  # type: ignore[arg-type]  # checked above
    )  # fmt: skip
