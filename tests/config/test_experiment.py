"""Experiment files: what they resolve to, and how bad ones are refused."""

from pathlib import Path

import pytest

from helpers.small_run import EXPERIMENT, small_config, write_experiment
from passus.config import resolve
from passus.config.experiment import load_experiment, shipped_experiments
from passus.config.explain import explain
from passus.errors import UsageError
from passus.launch.dry_run import describe_experiment
from passus.methods.presets import PRESETS


def test_config_toml_reads_back_as_it_was():
    written = small_config(eval={"temperature": [0.0, 1.0]}, name='odd "name"\\ with\nbreaks and \x7f')
    assert resolve.from_toml(resolve.to_toml(written), "x") == written


def test_the_grid_is_the_product_of_its_keys(tmp_path):
    text = EXPERIMENT + '[sweep]\nseed = [0, 1]\n"train.learning_rate" = [1e-4, 5e-4]\n'
    arms = load_experiment(write_experiment(tmp_path, text)).arms
    names = [f"seed-{seed}_learning-rate-{rate}" for seed in (0, 1) for rate in (0.0001, 0.0005)]
    assert [arm.name for arm in arms] == names
    assert arms[2].config.seed == 1 and arms[2].config.train.learning_rate == 1e-4


def test_what_is_set_wins_over_file_and_sweep(tmp_path):
    path = write_experiment(tmp_path, EXPERIMENT + "[sweep]\nseed = [0, 1]\n")
    (arm,) = load_experiment(path, ["seed=7", "train.steps=3", 'eval.suite=["abacus/mul"]', "model.base=nano/qwen3"]).arms
    assert (arm.config.seed, arm.config.train.steps, arm.config.eval.suite) == (7, 3, ["abacus/mul"])
    assert len(load_experiment(path, ["sweep.seed=[1,2,3]"]).arms) == 3


def test_every_shipped_experiment_loads():
    assert "families" in shipped_experiments()
    for name in shipped_experiments():
        assert load_experiment(name).arms


def test_few_fields_all_documented():
    fields = resolve.fields()
    assert len([key for key in fields if not key.startswith("method.")]) < 66  # every one of them asked for by name
    for key, field in fields.items():
        assert field.description, key
        assert key in explain(key)
    assert explain("train/reward") and explain("train") and explain(None)
    with pytest.raises(UsageError, match=r"train\.steps"):
        explain("train.stpes")


def test_dry_run_says_what_follows():
    arm = load_experiment("families").arms[0]
    text = describe_experiment(load_experiment("families", ["train.updates=2"]), Path("runs/x"))
    assert arm.name in text
    assert "16 prompts x 8 samples = 128 completions" in text and "8 prompts = 64 completions" in text
    assert "13 points" in text and "6 checkpoints" in text


REFUSED = {
    "train.stepz=4": ["unknown key train.stepz", "train.steps"],
    "trian.steps=4": ["unknown key trian", "train"],
    'train.steps="four"': ["train.steps = 'four'", "integer"],
    "train.steps=0": ["train.steps = 0", "greater than or equal to 1"],
    "train.samples=1": ["train.samples = 1", "2 or more"],
    "train.updates=3": ["train.updates = 3", "train.prompts = 4"],
    "train.temperature=0": ["train.temperature = 0"],
    "eval.temperature=-1": ["eval.temperature = -1"],
    "eval.temperature=[]": ["eval.temperature"],
    "eval.suite=[]": ["eval.suite = []"],
    'eval.suite=["abacus/ad2"]': ["abacus/ad2", "abacus/add2"],
    "task.name=abacus/add7": ["add7", "add2"],
    "method.name=gpro": ["method.name = 'gpro'", "grpo"],
    "method.clip_hihg=0.3": ["unknown key method.clip_hihg", "method.clip_high"],
    "figure=pie": ["figure = 'pie'"],
    "run.best=acc": ["not yet"],
    "stage=[{kind='sft'}]": ["not yet"],
    "sweep.seed=[]": ["the grid has no arms", "sweep"],
    "sweep.seed=3": ["[sweep]", "a list"],
    "train=5": ["train"],
    "train.steps.more=5": ["train.steps"],
    "nonsense": ["--set nonsense", "key=value"],
    "seed=-1": ["seed = -1"],
    "seed=2147483648": ["seed = 2147483648"],
    "sweep=5": ["[sweep]", "lists"],
    'sweep.name=["a", "b"]': ["names the experiment"],
    'method.name=["a"]': ["method.name = ['a']"],
    "method.dynamic_sampling=true": ["unknown key method.dynamic_sampling"],
    "method.loss=clipped": ["method.loss = 'clipped'", "'clip'"],
    "method.ratio=sequence": ["sequence_mean"],
    "method.soft_overlong=2": ["method.soft_overlong"],
    'method={"name"="grpo","old_logprobs"="sampler","tis_cap"=2.0}': ["nothing to correct"],
    "model.lora.rank=0": ["model.lora.rank"],
    'model.lora.targets=["all-linear", "q_proj"]': ["model.lora.targets"],
    'method={"name"="sft","dynamic_sampling_rounds"=3}': ["nothing to correct or to sample again"],
    "model.lora.targets=[]": ["model.lora.targets"],
    "model.thinking=yes": ["model.thinking", "'on'"],
    "arm=5": ["[[arm]]"],
    "arm=[]": ["[[arm]]"],
    "method.advantage_eps=1e-46": ["advantage_eps"],
    "reward.values.correct=1e39": ["reward.values.correct"],
    "reward.correct=0.5": ["unknown key reward.correct", "reward.values.correct"],
    "train.warmup=4": ["unknown key train.warmup", "train.optimizer.warmup"],
    "task.order=hard-from-0": ["hard-from-STEP"],
    "task.name=abacus/add2*0+sub": ["weights of 1 or more"],
    "task.name=abacus/add2*0": ["weights of 1 or more"],
    'method={"name"="sft","kl_coef"=0.1}': ["without a KL"],
    'method={"name"="grpo","baseline"="none"}': ["advantage_scale"],
    "train.optimizer.beta1=1.0": ["train.optimizer.beta1"],
    "train.learning_rate=nan": ["train.learning_rate"],
    "eval.temperature=1e-40": ["eval.temperature"],
    "eval.temperature=[1.0, 1.0]": ["all different"],
    'eval.suite=["abacus/add2", "abacus/add2"]': ["each benchmark once"],
    "task.name=abacus/add2+add2": ["twice"],
    "model.prompt=hello": ["{question}"],
}


