"""Samples of an Inspect log: one row per sample and epoch, from the summaries, with texts from the samples themselves."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from passus.errors import PassusError, shown
from passus.interop.importers.item_numbering import ordinal_name
from passus.interop.importers.options import ReadOptions
from passus.interop.importers.source_files import parse_text, tell
from passus.interop.importers.source_run import SampleRow, item_key
from passus.interop.importers.values import (
    as_list,
    as_object,
    chat_text,
    is_share,
    message_text,
    to_name,
    to_score,
    to_step,
    to_text,
)
from passus.interop.importers.zip_members import ZipMembers

LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Inspect's own values: correct, incorrect, partial, no answer."""
PREFERRED = ("correct", "accuracy", "acc", "score")
"""Keys of a score with several values of which one says whether the answer is right."""
CUT = "...\n(content truncated)"
"""End of a text that a summary holds only in part."""
CUT_OFF = {"max_tokens", "model_length"}


class SampleTexts:
    """The whole samples of a log, read one by one."""

    def __init__(self, members: ZipMembers) -> None:
        self.members = members

    def find(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the sample of a summary; an empty one where it is not there or too large."""
        stem = f"samples/{summary.get('id')}_epoch_{summary.get('epoch')}"
        for name in (f"{stem}.json", f"{stem}/sample.json"):
            if name in self.members.infos:
                try:
                    return as_object(parse_text(self.members.read(name)))
                except PassusError:
                    return {}
        return {}


def rows(
    summaries: Sequence[Mapping[str, Any]], task: str, header: Mapping[str, Any], options: ReadOptions, remarks: list[str],
    name: str, texts: SampleTexts | None = None,
) -> Iterator[SampleRow]:  # fmt: skip
    """Yields the samples. Those without a score are counted, never taken for wrong ones."""
    scorer = _scorer(summaries, header, options, remarks, name)
    items = _Items()
    unscored = 0
    for number, summary in enumerate(summaries):
        sample = texts.find(summary) if texts else dict(summary)
        key = items.key_of(summary, sample)
        epoch = to_step(summary.get("epoch", 1))
        row = SampleRow(options.benchmark or task, key, max(epoch - 1, 0) if epoch is not None else number, None)
        _add_score(row, summary, scorer)
        unscored += row.value is None
        row.tokens = _tokens(summary, header)
        row.gold, row.truncated = _gold(summary.get("target")), _is_truncated(sample)
        if options.texts:
            row.prompt = chat_text(sample.get("input", summary.get("input")))
            row.output = _output(sample)
        yield row
    if unscored:
        tell(remarks, f"{name}: {unscored:,} of {len(summaries):,} samples have no score, or failed with an error")


class _Items:
    """Keys of items. Several samples of the dataset with one content are several items."""

    def __init__(self) -> None:
        self.ids: dict[str, dict[str, int]] = {}

    def key_of(self, summary: Mapping[str, Any], sample: Mapping[str, Any]) -> str:
        number = str(summary.get("id"))
        prompt = chat_text(summary.get("input")) or ""
        if CUT in prompt:
            prompt = chat_text(sample.get("input")) or f"{prompt}\0{number}"
        key = item_key(prompt, _gold(summary.get("target")))
        known = self.ids.setdefault(key, {})
        return ordinal_name(key, known.setdefault(number, len(known)))


def _scorer(
    summaries: Sequence[Mapping[str, Any]], header: Mapping[str, Any], options: ReadOptions, remarks: list[str], name: str
) -> str | None:
    """Returns the scorer whose values count: the one asked for, the headline's, or the first."""
    names: dict[str, None] = {}
    for summary in summaries:
        names |= dict.fromkeys(to_name(key) for key in as_object(summary.get("scores")))
    headline = as_object(as_object(header.get("results")).get("headline"))
    wanted = [options.filter, headline.get("score"), headline.get("scorer"), *names]
    chosen = next((scorer for scorer in wanted if isinstance(scorer, str) and scorer in names), None)
    if len(names) > 1:
        tell(remarks, f"{name}: the values of scorer {chosen!r} count; all are {', '.join(map(repr, list(names)[:5]))}")
    return chosen


def _add_score(row: SampleRow, summary: Mapping[str, Any], scorer: str | None) -> None:
    """Sets the value of a row, or the reason why it has none."""
    error = summary.get("error")
    if error:
        row.error = (to_text(as_object(error).get("message") or error) or "")[:500]
        return
    score = as_object(as_object(summary.get("scores")).get(scorer)) if scorer else {}
    if not score:
        row.error = "not scored"
        return
    value = to_value(score.get("value"))
    row.extracted = to_text(score.get("answer"))
    if is_share(value):
        row.value = value
    else:
        row.error = f"the score is {shown(score.get('value'), 50)}"


def to_value(value: object) -> float | None:
    """Returns a value of a scorer: a letter, a number, a bool, or an object with one of them."""
    if isinstance(value, dict):
        keys = [key for key in PREFERRED if key in value] or list(value)
        chosen = value[keys[0]] if keys and (keys[0] in PREFERRED or len(value) == 1) else None
        return None if isinstance(chosen, dict) else to_value(chosen)
    if isinstance(value, str) and value in LETTERS:
        return LETTERS[value]
    return to_score(value)


def _gold(target: object) -> str | None:
    if isinstance(target, list):
        return "\n".join(to_text(part) or "" for part in target)
    return to_text(target)


def _tokens(summary: Mapping[str, Any], header: Mapping[str, Any]) -> int | None:
    """Returns the output tokens of the evaluated model: graders have entries of their own."""
    usage = as_object(summary.get("model_usage"))
    model = as_object(header.get("eval")).get("model")
    own = [usage[model]] if isinstance(model, str) and model in usage else []
    counted = own or (list(usage.values()) if len(usage) == 1 else [])
    return to_step(as_object(counted[0]).get("output_tokens")) if counted else None


def _is_truncated(sample: Mapping[str, Any]) -> bool | None:
    choices = as_list(as_object(sample.get("output")).get("choices"))
    reason = as_object(choices[0]).get("stop_reason") if choices else None
    return reason in CUT_OFF if isinstance(reason, str) else None


def _output(sample: Mapping[str, Any]) -> str | None:
    choices = as_list(as_object(sample.get("output")).get("choices"))
    message = as_object(as_object(choices[0]).get("message")) if choices else {}
    return message_text(message.get("content"))
