"""Worker process that compares expressions with math-verify: one line of JSON in, one line of JSON out.

math_verify_pool.py starts this file as a script, so that no other module of passus and no torch is loaded here. The worker ends
with its input, and an alarm ends it when an item takes too long and no parent is left to kill it.
"""

import json
import resource
import signal
import sys

MAX_MEMORY = 2 << 30


def compare(gold: str, answer: str, whole: bool = False) -> bool:
    """Returns whether they are equal. A gold that math-verify cannot parse is an error; such an answer is wrong.

    A whole output is searched for its answer by math-verify's own rules.
    """
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

    configs = [LatexExtractionConfig(), ExprExtractionConfig()]
    gold_parsed = parse(f"${gold}$", extraction_config=configs, parsing_timeout=None, raise_on_error=True)
    if not gold_parsed:
        raise ValueError("math-verify reads no formula in the gold")
    answer_parsed = parse(answer if whole else f"${answer}$", extraction_config=configs, parsing_timeout=None)
    if not answer_parsed:
        return False
    return bool(verify(gold_parsed, answer_parsed, timeout_seconds=None, strict=True, raise_on_error=True, float_rounding=30))


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    compare("x+1", "1+x")  # loads sympy before the clock of the first item starts
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        item = json.loads(line)
        signal.alarm(int(item["seconds"]) + 2)
        try:
            reply: dict[str, object] = {"equal": compare(item["gold"], item["answer"], item["whole"])}
        except Exception as error:  # noqa: BLE001 whatever a hostile expression raises is the item's error, with its reason
            reply = {"error": f"{type(error).__name__}: {error}"[:300]}
        signal.alarm(0)
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
