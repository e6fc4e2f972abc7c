"""Commands as functions: run an experiment, grade an answer, read a chart description."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from passus.api.runs import Runs
from passus.errors import PassusError
from passus.grading.grade import grade as grade_output
from passus.grading.verdict import ANY, MATH, Extract, Grade

if TYPE_CHECKING:
    from passus.runs.curve import Curves


def load(*paths: str | Path) -> Runs:
    """Returns the runs at some paths, or below them."""
    return Runs.at(*paths)


def run(
    experiment: str | Path, *, out: str | Path | None = None, settings: Mapping[str, Any] | None = None, jobs: int = 1
) -> Runs:
    """Runs every arm of an experiment, a file or a shipped one, and returns its runs. Run again, it resumes.

    `settings` replaces fields by dotted key: {"train.steps": 20}.
    """
    import tomli_w

    from passus.config.experiment import load_experiment, slug
    from passus.launch.runner import Runner

    overrides = [
        f"{key}={tomli_w.dumps({'value': value}).partition('=')[2].strip()}" for key, value in (settings or {}).items()
    ]
    loaded = load_experiment(str(experiment), overrides)
    folder = Path(out) if out is not None else Path("runs") / slug(loaded.name)
    if code := Runner(loaded, overrides, folder, jobs).run():
        raise PassusError(f"{loaded.name} ended with exit code {code}", expected="0", write=f"passus ls {folder}")
    return Runs.at(folder)


def grade(output: str, gold: str, *, truncated: bool = False, extract: Extract = ANY) -> Grade:
    """Grades a model's output against the right answer. The verdict is correct, wrong, unparseable, truncated or error."""
    return grade_output(output, gold, truncated=truncated, rule=MATH, extract=extract)


def read(text: str) -> "Curves":
    """Reads the points and claims of an English text about a chart."""
    from passus.analysis.read_text import read_text

    return read_text(text)
