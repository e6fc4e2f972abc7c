"""The tables of an experiment file: documented fields with sound defaults, checked before anything runs.

Everything here is light: no torch, so that `--dry-run`, `explain` and the runner that starts the arms answer at once.
"""

import os
import tomllib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from passus.errors import UsageError, nearest
from passus.methods.presets import PRESETS, Method
from passus.schema import Section
from passus.tasks.lookup import Item, benchmark_name, check_task, expand, suite, training_items
from passus.tasks.prompt import AUTO

LIVE, FROZEN = "live", "frozen"
"""Readers by what they are to the policy: itself as it stands, and as it was before training. Others are models by name."""
NOTHING, ANOTHER = "none", "shuffled"
CONTROLS = (NOTHING, ANOTHER)
"""What the frozen policy makes of no text, and of another item's."""


class ModelTable(Section):
    base: str
    """A shipped model (`nano/qwen3`), a folder in Hugging Face layout, a run (`RUN` or `RUN@step`), or a hub id."""
    tuning: Literal["live", "frozen"] = "live"
    """`live`: all weights train. `frozen`: the base stays as it is and a LoRA adapter trains."""
    rank: int = Field(16, ge=1, le=1024)
    """Of the adapter's matrices; frozen tuning only."""
    alpha: float = Field(32.0, gt=0, le=1e4)
    """The adapter's product is scaled by alpha / rank."""
    targets: list[str] = Field(["all-linear"], min_length=1)
    """Layers that get an adapter, by the end of their names (`q_proj`); `all-linear` is every one of the blocks."""
    prompt: str = AUTO
    """How a question is put: `auto`, as the benchmark asks, with \\boxed{} for the answer; or a text with {question} in it."""
    system: str = ""
    """A system line in front, for templates that take one; models without a template read it first."""
    thinking: Literal["default", "on", "off"] = "default"
    """The chat template's thinking switch, where it has one; the answer is taken after the thinking ends."""

    @field_validator("prompt")
    @classmethod
    def _has_question(cls, value: str) -> str:
        if value != AUTO and "{question}" not in value:
            raise ValueError("must be auto, or hold {question}, where the question goes")
        return value


class TaskTable(Section):
    name: str = "abacus"
    """Where training prompts and their verifier come from: `abacus` (all of it), `abacus/add2+sub` (some), `words`, `gsm8k`,
    `math`, `gsm8k+math`, a file (`my.jsonl?answer=gold`), or a hub dataset (`hub:owner/name?split=train&problem=question`)."""
    weights: list[Annotated[int, Field(ge=1, le=1000)]] = Field([])
    """Shares of the tasks in `name`, in its order: [3, 1] is three prompts of the first for one of the second; [] is equal."""
    limit: int = Field(0, ge=0)
    """A finite training set of this many items, shuffled anew in every epoch; 0 takes all there are (abacus never ends)."""
    order: Literal["stream", "prioritised"] = "stream"
    """`stream`: as they come. `prioritised`: a finite set's items, drawn in proportion to 1 - their success rate so far."""
    hard_from: int = Field(0, ge=0)
    """From this step on only the harder half of a finite set, by the base model's success rate; 0 is never."""

    @property
    def is_tracked(self) -> bool:
        """Whether success rates of the items decide what is drawn."""
        return self.order == "prioritised" or self.hard_from > 0

    def items(self, seed: int, first: int, count: int) -> list[tuple[int, Item]]:
        """Of the training stream, from place `first` on, each with its place."""
        return training_items(self.name, self.limit, seed, first, count, tuple(self.weights))


class RewardTable(Section):
    correct: float = Field(1.0, ge=-1e6, le=1e6)
    """What a right answer is worth."""
    wrong: float = Field(0.0, ge=-1e6, le=1e6)
    """What a wrong answer is worth."""
    unparseable: float = Field(0.0, ge=-1e6, le=1e6)
    """What a completion without an answer is worth."""
    truncated: float = Field(0.0, ge=-1e6, le=1e6)
    """What a completion that the token limit cut off is worth (see also method.mask_truncated)."""
    format: float = Field(0.0, ge=-1e6, le=1e6)
    """Added where a completion ends by itself with one \\boxed{...}, whatever is in it."""
    function: str = ""
    """`module:function` in TRL's signature, whose value is added; `reward = "module:function"` takes it alone."""
    weight: float = Field(1.0, ge=-1e6, le=1e6)
    """What the function's value is multiplied by."""
    model: str = ""
    """A reward model (a run of one, a folder, a hub id) whose score of a completion is added."""
    model_weight: float = Field(1.0, ge=-1e6, le=1e6)
    """What its score is multiplied by."""
    reader: str = ""
    """Who answers from the policy's reasoning and is graded in its place: `live` (itself), `frozen` (as it was), or a model."""

    @field_validator("reader")
    @classmethod
    def _is_no_control(cls, value: str) -> str:
        if value in CONTROLS:
            raise ValueError(
                f"must be live, frozen or a model: {value} is a control of eval.readers, and tells nothing of a text"
            )
        return value


