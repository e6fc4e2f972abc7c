"""A process that compares formulas with math-verify: one JSON line in, one JSON line out.

Started by verifier.py as a file of its own, so that nothing of passus and no torch is loaded here. It ends when its input does,
and the alarm ends it when an item takes too long even if nobody is left to kill it.
"""

import json
import resource
import signal
import sys

MOST_MEMORY = 2 << 30


def compare(gold: str, answer: str) -> bool:
    """A gold that math-verify cannot read is an error; an answer that it cannot read is no answer."""
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

    readers = [LatexExtractionConfig(), ExprExtractionConfig()]
    right = parse(f"${gold}$", extraction_config=readers, parsing_timeout=None, raise_on_error=True)
    if not right:
        raise ValueError("math-verify reads no formula in the gold")
    mine = parse(f"${answer}$", extraction_config=readers, parsing_timeout=None)
    return bool(mine) and bool(verify(right, mine, timeout_seconds=None, strict=True, raise_on_error=True, float_rounding=30))


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    compare("x+1", "1+x")  # loads sympy before the first item's time runs
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        item = json.loads(line)
        signal.alarm(int(item["seconds"]) + 2)
        try:
            reply: dict[str, object] = {"equal": compare(item["gold"], item["answer"])}
        except Exception as problem:  # noqa: BLE001 whatever a hostile formula raises is the item's error, and is told
            reply = {"error": f"{type(problem).__name__}: {problem}"[:300]}
        signal.alarm(0)
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
