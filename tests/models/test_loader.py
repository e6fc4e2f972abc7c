"""Loading of checkpoints: the loaded model equals the saved one, or it is refused with a reason."""

import json
import shutil

import pytest
import torch
from safetensors import safe_open
from transformers import Gemma3Config, Gemma3ForConditionalGeneration

from helpers.model_folders import (
    IM,
    NANO,
    byte_tokenizer,
    chat_folder,
    edit_json,
    nano_folder,
    small_model,
    trl_template,
)
from helpers.small_run import run_small
from helpers.tiny_models import tiny_model, with_passus
from passus.engine.eager import EagerEngine
from passus.engine.interface import Prompt, SamplingParams
from passus.errors import UsageError
from passus.models import loader
from passus.models.load_checks import _packed_logits
from passus.models.policy import Policy
from passus.tasks.item import Item

ROWS = [torch.arange(2, 19), torch.arange(9, 40, 3)]


def load(path, **settings) -> Policy:
    return loader.load(str(path), "cpu", "float32", **settings)


def refused(path, part: str, **settings) -> None:
    """Checks that loading fails with a message that says what was expected."""
    with pytest.raises(UsageError, match=part) as caught:
        load(path, **settings)
    assert "expected:" in str(caught.value)


def question(text: str) -> Item:
    return Item("made", 0, text, "")


def own_logits(model) -> torch.Tensor:
    model.set_attn_implementation("eager")
    with torch.no_grad():
        return torch.cat([model(input_ids=row[None], use_cache=False).logits[0] for row in ROWS])


def greedy(model, row: torch.Tensor, most: int) -> list[int]:
    """Decodes greedily by transformers' eager attention over the whole sequence at every token."""
    model.set_attn_implementation("eager")
    tokens = row.tolist()
    for _ in range(most):
        with torch.no_grad():
            tokens.append(int(model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0, -1].argmax()))
    return tokens[len(row) :]


def assert_computes(policy: Policy, original) -> None:
    """Checks that packed logits and decoded tokens of a loaded policy equal those of the saved model."""
    with torch.no_grad():
        torch.testing.assert_close(_packed_logits(policy, ROWS), own_logits(original), atol=5e-5, rtol=1e-4)
    prompts = [Prompt(tuple(row.tolist()), i) for i, row in enumerate(ROWS)]
    rollout = EagerEngine(policy.model, []).generate(prompts, SamplingParams(1, 12, 0, "x", temperature=0.0))
    assert rollout.tokens == [greedy(original, row, 12) for row in ROWS]


@pytest.mark.parametrize("name", ["qwen3+windows", "llama3.2", "smollm3", "gemma3+windows", "mistral+windows"])
def test_a_saved_family_is_loaded_with_its_layers(tmp_path, name):
    """Windows, layers without positions and rope settings are only in config.json."""
    original = tiny_model(name)
    assert_computes(load(nano_folder(tmp_path, original)), original)


def test_an_untested_family_loads(tmp_path):
    original = small_model("olmo2")
    policy = load(nano_folder(tmp_path / "OLMo-2-tiny", original))
    assert_computes(policy, original)
    loader.load(str(tmp_path / "OLMo-2-tiny"), "cpu", "bfloat16")  # rounding in bf16 is within the bound
    description = policy.describe(str(tmp_path / "OLMo-2-tiny"))
    assert (description["label"], description["family"]) == ("OLMo-2-tiny", "Olmo2")


@pytest.mark.parametrize("tuning", ["live", "frozen"])
def test_an_untested_family_trains(tmp_path, tuning):
    base = nano_folder(tmp_path / "OLMo-2-tiny", small_model("olmo2"))
    model = {"base": str(base), "tuning": tuning}
    folder = run_small(tmp_path / "arm", model=model, method={"entropy_coef": 0.01}, train={"steps": 2}, eval={"limit": 2})
    assert all(row["train/grad_norm"] > 0 for row in folder.metrics())
    assert all(row["sampling/sampling_logp_difference/max"] < 1e-4 for row in folder.metrics())
    loader.load(str(folder.path), "cpu", "float32")