class TrainTable(Section):
    steps: int = Field(120, ge=1)
    """Steps of the run. A finished run may be given more."""
    prompts: int = Field(16, ge=1)
    """P: prompts a step."""
    samples: int = Field(8, ge=1)
    """G: completions of each prompt, compared with each other."""
    max_tokens: int = Field(1024, ge=1)
    """Longest completion in training, in tokens."""
    temperature: float = Field(1.0, ge=0.01)
    """Of training rollouts, on the sampler's side and the trainer's."""
    learning_rate: float = Field(1e-6, ge=0, le=1)
    """AdamW's, after the warm-up."""
    warmup: int = Field(0, ge=0)
    """Updates over which the learning rate rises from 0."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """What the learning rate does after the warm-up: stay, or fall towards 0, reached one update after the last."""
    weight_decay: float = Field(0.0, ge=0)
    """AdamW's, decoupled."""
    betas: list[Annotated[float, Field(ge=0, lt=1)]] = Field([0.9, 0.999], min_length=2, max_length=2)
    """AdamW's."""
    max_grad_norm: float = Field(1.0, ge=0)
    """Gradients are scaled down to this norm; 0 leaves them alone."""
    updates: int = Field(1, ge=1)
    """Optimizer updates a rollout: its prompts are dealt out into this many equal parts."""
    micro_tokens: int = Field(16384, ge=1)
    """Most tokens (with padding) in one forward and backward pass. Changes memory and speed, not the result."""


class EvalTable(Section):
    every: int = Field(10, ge=1)
    """Steps between eval points; step 0 and the last step always have one."""
    suite: list[str] = Field(["abacus/add2"], min_length=1)
    """Benchmarks, each its own panel or line, suites (`kimi12`, `acemath7`, `mel5`, `abacus`), files (`mine.jsonl`)."""
    samples: int = Field(4, ge=1)
    """K: completions of each item."""
    temperature: float | list[float] = 1.0
    """0 is greedy; a list evaluates each."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Draw only from the likeliest tokens that together have this probability."""
    top_k: int = Field(0, ge=0)
    """Draw only from this many likeliest tokens; 0 for all."""
    max_tokens: int = Field(0, ge=0)
    """Longest completion in evaluation; 0 takes train.max_tokens."""
    on_fall: Literal["nothing", "warn", "stop", "return"] = "nothing"
    """When accuracy falls from its best beyond noise: note it, end there, or go back to the best at half the learning rate."""
    limit: int = Field(0, ge=0)
    """First items of each benchmark only; 0 for all. For trying things out: scores over fewer items are other scores."""

    readers: list[str] = Field([])
    """Who else answers from the policy's reasoning: `live`, `frozen`, models; `none` and `shuffled` are controls without it."""

    @field_validator("readers")
    @classmethod
    def _no_reader_twice(cls, value: list[str]) -> list[str]:
        if len(set(value)) < len(value):
            raise ValueError("must name each reader once")
        return value

    @property
    def temperatures(self) -> list[float]:
        return self.temperature if isinstance(self.temperature, list) else [self.temperature]

    @field_validator("temperature")
    @classmethod
    def _temperatures(cls, value: float | list[float]) -> float | list[float]:
        values = value if isinstance(value, list) else [value]
        if not values or any(0 != v < 0.01 for v in values) or len(set(values)) < len(values):
            raise ValueError("must be 0 (greedy), 0.01 or more, or a list of such numbers, all different")
        return value

    @property
    def benchmarks(self) -> list[str]:
        """What the suite's names stand for."""
        return expand(self.suite)

    @field_validator("suite")
    @classmethod
    def _no_benchmark_twice(cls, value: list[str]) -> list[str]:
        """As run folders spell them."""
        value = [row.name if (row := suite(name)) else benchmark_name(name) for name in value]
        if len(set(value)) < len(value):
            raise ValueError("must name each benchmark once")
        return value


