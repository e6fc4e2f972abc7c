"""The step, top to bottom: prompts -> rollout -> grade -> reward -> advantage -> loss -> update -> record -> eval -> save.

One process, one set of weights, one model definition for sampling and training, so there is nothing to synchronise; the gap
between sampler and trainer is measured in every step all the same. Every draw derives from (seed, step, item, sample,
position), so a step that was cut short is simply taken again, and a resumed run is the uninterrupted one.

Left out of the textbook: critic, replay. Run it with `passus run EXPERIMENT`.

Shapes: P prompts, G samples a prompt, N = P x G rows, C completion tokens of a micro-batch.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from passus.config.tables import CONTROLS, FROZEN, LIVE, Config
from passus.engine import logprob, packing
from passus.engine.attention import VarlenPlan
from passus.engine.device import to_device
from passus.engine.interface import Rollout, SamplingParams
from passus.engine.packing import PackedBatch
from passus.errors import Stop
from passus.evaluation import cot_readers
from passus.evaluation.cot_readers import Reader
from passus.evaluation.evaluate import evaluate
from passus.evaluation.suite import totals
from passus.formatting import score
from passus.grading.grade import Grade, Verdict
from passus.methods.presets import Tokens, advantages, policy_loss, token_weights
from passus.models import reward_head
from passus.runs.run_folder import RunFolder
from passus.tasks.llm_judge import grade_items
from passus.tasks.lookup import Item, solution_of
from passus.training import checkpoint, mel, regression_alarm, rewards, step_metrics
from passus.training.mel import Lesson, Taught
from passus.training.optimizer import learning_rate
from passus.training.prompt_order import TRIES, Curriculum
from passus.training.rollout_batch import Groups
from passus.training.setup import Run, capture, go_back, prepare
from passus.training.step_metrics import Times, Update


def train(config: Config, folder: RunFolder, check_stop: Callable[[], None], say: Callable[[str], None]) -> None:
    """Take a run from where it stands to its last step. `config` has no "auto" left in it."""
    run = prepare(config, folder, check_stop)
    for remark in run.remarks:
        say(remark)
    if run.layout:
        say(f"memory: {run.layout}")
    rehearse(run)
    if run.curriculum and not run.progress.rates:
        run.progress.base_rates = run.progress.rates = base_rates(run, run.curriculum, say)
    if run.progress.step:
        say(f"continues after step {run.progress.step}")
    try:
        while True:
            if run.is_due(config.eval.every) or run.progress.step == 0:
                measure(run, say)
                watch(run, say)
            if run.is_due(config.run.save_every):
                save(run)
            if run.progress.step == config.train.steps or run.progress.ended:
                break
            take_step(run)
            run.check_finite()
    except Stop:
        run.optimizer.zero_grad()
        save(run)
        say(f"saved: the same command goes on from {checkpoint.latest(folder.checkpoints) or 'the start'}")
        raise


def rehearse(run: Run) -> None:
    """On CUDA the largest micro-batch first, on tokens that mean nothing: what does not fit shows now, and most is compiled."""
    if not run.policy.uses_fixed_shapes:
        return
    rows, most = max(2, run.micro_tokens // run.longest), run.config.train.max_tokens
    shown = [[0] * (run.longest - most)] * rows, [[0] * most] * rows
    device = run.policy.model.device
    ones_N = torch.ones(rows, device=device)
    seen = Experience(*shown, torch.zeros(rows, most, device=device), ones_N, ones_N)
    run.within_memory(lambda: add_gradients(run, seen, list(range(rows)), 0))
    run.optimizer.zero_grad()
    if run.captures:
        try:
            for shape in dict.fromkeys(packing.micro_batch_shapes(run.micro_tokens, run.longest)):
                capture(run, shape)
        except torch.OutOfMemoryError:  # it goes without
            run.make_room()


def base_rates(run: Run, curriculum: Curriculum, say: Callable[[str], None]) -> list[float]:
    """The success rate of the model as it is on every item of the training set, from some samples each."""
    config, items = run.config, curriculum.items
    params = SamplingParams(TRIES, config.train.max_tokens, config.seed, "difficulty")
    run.policy.refresh_sampling_model()
    asked = run.policy.prompts(list(enumerate(items)))
    rollout = run.engine.generate(asked, params)
    texts = run.policy.chat.batch_decode(rollout.tokens)
    if config.reward.reader:
        items_N, reasonings = [item for item in items for _ in range(TRIES)], [cot_readers.reasoning(text) for text in texts]
        grades_N = cot_readers.read(reader(run, config.reward.reader), items_N, reasonings, config.seed).grades_N
    else:
        grades_N = graded(run, rollout, texts, items, TRIES)
    right_Q = np.array([g.verdict is Verdict.CORRECT for g in grades_N]).reshape(len(items), -1).mean(1)
    say(f"difficulty: {len(items)} items x {TRIES} samples, {right_Q.mean():.2f} right")
    return right_Q.tolist()


def take_step(run: Run) -> None:
    """Prompts -> rollout -> grade -> reward -> advantage -> updates -> record."""
    config, step, times = run.config, run.progress.step + 1, Times()
    with times("step"):
        drawn = draw_groups(run, step, times)
        chosen = drawn.choose(config.train.prompts)
        used = drawn.pick(chosen)
        with times("grade"):
            scored = rewards.score(config, run.reward_function, run.policy, drawn, step, run.scorer)
        taught = None
        if config.method.lessons != "off":
            with times("lessons"):
                taught = mel.teach(run.policy, run.engine, config.method, used, sampling(run, step))
        with times("update"):
            if run.releases:
                run.engine.release()
            seen = experience(run, used)
            if config.method.reset_optimizer:
                run.optimizer.forget()
            rewards_PG = scored.rewards_N.view(-1, drawn.samples)[chosen] - charged_kl(run, seen).view(-1, drawn.samples)
            advantages_PG = advantages(rewards_PG, config.method) if not run.shows_solutions else torch.ones_like(rewards_PG)
            seen.advantage_N = advantages_PG.flatten().to(seen.counts_N.device)
            updates = learn(run, seen, step, taught)

    run.progress.step = step
    run.progress.drawn += len(drawn.items_D)
    if run.curriculum:
        run.progress.rates = run.curriculum.follow(run.progress.rates, drawn)
    run.progress.num_tokens += drawn.tokens + drawn.read_tokens + (taught.drawn_tokens if taught else 0)
    run.progress.elapsed = time.monotonic() - run.started
    rows = step_metrics.sample_columns(run.policy, drawn, scored.rewards_N, chosen, rewards_PG, advantages_PG)
    write = run.folder.write_behind if run.policy.model.device.type == "cuda" else run.folder.write_rows
    write("samples", step, rows)
    of_rollout = {} if run.shows_solutions else step_metrics.of_rollout(drawn, rewards_PG, config.train.prompts)
    of_rollout |= step_metrics.of_reading(drawn)
    if config.method.max_repeats:
        of_rollout["train/in_circles"] = step_metrics.in_circles(drawn, config.method.max_repeats)
    run.folder.append_metrics(
        {"step": step, "progress": step / config.train.steps, "train/num_tokens": run.progress.num_tokens}
        | of_rollout
        | ({"train/solved_rate": float(np.mean(run.progress.rates))} if run.curriculum else {})
        | scored.metrics
        | (taught.metrics() if taught else {})
        | step_metrics.of_updates(updates)
        | {"time/elapsed": run.progress.elapsed, "train/micro_tokens": run.micro_tokens, "train/rows_at_once": run.engine.max_rows}
        | times.metrics()
    )


def draw_groups(run: Run, step: int, times: Times) -> Groups:
    """Prompts, completions and grades; where the method asks for it, more for groups that are all right or all wrong."""
    place = run.progress.drawn
    drawn = one_round(run, step, place, run.config.train.prompts, times)
    for _ in range(run.config.method.dynamic_sampling_rounds - 1):
        missing = run.config.train.prompts - len(drawn.mixed())
        if missing <= 0:
            break
        drawn += one_round(run, step, place + len(drawn.items_D), missing, times)
    return drawn


def one_round(run: Run, step: int, place: int, prompts: int, times: Times) -> Groups:
    config = run.config
    if run.curriculum:
        drawn = run.curriculum.draw(run.progress.rates, run.progress.base_rates, step, place, prompts)
    else:
        drawn = config.task.items(config.seed, place, prompts)
    items = [item for _, item in drawn]
    asked = run.policy.prompts(drawn)
    run.policy.check_fits_context(asked, config.train.max_tokens, "train.max_tokens")
    count = 1 if run.shows_solutions else config.train.samples
    with times("rollout"):
        params = replace(sampling(run, step), samples=count)
        run.policy.refresh_sampling_model()
        rollout = shown_solutions(run, items) if run.shows_solutions else run.engine.generate(asked, params)
    with times("grade"):
        texts = run.policy.chat.batch_decode(rollout.tokens)
        grades = graded(run, rollout, texts, items, count)
    groups = Groups(count, items, asked, rollout, texts, grades)
    if config.reward.reader:
        with times("read"):
            reasonings = [cot_readers.reasoning(text) for text in texts]
            found = cot_readers.read(reader(run, config.reward.reader), groups.items_N, reasonings, config.seed)
            groups.read_N, groups.read_tokens = found.grades_N, found.tokens
            groups.shown_N = cot_readers.shown(run.policy, rollout.tokens, texts)
    return groups


def reader(run: Run, name: str) -> Reader:
    if name == LIVE and LIVE not in run.readers:  # kept: what it is called takes a look at every weight
        run.readers[LIVE] = cot_readers.live(run.policy, run.engine, run.config.model.base)
    return run.readers[name]


def sampling(run: Run, step: int) -> SamplingParams:
    train = run.config.train
    return SamplingParams(
        train.samples, train.max_tokens, run.config.seed, "train", step, temperature=train.temperature,
        max_repeats=run.config.method.max_repeats,
    )  # fmt: skip


def graded(run: Run, rollout: Rollout, texts: Sequence[str], items: Sequence[Item], count: int) -> list[Grade]:
    answers = run.policy.chat.answers(rollout.tokens, texts)
    items_N = [item for item in items for _ in range(count)]
    return grade_items(None, items_N, answers, [not finished for finished in rollout.finished])[0]


def shown_solutions(run: Run, items: Sequence[Item]) -> Rollout:
    """Worked solutions in place of a rollout: supervised fine-tuning. One longer than the limit is cut off."""
    most = run.config.train.max_tokens
    end = next(i for i in (run.policy.chat.turn_end(), run.policy.chat.tokenizer.eos_token_id, *run.policy.end_tokens) if i is not None)
    texts = [solution_of(item) for item in items]
    tokens = [[*ids, end][:most] for ids in run.policy.chat.encode(texts)]
    return Rollout(tokens, [[0.0] * len(row) for row in tokens], [row[-1] == end for row in tokens])


@dataclass
class Experience:
    """A rollout as the updates need it; L is the longest completion."""

    prompts_N: list[list[int]]
    completions_N: list[list[int]]
    sampled_NL: Tensor
    """The sampler's log-probs."""
    counts_N: Tensor
    """0 for rows left out of the loss, 1 for the others."""
    advantage_N: Tensor
    anchor_NL: Tensor | None = None
    """What ratios are taken against; None where that is the pass of the only update itself."""
    reference_NL: Tensor | None = None
    """Log-probs of the policy before training, where the method charges for moving away from it."""


