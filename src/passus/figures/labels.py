"""Labels of lines without repetition: what all models of a figure have in common is said once, in the note."""

from collections.abc import Sequence

from passus.figures.spec import Series
from passus.runs.origin import SIZE, Origin


def short_names(lines: Sequence[Sequence[Origin]], names: Sequence[str]) -> list[str]:
    """Returns the names without the words that all models share: six sizes of Qwen3-shaped are named by their size."""
    models = [line[0].model for line in lines]
    shared = shared_parts(models)
    short = [name.replace(model, _without(model, shared), 1) for name, model in zip(names, models, strict=True)]
    return short if len(set(short)) == len(set(names)) else list(names)


def shared_parts(models: Sequence[str]) -> list[str]:
    """Returns the parts, between commas, that all of several models have; none where a name would be empty."""
    if len(set(models)) < 2:
        return []
    parts = [model.split(", ") for model in models]
    shared = [part for part in parts[0] if all(part in own for own in parts)]
    return shared if all(set(own) - set(shared) for own in parts) else []


def _without(model: str, shared: Sequence[str]) -> str:
    return ", ".join(part for part in model.split(", ") if part not in shared)


def shared_note(series: Sequence[Series]) -> str:
    """Says what all models have in common and the labels leave out; empty where they have nothing in common."""
    shared = shared_parts([s.origin.model for s in series if s.origin])
    words = [f"{part} parameters" if SIZE.fullmatch(part) else part for part in shared]
    return f"all models: {', '.join(words)}" if shared else ""
