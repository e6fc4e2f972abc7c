"""The page of a running experiment: arm status, figure, scores, and samples before and after.

It reads run folders only, so it can be written at any time, also while arms run or wait. Whatever cannot be read is reported on
the page. The finished report (`report`) contains all of it.
"""

from collections.abc import Sequence
from pathlib import Path

from passus.errors import PassusError
from passus.reports.arm_status import ArmStatus, read_arm_status, score_blocks, status_sentence
from passus.reports.document import Block, Document, DocumentSection, Listing
from passus.reports.pictures import accuracy_picture
from passus.reports.sample_changes import sample_changes, shorten

RELOAD_SECONDS = 10


def build_status_page(
    folders: Sequence[Path], title: str, made_with: Sequence[str] = (), next_commands: Sequence[str] = (), *, live: bool = False
) -> Document:
    """Builds the page of the arms in `folders`. A live page reloads itself, because it will be written again."""
    arms = [read_arm_status(folder) for folder in folders]
    sections = [
        DocumentSection("", [status_sentence(arms), _figure(arms)]),
        scores_section(arms),
        samples_section(arms),
        *commands_section(made_with, next_commands),
    ]
    return Document(title, sections, reload_seconds=RELOAD_SECONDS if live else 0)


def _figure(arms: Sequence[ArmStatus]) -> Block:
    runs = [arm.path for arm in arms if arm.scores]
    if not runs:
        return "No figure: there is no eval point yet."
    try:
        return accuracy_picture(runs)
    except PassusError as error:
        return f"No figure: {shorten(str(error))}"


def scores_section(arms: Sequence[ArmStatus]) -> DocumentSection:
    return DocumentSection("Accuracy and length", score_blocks(arms))


def samples_section(arms: Sequence[ArmStatus]) -> DocumentSection:
    return DocumentSection("Before and after", [sample_changes(arm, is_open=n == 0) for n, arm in enumerate(arms)])


def commands_section(made_with: Sequence[str], next_commands: Sequence[str]) -> list[DocumentSection]:
    """Returns the commands that made the document and those to run next, or nothing if they are not known."""
    named = {"This page was made with": made_with, "To run next": next_commands}
    listings: list[Block] = [Listing("\n".join(commands), name) for name, commands in named.items() if commands]
    return [DocumentSection("Commands", listings)] if listings else []