def experience(run: Run, used: Groups) -> Experience:
    method, device = run.config.method, run.policy.model.device
    most_N = used.shown_N or [len(tokens) for tokens in used.rollout.tokens]
    completions_N = [tokens[:most] for tokens, most in zip(used.rollout.tokens, most_N, strict=True)]
    sampled_NL = padded([logps[:most] for logps, most in zip(used.rollout.logps, most_N, strict=True)])
    prompts_N = [tokens for prompt in used.prompts_D for tokens in [list(prompt.tokens)] * used.samples]
    left_out_N = [
        paid.verdict is Verdict.ERROR or (method.mask_truncated and own.verdict is Verdict.TRUNCATED)
        for paid, own in zip(used.paid_N, used.grades_N, strict=True)
    ]
    counts_N = to_device(1 - np.array(left_out_N, dtype=np.float32), device)
    seen = Experience(prompts_N, completions_N, to_device(sampled_NL, device), counts_N, torch.zeros_like(counts_N))
    if method.old_logprobs == "sampler":
        seen.anchor_NL = seen.sampled_NL
    elif run.config.train.updates > 1 or (method.kl_coef and method.kl_estimator == "k1"):
        seen.anchor_NL = run.within_memory(lambda: all_logprobs(run, seen))
    if method.kl_coef:
        with run.policy.reference(run.reference):
            seen.reference_NL = run.within_memory(lambda: all_logprobs(run, seen))
    return seen


