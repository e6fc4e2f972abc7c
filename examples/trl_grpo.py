"""Trains nano/qwen3 with TRL's GRPOTrainer, records every eval item, and writes a passus report.

    python examples/trl_grpo.py --out runs/trl --steps 40

It needs trl and datasets beside passus[train]. On two CPU cores it takes about half a minute.
"""

import argparse
from pathlib import Path

import trl
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer

from passus.interop.trl import dataset_rows, eval_rows, reward_function
from passus.interop.trl_recording import TRLRecording
from passus.models.locate import locate_model
from passus.reports.renderer import write
from passus.reports.report import build_report

TASK = "abacus/add2"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/trl-grpo"))
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--eval-items", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--learning-rate", type=float, default=5e-4)
    parser.add_argument("--logging-steps", type=int, default=1)
    given = parser.parse_args()

    recording = TRLRecording(given.out / f"seed-{given.seed}", TASK)
    rows = dataset_rows(TASK, 16 * given.steps, seed=given.seed)
    settings = trl.GRPOConfig(
        output_dir=str(given.out / "trl"), per_device_train_batch_size=32, per_device_eval_batch_size=32, num_generations=8,
        max_completion_length=48, max_steps=given.steps, learning_rate=given.learning_rate, seed=given.seed,
        eval_strategy="steps", eval_steps=10, eval_on_start=True, logging_steps=given.logging_steps, save_strategy="no",
        report_to=[], disable_tqdm=True, use_cpu=True, bf16=False, gradient_checkpointing=False,
    )  # fmt: skip
    folder = locate_model("nano/qwen3")
    trainer = trl.GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(folder), processing_class=AutoTokenizer.from_pretrained(folder),
        reward_funcs=recording.reward(reward_function()), args=settings, callbacks=[recording.callback()],
        train_dataset=Dataset.from_list(rows), eval_dataset=Dataset.from_list(eval_rows(TASK, given.eval_items)),
    )  # fmt: skip
    trainer.train()
    trainer.save_state()  # TRL's own record: means of every logged step, which `passus import` reads too
    write(build_report([given.out]), given.out / "report.html")
    print(f"report: {given.out / 'report.html'}")


if __name__ == "__main__":
    main()
