"""`passus benchmarks`: the table of benchmarks, and the loading of their data."""

import sys

from cyclopts import App

from passus.cli.options import Data, Json, use_data
from passus.errors import check_train_packages

benchmarks = App(name="benchmarks", help="List the known benchmarks, or load their data.")


@benchmarks.default
@benchmarks.command(name="list")
def list_benchmarks(*, data: Data = None, json_: Json = False) -> int:
    """List every benchmark: number of items, domain, usual number of samples, and where its data is.

    Parameters
    ----------
    json_
        Print one JSON object per line.
    """
    from rich.table import Table
    from rich.text import Text

    from passus.cli.catalogue import listing
    from passus.console import json_line, print_next_commands, rich_console

    use_data(data)
    rows = listing()
    if json_:
        for row in rows:
            print(json_line(row))
        return 0
    table = Table(caption='K: usual samples per item. Data "no": you supply the file (docs/benchmarks.md).')
    for column in ("name", "items", "domain", "K", "data"):
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(row.get(key, ""))) for key in ("name", "items", "domain", "samples", "here")))
    rich_console().print(table)
    print_next_commands(
        "passus show abacus/add3 --model nano/qwen3", "passus benchmarks pull gsm8k", "passus eval MODEL --suite mel5"
    )
    return 0


@benchmarks.command(name="pull")
def pull_benchmark(name: str, *, data: Data = None) -> int:
    """Load a benchmark, or all benchmarks of a suite, and check every row.

    The data comes from a local file, or from the Hugging Face hub by way of its cache.

    Parameters
    ----------
    name
        A benchmark, a suite, or a file.
    """
    check_train_packages()
    from passus.config import resolve
    from passus.console import print_next_commands
    from passus.evaluation import suite
    from passus.tasks import dataset

    use_data(data)
    config = resolve.eval_config(name, 1, 1.0, 1, 0, {"base": "-"}, {})
    loaded = suite.load_suite(config.eval, judged=True)
    for benchmark, items in loaded.items.items():
        print(f"{benchmark}: {len(items)} items")
    for remark in loaded.remarks():
        print(remark, file=sys.stderr)
    print_next_commands(
        f"passus show {next(iter(loaded.items))} --model MODEL   # the prompt of a model; files: ${dataset.DATA}"
    )
    return 0
