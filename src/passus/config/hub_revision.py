"""Revisions of models and datasets on the hub, written as owner/name@revision.

A run records the commit that a name stands for: owner/name@commit, or owner/name@revision:commit where a revision was asked. No
revision of git has a colon.
"""

import re

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
COMMIT = re.compile(r"[0-9a-f]{40}")


def split_revision(name: str) -> tuple[str, str | None]:
    """Returns the hub id and the revision, or the recorded commit; the revision is None where there is none.

    A number after the @ is a step of a run, not a revision.
    """
    repository, _, revision = name.partition("@")
    is_revision = bool(revision) and not revision.isdigit() and HUB_ID.fullmatch(repository)
    return (repository, _commit_of(revision) or revision) if is_revision else (name, None)


def _commit_of(revision: str) -> str:
    """Returns the commit of revision:commit; empty for any other."""
    commit = revision.rpartition(":")[2]
    return commit if commit != revision and is_commit(commit) else ""


def is_commit(revision: str | None) -> bool:
    return revision is not None and bool(COMMIT.fullmatch(revision))


def named_with_commit(asked: str, commit: str) -> str:
    """Returns the name that a run records, which keeps the revision that was asked."""
    repository, revision = split_revision(asked)
    return f"{repository}@{revision}:{commit}" if revision else f"{repository}@{commit}"


def adopt_commit(asked: str, recorded: str) -> str:
    """Returns the recorded name, with its commit, if the same revision or this very commit was asked."""
    repository, commit = split_revision(recorded)
    if commit is None or not is_commit(commit):
        return asked
    is_same = recorded in (named_with_commit(asked, commit), asked) or split_revision(asked) == (repository, commit)
    return recorded if is_same else asked