class CandidatesTable(Section):
    generators: list[str] = Field([])
    """Models (or `RUN@step`) whose answers a reward model learns from and chooses among; each is an arm, and comes first."""
    temperatures: list[Annotated[float, Field(ge=0.01)]] = Field([1.0], min_length=1)
    """At which each of them answers."""
    problems: int = Field(1000, ge=1)
    """Of the task, to learn from."""
    samples: int = Field(1, ge=1)
    """Answers of a generator to each of them, at every temperature."""
    pool: int = Field(64, ge=2)
    """Candidates of an eval item, drawn from the answers of all generators."""
    files: list[str] = Field([])
    """Parquet files of candidates, beside the generators' or in their place."""

    @field_validator("generators", "temperatures", "files")
    @classmethod
    def _nothing_twice(cls, value: list) -> list:
        if len(set(value)) < len(value):
            raise ValueError("must name each once")
        return value


class JudgeTable(Section):
    url: str = ""
    """An OpenAI-compatible endpoint (`http://localhost:8000/v1`) for items that no rule can grade, else left out."""
    model: str = ""
    """The judge's name there. Its key is read from $PASSUS_JUDGE_KEY, and recorded nowhere."""
    timeout: float = Field(60.0, gt=0, le=3600)
    """Seconds for one answer; what takes longer is an `error`."""

    @field_validator("url")
    @classmethod
    def _is_web(cls, value: str) -> str:
        if value and not value.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return value


class RunTable(Section):
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`auto` takes CUDA where there is one."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the weights in use; `auto` is bfloat16 (with a float32 master copy) on cards that have it, and float32 elsewhere."""
    threads: int = Field(0, ge=0)
    """CPU threads of an arm; 0 shares the cores out. Recorded, and used again on resume: other threads, other bits."""
    save_every: int = Field(20, ge=1)
    """Steps between checkpoints; the last step always has one."""
    keep: int = Field(2, ge=0)
    """Checkpoints to keep, newest first; 0 keeps all."""


class ChartTable(Section):
    kind: Literal["curves", "grid", "heatmap", "readers", "choice", "pleasing"] = "curves"
    """`curves`: one line an arm."""
    y: str = "accuracy"
    """`accuracy`, `length`, or any recorded metric by its name."""


