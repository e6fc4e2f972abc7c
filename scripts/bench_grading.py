"""Measures the grader on 10,000 outputs of 200 to 2,000 tokens: 70 % plain numbers, 25 % formulas, 5 % without an answer.

python scripts/bench_grading.py             prints the result
python scripts/bench_grading.py --save      records it in bench/cpu-2-cores/grading.json

All outputs differ, so no grade comes from a cache. Half of the formulas are correct and spelled differently from the gold.
One formula in twenty-five can be read only by math-verify.
"""

import argparse
import json
import random
import resource
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import passus
from passus.grading.grade import grade_all
from passus.grading.verdict import MATH

RECORD = Path(__file__).parent.parent / "bench" / "cpu-2-cores" / "grading.json"
OUTPUTS = 10_000
WORDS = [
    "we", "then", "have", "that", "the", "sum", "of", "both", "sides", "is", "equal", "so", "by", "symmetry", "it", "follows",
]  # fmt: skip


def reasoning_text(rng: random.Random, tokens: int) -> str:
    """Returns reasoning of about this many tokens, with numbers, formulas and line breaks."""
    words = [rng.choice(WORDS) for _ in range(tokens)]
    for at in range(0, tokens, 15):
        words[at] = rng.choice([f"$x_{{{at}}} = \\frac{{{at}}}{{7}}$", f"{rng.randint(1, 999)}", "\n\n", "\\(a+b\\)"])
    return " ".join(words)


def formula(rng: random.Random, n: int) -> tuple[str, str]:
    """Returns a gold answer and a correct answer in another spelling; both are unique to this n."""
    a, b = n + 2, rng.randint(2, 9)
    kinds = [
        (rf"\frac{{{a}\sqrt{{{b}}}}}{{{b}}}", rf"\frac{{{a}}}{{\sqrt{{{b}}}}}"),
        (rf"{a}x^2+{b}x+1", rf"1 + {b}x + {a}x^{{2}}"),
        (rf"\left({a},\frac{{{b}}}{{7}}\right)", rf"({a}, {b}/7)"),
        (rf"{a} \pm \sqrt{{{b}}}", rf"{a}-\sqrt{{{b}}}, {a}+\sqrt{{{b}}}"),
        (rf"\left[{b},{a + 9}\right)", rf"{b} \leq x < {a + 9}"),
        (rf"\begin{{pmatrix}} {a} & {b} \\ 0 & 1 \end{{pmatrix}}", rf"\begin{{bmatrix}}{a}&{b}\\0&1\end{{bmatrix}}"),
        (rf"\ln {a} + {b}\pi", rf"{b}\pi + \ln({a})"),
        (rf"y = {a}x + {b}", rf"{a}x - y + {b} = 0"),
    ]
    if n % 100 == 15:
        return str(sum(range(1, a % 90 + 2))), rf"\sum_{{k=1}}^{{{a % 90 + 1}}} k"
    return kinds[n % len(kinds)]


def workload(seed: int = 0) -> tuple[list[str], list[str]]:
    rng = random.Random(seed)
    outputs, golds = [], []
    for n in range(OUTPUTS):
        reasoning = reasoning_text(rng, rng.randint(200, 2000))
        kind = n % 20
        if kind < 14:
            gold, answer = str(n), str(n if rng.random() < 0.5 else n + 1)
        elif kind < 19:
            gold, answer = formula(rng, n)
            answer = answer if rng.random() < 0.5 else formula(rng, n + 8)[1]
        else:
            golds.append(str(n))
            outputs.append(reasoning)
            continue
        golds.append(gold)
        outputs.append(f"{reasoning}\n\nThe final answer is $\\boxed{{{answer}}}$.")
    return outputs, golds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true")
    arguments = parser.parse_args()
    outputs, golds = workload()
    grade_all(
        [r"\boxed{\sum_{k=1}^{3} k}", r"\boxed{\sqrt{2}}"], ["6", r"\sqrt{3}"], [MATH] * 2, [False] * 2
    )  # starts the workers and loads mpmath
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    grades = grade_all(outputs, golds, [MATH] * OUTPUTS, [False] * OUTPUTS)
    seconds = time.perf_counter() - started
    result = {
        "workload": "grading",
        "device": "CPU, 2 cores",
        "outputs": OUTPUTS,
        "seconds": seconds,
        "outputs_per_second": OUTPUTS / seconds,
        "verdicts": dict(Counter(str(grade.verdict) for grade in grades)),
        "by": dict(Counter(grade.reason for grade in grades)),
        "megabytes_gained": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024,
        "versions": {"passus": passus.__version__, "math-verify": version("math-verify")},
    }
    print(json.dumps(result, indent=2))
    if arguments.save:
        RECORD.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
