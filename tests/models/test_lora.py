"""LoRA adapters: against PEFT's forward pass with eager attention, and on disk."""

import json
import shutil

import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

from helpers.command import passus_in_process
from helpers.decode_rows import LENGTHS, decoded, random_rows
from helpers.small_run import assert_same, small_config, stop_in_step
from helpers.tiers import slow_cases
from helpers.tiny_models import tiny_model, with_passus
from passus.config.tables import LoraTable, ModelTable
from passus.engine.attention import PackedPlan
from passus.errors import Stop, UsageError
from passus.models import export, loader, lora
from passus.models.locate import locate_model
from passus.runs.run_folder import RunFolder
from passus.training import loop

TABLE = ModelTable(base="x", tuning="frozen", lora=LoraTable(rank=4, alpha=8.0))


def with_adapter(model, table=TABLE):
    """Attaches an adapter and fills both of its matrices with random numbers."""
    attached = lora.attach(with_passus(model), table, "base", "/base", seed=0)
    generator = torch.Generator().manual_seed(5)
    for name, parameter in attached.model.named_parameters():
        if "lora_B" in name:
            parameter.data.normal_(0, 0.2, generator=generator)
    attached.refresh_merged()
    return attached


def eager(model, rows):
    model.set_attn_implementation("eager")
    logits = torch.cat([model(row[None], use_cache=False).logits[0] for row in rows])
    model.set_attn_implementation("passus")
    return logits


def packed(model, rows):
    positions = torch.cat([torch.arange(len(row)) for row in rows])
    plan = PackedPlan([len(row) for row in rows], torch.device("cpu"))
    return model(torch.cat(rows)[None], position_ids=positions[None], use_cache=False, plan=plan).logits[0]


def test_enabled_disabled_and_merged_equal_eager(family_model):
    rows = random_rows()
    with torch.no_grad():
        base = eager(family_model, rows)
        attached = with_adapter(family_model)
        on = eager(attached.model, rows)
        assert float((on - base).abs().max()) > 0.05  # the adapter has an effect
        for got in (packed(attached.model, rows), packed(attached.merged, rows)):
            torch.testing.assert_close(got, on, atol=5e-5, rtol=1e-4)
        for model in (attached.model, attached.merged):
            torch.testing.assert_close(torch.cat(decoded(model, rows)), on, atol=5e-5, rtol=1e-4)
        with attached.disabled():
            torch.testing.assert_close(packed(attached.model, rows), base, atol=2e-5, rtol=1e-4)
        torch.testing.assert_close(packed(attached.model, rows), on, atol=5e-5, rtol=1e-4)


@pytest.mark.parametrize("tuning", ["live", "frozen"])
def test_gradients_with_and_without_checkpointing_equal_eager(family_model, tuning):
    rows = random_rows()
    model = with_adapter(family_model).model if tuning == "frozen" else with_passus(family_model)
    model.train()
    weights = torch.randn(sum(LENGTHS), model.config.vocab_size, generator=torch.Generator().manual_seed(2))

    def gradients(logits):
        model.zero_grad()
        (logits.log_softmax(-1) * weights).sum().backward()
        return {name: p.grad.clone() for name, p in model.named_parameters() if p.requires_grad}

    expected = gradients(eager(model, rows))
    plain = gradients(packed(model, rows))
    model.gradient_checkpointing_enable()
    recomputed = gradients(packed(model, rows))
    assert expected and all(("lora" in name) == (tuning == "frozen") for name in expected)
    for name, theirs in expected.items():
        scale = float(theirs.abs().max()) + 1e-6
        torch.testing.assert_close(plain[name] / scale, theirs / scale, atol=1e-4, rtol=1e-3)
        torch.testing.assert_close(recomputed[name] / scale, theirs / scale, atol=1e-4, rtol=1e-3)


def test_a_new_adapter_equals_the_base_and_depends_on_the_seed():
    rows = random_rows()
    with torch.no_grad():
        base = eager(tiny_model("qwen3"), rows)
        attached = [lora.attach(with_passus(tiny_model("qwen3")), TABLE, "base", "/base", seed) for seed in (1, 1, 2)]
        torch.testing.assert_close(packed(attached[0].model, rows), base, atol=2e-5, rtol=1e-4)
    first, same, other = ([p for p in a.model.parameters() if p.requires_grad] for a in attached)
    assert all(map(torch.equal, first, same)) and not all(map(torch.equal, first, other))
    assert all(p.dtype == torch.float32 for p in first)