def padded(rows: Sequence[Sequence[float]]) -> np.ndarray:
    """Rows of different lengths as one array, filled with 0."""
    array = np.zeros((len(rows), max(map(len, rows))), dtype=np.float32)
    for place, row in enumerate(rows):
        array[place, : len(row)] = row
    return array


def charged_kl(run: Run, seen: Experience) -> Tensor:
    """k1: what each completion's reward loses for its log-ratio to the policy before training."""
    method = run.config.method
    if not method.kl_coef or method.kl_estimator != "k1" or seen.anchor_NL is None or seen.reference_NL is None:
        return torch.zeros(len(seen.completions_N))
    return method.kl_coef * (seen.anchor_NL - seen.reference_NL).sum(1).cpu()


def learn(run: Run, seen: Experience, step: int, taught: Taught | None = None) -> list[Update]:
    """The updates of one rollout: its prompts dealt out into equal parts, one update each, with the lessons from them."""
    updates = run.config.train.updates
    rows = range(len(seen.completions_N))
    share, prompts = len(rows) // updates, run.config.train.prompts // updates
    found = []
    for u in range(updates):
        own = [one for one in (taught.kept if taught else []) if u * prompts <= one.group < (u + 1) * prompts]
        found.append(one_update(run, seen, list(rows[u * share : (u + 1) * share]), (step - 1) * updates + u, own))
    return found


