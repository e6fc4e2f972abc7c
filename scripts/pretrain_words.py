"""Pretrains the base of experiment real/words: a Qwen3-shaped model of 25M parameters that solves some word problems.

    python scripts/pretrain_words.py --out words-25m           two and a half minutes on an H200
    passus eval words-25m --suite words
    passus run real/words

RL needs a base in which the right behaviour is present but not dominant (docs/nano-world.md). So the texts are answers in
three styles: a guess, which is short and mostly wrong; steps, each of which may contain a slip that later steps inherit; and
steps that are checked by working them again with more care, and a third time if the two disagree. RL can improve in two ways:
by using the longer styles, which are more often right, and by making fewer slips. STYLES, SLIP, CAREFUL_SLIP and GUESS_RIGHT
are the recipe. With it, a guess is right .10 of the time, steps .67, checked steps .95, and a text .44; samples of the base
were right .42 of the time.

Worker processes write and tokenize the texts ahead of the GPU. A pack of texts is a function of the seed and its number. The
same seed on another device gives a model of the same quality, not the same bits.
"""

import argparse
import json
import os
import random
import time
from collections import deque
from collections.abc import Generator
from contextlib import closing
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer
from torch import Tensor
from transformers import PreTrainedTokenizerFast, Qwen3Config

from passus.console import print_next_commands
from passus.engine import logprob, packing
from passus.engine.device import choose_device
from passus.engine.packing import MicroBatchShape, PackedBatch
from passus.errors import UsageError
from passus.models import loader
from passus.tasks import words

STYLES = {"guess": 0.45, "steps": 0.44, "check": 0.11}
SLIP = 0.12
"""Probability of a slip in a step's result, the first time it is worked."""
CAREFUL_SLIP = 0.03
"""Probability of a slip when the step is worked again."""
GUESS_RIGHT = 0.1
SLIPS = (-100, -10, -2, -1, 1, 2, 10, 100)

VOCABULARY = 4096
CONTEXT = 1024
LONGEST = 512
"""Limit of tokens per text."""
TOKENIZER_TEXTS = 20_000
PAD, END = "<pad>", "<|endoftext|>"
PAD_ID, END_ID = 0, 1
PROMPT = "Question: {question}\nAnswer:\n"
TEMPLATE = (
    "{% for message in messages %}{% if message['role'] == 'user' %}"
    "{{ 'Question: ' + message['content'] + '\nAnswer:\n' }}"
    "{% else %}{{ message['content'] + '<|endoftext|>' }}{% endif %}{% endfor %}"
)
# Qwen's pattern: every digit is a token, since sums are hardly learned from numbers that are single tokens.
WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

LEARNING_RATE = 1e-3
WARM_UP = 50
COOL_DOWN = 0.5
"""Share of training at the end in which the learning rate falls to 0."""
WEIGHT_DECAY = 0.01
REPORT_EVERY = 50
TEXTS_AT_ONCE = 64
PACKS_AHEAD = 4
"""Packs that each worker prepares in advance."""

Texts = tuple[list[list[int]], list[list[int]]]
"""Prompts and completions, tokenized."""


def write_text(rng: random.Random) -> tuple[str, str]:
    """Returns the question of a training problem and an answer in one of the styles."""
    problem = words.draw(rng, "train")
    (style,) = rng.choices(list(STYLES), list(STYLES.values()))
    if style == "guess":
        return problem.question, words.final_sentence(guess(problem.work()[1], rng))
    text, answer = work(problem, rng, SLIP)
    if style == "check":
        again, second = work(problem, rng, CAREFUL_SLIP)
        text += f" Let me check. {again}"
        if second != answer:
            third, answer = work(problem, rng, CAREFUL_SLIP)
            text += f" That is not the same. Once more. {third}"
    return problem.question, f"{text} {words.final_sentence(answer)}"


def work(problem: words.WordProblem, rng: random.Random, rate: float) -> tuple[str, int]:
    return problem.work(lambda value: wrong(value, rng) if rng.random() < rate else value)


