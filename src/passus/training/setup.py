"""A run: what the steps of one arm share, and how it is made ready, from a base, the last checkpoint or an earlier one."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from passus.config.tables import LIVE, Config
from passus.engine.interface import Sampler
from passus.engine.packing import MicroBatchShape
from passus.errors import UsageError
from passus.evaluation import contamination, cot_readers
from passus.evaluation.cot_readers import Reader
from passus.evaluation.suite import Loaded, check_lengths
from passus.evaluation.suite import load as load_suite
from passus.models import loader, reward_head
from passus.models.lora import weights_fingerprint
from passus.models.policy import Policy
from passus.runs.run_folder import RunFolder, saved_checkpoints
from passus.tasks import benchmarks, dataset
from passus.tasks.llm_judge import Judge, judge_of
from passus.tasks.lookup import task_parts
from passus.training import checkpoint, memory_plan, regression_alarm, rewards
from passus.training.checkpoint import Progress
from passus.training.memory_plan import Fit, Need
from passus.training.optimizer import Optimizer
from passus.training.prompt_order import Curriculum
from passus.training.state import Sitting

LOOK_AHEAD = 256  # prompts whose lengths are looked at before a run begins


@dataclass(kw_only=True)
class Run(Sitting):
    """All that the steps of one arm share."""

    engine: Sampler
    reference: Any | None
    """The policy before training, where the method needs it and no adapter can be switched off to find it."""
    reward_function: rewards.Function | None
    longest: int = 1
    """Tokens of the longest sequence so far: what micro-batches on CUDA are made for."""
    captures: bool = False
    """The model is small enough to capture its passes as graphs."""
    releases: bool = False
    """The sampler's caches are given back before every update: memory is short."""
    layout: str = ""
    """How the run is laid out on the card, in words."""
    curriculum: Curriculum | None = None
    """Where success rates decide which items come next."""
    loaded: Loaded = field(default_factory=lambda: Loaded({}))
    """The suite's items."""
    judge: Judge | None = None
    scorer: Policy | None = None
    """The reward model whose scores are rewards."""
    readers: dict[str, Reader] = field(default_factory=dict)
    """By name: those that do not learn, and the live one once it was asked for."""
    remarks: list[str] = field(default_factory=list)
    """About the data, for the user."""
    captured: dict[MicroBatchShape, Any] = field(default_factory=dict)
    """Passes of small models that are captured as graphs, by the shape of the micro-batch."""

    @property
    def shows_solutions(self) -> bool:
        """Supervised fine-tuning: solutions are shown, not sampled."""
        return self.config.method.loss == "likelihood"

    def make_room(self) -> None:
        self.captured.clear()
        self.engine.release()
        super().make_room()


def prepare(config: Config, folder: RunFolder, check_stop: Callable[[], None]) -> Run:
    """Load the model, or the last checkpoint, and make the record end where that stands."""
    checkpoint.clean(folder.checkpoints)
    saved = checkpoint.latest(folder.checkpoints)
    progress = checkpoint.read(saved) if saved else Progress()
    check_anchor(config)
    reward_function = rewards.load_function(config.reward.function)
    policy = loader.load_trainable(config.model, config.run.device, config.run.dtype, config.seed, saved)
    judge = judge_of(config.judge.url, config.judge.model)
    loaded = load_suite(config.eval, judged=judge is not None)
    check_lengths(policy, config, loaded)
    scorer = load_scorer(config, folder, loaded)
    frozen = cot_readers.load(config, check_stop)  # before memory is planned: their weights are no longer free
    cot_readers.check_fit(config, policy, frozen, loaded)
    shared = contamination.find(config.task, loaded)
    layout = lay_out(config, policy, progress.drawn)  # what does not fit is refused before anything is recorded
    reference = load_reference(config, folder) if config.method.kl_coef and policy.adapter is None else None
    optimizer = Optimizer(policy.model, config.train, progress.slower)
    if saved:
        checkpoint.restore(saved, optimizer)
    if folder.exists():
        folder.set_aside_after(progress.step, len(loaded.items) * len(config.eval.temperatures))
    remarks = [*loaded.remarks(), *map(str, shared)]
    about = {
        "left_out": loaded.left_out, "unjudged": loaded.unjudged, "overlap": [vars(one) for one in shared],
        "sha256": check_data(folder, config, loaded), "remarks": remarks,
    } | ({"scorer": scorer.fingerprint} if scorer else {})  # fmt: skip
    folder.start(config, policy.describe(config.model.base), progress.step if saved else None, about)
    engine = policy.sampler(check_stop)
    started = time.monotonic() - progress.elapsed
    run = Run(
        config=config, folder=folder, policy=policy, optimizer=optimizer, engine=engine, reference=reference,
        reward_function=reward_function, progress=progress, check_stop=check_stop, started=started,
        micro_tokens=config.train.micro_tokens, loaded=loaded, judge=judge, scorer=scorer, readers=frozen, remarks=remarks,
        curriculum=Curriculum(config.task, config.seed) if config.task.is_tracked else None,
    )  # fmt: skip
    if layout:
        take_up(run, *layout)
    return run