class Config(Section):
    """One arm, resolved: what config.toml in a run folder holds."""

    name: str = ""
    """The experiment's name; its file's, if not given."""
    seed: int = Field(0, ge=0, lt=2**31)
    """All draws of a run derive from it. Arms with one seed share prompts and noise, and so are paired."""
    model: ModelTable
    task: TaskTable = TaskTable()
    method: Method = PRESETS["grpo"]
    reward: RewardTable = RewardTable()
    train: TrainTable = TrainTable()
    eval: EvalTable = EvalTable()
    judge: JudgeTable = JudgeTable()
    candidates: CandidatesTable = CandidatesTable()
    run: RunTable = RunTable()
    chart: ChartTable = ChartTable()

    @property
    def eval_tokens(self) -> int:
        return self.eval.max_tokens or self.train.max_tokens

    @model_validator(mode="after")
    def _possible(self) -> "Config":
        check_task(self.task.name, self.task.weights)
        if self.task.is_tracked and not self.task.limit:
            asked = 'order = "prioritised"' if self.task.order == "prioritised" else f"hard_from = {self.task.hard_from}"
            raise ValueError(f"task.{asked} needs a finite training set: write task.limit, such as limit = 500")
        if self.method.scores and not (self.candidates.generators or self.candidates.files):
            raise ValueError(
                f"method.name = {self.method.name!r} learns from candidates: write [candidates] generators = "
                '["nano/qwen3", ...], or files = ["candidates.parquet"]'
            )
        if self.candidates.generators and not (self.method.scores or self.method.draws):
            raise ValueError(
                f"[candidates] generators with method.name = {self.method.name!r}, which learns from its own answers: write "
                'method.name = "reward_model", or leave [candidates] out'
            )
        if self.train.samples < 2 and self.method.loss not in ("likelihood", "none"):
            raise ValueError(
                f"train.samples = {self.train.samples}: {self.method.name} compares the samples of a prompt with each other; "
                "write 2 or more (8 is usual)"
            )
        if self.method.loss == "likelihood" and (self.method.correction_cap or self.method.rounds > 1):
            raise ValueError(
                f"method.name = {self.method.name!r} shows solutions and samples nothing, so there is nothing to correct or "
                "to draw again: write correction_cap = 0 and rounds = 1"
            )
        if self.method.loss == "likelihood" and (paid := self.reward.reader or self.reward.model):
            raise ValueError(f"[reward] has {paid!r}: {self.method.name} has no rewards; leave it out")
        if self.method.scores:
            self._check_scorer()
        if self.method.lessons != "off" and self.reward.reader:
            raise ValueError(
                f"reward.reader = {self.reward.reader!r} with method.lessons: lessons are about the policy's own answers, "
                'which then are not paid for; write reader = "", or lessons = "off"'
            )
        if bool(self.judge.url) != bool(self.judge.model):
            raise ValueError("[judge] has url or model alone: write both, or neither")
        if self.model.targets != ["all-linear"] and "all-linear" in self.model.targets:
            raise ValueError(f'model.targets = {self.model.targets}: write ["all-linear"] alone, or layers by name')
        if self.method.anchor == "sampler" and self.method.correction_cap:
            raise ValueError(
                "method.correction_cap corrects the trainer's anchor for the sampler's log-probs; with method.anchor = "
                '"sampler" there is nothing to correct: write anchor = "trainer", or correction_cap = 0'
            )
        if self.method.loss == "squared" and (self.method.ratio != "sequence_sum" or self.method.average != "sum"):
            raise ValueError(
                f'method.loss = "squared" is of whole sequences, not with ratio = "{self.method.ratio}" and average = '
                f'"{self.method.average}": write ratio = "sequence_sum" and average = "sum"'
            )
        if self.train.prompts % self.train.updates:
            raise ValueError(
                f"train.updates = {self.train.updates} does not divide train.prompts = {self.train.prompts}; "
                "each update takes an equal share of the prompts"
            )
        return self

    def _check_scorer(self) -> None:
        """What a reward model's training does not know is refused, and not passed over."""
        unused = {
            "train.updates": self.train.updates > 1,
            "eval.on_fall": self.eval.on_fall != "nothing",
            "eval.readers": bool(self.eval.readers),
            "[reward]": self.reward != RewardTable(),
            "[judge]": bool(self.judge.url),
        }
        if given := [key for key, is_set in unused.items() if is_set]:
            raise ValueError(
                f"{given[0]} with method.name = {self.method.name!r}, which learns from graded candidates, one update a step: "
                "leave it out"
            )


MAY_CHANGE = ("name", "train.steps", "judge.url", "judge.timeout", "run.save_every", "run.keep", "chart.kind", "chart.y")
"""Keys that may differ when a run is continued; the rest would make it another run."""

NOT_YET = {
    "stage": "several stages in one experiment; run one experiment a stage, with model.base = RUN@step",
    "task.max_prompt_tokens": "a filter on prompt length; a prompt that does not fit the context is refused at the start",
    "eval.stop": "stop strings; the model's end tokens stop it",
    "run.best": "keeping the best checkpoint by a rule; run.keep = 0 keeps them all",
}
"""Keys (some with one value) that users know from elsewhere, and what stands in for them today."""


def resolve(tables: Mapping[str, Any], source: str) -> Config:
    """Defaults filled in, the method's preset under its overrides, everything checked."""
    tables = dict(tables)
    if isinstance(tables.get("reward"), str):
        tables["reward"] = {"function": tables["reward"], "correct": 0.0}
    _refuse_not_yet(tables, source)
    method = tables.get("method", {})
    if isinstance(method, dict):
        preset = method.get("name", "grpo")
        if not isinstance(preset, str) or preset not in PRESETS:
            raise UsageError(
                f"{source}: method.name = {preset!r}",
                expected=f"one of: {', '.join(PRESETS)}",
                write=nearest(str(preset), PRESETS),
            )
        tables["method"] = PRESETS[preset].model_dump() | method
    try:
        return Config.model_validate(tables)
    except ValidationError as error:
        raise _explain_refusal(error, source) from None


def _refuse_not_yet(tables: Mapping[str, Any], source: str) -> None:
    for entry, reason in NOT_YET.items():
        key, _, only = entry.partition("=")
        value: Any = tables
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None and only in ("", value):
            raise UsageError(f"{source}: {key} = {value!r}: not yet: {reason}")


