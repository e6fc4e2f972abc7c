"""A passus task in TRL's trainer, and the reward function by itself."""

import pytest

from passus.interop.trl import dataset_rows, reward_function


def test_rewards_in_trls_signature():
    reward = reward_function()
    chat = [
        [{"role": "assistant", "content": text}]
        for text in ("\\boxed{4}", "<think>\\boxed{4}</think> \\boxed{5}", "Let me think.")
    ]
    extra = {"prompts": [None] * 3, "completion_ids": [[1]] * 3, "trainer_state": None}
    assert reward(completions=chat, answer=["4"] * 3, **extra) == [1, 0, 0]
    assert reward(completions=["\\boxed{4}"], answer=["4"]) == [1.0]
    logged = {}
    weighted = reward_function({"correct": 2.0, "unparseable": -1.0, "format": 0.5})
    assert weighted(completions=["\\boxed{4}", "Let me think."], answer=["4", "4"], log_metric=logged.__setitem__) == [
        2.5,
        -1.0,
    ]
    assert logged == {"unparseable": 0.5}


def test_rows_have_the_columns_of_the_reward_function():
    rows = dataset_rows("abacus/add2+sub", 4, system="Be brief.")
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

    recorded: list[list] = []
    reward = reward_function()

    def recording_reward(**columns):
        recorded.append(reward(**columns))
        return recorded[-1]

    settings = trl.GRPOConfig(
        output_dir=str(tmp_path), per_device_train_batch_size=16, num_generations=4, max_completion_length=24, max_steps=1,
        learning_rate=1e-4, use_cpu=True, bf16=False, save_strategy="no", report_to=[], disable_tqdm=True, logging_steps=1,
        gradient_checkpointing=False, seed=0,
    )  # fmt: skip
    folder = locate_model("nano/qwen3")
    trainer = trl.GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(folder), processing_class=AutoTokenizer.from_pretrained(folder),
        reward_funcs=recording_reward, args=settings, train_dataset=Dataset.from_list(dataset_rows("abacus/add2", 16)),
    )  # fmt: skip
    trainer.train()
    (values,) = recorded
    assert len(values) == 16 and set(values) <= {0.0, 1.0} and 0 < sum(values) < 16  # the model solves some of the items
    logged = next(row for row in trainer.state.log_history if "reward" in row)
    assert logged["reward"] == pytest.approx(sum(values) / 16)
