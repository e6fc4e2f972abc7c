"""`passus describe`: runs or curve files as a chart description."""

from pathlib import Path


def describe(*sources: Path, out: Path | None = None) -> int:
    """Write runs or curve files as a chart description, in the form that passus read understands. Numbers are rounded.

    Each observation follows from a finding of passus analyse that is supported.

    Parameters
    ----------
    sources
        Run folders, folders of run folders, curve files (JSON), or names of shipped curves, such as kimi-k1.5.
    out
        File for the description. Without it, the description is printed.
    """
    from passus.analysis.observations import describe_with_observations
    from passus.atomic_io import write_text
    from passus.console import print_next_commands
    from passus.runs.read_curves import load_curves

    text = describe_with_observations(load_curves(list(sources)))
    if out is None:
        print(text)
        return 0
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, text)
    print(f"description: {out}")
    print_next_commands(f"passus read {out} --out curves.json")
    return 0
