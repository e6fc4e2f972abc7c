"""passus measures, draws and explains how language models learn.

    import passus

    runs = passus.load("runs/families")     # run folders of passus, or imported ones
    runs.compare(by="method.name")
    runs.plot(y="length")

Names are resolved when they are first used, so `import passus` takes no time and looking at runs needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from passus.api.commands import grade, load, read, run
    from passus.api.runs import Run, Runs
    from passus.errors import PassusError, UsageError
    from passus.interop.recorder import Recorder

__version__ = "0.3.0.dev0"
__all__ = ["PassusError", "Recorder", "Run", "Runs", "UsageError", "grade", "load", "read", "run"]
PLACES = {
    "load": "passus.api.commands", "run": "passus.api.commands", "grade": "passus.api.commands", "read": "passus.api.commands",
    "Runs": "passus.api.runs", "Run": "passus.api.runs", "Recorder": "passus.interop.recorder",
    "PassusError": "passus.errors", "UsageError": "passus.errors",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"module 'passus' has no attribute {name!r}")
    return getattr(import_module(PLACES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