def test_a_bf16_base_has_a_float32_adapter_and_no_merged_copy():
    attached = lora.attach(with_passus(tiny_model("qwen3").to(torch.bfloat16)), TABLE, "base", "/base", 0)
    assert attached.merged is None
    assert {p.dtype for p in attached.model.parameters() if p.requires_grad} == {torch.float32}


def test_the_merged_copy_shares_what_the_adapter_does_not_touch():
    attached = with_adapter(
        tiny_model("llama3.2"), TABLE.model_copy(update={"lora": LoraTable(rank=4, alpha=8.0, targets=["q_proj", "v_proj"])})
    )
    own = {name for name, p in attached.merged.named_parameters() if p.data_ptr() not in pointers(attached.model)}
    assert own and all(name.endswith(("q_proj.weight", "v_proj.weight")) for name in own)


def pointers(model):
    return {p.data_ptr() for p in model.parameters()}


FROZEN = {"model": {"tuning": "frozen", "lora": {"rank": 4}}, "train": {"learning_rate": 5e-3, "steps": 6}}


def run_frozen(path, check_stop=lambda: None, **tables):
    path.mkdir(parents=True, exist_ok=True)
    loop.train(small_config(**(FROZEN | tables)), RunFolder(path), check_stop, lambda text: None)
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return run_frozen(tmp_path_factory.mktemp("frozen") / "arm")


def test_a_saved_adapter_loads_with_peft_transformers_and_passus(run, tmp_path):
    folder = run / "checkpoints/step-000006"
    assert {"adapter_config.json", "adapter_model.safetensors", "tokenizer.json"} <= {p.name for p in folder.iterdir()}
    rows = random_rows()
    policy = loader.load(f"{run}@6", "cpu", "float32")
    base = AutoModelForCausalLM.from_pretrained(locate_model("nano/qwen3"), dtype=torch.float32)
    written = export.export(f"{run}@6", tmp_path / "merged", "float32")
    with torch.no_grad():
        before = eager(base, rows)
        expected = eager(PeftModel.from_pretrained(base, folder), rows)
        assert float((expected - before).abs().max()) > 1e-3
        by_transformers = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        exported = AutoModelForCausalLM.from_pretrained(tmp_path / "merged", dtype=torch.float32)
        for got in (packed(policy.sampling_model, rows), eager(by_transformers, rows), eager(exported, rows)):
            torch.testing.assert_close(got, expected, atol=5e-5, rtol=1e-4)
    assert written == "float32" and "adapter_config.json" not in {p.name for p in (tmp_path / "merged").iterdir()}
    assert loader.load(str(tmp_path / "merged"), "cpu", "float32").end_tokens == policy.end_tokens


def test_export_keeps_the_precision_of_the_base_by_default(run, tmp_path):
    assert export.export(str(run), tmp_path / "merged", "auto") == "bfloat16"
    with pytest.raises(UsageError, match="already exists"):
        export.export(str(run), tmp_path / "merged", "auto")


def test_the_base_is_never_touched(run):
    before = loader.load("nano/qwen3", "cpu", "float32").model.state_dict()
    policy = loader.load(str(run), "cpu", "float32")
    for name, layer in policy.adapter.layers.items():
        assert torch.equal(layer.base_layer.weight, before[f"{name}.weight"])


@pytest.mark.parametrize("step", [4, *slow_cases(1, 6)])
def test_a_run_stopped_in_a_step_and_resumed_is_the_same_run(run, tmp_path, step):
    with pytest.raises(Stop):
        run_frozen(tmp_path / "arm", stop_in_step(tmp_path / "arm", step))
    assert len(RunFolder(tmp_path / "arm").metrics()) == step - 1
    assert_same(run_frozen(tmp_path / "arm"), run)


def test_the_record_has_the_tuning_and_the_trained_parameters(run):
    model = RunFolder(run).meta()["model"]
    assert model["tuning"] == "frozen" and 0 < model["trained"] < model["parameters"] and model["label"].endswith("0.8M")
    assert all(row["sampling/sampling_logp_difference/max"] < 1e-4 for row in RunFolder(run).metrics())


