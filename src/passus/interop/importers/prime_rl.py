"""Run folders of prime-rl: `metrics.jsonl`, `configs/*.json` and `rollouts/step_<n>/eval/<subset>/traces.jsonl`.

The subset `all` is read where it is there: `effective` leaves out the episodes that failed. A reward is not stored; it is the
sum of the scores times their weights.
"""

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from passus.interop.importers.evaluations import read_each
from passus.interop.importers.item_numbering import ItemNumbering
from passus.interop.importers.options import ReadOptions, run_name
from passus.interop.importers.points import PointRecorder
from passus.interop.importers.source_files import read_object, read_rows, tell
from passus.interop.importers.source_run import SampleReader, SampleRow, SourceRun
from passus.interop.importers.values import (
    as_list,
    as_object,
    chat_text,
    flatten,
    is_share,
    message_text,
    numbers_of,
    to_name,
    to_number,
    to_text,
)  # fmt: skip

KIND = "prime-rl run"
METRICS = "metrics.jsonl"
TRACES = re.compile(r"(?:^|/)rollouts/step_(\d{1,15})/eval/(all|effective)/traces\.jsonl$")
CONFIGS = ("rl.json", "orchestrator.json", "trainer.json", "sft.json", "evals.json")
LIMITS = {"max_turns", "max_input_tokens", "max_output_tokens", "max_total_tokens", "context_length"}
"""Stop conditions of a trace that was cut off."""
DEFAULT_BENCHMARK = "eval"


def read(paths: Sequence[Path], options: ReadOptions) -> list[SourceRun]:
    """Reads one run folder from its metrics and its traces."""
    folder = run_folder(paths[0])
    run = SourceRun(run_name(folder, options), KIND, list(paths))
    run.settings = _settings(folder, run.remarks)
    recorder = PointRecorder(run.points)
    for path in paths:
        if path.name == METRICS:
            for row in read_rows(path, run.remarks):
                values = ((name, value) for name, value in numbers_of(row) if name not in ("step", "time"))
                recorder.add_row(row.get("step"), values, to_number(row.get("time")))
    run.remarks += recorder.remarks()
    run.samples = _sample_readers(paths, options, run.remarks)
    return [run]


def run_folder(path: Path) -> Path:
    """Returns the run folder of a file in it."""
    match = TRACES.search(path.as_posix())
    return path.parents[4] if match else path.parent


def is_run_folder(folder: Path) -> bool:
    """Returns whether a folder with a metrics.jsonl has other files of prime-rl too."""
    return (folder / "rollouts").is_dir() or (folder / "configs" / CONFIGS[0]).is_file()


def _settings(folder: Path, remarks: list[str]) -> dict[str, Any]:
    """Returns the resolved settings, of which `rl.json` holds those of all components."""
    files = [path for name in CONFIGS if (path := folder / "configs" / name).is_file()]
    return flatten(next(iter(read_each(files[:1], read_object, remarks, may_be_empty=True)), {}))


def _sample_readers(paths: Sequence[Path], options: ReadOptions, remarks: list[str]) -> dict[int, list[SampleReader]]:
    by_step: dict[int, dict[str, Path]] = defaultdict(dict)
    for path in paths:
        if match := TRACES.search(path.as_posix()):
            by_step[int(match[1])][match[2]] = path
    lossy = [step for step, subsets in by_step.items() if "all" not in subsets]
    if lossy:
        tell(remarks, f"step {min(lossy)}: only eval/effective was found, which leaves out the episodes that failed")
    files = {step: subsets.get("all") or subsets["effective"] for step, subsets in sorted(by_step.items())}
    return {step: [partial(read_samples, path, options, remarks)] for step, path in files.items()}


def read_samples(path: Path, options: ReadOptions, remarks: list[str]) -> Iterator[SampleRow]:
    """Yields one sample per episode of one step."""
    places = _Places.of(read_rows(path, remarks), options)
    failed = outside = 0
    for episode in read_rows(path, remarks):
        benchmark, item, sample = places.place(episode, options)
        trace = main_trace(episode)
        row = SampleRow(benchmark, item, sample, value=0.0)
        if episode.get("ok") is False or trace is None or trace.get("ok") is False:
            failed += 1
        else:
            row.value = episode_reward(trace)
            outside += not is_share(row.value)
        if not is_share(row.value):
            row.value, row.error = None, f"the reward is {row.value}"
        _add_texts(row, episode, trace or {}, options)
        yield row
        if len(_agents(episode)) > 1:
            tell(remarks, f"episodes have several agents ({', '.join(_agents(episode))}): the first trainable one counts")
    if failed:
        tell(remarks, f"{path.parents[2].name}: {failed:,} episodes failed and count as wrong")
    if outside:
        tell(remarks, f"{path.parents[2].name}: {outside:,} rewards are not from 0 to 1, and their samples have no verdict")


