"""Checks the inputs of an arm before it trains: model, tokenizer, template, reward, benchmarks, context and memory.

`check_inputs` is called with a loaded policy by the run itself. `check_arm` calls the same functions with a policy without
weights, before any arm of an experiment starts and in a dry run. Therefore both refuse the same inputs with the same message.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from passus.config.tables import Config, ModelTable
from passus.engine.device import choose_device, choose_dtype
from passus.errors import UsageError
from passus.evaluation import candidate_sets, contamination, cot_readers
from passus.evaluation.candidate_files import read_candidates
from passus.evaluation.contamination import Overlap
from passus.evaluation.suite import PROMPTS_CHECKED, LoadedSuite, check_prompt_lengths, first_training_items, load_suite
from passus.models import lossy_prompts, outline, reward_head
from passus.models.lossy_prompts import LossyPrompts
from passus.models.policy import Policy
from passus.runs.run_folder import RunFolder
from passus.runs.sinks.tools import check_sinks
from passus.tasks.item import Item
from passus.tasks.llm_judge import Judge, make_judge
from passus.tasks.lookup import worked_solution
from passus.training import checkpoint, memory_plan, rewards
from passus.training.cuda_layout import fit_to_gpu

MOST_VERIFIED_BYTES = 2 << 30
"""Size of a checkpoint whose bytes are verified before a run resumes from it. The run itself verifies every checkpoint."""


@dataclass(frozen=True)
class CheckedInputs:
    """The data of a policy run, which its model can read."""

    judge: Judge | None
    suite: LoadedSuite
    overlaps: list[Overlap]
    lossy: list[LossyPrompts]

    def remarks(self) -> list[str]:
        """Returns one line for the user about each irregularity."""
        return [*self.suite.remarks(), *map(str, self.overlaps), *map(str, self.lossy)]


def check_inputs(config: Config, policy: Policy) -> CheckedInputs:
    """Loads the data of a run, and refuses data that the policy cannot read. Only the shapes of its weights are used."""
    check_sinks(config.log.to)
    judge = make_judge(config.judge.url, config.judge.model)
    suite = load_suite(config.eval, judged=judge is not None)
    check_prompt_lengths(policy, config, suite)
    lossy = check_prompts_are_readable(config, policy, suite)
    if config.kind == "sft":
        for _, item in first_training_items(config):
            worked_solution(item)
    if choose_device(config.run.device) == "cpu":
        memory_plan.check_machine_memory(config, policy.model)
    return CheckedInputs(judge, suite, contamination.find_overlaps(config.task, suite), lossy)


def check_prompts_are_readable(config: Config, policy: Policy, suite: LoadedSuite) -> list[LossyPrompts]:
    """Returns the benchmarks and tasks with prompts that the tokenizer cannot represent. Raises if there are too many."""
    drawn = {(item.benchmark, item.index): item for _, item in first_training_items(config)}  # a small set repeats its items
    sources = {f"task {config.task.name}": list(drawn.values())} | suite.items
    found = [lossy_prompts.find_lossy_prompts(policy.chat, source, items) for source, items in sources.items()]
    lossy = [one for one in found if one is not None]
    lossy_prompts.check_lossy_prompts(lossy, config.model.lossy_prompts)
    return lossy


def check_old_logprobs(config: Config) -> None:
    """A gap of 0.01 per token between sampler and trainer would clip a third of the sequences on policy."""
    if config.method.old_logprobs == "sampler" and config.method.ratio != "token" and config.run.dtype == "bfloat16":
        raise UsageError(
            f'method.old_logprobs = "sampler" with method.ratio = "{config.method.ratio}" in bfloat16',
            expected="the trainer's own log-probs for the ratio of a whole sequence",
            write='old_logprobs = "trainer"',
        )


def check_arm(config: Config, folder: RunFolder, generators: Sequence[str] = ()) -> list[str]:
    """Checks an arm without loading weights or changing anything. Returns remarks for the user.

    `generators` are arms that write the candidates of a reward model first. Raises the error that the run would end with.
    """
    device = choose_device(config.run.device)
    dtype = choose_dtype(config.run.dtype, device)
    config = config.model_copy(update={"run": config.run.model_copy(update={"device": device, "dtype": dtype})})
    saved = checkpoint.latest(folder.checkpoints) if folder.exists() else None
    if saved and sum(path.stat().st_size for path in saved.iterdir()) <= MOST_VERIFIED_BYTES:
        checkpoint.read(saved)  # refuses a damaged one
    if config.kind == "reward_model":
        return _check_reward_model(config, folder.path.parent, generators)
    if config.kind == "candidates":
        return _check_generator(config)
    return _check_policy(config, saved)


def _check_policy(config: Config, saved: Path | None) -> list[str]:
    check_old_logprobs(config)
    rewards.load_function(config.reward.function)
    policy = _outline_trainable(config.model, config.run.dtype, saved)
    inputs = check_inputs(config, policy)
    if name := config.reward.model:
        items = reward_model_items(config, inputs.suite)
        longest = max(config.train.max_tokens, config.eval_tokens)
        reward_head.check_problems(_outline_reward_model(name), f"reward.model = {name}", items, longest)
    readers = cot_readers.outline_frozen_readers(config)
    cot_readers.check_context_lengths(config, policy, readers, inputs.suite)
    if config.run.device == "cuda" and policy.is_tested_family:
        fit_to_gpu(config, policy, 0)
    return inputs.remarks()


def reward_model_items(config: Config, suite: LoadedSuite) -> list[Item]:
    """Returns problems that a reward model will read."""
    items = [item for _, item in config.task.items(config.seed, 0, PROMPTS_CHECKED)]
    return items + [item for benchmark_items in suite.items.values() for item in benchmark_items]


def _check_generator(config: Config) -> list[str]:
    model = config.model
    policy = outline.outline(model.base, config.run.dtype, model.prompt, model.thinking, model.system)
    suite = load_suite(config.eval)
    check_prompt_lengths(policy, config, suite)
    return [*suite.remarks(), *map(str, check_prompts_are_readable(config, policy, suite))]


def _check_reward_model(config: Config, experiment: Path, generators: Sequence[str]) -> list[str]:
    """Checks a reward model as far as its candidates exist: those of generators are written later."""
    files = [row for name in config.candidates.files for row in read_candidates(Path(name))]
    suite = load_suite(config.eval)
    if not generators and files:
        rows = candidate_sets.gather_candidates(config, experiment, generators)
        candidate_sets.select_problems(rows.train, config.train.samples, config.seed)
        candidate_sets.make_pools(rows.eval, suite.items, config.candidates.pool, config.seed)
    if choose_device(config.run.device) == "cpu":
        memory_plan.check_machine_memory(config, reward_head.outline_new(config.model, config.run.dtype).model)
    return suite.remarks()


def _outline_trainable(table: ModelTable, dtype: str, saved: Path | None) -> Policy:
    """Arms often share a model, and building one without storage takes longer than all checks of an arm."""
    return _cached_outline(table.model_dump_json(exclude={"lossy_prompts"}), dtype, saved)


@lru_cache(maxsize=64)
def _cached_outline(table_json: str, dtype: str, saved: Path | None) -> Policy:
    return outline.outline_trainable(ModelTable.model_validate_json(table_json), dtype, saved)


@lru_cache(maxsize=16)
def _outline_reward_model(name: str) -> Policy:
    return reward_head.outline_trained(name)
