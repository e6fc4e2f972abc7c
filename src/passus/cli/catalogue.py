"""The table of benchmarks as people read it: on a terminal, as JSON, and in docs/benchmarks.md, which a test checks."""

from typing import Any

from passus.tasks import benchmarks, dataset, words
from passus.tasks.benchmark_spec import Benchmark
from passus.tasks.lookup import ABACUS, benchmark_size


def listing() -> list[dict[str, Any]]:
    """Every benchmark, with what is here of it."""
    made = [
        {"name": name, "items": benchmark_size(name), "domain": "nano world", "here": "made by rule"}
        for name in (*ABACUS, words.NAME)
    ]
    return [_listed(row) for row in benchmarks.BENCHMARKS] + made


def _listed(row: Benchmark) -> dict[str, Any]:
    here = "local file" if dataset.is_local(row) else f"hub: {row.hub.dataset}" if row.hub else "no"
    return {
        "name": row.name, "title": row.title, "aliases": list(row.aliases), "domain": row.domain, "items": row.items,
        "judged": row.judged, "kind": row.kind, "shots": row.shots, "samples": row.samples, "files": list(row.files),
        "hub": row.hub.dataset if row.hub else None, "licence": row.licence, "compare": row.comparable_to, "here": here,
    }  # fmt: skip


def markdown() -> str:
    """Tables of benchmarks, training sets and suites."""
    head = ["| name | benchmark | items | domain | answers | K | data | licence |", "|---|---|---|---|---|---|---|---|"]
    lines = [*head, *(_row(row) for row in benchmarks.BENCHMARKS), "", "| name | score may be compared with |", "|---|---|"]
    lines += [f"| `{row.name}` | {row.comparable_to} |" for row in benchmarks.BENCHMARKS]
    lines += ["", "| training set (`task.name`) | items | data | licence |", "|---|---|---|---|"]
    lines += [f"| `{row.name}` | {row.items} | {_data(row)} | {row.licence} |" for row in benchmarks.TRAINING]
    lines += ["", "| suite | members | total |", "|---|---|---|"]
    lines += [
        f"| `{row.name}` | {', '.join(row.members) or 'all of `abacus/*`'} | mean over {row.total}: {row.about} |"
        for row in benchmarks.SUITES
    ]
    return "\n".join(lines) + "\n"


def _row(row: Benchmark) -> str:
    aliases = f"<br>also {', '.join(f'`{alias}`' for alias in row.aliases)}" if row.aliases else ""
    answers = "letters" if row.kind == "choice" else "short"
    answers += f", {row.shots} shots" if row.shots else ""
    answers += f", within {row.tolerance:.0%}" if row.tolerance else ""
    answers += f", {row.judged} by a judge" if row.judged else ""
    cells = [f"`{row.name}`{aliases}", row.title, row.items, row.domain, answers, row.samples, _data(row), row.licence]
    return f"| {' | '.join(map(str, cells))} |"


def _data(row: Benchmark) -> str:
    places = [f"`{name}`" for name in row.files]
    if row.hub:
        places.append(f"hub `{row.hub.dataset}`{' (your own access)' if row.hub.gated else ''}")
    return "<br>".join(places)


if __name__ == "__main__":
    print(markdown(), end="")
