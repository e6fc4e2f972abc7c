"""`passus export`: a trained model as a folder in Hugging Face layout."""

from pathlib import Path
from typing import Literal


def export(model: str, *, out: Path, dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto") -> int:
    """Export a trained model to a folder in Hugging Face layout, with its adapter merged into the weights.

    Parameters
    ----------
    model
        A run (RUN or RUN@step), an adapter, or a model folder.
    out
        New folder for the model.
    dtype
        Data type of the weights. auto keeps the data type of the base model.
    """
    from passus.console import print_next_commands, spinner

    with spinner("exporting"):
        from passus.models.export import export as export_model

        summary = export_model(model, out, dtype)
    print(f"model: {out} ({summary})")
    print_next_commands(f"passus eval {out} --suite abacus/add2")
    return 0
