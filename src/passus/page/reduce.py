"""Fewer points per line, without hiding anything: the first and the last, both extremes of every bucket, and every gap stay.

Buckets are 2^k rows wide and begin at the first row, so that a line that grows changes in its last bucket only, and a curve
does not jump while somebody looks at it.
"""

import numpy as np

MAX_BUCKETS = 200


def kept_rows(values_T: np.ndarray, most: int = MAX_BUCKETS) -> np.ndarray:
    """Returns the rows that are drawn, in order; all of them where there are at most two per bucket."""
    rows = len(values_T)
    width = bucket_width(rows, most)
    if width <= 2:
        return np.arange(rows)
    is_gap_T = np.isnan(values_T)
    starts = np.arange(0, rows, width)
    highest = _extreme_rows(np.where(is_gap_T, -np.inf, values_T), starts, width, np.argmax)
    lowest = _extreme_rows(np.where(is_gap_T, np.inf, values_T), starts, width, np.argmin)
    gaps = np.flatnonzero(is_gap_T & ~np.append(False, is_gap_T[:-1]))  # the first row of each gap breaks the line
    before, after = gaps - 1, np.flatnonzero(~is_gap_T & np.append(False, is_gap_T[:-1]))
    kept = np.unique(np.concatenate([highest, lowest, gaps, before[before >= 0], after, [0, rows - 1]]))
    return np.asarray(kept[~is_gap_T[kept] | np.isin(kept, gaps)])


def bucket_width(rows: int, most: int = MAX_BUCKETS) -> int:
    """Returns the smallest power of two with which there are at most so many buckets."""
    return 1 << max(0, (max(1, rows) - 1) // most).bit_length()


def _extreme_rows(values_T: np.ndarray, starts: np.ndarray, width: int, extreme: object) -> np.ndarray:
    whole = len(values_T) // width
    rows = extreme(values_T[: whole * width].reshape(whole, width), axis=1) + starts[:whole]  # type: ignore[operator]
    if whole < len(starts):
        rows = np.append(rows, starts[whole] + extreme(values_T[starts[whole] :]))  # type: ignore[operator]
    return np.asarray(rows)