def damaged(run, tmp_path, change):
    folder = tmp_path / "adapter"
    shutil.copytree(run / "checkpoints/step-000006", folder)
    change(folder)
    return str(folder)


def edit(name, **values):
    def change(folder):
        path = folder / name
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return change


def drop_weights(folder, part):
    from safetensors.torch import load_file, save_file

    path = folder / "adapter_model.safetensors"
    save_file({name: tensor for name, tensor in load_file(path).items() if part not in name}, path)


BAD = {
    "another rank": (edit("adapter_config.json", r=8), "does not fit"),
    "another base": (edit("passus_base.json", base="nano/llama3.2"), "another base"),
    "another base, PEFT's own": (
        lambda f: ((f / "passus_base.json").unlink(), edit("adapter_config.json", base_model_name_or_path="nano/none")(f)),
        "no shipped model",
    ),
    "fewer layers": (edit("adapter_config.json", target_modules=["q_proj"]), "does not fit"),
    "more layers": (edit("adapter_config.json", target_modules=["q_proj", "nothing"]), "does not fit"),
    "no base": (
        lambda f: ((f / "passus_base.json").unlink(), edit("adapter_config.json", base_model_name_or_path=None)(f)),
        "does not name its base",
    ),
    "not an adapter's config": (lambda f: (f / "adapter_config.json").write_text("{"), "cannot be read"),
    "a layer without weights": (lambda f: drop_weights(f, "layers.0."), "is missing"),
    "biases": (edit("adapter_config.json", lora_bias=True), "lora_bias"),
    "tokens that switch it on": (edit("adapter_config.json", alora_invocation_tokens=[3]), "alora_invocation_tokens"),
    "odd rank": (edit("adapter_config.json", r="x"), "adapter"),
    "odd targets": (edit("adapter_config.json", target_modules="(("), "does not fit"),
    "odd alpha": (edit("adapter_config.json", lora_alpha=None), "adapter"),
    "another kind": (edit("adapter_config.json", peft_type="IA3"), "cannot be loaded"),
    "torn weights": (lambda f: (f / "adapter_model.safetensors").write_bytes(b"\x00" * 40), "does not fit"),
    "no weights": (lambda f: (f / "adapter_model.safetensors").unlink(), "has no adapter_model.safetensors"),
}


@pytest.mark.parametrize("case", BAD)
def test_adapters_that_do_not_fit_are_refused(run, tmp_path, case):
    change, part = BAD[case]
    with pytest.raises(UsageError, match=part):
        loader.load(damaged(run, tmp_path, change), "cpu", "float32")


@pytest.mark.parametrize("targets", [["query"], ["q_proj", "v_porj"], ["embed_tokens"], ["lm_head"], ["q_proj", "lm_head"]])
def test_targets_that_are_not_linear_layers_of_the_blocks_are_refused(tmp_path, targets):
    with pytest.raises(UsageError, match="q_proj"):
        run_frozen(tmp_path / "arm", model=FROZEN["model"] | {"lora": {"rank": 4, "targets": targets}})


def test_dropout_of_a_loaded_adapter_is_off(run, tmp_path):
    folder = damaged(run, tmp_path, edit("adapter_config.json", lora_dropout=0.5))
    model = loader.load(folder, "cpu", "float32").model
    with torch.no_grad():
        assert torch.equal(packed(model, random_rows()), packed(model, random_rows()))


def test_training_on_an_adapter_suggests_to_export_it(run, tmp_path):
    for tuning in ("live", "frozen"):
        with pytest.raises(UsageError, match="passus export"):
            run_frozen(tmp_path / "arm", model={"base": str(run), "tuning": tuning})


def test_eval_and_export_on_the_command_line(run, tmp_path):
    done = passus_in_process("export", str(run), "--out", "merged", cwd=tmp_path)
    assert done.returncode == 0 and "merged" in done.stdout, done.stderr
    done = passus_in_process(
        "eval", str(run), "--suite", "abacus/add2", "--limit", "2", "--samples", "1", "--json", cwd=tmp_path
    )
    assert done.returncode == 0 and json.loads(done.stdout)["q"] == 2, done.stderr