@pytest.mark.parametrize("override", REFUSED)
def test_refusals_name_what_was_given_and_what_was_expected(tmp_path, override):
    with pytest.raises(UsageError) as refused:
        load_experiment(write_experiment(tmp_path), [override])
    for part in REFUSED[override]:
        assert part in str(refused.value)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "part"),
    [("x = [", "not TOML"), ("seed = 1", "model is missing"), ("[model]\ntuning = 'live'", "model.base is missing")],
)
def test_bad_files(tmp_path, text, part):
    with pytest.raises(UsageError, match=part):
        load_experiment(write_experiment(tmp_path, text))


def test_arms_may_be_listed_and_are_crossed_with_the_sweep(tmp_path):
    text = """
    [[arm]]
    name = "all weights"
    "train.learning_rate" = 1e-4
    [[arm]]
    "model.tuning" = "frozen"
    model.lora.rank = 2
    [sweep]
    seed = [0, 1]
    """
    path = write_experiment(tmp_path, EXPERIMENT + text)
    arms = {arm.name: arm.config for arm in load_experiment(path).arms}
    assert list(arms) == ["all-weights_seed-0", "all-weights_seed-1", "frozen_rank-2_seed-0", "frozen_rank-2_seed-1"]
    assert arms["frozen_rank-2_seed-1"].model.lora.rank == 2 and arms["frozen_rank-2_seed-1"].train.learning_rate == 5e-4
    assert arms["all-weights_seed-0"].train.learning_rate == 1e-4 and arms["all-weights_seed-0"].model.tuning == "live"
    set_wins = load_experiment(path, ["train.learning_rate=2e-4", "seed=3", "name=other"]).arms
    assert [(a.name, a.config.train.learning_rate) for a in set_wins] == [("all-weights", 2e-4), ("frozen_rank-2", 2e-4)]
    written_as_a_table = load_experiment(path, ["model.lora.rank=32"]).arms
    assert {a.config.model.lora.rank for a in written_as_a_table} == {32}  # written as a table, too


def test_the_plan_of_solutions_counts_no_samples():
    text = describe_experiment(load_experiment("methods", ["method.name=sft"]), Path("runs/x"))
    assert "16 prompts x 1 samples = 16 completions" in text and "worked solutions" in text
    assert "resampled up to 4 rounds" in describe_experiment(load_experiment("methods", ["method.name=dapo"]), Path("runs/x"))
    assert "frozen (LoRA of rank 8 on all-linear)" in describe_experiment(load_experiment("live-frozen"), Path("runs/x"))


def test_a_reward_that_is_a_function_stands_alone(tmp_path):
    (arm,) = load_experiment(write_experiment(tmp_path), ["reward=mine:f"]).arms
    assert (arm.config.reward.function, arm.config.reward.values.correct) == ("mine:f", 0.0)
    (arm,) = load_experiment(write_experiment(tmp_path), ["reward.function=mine:f"]).arms
    assert (arm.config.reward.function, arm.config.reward.values.correct) == ("mine:f", 1.0)