def load_scorer(config: Config, folder: RunFolder, loaded: Loaded) -> Policy | None:
    """A reward model that can read the problems, and is what it was when the run began."""
    name = config.reward.model
    if not name:
        return None
    items = [item for _, item in config.task.items(config.seed, 0, LOOK_AHEAD)] + [
        i for of in loaded.items.values() for i in of
    ]
    most = max(config.train.max_tokens, config.eval_tokens)
    scorer = reward_head.load_checked(name, f"reward.model = {name}", items, most, config.run.device, config.run.dtype)
    known = folder.meta()["launches"][0].get("data", {}).get("scorer") if folder.exists() else None
    if known not in (None, scorer.fingerprint):
        raise UsageError(
            f"reward.model = {name!r} has changed since this run began",
            expected="the same weights",
            write="model = RUN@step   where it is a run that goes on",
        )
    return scorer


def check_data(folder: RunFolder, config: Config, loaded: Loaded) -> dict[str, str]:
    """A SHA-256 of each benchmark's items, and of the training sets'; refused if they are not what the run began with."""
    found = {name: dataset.fingerprint(items) for name, items in loaded.items.items()}
    for part in task_parts(config.task.source):
        if row := benchmarks.training_set(part):
            found[f"training: {part}"] = dataset.fingerprint(dataset.items_of(row))
    known = folder.meta()["launches"][0].get("data", {}).get("sha256", {}) if folder.exists() else {}
    for name in known:
        if name not in found or found[name] != known[name]:
            raise UsageError(
                f"{name}: its items are {'gone' if name not in found else 'others'} since this run began",
                expected="the data that the run began with: a curve must not go on with other items",
                write="the same files or $PASSUS_DATA again, or another --out",
            )
    return found


def lay_out(config: Config, policy: Policy, drawn: int) -> tuple[Need, Fit] | None:
    """Fit the run to the card; refused if it does not. Nothing to plan on a CPU, nor for families that nobody tried."""
    if policy.model.device.type != "cuda" or not policy.is_tested_family:
        return None
    items = config.task.items(config.seed, drawn, LOOK_AHEAD)
    longest = max(len(prompt.tokens) for prompt in policy.prompts(items))
    need = memory_plan.predict(config, longest, policy.model.dtype)
    free, _ = torch.cuda.mem_get_info()
    return need, memory_plan.fit_or_refuse(config, need, free + torch.cuda.memory_reserved())


def take_up(run: Run, need: Need, found: Fit) -> None:
    """Micro-batches, layers computed again, room for the sampler's caches."""
    run.micro_tokens, run.releases, run.longest = found.micro_tokens, found.releases, need.longest
    run.engine.cache_bytes = found.cache
    run.layout = found.describe(need)
    run.captures = found.captures
    if found.recomputed:
        from passus.engine import compile  # loads the compiler, which takes seconds

        compile.recompute_activations(run.policy.model, found.recomputed)


def capture(run: Run, shape: MicroBatchShape) -> None:
    from passus.engine import compile

    tokens_1T = torch.zeros(1, shape.tokens, dtype=torch.long, device=run.policy.model.device)
    plan = shape.plan([], tokens_1T.device)
    run.captured[shape] = compile.capture_decoder(run.policy.decoder, tokens_1T, tokens_1T.clone(), plan)


def load_reference(config: Config, folder: RunFolder) -> Any:
    """The policy before training; refused if the base is not what it was when the run began."""
    reference = loader.load(config.model.base, config.run.device, config.run.dtype).model
    known = folder.meta()["model"].get("fingerprint") if folder.exists() else None
    if known not in (None, weights_fingerprint(reference)):
        raise UsageError(
            f"model.base = {config.model.base!r} has changed since this run began",
            expected="the same weights, as reference policy",
            write="base = RUN@step   where the base is a run that goes on",
        )
    return reference


def check_anchor(config: Config) -> None:
    """A gap of 0.01 a token between sampler and trainer would clip a third of the sequences on policy."""
    if config.method.old_logprobs == "sampler" and config.method.ratio != "token" and config.run.dtype == "bfloat16":
        raise UsageError(
            f'method.old_logprobs = "sampler" with method.ratio = "{config.method.ratio}" in bfloat16',
            expected="the trainer's own log-probs as anchor of a whole sequence's ratio",
            write='anchor = "trainer"',
        )


def go_back(run: Run, step: int) -> None:
    """Weights and moments of an earlier checkpoint, at a lower learning rate; steps are counted on."""
    saved = saved_checkpoints(run.folder.checkpoints)[step]
    checkpoint.read(saved)
    run.make_room()
    run.progress.slower *= regression_alarm.SLOWER
    config = run.config
    run.policy = loader.load_trainable(config.model, config.run.device, config.run.dtype, config.seed, saved)
    run.optimizer = Optimizer(run.policy.model, config.train, run.progress.slower)
    checkpoint.restore(saved, run.optimizer)
    engine, run.engine = run.engine, run.policy.sampler(run.check_stop)
    run.engine.cache_bytes, run.engine.max_rows = engine.cache_bytes, engine.max_rows
    run.readers.pop(LIVE, None)  # it read with the weights of before
