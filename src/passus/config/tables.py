"""The tables of an experiment file: documented fields with sound defaults.

The docstring under a field is what `passus explain` prints. `resolve.py` fills the tables in; `checks.py` refuses combinations
of fields that cannot work. Nothing here loads torch, so that `--dry-run`, `explain` and the launcher answer at once.
"""

import re
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from passus.config import checks
from passus.config.fault_table import FaultTable
from passus.grading.verdict import Extract
from passus.methods.presets import PRESETS, Method
from passus.schema import Section
from passus.tasks.item import Item
from passus.tasks.judge_url import check_judge_url
from passus.tasks.lookup import benchmark_name, expand_suites, find_suite, training_items
from passus.tasks.prompt import AUTO

LIVE, FROZEN = "live", "frozen"
"""CoT readers by their relation to the policy: its current weights, and those before training. Others are models by name."""
NOTHING, ANOTHER = "none", "shuffled"
CONTROLS = (NOTHING, ANOTHER)
"""Control readers: the frozen policy given no reasoning, and given the reasoning of another item."""

DEFAULT_CANDIDATE_PROBLEMS = 1000
BASE_RATE_SAMPLES = 10
"""Samples of the base model per training item for its first success rate, where task.order needs one (as in Kimi k1.5)."""

Kind = Literal["rl", "sft", "reward_model", "candidates"]


class LoraTable(Section):
    rank: int = Field(16, ge=1, le=1024)
    """Rank of the adapter's matrices."""
    alpha: float = Field(32.0, gt=0, le=1e4)
    """Scales the adapter's product by alpha / rank."""
    targets: list[str] = Field(["all-linear"], min_length=1)
    """Layers that get an adapter, by the end of their names (`q_proj`); `all-linear` is every linear layer of the blocks."""


class ModelTable(Section):
    base: str
    """Starting weights: a shipped model (`nano/qwen3`), a Hugging Face folder, a run (`RUN` or `RUN@step`), or a hub id."""
    tuning: Literal["live", "frozen"] = "live"
    """`live` is full fine-tuning; `frozen` trains a LoRA adapter on a frozen base."""
    lora: LoraTable = LoraTable()
    """LoRA settings (rank, alpha, targets), used with tuning = "frozen"."""
    prompt: str = AUTO
    """Prompt of a question: `auto` follows the benchmark and asks for \\boxed{}; else a text that contains {question}."""
    system: str = ""
    """System message, for chat templates that take one; models without a template read it before the question."""
    thinking: Literal["default", "on", "off"] = "default"
    """Thinking switch of the chat template, where it has one. Answers are read after the thinking ends."""
    lossy_prompts: float = Field(0.01, ge=0, le=1)
    """Largest share of prompts, per benchmark and task, that the tokenizer may fail to represent. A run with more is refused,
    because the model would not see its questions; 1 allows all."""

    @field_validator("prompt")
    @classmethod
    def _has_question(cls, value: str) -> str:
        if value != AUTO and "{question}" not in value:
            raise ValueError("must be auto, or contain {question} where the question goes")
        return value