def test_a_preset_fills_the_method_and_is_overridden(tmp_path):
    (arm,) = load_experiment(write_experiment(tmp_path), ["method.name=dapo", "method.dynamic_sampling_rounds=2"]).arms
    method = arm.config.method
    assert (method.clip_high, method.dynamic_sampling_rounds, method.loss_average) == (0.28, 2, "token")
    (arm,) = load_experiment(write_experiment(tmp_path), ["method.name=sft", "train.samples=1"]).arms
    assert arm.config.method.loss == "likelihood"


def test_missing_files_and_names(tmp_path):
    with pytest.raises(UsageError, match="no file"):
        load_experiment(str(tmp_path / "none.toml"))
    with pytest.raises(UsageError, match="families"):
        load_experiment("familes")


def test_two_arms_never_share_a_folder(tmp_path):
    text = EXPERIMENT + '[sweep]\n"model.base" = ["a/qwen3", "b/qwen3"]\n'
    with pytest.raises(UsageError, match="two arms"):
        load_experiment(write_experiment(tmp_path, text))


def test_what_may_change_when_a_run_goes_on():
    recorded = small_config()
    assert not resolve.differences(recorded, small_config(train={"steps": 20}, run={"keep_checkpoints": 1}))
    assert "train.prompts" in resolve.differences(recorded, small_config(train={"prompts": 8}))[0]
    cosine = small_config(train={"optimizer": {"schedule": "cosine"}})
    assert "schedule" in resolve.differences(cosine, small_config(train={"optimizer": {"schedule": "cosine"}, "steps": 20}))[0]


SWEEP = """
[model]
base = "nano/qwen3"
[train]
max_tokens = 24
"""


@pytest.mark.parametrize(
    "sweep",
    ["[sweep]\nmethod.name", "[sweep.method]\nname", '[sweep]\n"method.name"'],
    ids=["dotted", "table", "quoted"],
)
def test_a_sweep_over_methods_gives_each_arm_the_defaults_of_its_preset(tmp_path, sweep):
    arms = load_experiment(write_experiment(tmp_path, f'{SWEEP}{sweep} = ["grpo", "dapo"]')).arms
    assert [(arm.name, arm.varied) for arm in arms] == [("grpo", {"method.name": "grpo"}), ("dapo", {"method.name": "dapo"})]
    assert [arm.config.method for arm in arms] == [PRESETS["grpo"], PRESETS["dapo"]]


def test_a_sweep_over_fields_of_any_depth_in_any_spelling(tmp_path):
    text = '[sweep]\nmodel.base = ["nano/qwen3", "nano/llama3.2"]\n"train.optimizer.warmup" = [0, 5]\n'
    text += "[sweep.eval]\ntemperature = [[0.0, 1.0]]\n"
    path = write_experiment(tmp_path, SWEEP + text)
    arms = load_experiment(path).arms
    assert [(arm.config.model.base, arm.config.train.optimizer.warmup) for arm in arms] == [
        ("nano/qwen3", 0), ("nano/qwen3", 5), ("nano/llama3.2", 0), ("nano/llama3.2", 5)
    ]  # fmt: skip
    assert all(arm.config.eval.temperature == [0.0, 1.0] for arm in arms)
    fixed = load_experiment(path, ["model.base=nano/gemma3", "sweep.train.optimizer.warmup=[7]"]).arms
    assert [(arm.config.model.base, arm.config.train.optimizer.warmup) for arm in fixed] == [("nano/gemma3", 7)]


@pytest.mark.parametrize(
    ("sweep", "parts"),
    [
        ('method.name = "grpo"', ("[sweep] method.name = 'grpo'", "a list of values", 'write: method.name = ["grpo"]')),
        ('method.nmae = ["grpo"]', ("unknown key method.nmae", "write: method.name")),
        ('method.name = ["grpo", "dpao"]', ("method.name = 'dpao'", "write: dapo")),
        ('method = ["grpo"]', ("method = 'grpo'", "a table", "write: method.name")),
        ('"method.name" = ["grpo"]\nmethod.name = ["dapo"]', ("'method.name' is given twice",)),
        ("method.name = []", ("method.name", "is empty")),
    ],
)  # fmt: skip
def test_a_refused_sweep_says_what_to_write(tmp_path, sweep, parts):
    with pytest.raises(UsageError) as refused:
        load_experiment(write_experiment(tmp_path, f"{SWEEP}[sweep]\n{sweep}\n"))
    assert all(part in str(refused.value) for part in parts), refused.value