def test_sampling_settings_of_the_generation_config_are_dropped(tmp_path):
    base = nano_folder(tmp_path / "model", small_model("qwen3"))
    edit_json(base / "generation_config.json", temperature=0.6, top_p=0.95, do_sample=False, eos_token_id=[1, 5])
    policy = load(base)
    policy.model.save_pretrained(tmp_path / "again")
    assert policy.end_tokens == [1, 5]
    assert json.loads((tmp_path / "again/generation_config.json").read_text())["eos_token_id"] == [1, 5]


@pytest.mark.parametrize("tuning", ["live", "frozen"])
def test_experts_train_fully_and_refuse_adapters(tmp_path, tuning):
    base = nano_folder(
        tmp_path / "moe",
        small_model("qwen3_moe", num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, decoder_sparse_step=1),
    )
    model = {"base": str(base), "tuning": tuning}
    if tuning == "frozen":
        model["lora"] = {"targets": ["gate_up_proj"]}
        with pytest.raises(UsageError, match=r"model\.lora\.targets"):
            run_small(tmp_path / "arm", model=model, train={"steps": 1}, eval={"limit": 2})
    else:
        run_small(tmp_path / "arm", model=model, train={"steps": 1}, eval={"limit": 2})


@pytest.mark.parametrize(
    ("kind", "settings", "part"),
    [
        ("gemma2", {}, "soft-capped logits"), ("granite", {"logits_scaling": 8.0}, "logits differ"),
        ("cohere", {}, "logits differ"), ("gpt2", {"num_key_value_heads": None}, "no num_key_value_heads"),
        ("gpt_oss", {"num_local_experts": 2, "num_experts_per_tok": 1}, "scores or sinks"),
        ("bloom", {}, "their own attention"),
        ("qwen3_next", {"layer_types": ["linear_attention", "full_attention"]}, "linear_attention layers"),
        ("gemma3_text", {"final_logit_softcapping": 30.0}, "soft-capped logits"),
    ],
)  # fmt: skip
def test_a_family_with_unsupported_features_is_refused(tmp_path, kind, settings, part):
    refused(nano_folder(tmp_path, small_model(kind, **settings)), part)


@pytest.fixture
def nested():
    """A text model inside a model that also takes images, as in Gemma3 from 4B on."""
    text = tiny_model("gemma3+windows").config.to_dict()
    vision = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=28)
    config = Gemma3Config(
        text_config=text, vision_config=vision | {"patch_size": 14}, mm_tokens_per_image=4, image_token_index=40,
        eos_token_id=[1, 5],
    )  # fmt: skip
    model = Gemma3ForConditionalGeneration(config).eval()
    model.model.language_model.load_state_dict(tiny_model("gemma3+windows").model.state_dict())
    return model


def test_only_the_text_part_of_a_nested_config_is_loaded(tmp_path, nested):
    policy = load(nano_folder(tmp_path, nested))
    assert_computes(policy, nested)
    assert policy.end_tokens == [1, 5] and policy.context_length == 128
    assert policy.describe("x")["family"] == "Gemma3"
    assert not any("vision" in name for name, _ in policy.model.named_parameters())


def test_a_nested_config_is_saved_as_a_plain_text_model(tmp_path, nested):
    policy = load(nano_folder(tmp_path / "nested", nested))
    nano_folder(tmp_path / "saved", policy.model)
    with safe_open(tmp_path / "saved/model.safetensors", "pt") as file:
        assert all(name.startswith("model.") and "language_model" not in name for name in file.keys())  # noqa: SIM118
    assert json.loads((tmp_path / "saved/config.json").read_text())["model_type"] == "gemma3_text"
    again = load(tmp_path / "saved")
    assert_computes(again, nested)
    assert again.end_tokens == [1, 5]


def test_end_tokens_of_a_nested_config(tmp_path, nested):
    folder = nano_folder(tmp_path, nested)
    (folder / "generation_config.json").unlink()
    assert load(folder).end_tokens == [1, 5]