class TaskTable(Section):
    name: str = "abacus"
    """Source of training prompts and their verifier: `abacus` (all of it), `abacus/add2+sub` (some), `words`, `gsm8k`, `math`,
    a weighted mixture (`gsm8k*3+math`), a file (`my.jsonl?answer=gold`), or `hub:owner/name?split=train&problem=question`."""
    limit: int = Field(0, ge=0)
    """Size of a finite training set, reshuffled every epoch; 0 takes all items (abacus never ends).
    For candidates it is the number of problems per generator, and 0 means 1000."""
    order: str = "stream"
    """Order of training items: `stream`, `prioritised` (probability proportional to 1 - success rate), `hard-from-STEP` (only
    the harder half, by the base model's success rate, from that step on), or `prioritised+hard-from-STEP`."""

    @field_validator("name")
    @classmethod
    def _has_positive_weights(cls, value: str) -> str:
        if re.search(r"\*0*(?:\+|$)", value):
            raise ValueError("must have weights of 1 or more, such as gsm8k*3+math")
        return value

    @field_validator("order")
    @classmethod
    def _is_order(cls, value: str) -> str:
        if not re.fullmatch(r"stream|prioritised|(prioritised\+)?hard-from-[1-9]\d{0,8}", value):
            raise ValueError("must be stream, prioritised, hard-from-STEP or prioritised+hard-from-STEP (hard-from-75)")
        return value

    @property
    def mixture(self) -> tuple[str, tuple[int, ...]]:
        """The name without weights, and the weight of each of its tasks; () where all are equal."""
        return split_weights(self.name)

    @property
    def source(self) -> str:
        """The name without weights."""
        return self.mixture[0]

    @property
    def is_prioritised(self) -> bool:
        return self.order.startswith("prioritised")

    @property
    def hard_from(self) -> int:
        """First step that draws only the harder half; 0 is never."""
        return int(self.order.rpartition("hard-from-")[2]) if "hard-from-" in self.order else 0

    @property
    def is_tracked(self) -> bool:
        """Whether the success rates of items decide which come next."""
        return self.order != "stream"

    def items(self, seed: int, first: int, count: int) -> list[tuple[int, Item]]:
        """Returns `count` items of the training stream from place `first` on, each with its place."""
        source, weights = self.mixture
        return training_items(source, self.limit, seed, first, count, weights)


@lru_cache(maxsize=64)
def split_weights(name: str) -> tuple[str, tuple[int, ...]]:
    """Splits `gsm8k*3+math` into `gsm8k+math` and (3, 1)."""
    parts = [re.fullmatch(r"(.+?)(?:\*(\d{1,4}))?", part) for part in name.split("+")]
    if not any(part and part[2] for part in parts):
        return name, ()
    return "+".join(part[1] for part in parts if part), tuple(int(part[2] or 1) for part in parts if part)


class RewardValues(Section):
    correct: float = Field(1.0, ge=-1e6, le=1e6)
    """Reward of a right answer."""
    wrong: float = Field(0.0, ge=-1e6, le=1e6)
    """Reward of a wrong answer."""
    unparseable: float = Field(0.0, ge=-1e6, le=1e6)
    """Reward of a completion without an answer."""
    truncated: float = Field(0.0, ge=-1e6, le=1e6)
    """Reward of a completion that reached the token limit (see also method.mask_truncated)."""
    format: float = Field(0.0, ge=-1e6, le=1e6)
    """Added to a completion that ends by itself with one \\boxed{...}, right or wrong."""
    function: float = Field(1.0, ge=-1e6, le=1e6)
    """Multiplies the value of reward.function."""
    model: float = Field(1.0, ge=-1e6, le=1e6)
    """Multiplies the score of reward.model."""

    @property
    def pays_verdicts(self) -> bool:
        """Whether the reward depends on the verdict."""
        return len({self.correct, self.wrong, self.unparseable, self.truncated}) > 1


class RewardTable(Section):
    values: RewardValues = RewardValues()
    """Reward of each verdict (correct, wrong, unparseable, truncated), of the format, and weights of function and model."""
    function: str = ""
    """`module:function` in TRL's signature, whose value is added; `reward = "module:function"` uses it alone."""
    model: str = ""
    """Reward model (a run of one, a folder, a hub id) whose score of each completion is added."""
    reader: str = ""
    """CoT reader that answers from the policy's reasoning and is graded in its place: `live`, `frozen`, or a model."""

    @field_validator("reader")
    @classmethod
    def _is_no_control(cls, value: str) -> str:
        if value in CONTROLS:
            raise ValueError(f"must be live, frozen or a model: {value} is a control of eval.readers and sees no reasoning")
        return value


class OptimizerTable(Section):
    warmup: int = Field(0, ge=0)
    """Updates over which the learning rate rises linearly from 0."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """Learning rate after the warm-up: constant, or falling to 0, which the update after the last would have."""
    weight_decay: float = Field(0.0, ge=0)
    """Decoupled weight decay of AdamW."""
    beta1: float = Field(0.9, ge=0, lt=1)
    """Decay of AdamW's first moment."""
    beta2: float = Field(0.999, ge=0, lt=1)
    """Decay of AdamW's second moment."""
    max_grad_norm: float = Field(1.0, ge=0)
    """Gradients are scaled down to this norm; 0 turns clipping off."""