def wrong(value: int, rng: random.Random) -> int:
    """Returns a wrong number near `value`."""
    return rng.choice([value + slip for slip in SLIPS if abs(slip) <= max(2, value // 2) and value + slip >= 0])


def guess(value: int, rng: random.Random) -> int:
    return value if rng.random() < GUESS_RIGHT else abs(value + rng.randint(1, 9 + value // 4) * rng.choice((-1, 1)))


def train_tokenizer(seed: int) -> Tokenizer:
    """Trains byte-level BPE. The texts have so few distinct words that it has about 1100 tokens; other ids stay unused."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(WORDS), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[PAD, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    rng = random.Random(f"words/{words.VERSION}/tokenizer/{seed}")
    texts = (write_text(rng) for _ in range(TOKENIZER_TEXTS))
    tokenizer.train_from_iterator((PROMPT.format(question=question) + answer for question, answer in texts), trainer)
    return tokenizer


def transformers_tokenizer(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, eos_token=END, chat_template=TEMPLATE, padding_side="left",
        clean_up_tokenization_spaces=False, model_max_length=CONTEXT,
    )  # fmt: skip


def make_pack(tokenizer: Tokenizer, seed: int, number: int, shape: MicroBatchShape) -> Texts:
    """Returns as many texts as fit a shape."""
    rng = random.Random(f"words/{words.VERSION}/pretrain/{seed}/{number}")
    prompts: list[list[int]] = []
    completions: list[list[int]] = []
    room = shape.tokens
    while True:
        texts = [write_text(rng) for _ in range(TEXTS_AT_ONCE)]
        encoded_prompts = tokenizer.encode_batch_fast([PROMPT.format(question=question) for question, _ in texts])
        encoded_answers = tokenizer.encode_batch_fast([answer for _, answer in texts])
        for prompt, answer in zip(encoded_prompts, encoded_answers, strict=True):
            room -= len(prompt) + len(answer) + 1
            if room < 0 or len(prompts) == shape.rows:
                return prompts, completions
            prompts.append(prompt.ids)
            completions.append([*answer.ids, END_ID])


_worker: dict[str, Tokenizer] = {}


def _start_worker(tokenizer: str) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # each core has its own process
    _worker["tokenizer"] = Tokenizer.from_str(tokenizer)


def _work(seed: int, number: int, shape: MicroBatchShape) -> Texts:
    return make_pack(_worker["tokenizer"], seed, number, shape)


def packs_of_texts(tokenizer: Tokenizer, seed: int, shape: MicroBatchShape, workers: int) -> Generator[Texts]:
    """Yields packs without end, the same for any number of workers; 0 makes them in this process."""
    if not workers:
        yield from (make_pack(tokenizer, seed, number, shape) for number in count())
        return
    with get_context("spawn").Pool(workers, _start_worker, (tokenizer.to_str(),)) as pool:
        pending = (pool.apply_async(_work, (seed, number, shape)) for number in count())
        ahead = deque(islice(pending, PACKS_AHEAD * workers))
        while True:
            ahead.append(next(pending))
            yield ahead.popleft().get(timeout=120)


def make_model(hidden: int, layers: int) -> Any:
    """Builds a float32 model with heads of width 64 and an MLP of 11/4 of the hidden width."""
    heads = hidden // 64
    shape = Qwen3Config(
        vocab_size=VOCABULARY, hidden_size=hidden, intermediate_size=hidden * 11 // 4, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=max(1, heads // 2), head_dim=64, max_position_embeddings=CONTEXT,
        tie_word_embeddings=True, pad_token_id=PAD_ID, eos_token_id=END_ID, bos_token_id=None,
    )  # fmt: skip
    return loader.model_from_config(shape, torch.float32)


class MasterWeights:
    """AdamW on float32 copies of the weights.

    passus.training.optimizer reads the gradient norm in every update and so waits for the GPU. Nothing waits here, so the next
    pack is made while the GPU works.
    """

    def __init__(self, model: Any):
        self.weights = list(model.parameters())
        self.masters = [weight.detach().float().clone() for weight in self.weights]
        self.adam = torch.optim.AdamW(self.masters, lr=0.0, betas=(0.9, 0.95), weight_decay=WEIGHT_DECAY, fused=True)

    def step(self, learning_rate: float) -> None:
        torch.nn.utils.clip_grad_norm_(self.weights, 1.0)
        for master, weight in zip(self.masters, self.weights, strict=True):
            master.grad, weight.grad = weight.grad.float(), None
        self.adam.param_groups[0]["lr"] = learning_rate
        self.adam.step()
        with torch.no_grad():
            torch._foreach_copy_(self.weights, self.masters)


def pack(texts: Texts, shape: MicroBatchShape, device: torch.device) -> PackedBatch:
    rows = list(range(len(texts[0])))
    if device.type == "cpu":
        rows.sort(key=lambda row: len(texts[0][row]) + len(texts[1][row]))
        return packing.pack(rows, *texts, device)
    return packing.pack_to_shape(rows, *texts, shape, device)


def next_token_loss(model: Any, packed: PackedBatch) -> Tensor:
    """Returns the mean loss over the tokens of the answers.

    An update is one pack of texts in random order; sorted by length, short texts would get too much weight.
    """
    hidden_TE = model.get_decoder()(
        packed.tokens_T[None], position_ids=packed.positions_T[None], use_cache=False, plan=packed.plan
    ).last_hidden_state[0]
    predicting_CE = hidden_TE.index_select(0, packed.predicts_C)
    logp_C, _ = logprob.token_logprobs(model.get_output_embeddings(), predicting_CE, packed.targets_C, chunk=1 << 16)
    return -logp_C.mean()


def pretrain(
    *, steps: int, seconds: float, tokens: int, device: str, workers: int, seed: int, hidden: int, layers: int
) -> tuple[Any, Tokenizer, dict[str, Any]]:
    """Trains until `steps` or `seconds` is reached, when the learning rate is 0. Returns model, tokenizer and statistics."""
    started = time.monotonic()
    torch.manual_seed(seed)
    tokenizer = train_tokenizer(seed)
    model = make_model(hidden, layers).to(device).train()
    optimizer = MasterWeights(model)
    if device == "cuda":
        from passus.engine import compile

        for parameter in model.parameters():  # not model.to, which would also round the rotary frequencies
            parameter.data = parameter.data.to(torch.bfloat16)
        compile.fuse_and_compile(model)
    shape = MicroBatchShape(tokens, max(8, tokens // 64), LONGEST)
    step = total = 0
    progress, seen, since = 0.0, 0, started
    with closing(packs_of_texts(tokenizer, seed, shape, workers)) as packs:
        for texts in packs:
            step += 1
            loss = next_token_loss(model, pack(texts, shape, model.device))
            loss.backward()
            optimizer.step(LEARNING_RATE * min(1.0, step / WARM_UP, (1 - progress) / COOL_DOWN))
            seen += sum(map(len, texts[0])) + sum(map(len, texts[1]))
            progress = max(step / steps, (time.monotonic() - started) / seconds)
            if step % REPORT_EVERY == 0 or progress >= 1:
                value, now = loss.item(), time.monotonic()
                print(f"step {step}  loss {value:.4f}  {seen / (now - since):.0f} tokens/s  {now - started:.0f} s", flush=True)
                total, seen, since = total + seen, 0, now
            if progress >= 1:
                break
    return model, tokenizer, {"steps": step, "tokens": total, "loss": value, "seconds": round(time.monotonic() - started, 1)}


def save(model: Any, tokenizer: Tokenizer, out: Path, recipe: dict[str, Any]) -> None:
    """Saves the model in Hugging Face layout in bf16, with its recipe."""
    model.to(torch.bfloat16).save_pretrained(out)
    transformers_tokenizer(tokenizer).save_pretrained(out)
    (out / "recipe.json").write_text(json.dumps(recipe, indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a new folder for the model")
    parser.add_argument("--steps", type=int, default=5000, help="maximum number of updates (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=130, help="maximum training time (default: %(default)s)")
    parser.add_argument("--tokens", type=int, default=65536, help="tokens per update (default: %(default)s)")
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument(
        "--workers", type=int, default=8, help="processes that write texts, each at least 0.4M tokens/s (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hidden", type=int, default=512, help="hidden width, a multiple of 64 (default: %(default)s)")
    parser.add_argument("--layers", type=int, default=8, help="number of layers (default: %(default)s)")
    options = vars(parser.parse_args())
    out = options.pop("out")
    try:
        if out.exists() and any(out.iterdir()):
            raise UsageError(f"--out {out} is not empty", expected="a new folder")
        options["device"] = choose_device(options["device"])
    except UsageError as error:
        parser.error(str(error))
    model, tokenizer, statistics = pretrain(**options)
    mixture = {"styles": STYLES, "slip": SLIP, "careful_slip": CAREFUL_SLIP, "guess_right": GUESS_RIGHT}
    parameters = sum(p.numel() for p in model.parameters())
    save(
        model,
        tokenizer,
        out,
        {"format": words.VERSION, "parameters": parameters} | mixture | {"asked": options, "done": statistics},
    )
    print(f"model: {out}, {parameters / 1e6:.1f}M parameters")
    print_next_commands(f"passus eval {out} --suite words", "passus run real/words")


if __name__ == "__main__":
    main()
