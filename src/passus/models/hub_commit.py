"""The commit that the name of a hub model stands for."""

import os.path
from pathlib import Path

from passus.config.hub_revision import is_commit, named_with_commit, split_revision
from passus.models.locate import locate_model
from passus.models.model_files import local_folder


def with_commit(field: str, base: str) -> str:
    """Returns a hub model with the commit that it stands for now. Other models stay as they are."""
    located = locate_model(base) if base else ""
    if not located or os.path.isdir(located) or is_commit(split_revision(located)[1]):
        return base
    commit = Path(local_folder(f"{field} = {base!r}", located)).name  # the cache has one folder per commit
    return named_with_commit(base, commit) if is_commit(commit) else base