class TrainTable(Section):
    steps: int = Field(120, ge=1)
    """Steps of the run. A finished run may be given more."""
    prompts: int = Field(16, ge=1)
    """P: prompts per step."""
    samples: int = Field(8, ge=1)
    """G: completions per prompt, which are compared with each other."""
    max_tokens: int = Field(1024, ge=1)
    """Longest completion in training, in tokens."""
    temperature: float = Field(1.0, ge=0.01)
    """Temperature of training rollouts, in the sampler and in the trainer."""
    learning_rate: float = Field(1e-6, ge=0, le=1)
    """Learning rate of AdamW after the warm-up."""
    optimizer: OptimizerTable = OptimizerTable()
    """AdamW settings: warmup, schedule, weight_decay, beta1, beta2, max_grad_norm."""
    updates: int = Field(1, ge=1)
    """Optimizer updates per step: the step's prompts are split into this many equal parts."""
    micro_tokens: int = Field(16384, ge=1)
    """Most tokens per forward and backward pass. Changes memory and speed, not the result."""


class EvalTable(Section):
    every: int = Field(10, ge=1)
    """Steps between eval points; step 0 and the last step always have one."""
    suite: list[str] = Field(["abacus/add2"], min_length=1)
    """Benchmarks, suites of them (`kimi12`, `acemath7`, `mel5`, `abacus`), or files (`mine.jsonl`)."""
    samples: int = Field(4, ge=1)
    """K: completions per item. Greedy decoding (temperature 0) takes one, because all would be equal."""
    temperature: float | list[float] = 1.0
    """Sampling temperature; 0 is greedy, and a list evaluates each."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Samples from the likeliest tokens that together have this probability."""
    top_k: int = Field(0, ge=0)
    """Samples from this many likeliest tokens; 0 for all."""
    max_tokens: int = Field(0, ge=0)
    """Longest completion in evaluation; 0 takes train.max_tokens."""
    extract: Extract = "any"
    """Answers that count in evaluation: `any` reads a box, else an answer announced in words; `boxed` reads a box alone, as
    training always does. Runs with different modes are not compared."""
    limit: int = Field(0, ge=0)
    """First items of each benchmark only; 0 for all. Scores over fewer items are different scores."""
    on_regression: Literal["nothing", "warn", "stop", "return"] = "nothing"
    """Response to an accuracy that falls from its best beyond noise: record it, stop, or return to the best checkpoint at
    half the learning rate."""
    block_by_seed: bool = False
    """Compares arms within each seed, from three seeds on: their prompts and random numbers are the same. It is fixed here,
    before the run, because choosing it afterwards would be choosing the smaller p-value."""
    readers: list[str] = Field([])
    """CoT readers that answer from the policy's reasoning: `live`, `frozen`, models; `none` and `shuffled` are controls."""

    @field_validator("readers")
    @classmethod
    def _no_reader_twice(cls, value: list[str]) -> list[str]:
        if len(set(value)) < len(value):
            raise ValueError("must name each reader once")
        return value

    @property
    def temperatures(self) -> list[float]:
        return self.temperature if isinstance(self.temperature, list) else [self.temperature]

    def samples_at(self, temperature: float) -> int:
        """Completions per item at one of the temperatures."""
        return self.samples if temperature > 0 else 1

    @field_validator("temperature")
    @classmethod
    def _temperatures(cls, value: float | list[float]) -> float | list[float]:
        values = value if isinstance(value, list) else [value]
        if not values or any(0 != v < 0.01 for v in values) or len(set(values)) < len(values):
            raise ValueError("must be 0 (greedy), 0.01 or more, or a list of such numbers, all different")
        return value

    @property
    def benchmarks(self) -> list[str]:
        """The benchmarks that the suite's names stand for."""
        return expand_suites(self.suite)

    @field_validator("suite")
    @classmethod
    def _no_benchmark_twice(cls, value: list[str]) -> list[str]:
        """Spells names as run folders do."""
        value = [row.name if (row := find_suite(name)) else benchmark_name(name) for name in value]
        if len(set(value)) < len(value):
            raise ValueError("must name each benchmark once")
        return value