def one_update(run: Run, seen: Experience, rows: list[int], number: int, kept: Sequence[Lesson] = ()) -> Update:
    """Loss and gradient, then the optimizer's step, unless they are not finite."""
    update = run.within_memory(lambda: add_gradients(run, seen, rows, number, kept))
    update.norm, update.applied = run.optimizer.step(number, update.sums["loss"])
    run.optimizer.zero_grad(keep=bool(run.captured))
    run.progress.skipped_in_a_row = 0 if update.applied else run.progress.skipped_in_a_row + 1
    return update


def add_gradients(run: Run, seen: Experience, rows: list[int], number: int, kept: Sequence[Lesson] = ()) -> Update:
    """Loss and gradient over micro-batches, normalised over the whole update."""
    train, method = run.config.train, run.config.method
    update = Update(run.optimizer.slower * learning_rate(train, number))
    lengths = [len(seen.completions_N[row]) for row in rows]
    row_n, lengths_n = to_device(np.array([rows, lengths]), seen.counts_N.device)
    counts_n = seen.counts_N[row_n]
    weight_N = torch.zeros_like(seen.counts_N)
    weight_N[row_n] = token_weights(lengths_n, counts_n, method, train.max_tokens)
    tokens = (lengths_n * counts_n).sum().clamp(min=1)
    if run.captured:
        run.optimizer.make_grads()
    # Rows of groups whose rewards are all equal have no gradient: they are measured only, and stay in the denominator.
    signal_N = (((seen.advantage_N != 0) | method.learns_without_signal) & (seen.counts_N > 0)).tolist()
    if run.policy.uses_fixed_shapes and sum(map(len, seen.prompts_N)) + sum(map(len, seen.completions_N)) <= run.micro_tokens:
        signal_N = [any(signal_N)] * len(signal_N)  # one pass over all of them takes less time than two
    for has_signal in (True, False):
        for packed in packs(run, seen, [row for row in rows if signal_N[row] is has_signal]):
            if number % train.updates == 0:  # later, the weights are no longer those of a whole step
                run.check_stop()
            logp_C, sums = one_pass(run, seen, packed, weight_N, tokens, has_signal)
            update.add(sums, None if run.shows_solutions else logp_C - seen.sampled_NL[packed.row_C, packed.offset_C])
    if kept and method.lesson_coef:
        update.add({"lessons": add_lessons(run, kept)}, None)
    return update