def test_the_engine_also_runs_a_whole_nested_model(nested):
    expected = [greedy(nested, row, 8) for row in ROWS]
    prompts = [Prompt(tuple(row.tolist()), i) for i, row in enumerate(ROWS)]
    engine = EagerEngine(with_passus(nested), [])
    assert engine.generate(prompts, SamplingParams(1, 8, 0, "x", temperature=0.0)).tokens == expected


@pytest.mark.parametrize("tied", [True, False])
def test_tied_and_untied_embeddings(tmp_path, tied):
    original = small_model("qwen3", tie_word_embeddings=tied)
    policy = load(nano_folder(tmp_path, original))
    assert (policy.head.weight is policy.decoder.embed_tokens.weight) == tied
    assert_computes(policy, original)


def test_weights_in_several_files(tmp_path):
    original = small_model("qwen3")
    folder = nano_folder(tmp_path, original, max_shard_size="40KB")
    shards = sorted(folder.glob("model-*.safetensors"))
    assert len(shards) > 2
    assert_computes(load(folder), original)
    shards[1].unlink()
    refused(folder, "cannot be loaded")


def test_end_tokens_of_the_generation_config(tmp_path):
    folder = nano_folder(tmp_path, small_model("qwen3"))
    edit_json(folder / "generation_config.json", eos_token_id=[7, 3])
    assert load(folder).end_tokens == [1, 3, 7]  # 1 comes from the tokenizer


def test_end_tokens_without_a_generation_config(tmp_path):
    folder = nano_folder(tmp_path, small_model("qwen3", eos_token_id=[4, 2]))
    (folder / "generation_config.json").unlink()
    assert load(folder).end_tokens == [1, 2, 4]


def test_no_pad_token(tmp_path):
    tokenizer = byte_tokenizer(["</s>"], eos="</s>")
    policy = load(chat_folder(tmp_path, "llama", tokenizer, ["</s>"]))
    assert policy.chat.tokenizer.pad_token is None and policy.end_tokens == [256]
    asked = [policy.prompt(question(text), i) for i, text in enumerate(["1", "a longer question"])]
    rollout = EagerEngine(policy.model, policy.end_tokens).generate(asked, SamplingParams(2, 5, 0, "x"))
    assert len(policy.chat.answers(rollout.tokens, policy.chat.batch_decode(rollout.tokens))) == 4


@pytest.mark.parametrize("outside", [41, 151645, -1])
def test_an_end_token_outside_the_vocabulary(tmp_path, outside):
    folder = nano_folder(tmp_path, small_model("qwen3"))
    edit_json(folder / "generation_config.json", eos_token_id=[1, outside])
    refused(folder, f"end token {outside}, but a vocabulary of 41")


def test_no_end_token_at_all(tmp_path):
    tokenizer = byte_tokenizer(["</s>"])
    refused(chat_folder(tmp_path, "llama", tokenizer, [], eos_token_id=None), "no end token")


def test_a_base_model_with_a_chat_template_stops_at_the_end_of_a_turn(tmp_path):
    """As in Qwen2.5 base: its configs name only <|endoftext|>, and its template ends turns with <|im_end|>."""
    tokenizer = byte_tokenizer(IM, eos="<|endoftext|>", template=trl_template("qwen2_5"))
    policy = load(chat_folder(tmp_path, "qwen2", tokenizer, ["<|endoftext|>"]))
    assert policy.end_tokens == tokenizer.convert_tokens_to_ids(["<|endoftext|>", "<|im_end|>"])