class JudgeTable(Section):
    url: str = ""
    """OpenAI-compatible endpoint (`http://localhost:8000/v1`) for items that no rule can grade; else they are left out."""
    model: str = ""
    """Name of the judge at that endpoint. Its key is read from $PASSUS_JUDGE_KEY and recorded nowhere."""

    @field_validator("url")
    @classmethod
    def _is_web(cls, value: str) -> str:
        if value:
            check_judge_url(value)
        return value


class CandidatesTable(Section):
    sources: list[str] = Field([])
    """Generators (models, or `RUN@step`), each an arm that runs first, and Parquet files of candidates (`*.parquet`)."""
    temperatures: list[Annotated[float, Field(ge=0.01)]] = Field([1.0], min_length=1)
    """Temperatures at which each generator answers."""
    samples: int = Field(1, ge=1)
    """Answers per generator, temperature and training problem."""
    pool: int = Field(64, ge=2)
    """Candidates per eval item, drawn from the answers of all generators."""

    @field_validator("sources", "temperatures")
    @classmethod
    def _nothing_twice(cls, value: list[Any]) -> list[Any]:
        if len(set(value)) < len(value):
            raise ValueError("must name each once")
        return value

    @property
    def generators(self) -> list[str]:
        return [source for source in self.sources if not source.endswith(".parquet")]

    @property
    def files(self) -> list[str]:
        return [source for source in self.sources if source.endswith(".parquet")]


class RunTable(Section):
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`auto` uses CUDA where it is available."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Data type of the weights; `auto` is bfloat16 with a float32 master copy on GPUs that have it, else float32."""
    save_every: int = Field(20, ge=1)
    """Steps between checkpoints; the last step always has one."""
    keep_checkpoints: int = Field(2, ge=0)
    """Newest checkpoints to keep; 0 keeps all."""


class LogTable(Section):
    to: list[Literal["tensorboard", "wandb", "trackio"]] = Field([])
    """Other tools that get a copy of metrics and eval points while the run trains. The run folder stays the record."""
    token_logprobs: bool = False
    """Records text and log-prob of every sampled token in samples/, so that the live page can colour them."""


class ImportedTable(Section):
    tool: str = ""
    """Format that `passus import` read the run from; empty for runs of passus. Experiment files do not have it."""
    method: str = ""
    """Method of the run as its settings name it; empty where they do not."""
    seed_known: bool = True
    """Whether the source recorded a seed. Without it, runs of equal settings are numbered in place of a seed."""


class Config(Section):
    """One arm, fully resolved: the content of config.toml in a run folder."""

    name: str = ""
    """Name of the experiment; by default that of its file."""
    seed: int = Field(0, ge=0, lt=2**31)
    """Every random draw derives from it. Arms with the same seed share prompts and noise, and so are paired."""
    figure: Literal["curves", "grid", "heatmap", "readers", "rm-at-k", "reward-hacking"] = "curves"
    """Figure that is drawn when the experiment ends."""
    model: ModelTable
    task: TaskTable = TaskTable()
    method: Method = PRESETS["grpo"]
    reward: RewardTable = RewardTable()
    train: TrainTable = TrainTable()
    eval: EvalTable = EvalTable()
    judge: JudgeTable = JudgeTable()
    candidates: CandidatesTable = CandidatesTable()
    run: RunTable = RunTable()
    log: LogTable = LogTable()
    fault: FaultTable = FaultTable()
    imported: ImportedTable = ImportedTable()

    @property
    def kind(self) -> Kind:
        """The kind of this arm: RL, supervised fine-tuning, a reward model, or generating candidates for one."""
        match self.method.loss:
            case "likelihood":
                return "sft"
            case "pairs" | "classes":
                return "reward_model"
            case "none":
                return "candidates"
            case _:
                return "rl"

    @property
    def candidate_problems(self) -> int:
        """Training problems that each generator of candidates answers."""
        return self.task.limit or DEFAULT_CANDIDATE_PROBLEMS

    @property
    def eval_tokens(self) -> int:
        return self.eval.max_tokens or self.train.max_tokens

    @model_validator(mode="after")
    def _possible(self) -> "Config":
        checks.check_combinations(self)
        return self
