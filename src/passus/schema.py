"""The base of every table of an experiment file: frozen, no unknown keys, fields documented by the docstring under them."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True, allow_inf_nan=False)
