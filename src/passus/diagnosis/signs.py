"""All signs of a run."""

from passus.diagnosis.curve_signs import curve_signs
from passus.diagnosis.sample_signs import sample_signs
from passus.diagnosis.settings_signs import settings_signs
from passus.diagnosis.sign import Sign, in_group
from passus.diagnosis.signal_signs import signal_signs
from passus.diagnosis.trace import Trace


def read_signs(trace: Trace) -> list[Sign]:
    """Returns every sign that the record can show, there or not. Those it has no data for are left out."""
    return [
        *in_group(curve_signs(trace), "accuracy"), *in_group(signal_signs(trace), "signals"),
        *in_group(sample_signs(trace), "samples"), *in_group(settings_signs(trace), "settings"),
    ]  # fmt: skip