def _only_pickles(folder):
    torch.save(small_model("qwen3").state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def _unknown_tokenizer(folder):
    edit_json(folder / "tokenizer.json", model={"type": "of tomorrow"})


def _no_tokenizer(folder):
    for path in folder.glob("token*"):
        path.unlink()


def _template(text):
    return lambda folder: (folder / "chat_template.jinja").write_text(text)


def _config(name="config.json", **changes):
    return lambda folder: edit_json(folder / name, **changes)


@pytest.mark.parametrize(
    ("spoil", "part"),
    [
        (_only_pickles, "(?s)model.safetensors.*save_pretrained"),
        (_config(num_hidden_layers=3, layer_types=None), "weights are missing"),
        (_config(intermediate_size=48), "have another shape"),
        (_config(hidden_size="wide"), "expected int"),
        (_no_tokenizer, "no tokenizer"),
        (lambda d: (d / "tokenizer.json").unlink(), "its tokenizer cannot be loaded"),
        (lambda d: (d / "tokenizer.json").write_text('{"version": '), "its tokenizer cannot be loaded"),
        (_unknown_tokenizer, "its tokenizer cannot be loaded: data did not match"),
        (lambda d: (d / "generation_config.json").write_text("{"), "generation_config.json"),
        (_template("{% if messages %}"), "chat template fails: TemplateSyntaxError"),
        (_template("{{ raise_exception('only tools') }}"), "chat template fails: TemplateError: only tools"),
        (_template("{{ 1 + messages[0].content }}"), "chat template fails: TypeError"),
        (_template("<q>{% for part in messages[0].content %}{{ part.text }}{% endfor %}<a>"), "drops the question"),
        (_config(model_type="mine", auto_map={"AutoConfig": "code.Config"}), "custom code"),
    ],
    ids=["pickles", "missing", "shape", "type", "no tokenizer", "no tokenizer.json", "torn tokenizer", "odd tokenizer",
         "torn generation config", "syntax", "raises", "type error", "content parts", "custom code"],
)  # fmt: skip
def test_a_damaged_folder_is_refused(tmp_path, spoil, part):
    folder = nano_folder(tmp_path / "model", small_model("qwen3"))
    spoil(folder)
    refused(folder, part)


def _file(name, text):
    return lambda folder: (folder / name).write_text(text)


MALFORMED_FILES = {
    "end token a word": _config("generation_config.json", eos_token_id="a"),
    "end tokens words": _config("generation_config.json", eos_token_id=["a"]),
    "end tokens nested": _config("generation_config.json", eos_token_id=[[1]]),
    "tokenizer config a list": _file("tokenizer_config.json", "[]"),
    "tokenizer config null": _file("tokenizer_config.json", "null"),
    "tokenizer null": _file("tokenizer.json", "null"),
    "config a list": _file("config.json", "[]"),
    "index of another form": lambda d: (
        (d / "model.safetensors").unlink(),
        (d / "model.safetensors.index.json").write_text('{"weight_map": 5}'),
    ),
    "no heads": _config(num_key_value_heads=0),
    "no layers": _config(num_hidden_layers=0),
    "division by zero": _template("{{ 1 / 0 }}"),
    "recursion": _template("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
}


@pytest.mark.parametrize("case", MALFORMED_FILES)
def test_malformed_files_are_refused(tmp_path, case):
    folder = nano_folder(tmp_path / "model", small_model("qwen3"))
    MALFORMED_FILES[case](folder)
    refused(folder, "model.base")


def test_code_of_a_checkpoint_is_not_run(tmp_path):
    original = small_model("qwen3")
    folder = nano_folder(tmp_path / "model", original)
    (folder / "code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Config: pass\nclass Model: pass\n")
    edit_json(folder / "config.json", auto_map={"AutoConfig": "code.Config", "AutoModelForCausalLM": "code.Model"})
    edit_json(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": ["code.Config", "code.Config"]})
    assert_computes(load(folder), original)
    assert not (tmp_path / "ran").exists()


def test_a_tokenizer_of_another_model_is_refused_at_the_first_prompt_that_shows_it(tmp_path):
    folder = nano_folder(tmp_path / "model", small_model("qwen3", vocab_size=30))
    with pytest.raises(UsageError, match="ids below 30"):
        load(folder).prompt(question("1(2)%"), 0)


def test_thinking_without_a_chat_template(tmp_path):
    shutil.copytree(NANO, tmp_path / "model")
    (tmp_path / "model/chat_template.jinja").unlink()
    refused(tmp_path / "model", "no chat template", thinking="on")
