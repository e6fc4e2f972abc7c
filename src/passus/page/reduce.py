"""Fewer points per line, without hiding anything: ends, and both extremes and the widest gap of every bucket, stay.

Buckets are 2^k values wide and begin at the first value, so that a line that grows changes in its last bucket only, and a curve
does not jump while somebody looks at it. Rows without a value are in no bucket: a metric that is recorded now and then has as
many points as any other.
"""

import numpy as np

MAX_BUCKETS = 200


def kept_rows(values_T: np.ndarray, most: int = MAX_BUCKETS) -> np.ndarray:
    """Returns the rows that are drawn, in order; all of them where there are at most two per bucket.

    Of the rows of a gap only the first is drawn: it breaks the line.
    """
    if bucket_width(len(values_T), most) <= 2:
        return np.arange(len(values_T))
    known = np.flatnonzero(~np.isnan(values_T))
    if not len(known):
        return np.arange(1)
    width = bucket_width(len(known), most)
    is_kept = np.zeros(len(values_T), dtype=bool)
    is_kept[known[[0, -1]]] = True
    if len(known) < known[-1] - known[0] + 1:
        before = _widest_gaps(known, width)
        for ends in (known[before], known[before] + 1, known[before + 1]):
            is_kept[ends] = True
    if width <= 2:
        is_kept[known] = True
        return np.flatnonzero(is_kept)
    starts = np.arange(0, len(known), width)
    for extreme in (np.argmax, np.argmin):
        is_kept[known[_extreme_rows(values_T[known], starts, width, extreme)]] = True
    return np.flatnonzero(is_kept)


def _widest_gaps(known: np.ndarray, width: int) -> np.ndarray:
    """Returns, per bucket that has a gap, which of its values the widest one comes after."""
    before = np.flatnonzero(np.diff(known) > 1)
    rows = known[before + 1] - known[before]
    bucket = before // width
    order = np.lexsort((before, -rows, bucket))
    is_first = np.append(True, np.diff(bucket[order]) > 0)[: len(order)]
    return np.asarray(np.sort(before[order][is_first]))


def bucket_width(rows: int, most: int = MAX_BUCKETS) -> int:
    """Returns the smallest power of two with which there are at most so many buckets."""
    return 1 << max(0, (max(1, rows) - 1) // most).bit_length()


def _extreme_rows(values_T: np.ndarray, starts: np.ndarray, width: int, extreme: object) -> np.ndarray:
    whole = len(values_T) // width
    rows = extreme(values_T[: whole * width].reshape(whole, width), axis=1) + starts[:whole]  # type: ignore[operator]
    if whole < len(starts):
        rows = np.append(rows, starts[whole] + extreme(values_T[starts[whole] :]))  # type: ignore[operator]
    return np.asarray(rows)
