"""`passus show`: samples of a run with the exact prompt, or one item of a benchmark as a model would see it.

Prompts are decoded from the token ids that a model is fed, special tokens included. A character that the tokenizer does not
know is shown as the token that stands for it.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from passus.cli.options import Data, Thinking, use_data
from passus.errors import PassusError, UsageError, check_train_packages

if TYPE_CHECKING:
    from passus.runs.run_folder import RunFolder
    from passus.tasks.item import Item

FIELDS = (
    "prompt", "question", "completion", "gold", "extracted", "verdict", "score", "chance", "reward", "advantage", "tokens",
)  # fmt: skip
"""Fields of a row that are printed, in this order."""
MAX_CHARACTERS = 50_000
"""Characters of a field that are printed."""


def show(
    what: str, *, step: int | None = None, samples: int = 4, verdict: str | None = None, item: int = 0,
    model: str = "nano/qwen3", prompt: str = "auto", system: str = "", thinking: Thinking = "default", data: Data = None,
) -> int:  # fmt: skip
    """Show samples of a run with the exact prompt, or an item of a benchmark as a model would see it.

    Prompts are decoded from the token ids that the model is fed.

    Parameters
    ----------
    what
        A run folder, or the name of a benchmark.
    step
        Training step of the samples. Default: the last. Step 0 shows eval items, because it has no training samples.
    samples
        Number of samples to show.
    verdict
        Show only samples with this verdict.
    item
        For a benchmark: index of the item.
    model
        For a benchmark: the model whose chat template is used. Only its tokenizer is loaded.
    prompt
        For a benchmark: prompt template, as model.prompt in an experiment file.
    system
        For a benchmark: system prompt, as model.system in an experiment file.
    thinking
        For a benchmark: thinking switch of the chat template, as model.thinking in an experiment file.
    """
    from passus.tasks.lookup import is_benchmark

    use_data(data)
    if not Path(what).is_dir() and is_benchmark(what):
        show_item(what, item, model, prompt, system, thinking)
    else:
        show_samples(Path(what), step, samples, verdict)
    return 0


def show_item(name: str, index: int, model: str, template: str, system: str, thinking: str) -> None:
    """Prints the prompt that a model would get for an item, and the reference answer."""
    check_train_packages()
    from rich.text import Text

    from passus.console import print_next_commands, rich_console
    from passus.formatting import printable
    from passus.models import loader
    from passus.models.lossy_prompts import find_lossy_prompts
    from passus.tasks.lookup import benchmark_items

    items = benchmark_items(name)
    if not 0 <= index < len(items):
        raise UsageError(f"--item {index}", expected=f"0 to {len(items) - 1}: {name} has {len(items)} items")
    item = items[index]
    console = rich_console(highlight=False, soft_wrap=True)
    console.print(Text(f"{item.benchmark}, item {item.index} of {len(items)}, id {item.id or item.index}, for {model}\n"))
    chat = loader.load_chat_format(model, template, thinking, system)
    console.print(Text(printable(chat.decode(chat.prompt_tokens([item])[0], special=True))))
    rule = item.rule.kind + (f", within {item.rule.tolerance:.0%}" if item.rule.tolerance else "")
    console.print(Text(f"\n{'gold':>10}  {printable(item.gold)}\n{'graded by':>10}  {rule}"))
    if lossy := find_lossy_prompts(chat, name, items):
        print(f"warning: {lossy}", file=sys.stderr)
    print_next_commands(f"passus eval {model} --suite {item.benchmark} --limit 8 --out scores")


def show_samples(run: Path, step: int | None, samples: int, verdict: str | None) -> None:
    """Prints samples of a run: training samples, eval items, scored candidates or drawn candidates, by the kind of run."""
    if samples < 1:
        raise UsageError(f"--samples {samples}", expected="1 or more", write="--samples 4")
    from passus.console import print_next_commands
    from passus.grading.verdict import Verdict
    from passus.runs.run_folder import RunFolder

    folder = RunFolder(run)
    config_kind = folder.config().kind
    if verdict is not None and verdict not in list(Verdict):
        raise UsageError(f"--verdict {verdict}", expected=", ".join(Verdict))
    if config_kind == "candidates":
        _show_candidates(folder, samples, verdict)
        return
    eval_steps = [point.step for point in folder.evals()]
    if step is None:
        step = max(eval_steps, default=0) if config_kind == "reward_model" else folder.last_metrics_step()
    kind = "items" if config_kind == "reward_model" or not step else "samples"
    rows = [row for row in folder.read_rows(kind, step) if verdict in (None, row["verdict"])]
    noun = kind
    if config_kind == "reward_model":
        noun = "best scored candidates"
        rows = [row | {"score": row["logp"], "chance": row["value"], "tokens": None} for row in rows]
    title = f"{run}, step {step}: {len(rows)} {noun}" + _of_verdict(verdict)
    rows = _spread(rows, samples)
    if kind == "items":
        rows = _with_prompts(folder, rows)
    _print_rows("\n".join([title, *folder.version_remarks()]), rows)
    earlier = max((s for s in eval_steps if s <= step // 2), default=0) if config_kind == "reward_model" else max(1, step // 2)
    print_next_commands(f"passus show {run} --step {earlier} --verdict wrong")


def _show_candidates(folder: "RunFolder", samples: int, verdict: str | None) -> None:
    from passus.console import print_next_commands
    from passus.evaluation import candidate_files

    paths = folder.row_paths("candidates")
    rows = [row for path in paths for row in candidate_files.read_candidates(path) if verdict in (None, row["verdict"])]
    _print_rows(f"{folder.path}: {len(rows)} candidates" + _of_verdict(verdict), _spread(rows, samples))
    print_next_commands(f"passus show {folder.path} --verdict wrong")


def _of_verdict(verdict: str | None) -> str:
    return f" that are {verdict}" if verdict else ""


def _spread(rows: list[dict[str, Any]], samples: int) -> list[dict[str, Any]]:
    """Returns some of the rows, spread over all, so that several prompts are shown instead of one group."""
    return rows[:: max(1, len(rows) // max(1, samples))][:samples]


def _with_prompts(folder: "RunFolder", rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adds prompt and gold to rows of eval items, which record neither. Items whose data is not here are left as they are."""
    from passus.tasks.lookup import benchmark_items

    items: dict[tuple[str, int], Item] = {}
    for name in dict.fromkeys(row["benchmark"] for row in rows):
        try:
            items |= {(name, item.index): item for item in benchmark_items(name)}
        except UsageError as error:
            print(f"warning: the prompts of {name} are not shown: {str(error).splitlines()[0]}", file=sys.stderr)
    known = [(row["benchmark"], row["item"]) for row in rows if (row["benchmark"], row["item"]) in items]
    prompts = dict(zip(known, _decoded_prompts(folder, [items[key] for key in known]), strict=True))
    return [
        row | prompts.get(key, {}) | ({"gold": items[key].gold} if key in items else {})
        for row in rows
        for key in [(row["benchmark"], row["item"])]
    ]


