"""Revisions of models and datasets on the hub, written as owner/name@revision."""

import re

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
COMMIT = re.compile(r"[0-9a-f]{40}")


def split_revision(name: str) -> tuple[str, str | None]:
    """Returns the hub id and the revision of owner/name@revision; the revision is None where there is none.

    A number after the @ is a step of a run, not a revision.
    """
    repository, _, revision = name.partition("@")
    is_revision = bool(revision) and not revision.isdigit() and HUB_ID.fullmatch(repository)
    return (repository, revision) if is_revision else (name, None)


def is_commit(revision: str | None) -> bool:
    return revision is not None and bool(COMMIT.fullmatch(revision))


def adopt_commit(asked: str, recorded: str) -> str:
    """Returns the name with the commit that it meant when the run began, if it is a model that had none."""
    repository, commit = split_revision(recorded)
    same, revision = split_revision(asked)
    return recorded if is_commit(commit) and not is_commit(revision) and same == repository else asked
