"""GRPO step of TRL on the workload of `passus bench`, which runs this module in a separate process.

The sampler is transformers' generate, which TRL uses without a vLLM server; the name of the result says so.
"""

import json
import sys
import tempfile
import time
from typing import Any

import torch
import transformers
import trl
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from passus.bench.measure import PEER_PREFIX
from passus.bench.workloads import TASK, WARM_UP, Workload, coin_reward
from passus.tasks.lookup import training_items


class StepOnRequest(TrainerCallback):
    """After the warm-up, waits for a line on stdin before each step, and reports its seconds."""

    def __init__(self) -> None:
        self.steps, self.started = 0, 0.0

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        if self.steps == WARM_UP:
            report({"name": f"trl {trl.__version__}, HF generate"})
        if self.steps >= WARM_UP:
            sys.stdin.readline()
        self.started = time.perf_counter()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        if self.steps >= WARM_UP:
            report({"seconds": time.perf_counter() - self.started})
        self.steps += 1


def report(result: dict[str, Any]) -> None:
    print("\n" + PEER_PREFIX + json.dumps(result), flush=True)


def main() -> None:
    work = Workload(**json.loads(sys.argv[1]))
    torch.set_num_threads(work.threads)
    transformers.utils.logging.set_verbosity_error()
    tokenizer = AutoTokenizer.from_pretrained(work.model)
    dtype = torch.bfloat16 if work.device == "cuda" else torch.float32
    model = AutoModelForCausalLM.from_pretrained(work.model, dtype=dtype)
    items = training_items(TASK, 0, 0, 0, work.prompts * (work.repeats + WARM_UP + 2))
    data = Dataset.from_list([{"prompt": [{"role": "user", "content": item.question}]} for _, item in items])
    settings = GRPOConfig(
        output_dir=tempfile.mkdtemp(), per_device_train_batch_size=work.prompts * work.samples, num_generations=work.samples,
        max_completion_length=work.tokens, generation_kwargs={"min_new_tokens": work.tokens}, temperature=1.0, top_k=0,
        learning_rate=work.learning_rate, lr_scheduler_type="constant", max_steps=work.repeats + WARM_UP, beta=0.0,
        loss_type="grpo", bf16=work.device == "cuda", use_cpu=work.device == "cpu", gradient_checkpointing=False,
        logging_steps=10**6, save_strategy="no", report_to=[], disable_tqdm=True, dataloader_num_workers=0,
    )  # fmt: skip

    def reward(completion_ids: list[list[int]], **_: Any) -> list[float]:
        if {len(ids) for ids in completion_ids} != {work.tokens}:
            raise ValueError("the peer's completions do not have the forced length")
        return coin_reward(completion_ids)

    trainer = GRPOTrainer(model=model, reward_funcs=reward, args=settings, train_dataset=data, processing_class=tokenizer)
    trainer.add_callback(StepOnRequest())
    trainer.train()


if __name__ == "__main__":
    main()