@dataclass
class _Places:
    """The item and the sample of each episode. The samples of an item share a group; a second group is a second item.

    Where all items have equally many groups, the evaluation was repeated after a resume, and their samples are put together.
    """

    numbering: ItemNumbering[tuple[str, str]]
    items: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """Items by benchmark, key and group."""
    samples: Counter[tuple[str, str]] = field(default_factory=Counter)

    @classmethod
    def of(cls, episodes: Iterable[Mapping[str, Any]], options: ReadOptions) -> "_Places":
        groups = {(*_identity(episode, options), _group(episode)) for episode in episodes}
        return cls(ItemNumbering(Counter((benchmark, key) for benchmark, key, _ in groups)))

    def place(self, episode: Mapping[str, Any], options: ReadOptions) -> tuple[str, str, int]:
        benchmark, key = _identity(episode, options)
        group = benchmark, key, _group(episode)
        if group not in self.items:
            self.items[group], _ = self.numbering.place((benchmark, key), key)
        item = self.items[group]
        sample = self.samples[benchmark, item]
        self.samples[benchmark, item] += 1
        return benchmark, item, sample


def _group(episode: Mapping[str, Any]) -> str:
    return str(as_object(episode.get("group")).get("id"))


def main_trace(episode: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the trace of the agent that is evaluated: the first trainable one."""
    traces = [trace for trace in as_list(episode.get("traces")) if isinstance(trace, dict)]
    trainable = [trace for trace in traces if as_object(trace.get("agent")).get("trainable") is not False]
    return next(iter(trainable or traces), None)


def episode_reward(trace: Mapping[str, Any]) -> float:
    """Returns the sum of the scores times their weights."""
    rewards = [reward for reward in as_object(trace.get("rewards")).values() if isinstance(reward, dict)]
    return sum((to_number(r.get("score")) or 0.0) * (to_number(r.get("weight", 1.0)) or 0.0) for r in rewards)


def _agents(episode: Mapping[str, Any]) -> list[str]:
    names = [as_object(as_object(trace).get("agent")).get("name", "agent") for trace in as_list(episode.get("traces"))]
    return sorted({to_name(name) for name in names})


def _identity(episode: Mapping[str, Any], options: ReadOptions) -> tuple[str, str]:
    """Returns the benchmark and the key of the item. An `idx` may be generated anew by each run, and tells nothing."""
    task = as_object(episode.get("task"))
    data = {key: value for key, value in as_object(task.get("data")).items() if key != "idx"}
    key = task.get("key")
    if isinstance(key, str) and key != task.get("hash"):
        content = key
    else:
        content = json.dumps(data or task.get("data"), sort_keys=True, default=str)
    environment = as_object(episode.get("env"))
    name = options.benchmark or to_name(environment.get("name") or environment.get("id") or "")
    return name or DEFAULT_BENCHMARK, hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _add_texts(row: SampleRow, episode: Mapping[str, Any], trace: Mapping[str, Any], options: ReadOptions) -> None:
    calls = [call for call in as_list(trace.get("calls")) if isinstance(call, dict) and not call.get("error")]
    counts = [to_number(as_object(call.get("usage")).get("completion_tokens", "")) for call in calls]
    known = [int(count) for count in counts if count is not None and count >= 0]
    row.tokens = sum(known) if known else None
    row.truncated = str(trace.get("stop_condition")) in LIMITS or bool(calls and calls[-1].get("finish_reason") == "length")
    data = as_object(as_object(episode.get("task")).get("data"))
    row.gold = to_text(data.get("answer"))
    if options.texts:
        row.prompt = chat_text(data.get("prompt"))
        sampled = [node for node in as_list(trace.get("nodes")) if isinstance(node, dict) and node.get("sampled")]
        row.output = message_text(as_object(sampled[-1].get("message")).get("content")) if sampled else None
