"""The table of benchmarks for the terminal, as JSON, and as Markdown in docs/benchmarks.md, which a test compares."""

from typing import Any

from passus.tasks import benchmarks, dataset, words
from passus.tasks.benchmark_spec import Benchmark
from passus.tasks.lookup import ABACUS, benchmark_size


def listing() -> list[dict[str, Any]]:
    """Returns every benchmark as JSON, with where its data is."""
    generated = [
        {"name": name, "items": benchmark_size(name), "domain": "nano world", "here": "made by rule"}
        for name in (*ABACUS, words.NAME)
    ]
    return [_benchmark_json(row) for row in benchmarks.BENCHMARKS] + generated


def _benchmark_json(row: Benchmark) -> dict[str, Any]:
    here = "local file" if dataset.is_local(row) else f"hub: {row.hub.dataset}" if row.hub else "no"
    return {
        "name": row.name, "title": row.title, "aliases": list(row.aliases), "domain": row.domain, "items": row.items,
        "judged": row.judged, "kind": row.kind, "shots": row.shots, "samples": row.samples, "files": list(row.files),
        "hub": row.hub.dataset if row.hub else None, "licence": row.licence, "compare": row.comparable_to, "here": here,
    }  # fmt: skip


def markdown() -> str:
    """Returns the tables of benchmarks, training sets and suites."""
    head = ["| name | benchmark | items | domain | answers | K | data | licence |", "|---|---|---|---|---|---|---|---|"]
    lines = [*head, *(_table_row(row) for row in benchmarks.BENCHMARKS), "", "| name | comparable with |", "|---|---|"]
    lines += [f"| `{row.name}` | {row.comparable_to} |" for row in benchmarks.BENCHMARKS]
    lines += ["", "| training set (`task.name`) | items | data | licence |", "|---|---|---|---|"]
    lines += [f"| `{row.name}` | {row.items} | {_data_sources(row)} | {row.licence} |" for row in benchmarks.TRAINING]
    lines += ["", "| suite | members | total |", "|---|---|---|"]
    lines += [
        f"| `{row.name}` | {', '.join(row.members) or 'all of `abacus/*`'} | mean over {row.total}: {row.about} |"
        for row in benchmarks.SUITES
    ]
    return "\n".join(lines) + "\n"


def _table_row(row: Benchmark) -> str:
    aliases = f"<br>also {', '.join(f'`{alias}`' for alias in row.aliases)}" if row.aliases else ""
    answers = "letters" if row.kind == "choice" else "short"
    answers += f", {row.shots} shots" if row.shots else ""
    answers += f", within {row.tolerance:.0%}" if row.tolerance else ""
    answers += f", {row.judged} by a judge" if row.judged else ""
    cells = [f"`{row.name}`{aliases}", row.title, row.items, row.domain, answers, row.samples, _data_sources(row), row.licence]
    return f"| {' | '.join(map(str, cells))} |"


def _data_sources(row: Benchmark) -> str:
    sources = [f"`{name}`" for name in row.files]
    if row.hub:
        sources.append(f"hub `{row.hub.dataset}`{' (needs your own access)' if row.hub.gated else ''}")
    return "<br>".join(sources)


if __name__ == "__main__":
    print(markdown(), end="")