def add_lessons(run: Run, kept: Sequence[Lesson]) -> Tensor:
    """The gradient of the kept lessons' likelihood: of each the mean over its tokens, their sum divided by the prompts."""
    prompts, total = run.config.train.prompts // run.config.train.updates, torch.zeros((), device=run.policy.model.device)
    shown = Experience([one.context for one in kept], [one.tokens for one in kept], *[torch.zeros(1)] * 3)
    share_L = to_device(np.array([1 / (len(one.tokens) * prompts) for one in kept], dtype=np.float32), total.device)
    for packed in packs(run, shown, list(range(len(kept)))):
        logp_C, _ = token_logprobs(run, packed)
        loss = -run.config.method.lesson_coef * (share_L[packed.row_C] * logp_C).sum()
        loss.backward()
        total += loss.detach()
    return total


def one_pass(
    run: Run, seen: Experience, packed: PackedBatch, weight_N: Tensor, tokens: Tensor, has_signal: bool
) -> tuple[Tensor, dict[str, Tensor]]:
    """Forward and, where there is something to learn, backward. Nothing is kept of it but numbers: log-probs and sums."""
    # A compiled layer would be compiled once more for a pass without gradients.
    with torch.set_grad_enabled(has_signal or run.policy.uses_fixed_shapes):
        seen_C = tokens_of(run, seen, packed, weight_N, tokens)
        loss, sums = policy_loss(seen_C, run.config.method)
    if has_signal:
        loss.backward()
    return seen_C.logp_C.detach(), sums


def tokens_of(run: Run, seen: Experience, packed: PackedBatch, weight_N: Tensor, tokens: Tensor) -> Tokens:
    """A micro-batch as the loss takes it."""
    logp_C, entropy_C = token_logprobs(run, packed)

    def picked(values_NL: Tensor | None) -> Tensor | None:
        return None if values_NL is None else values_NL[packed.row_C, packed.offset_C]

    # With one update a rollout the anchor is this very pass: the ratio is 1, and only its gradient counts.
    anchor_C = picked(seen.anchor_NL)
    return Tokens(
        logp_C, entropy_C, logp_C.detach() if anchor_C is None else anchor_C, seen.advantage_N[packed.row_C],
        weight_N[packed.row_C], packed.row_C, len(weight_N), tokens, picked(seen.reference_NL), picked(seen.sampled_NL),
    )  # fmt: skip


def packs(run: Run, seen: Experience, rows: list[int]) -> Iterator[PackedBatch]:
    """The micro-batches of some rows."""
    lengths = [len(seen.prompts_N[row]) + len(seen.completions_N[row]) for row in rows]
    device = run.policy.model.device
    if not run.policy.uses_fixed_shapes:
        for places in packing.micro_batches(lengths, run.micro_tokens):
            yield packing.pack([rows[i] for i in places], seen.prompts_N, seen.completions_N, device)
        return
    run.longest = max(run.longest, max(len(prompt) for prompt in seen.prompts_N) + run.config.train.max_tokens)
    for places, shape in packing.shaped_micro_batches(lengths, *packing.micro_batch_shapes(run.micro_tokens, run.longest)):
        yield packing.pack_to_shape([rows[i] for i in places], seen.prompts_N, seen.completions_N, shape, device)


