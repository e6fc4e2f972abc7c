"""All signs of a run."""

from passus.diagnosis.curve_signs import curve_signs
from passus.diagnosis.sample_signs import sample_signs
from passus.diagnosis.settings_signs import settings_signs
from passus.diagnosis.sign import Sign
from passus.diagnosis.signal_signs import signal_signs
from passus.diagnosis.trace import Trace


def read_signs(trace: Trace) -> list[Sign]:
    """Returns every sign that the record can show, there or not. Those it has no data for are left out."""
    return [*curve_signs(trace), *signal_signs(trace), *sample_signs(trace), *settings_signs(trace)]