def _explain_refusal(error: ValidationError, source: str) -> UsageError:
    """pydantic's first complaint, in our form."""
    detail = error.errors()[0]
    where = [str(part) for part in detail["loc"] if not str(part).startswith(("list[", "float"))]
    key = ".".join(where)
    if detail["type"] == "extra_forbidden":
        return UsageError(f"{source}: unknown key {key}", expected="`passus explain` lists all keys", write=_nearest_key(key))
    if detail["type"] == "missing":
        return UsageError(f"{source}: {key} is missing", expected=_documentation(key), write=_example(key))
    if detail["type"] == "value_error" and not where:
        return UsageError(f"{source}: {detail['ctx']['error']}")
    expected = detail["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return UsageError(f"{source}: {key} = {detail['input']!r}", expected=f"{expected}   ({_documentation(key)})")


def _nearest_key(key: str) -> str | None:
    """In the same table, if that is a table; else anywhere."""
    table, dot, word = key.rpartition(".")
    siblings = [k.removeprefix(f"{table}.") for k in fields() if k.startswith(f"{table}.")] if dot else []
    found = nearest(word, siblings)
    return f"{table}.{found}" if found else nearest(key, [*fields(), *Config.model_fields]) if not siblings else None


def _example(key: str) -> str | None:
    return {"model": '[model]\n         base = "nano/qwen3"', "model.base": 'base = "nano/qwen3"'}.get(key)


def _documentation(key: str) -> str:
    field = fields().get(key)
    return (field.description or key) if field else key


def fields() -> dict[str, Any]:
    """Every key of an experiment file with its pydantic field."""
    found: dict[str, Any] = {}
    for name, field in Config.model_fields.items():
        table = field.annotation
        if isinstance(table, type) and issubclass(table, Section):
            found |= {f"{name}.{key}": inner for key, inner in table.model_fields.items()}
        else:
            found[name] = field
    return found


def flatten(config: Config) -> dict[str, Any]:
    """{dotted key: value}."""
    flat: dict[str, Any] = {}
    for key, value in config.model_dump().items():
        flat |= {f"{key}.{k}": v for k, v in value.items()} if isinstance(value, dict) else {key: value}
    return flat


def differences(recorded: Config, asked: Config) -> list[str]:
    """What stands in the way of continuing a recorded run under this config; a line a key."""
    old, new = flatten(recorded), flatten(asked)
    lines = [
        f"{key}: {old[key]!r} recorded, {new[key]!r} asked" for key in old if old[key] != new[key] and key not in MAY_CHANGE
    ]
    if old["train.steps"] != new["train.steps"] and old["train.schedule"] != "constant":
        lines.append(
            f"train.steps: {old['train.steps']} recorded, {new['train.steps']} asked, and the {old['train.schedule']} schedule "
            "depends on it"
        )
    return lines


def adopt_recorded(asked: Config, recorded: Config) -> Config:
    """Where the experiment leaves it to passus ("auto"), a continued run goes on as it began."""
    run = {key: getattr(recorded.run, key) for key in ("device", "dtype", "threads") if getattr(asked.run, key) in ("auto", 0)}
    prompt = recorded.model.prompt if asked.model.prompt == AUTO else asked.model.prompt
    model = asked.model.model_copy(update={"prompt": prompt})
    return asked.model_copy(update={"run": asked.run.model_copy(update=run), "model": model})


def default_threads(jobs: int = 1) -> int:
    """The cores that this process may use, shared out among arms that run at the same time."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // jobs)


def to_toml(config: Config) -> str:
    lines, tables = [], []
    for key, value in config.model_dump().items():
        if isinstance(value, dict):
            tables += ["", f"[{key}]", *(f"{k} = {toml_value(v)}" for k, v in value.items())]
        else:
            lines.append(f"{key} = {toml_value(value)}")
    return "\n".join(lines + tables) + "\n"


def toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = "".join(f"\\u{ord(c):04x}" if ord(c) < 32 or c in '"\\\x7f' else c for c in value)
        return f'"{escaped}"'
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return repr(value)


def from_toml(text: str, source: str) -> Config:
    return resolve(tomllib.loads(text), source)


def eval_config(
    suite: str,
    samples: int,
    temperature: float,
    max_tokens: int,
    limit: int,
    model: Mapping[str, Any],
    judge: Mapping[str, Any],
) -> Config:
    """What a command line asks for, as a config whose other tables do not matter."""
    asked = {
        "suite": [name.strip() for name in suite.split(",")],
        "samples": samples,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "limit": limit,
    }
    return resolve({"model": model, "eval": asked, "judge": judge}, "command line")