def token_logprobs(run: Run, packed: PackedBatch) -> tuple[Tensor, Tensor]:
    """Log-probs and entropies of a pack's completion tokens, with gradients."""
    tokens_1T, positions_1T = packed.tokens_T[None], packed.positions_T[None]
    if torch.is_grad_enabled() and packed.shape in run.captured and isinstance(packed.plan, VarlenPlan):
        hidden_TE = run.captured[packed.shape](tokens_1T, positions_1T, packed.plan.cumulative_N1)[0]
    else:
        hidden_TE = run.policy.decoder(
            tokens_1T, position_ids=positions_1T, use_cache=False, plan=packed.plan
        ).last_hidden_state[0]
    # Not by indexing, whose gradient several threads would add up in any order: completions share their prompt's last token.
    predicting_CE = hidden_TE.index_select(0, packed.predicts_C)
    return logprob.token_logprobs(run.policy.head, predicting_CE, packed.targets_C, run.config.train.temperature)


@torch.no_grad()
def all_logprobs(run: Run, seen: Experience) -> Tensor:
    """Log-probs of all completions under the policy as it stands, before the first update."""
    logp_NL = torch.zeros_like(seen.sampled_NL)
    for packed in packs(run, seen, list(range(len(seen.completions_N)))):
        run.check_stop()
        logp_NL[packed.row_C, packed.offset_C], _ = token_logprobs(run, packed)
    return logp_NL


def measure(run: Run, say: Callable[[str], None]) -> None:
    """Take this step's eval point, if it is not recorded yet."""
    step = run.progress.step
    if any(point.step == step for point in run.folder.evals()):
        return
    config = run.config
    run.policy.refresh_sampling_model()
    points, rows = evaluate(run.policy, run.engine, config.eval, config.eval_tokens, config.seed, step, run.loaded, run.judge)
    if run.scorer:
        points = reward_head.add_mean_scores(run.scorer, run.loaded.items, points, rows, config.train.micro_tokens)
    run.folder.write_rows("items", step, rows)
    run.folder.append_totals(totals(config.eval, run.loaded, points, rows))
    if config.eval.readers:
        asked = [reader(run, name) for name in config.eval.readers if name not in CONTROLS]
        read, read_rows = cot_readers.evaluate(asked, run.readers.get(FROZEN), config, run.loaded, rows, step, run.judge)
        run.folder.write_rows("readings", step, read_rows)
        run.folder.append_readings(read)
    run.folder.append_evals(points)
    for p in points:
        accuracy = score(p.acc, p.ci_low, p.ci_high)
        say(f"step {step}/{config.train.steps}  {p.benchmark}  accuracy {accuracy}  length {p.tokens_mean:.1f}")


def watch(run: Run, say: Callable[[str], None]) -> None:
    """When accuracy has fallen from its best by more than noise, do what the file says."""
    config, progress = run.config, run.progress
    if config.eval.on_regression == "nothing" or progress.step == 0:
        return
    looks = 1 + -(-config.train.steps // config.eval.every)
    found = regression_alarm.fall(run.folder, progress.watched_from, looks)
    if found is not None:
        say(f"alarm at step {progress.step}: {100 * found.drop:.1f} points below the best, around step {found.best}")
        run.folder.append_event(found.event(progress.step, config.eval.on_regression))
        progress.watched_from, progress.ended = progress.step, config.eval.on_regression == "stop"
        if config.eval.on_regression == "return":
            go_back(run, found.best)
            say(f"back to the weights of step {found.best}, learning rate x {progress.slower:g}")
    if found is not None or config.eval.on_regression == "return":
        save(run)


def save(run: Run) -> None:
    """A checkpoint, with those kept that an alarm may want to go back to."""
    run.folder.settle()
    wanted = regression_alarm.wanted(run.folder, run.progress.watched_from) if run.config.eval.on_regression == "return" else []
    run.save(is_last=run.progress.step == run.config.train.steps or run.progress.ended, wanted=wanted)
