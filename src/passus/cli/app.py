"""The `passus` command: registers the commands, and turns errors into messages and exit codes.

Every command is a file of this folder that parses its options, calls the library, prints and returns an exit code. Heavy
imports stand inside the commands, so that `passus --help` answers at once.
"""

import sys
from typing import NoReturn

from cyclopts import App, CycloptsError, Group

import passus
from passus.cli.analyse import analyse
from passus.cli.bench import bench
from passus.cli.benchmarks import benchmarks
from passus.cli.bundle import bundle
from passus.cli.check import check
from passus.cli.compare import compare
from passus.cli.demo import demo
from passus.cli.describe import describe
from passus.cli.diagnose import diagnose
from passus.cli.eval import eval
from passus.cli.explain import explain
from passus.cli.export import export
from passus.cli.export_curves import export_curves
from passus.cli.grade import grade
from passus.cli.import_runs import import_
from passus.cli.ls import ls
from passus.cli.plot import plot
from passus.cli.power import power
from passus.cli.pretrain import pretrain
from passus.cli.read import read
from passus.cli.report import report
from passus.cli.run import run
from passus.cli.serve import serve
from passus.cli.show import show
from passus.cli.usage_errors import usage_error
from passus.cli.verify import verify
from passus.console import guard_output, rich_console
from passus.exit_codes import exit_code_of

app = App(
    name="passus",
    version=passus.__version__,
    help="A laboratory for reinforcement learning with verifiable rewards: train, evaluate, plot and analyse language models.",
    help_epilogue="Begin with `passus demo`. `passus COMMAND --help` explains a command.",
    help_format="plaintext",  # Markdown would take as long to import as everything else together
)
COMMANDS = {
    "Train and evaluate": (demo, run, eval, export, pretrain),
    "Look at runs": (import_, ls, show, serve, plot, analyse, compare, diagnose, report, verify, bundle),
    "Plan and look up": (power, explain, benchmarks, bench),
    "Texts and files": (read, check, describe, grade, export_curves),
}
"""The commands in the order of the help, by what they are for."""
for number, (title, commands) in enumerate(COMMANDS.items()):
    group = Group(title, sort_key=number)
    for command in commands:
        if isinstance(command, App):
            command.group = group
            app.command(command)
        else:
            app.command(command, name=command.__name__.rstrip("_").replace("_", "-"), group=group)
app["--help"].group = app["--version"].group = Group("Other", sort_key=len(COMMANDS))


def main() -> NoReturn:
    guard_output()
    sys.exit(exit_code_of(_run_command))


def _run_command() -> object:
    try:
        return app(console=rich_console(), result_action="return_value", print_error=False, exit_on_error=False)
    except CycloptsError as error:
        raise usage_error(error) from None
