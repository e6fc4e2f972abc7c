"""A passus task inside TRL's trainer, and the reward by itself."""

import pytest

from passus.interop.trl import reward_function, training_rows


def test_rewards_as_trl_asks_for_them():
    reward = reward_function()
    chat = [
        [{"role": "assistant", "content": text}]
        for text in ("\\boxed{4}", "<think>\\boxed{4}</think> \\boxed{5}", "Let me think.")
    ]
    assert reward(prompts=[None] * 3, completions=chat, completion_ids=[[1]] * 3, answer=["4"] * 3, trainer_state=None) == [
        1,
        0,
        0,
    ]
    assert reward(completions=["\\boxed{4}"], answer=["4"]) == [1.0]
    logged = {}
    worth = reward_function({"correct": 2.0, "unparseable": -1.0, "format": 0.5})
    assert worth(completions=["\\boxed{4}", "Let me think."], answer=["4", "4"], log_metric=logged.__setitem__) == [2.5, -1.0]
    assert logged == {"unparseable": 0.5}


def test_rows_carry_what_the_reward_reads():
    rows = training_rows("abacus/add2+sub", 4, system="Be brief.")
    assert [row["task"] for row in rows] == ["abacus/add2", "abacus/sub"] * 2
    assert [m["role"] for m in rows[0]["prompt"]] == ["system", "user"] and rows[0]["kind"] == "math"
    answers = [f"\\boxed{{{row['answer']}}}" for row in rows]
    columns = {key: [row[key] for row in rows] for key in ("answer", "kind", "choices", "tolerance", "task")}
    assert reward_function()(completions=answers, **columns) == [1.0] * 4


def test_a_step_of_trls_trainer(tmp_path):
    trl = pytest.importorskip("trl", reason="trl is not installed")
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from passus.models.locate import locate_model

    seen: list[list] = []
    reward = reward_function()

    def recorded(**given):
        seen.append(reward(**given))
        return seen[-1]

    settings = trl.GRPOConfig(
        output_dir=str(tmp_path), per_device_train_batch_size=16, num_generations=4, max_completion_length=24, max_steps=1,
        learning_rate=1e-4, use_cpu=True, bf16=False, save_strategy="no", report_to=[], disable_tqdm=True, logging_steps=1,
        gradient_checkpointing=False, seed=0,
    )  # fmt: skip
    folder = locate_model("nano/qwen3")
    trainer = trl.GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(folder), processing_class=AutoTokenizer.from_pretrained(folder),
        reward_funcs=recorded, args=settings, train_dataset=Dataset.from_list(training_rows("abacus/add2", 16)),
    )  # fmt: skip
    trainer.train()
    (values,) = seen
    assert len(values) == 16 and set(values) <= {0.0, 1.0} and 0 < sum(values) < 16  # it knows some of it
    logged = next(row for row in trainer.state.log_history if "reward" in row)
    assert logged["reward"] == pytest.approx(sum(values) / 16)