def _decoded_prompts(folder: "RunFolder", items: "list[Item]") -> list[dict[str, str]]:
    """Returns the prompts of items as the run's model reads them, or the bare questions where its tokenizer is not here."""
    model = folder.config().model
    try:
        check_train_packages()
        from passus.models import loader

        chat = loader.load_chat_format(model.base, model.prompt, model.thinking, model.system)
        return [{"prompt": chat.decode(tokens, special=True)} for tokens in chat.prompt_tokens(items)]
    except (PassusError, ModuleNotFoundError) as error:
        print(f"warning: prompts are not decoded: {str(error).splitlines()[0]}", file=sys.stderr)
        return [{"question": item.question} for item in items]


def _print_rows(title: str, rows: list[dict[str, Any]]) -> None:
    """Prints rows as plain text: model output is never interpreted as markup."""
    from rich.text import Text

    from passus.console import rich_console
    from passus.formatting import printable, shorten

    console = rich_console(highlight=False)
    console.print(Text(title))
    for row in rows:
        console.print()
        for key in FIELDS:
            if row.get(key) is not None:
                value = f"{row[key]:.3f}" if isinstance(row[key], float) else str(row[key])
                console.print(Text(f"{key:>10}  "), Text(printable(shorten(value, MAX_CHARACTERS))), end="\n", sep="")
    console.print()
