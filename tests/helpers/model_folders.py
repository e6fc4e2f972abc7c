"""Model folders in Hugging Face layout: width 32, with tokenizers and chat templates like the released ones."""

import importlib.util
import json
import shutil
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pytest
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import CONFIG_MAPPING, AutoModelForCausalLM, PreTrainedTokenizerFast

NANO = Path(str(files("passus") / "nano/qwen3"))


def small_model(kind: str, seed: int = 0, **settings):
    """Returns a model with two layers, with weights scaled so that its distribution is far from uniform."""
    torch.manual_seed(seed)
    sizes = dict(
        vocab_size=41, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=8, max_position_embeddings=512, pad_token_id=None, eos_token_id=1, bos_token_id=None,
    )  # fmt: skip
    model = AutoModelForCausalLM.from_config(CONFIG_MAPPING[kind](**(sizes | settings))).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2.0)
    return model


def nano_folder(path: Path, model, **saving) -> Path:
    """Saves a model with a vocabulary of 41 tokens beside the tokenizer of the shipped models."""
    model.save_pretrained(path, **saving)
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(NANO / name, path)
    return path


def edit_json(path: Path, **changes) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def byte_tokenizer(
    special: list[str],
    added: tuple[str, ...] = (),
    bos: str | None = None,
    eos: str | None = None,
    template: str | None = None,
    writes: str | None = None,
) -> PreTrainedTokenizerFast:
    """Returns a tokenizer with one token per byte and the given tokens. `writes` is its post-processor (`<s> $A`)."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({character: i for i, character in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in special])
    tokenizer.add_tokens([AddedToken(word, normalized=False) for word in added])
    if writes:
        known = [(word, tokenizer.token_to_id(word)) for word in special]
        tokenizer.post_processor = processors.TemplateProcessing(single=writes, special_tokens=known)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=bos, eos_token=eos, chat_template=template)


def chat_folder(path: Path, kind: str, tokenizer: PreTrainedTokenizerFast, ends: list[str], **settings) -> Path:
    """Saves a model with the vocabulary of this tokenizer. `ends` are the end tokens in generation_config.json."""
    model = small_model(kind, vocab_size=len(tokenizer), **settings)
    model.generation_config.eos_token_id = tokenizer.convert_tokens_to_ids(ends)
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def trl_template(name: str) -> str:
    """Returns the chat template of a released model, from TRL."""
    found = importlib.util.find_spec("trl")
    path = Path(found.origin).parent / "chat_templates" / f"{name}.jinja" if found and found.origin else None
    if path is None or not path.is_file():
        pytest.skip(f"trl with its chat template {name} is not installed")
    return path.read_text()


SMOLLM3 = """{%- if enable_thinking is not defined -%}{%- set enable_thinking = true -%}{%- endif -%}
{%- set mode = "/think" if enable_thinking else "/no_think" -%}
{{- "<|im_start|>system\\n## Metadata\\n\\nToday Date: " ~ strftime_now("%d %B %Y") ~ "\\nReasoning Mode: " -}}
{{- mode ~ "\\n\\n" -}}
{%- if enable_thinking -%}
{{- "Structure your response into two sections: <think> Thought section </think> Solution section." -}}
{%- endif -%}
{{- "<|im_end|>\\n" -}}
{%- for message in messages -%}
{{- "<|im_start|>" ~ message.role ~ "\\n" ~ message.content ~ "<|im_end|>\\n" -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- "<|im_start|>assistant\\n" if enable_thinking else "<|im_start|>assistant\\n<think>\\n\\n</think>\\n" -}}
{%- endif -%}"""

MISTRAL = """{{- bos_token -}}
{%- for message in messages -%}
{%- if message.role == "user" -%}{{- "[INST] " ~ message.content ~ " [/INST]" -}}
{%- elif message.role == "assistant" -%}{{- " " ~ message.content ~ eos_token -}}
{%- else -%}{{- raise_exception("Only user and assistant roles are supported!") -}}{%- endif -%}
{%- endfor -%}"""


@dataclass(frozen=True)
class Chat:
    """The prompt format of a released family, and the prompt it must give."""

    kind: str
    special: list[str]
    eos: str
    ends: list[str]
    """End tokens in generation_config.json."""
    tail: str
    """The end of a prompt."""
    template: str = ""
    """Chat template; empty for the one in TRL."""
    bos: str | None = None
    added: tuple[str, ...] = ()
    thinking_off: str | None = None
    """Text that disabled thinking adds to the end of a prompt; None if the family has no such switch."""

    def tokenizer(self, name: str) -> PreTrainedTokenizerFast:
        template = self.template or trl_template(name)
        # As in the released tokenizers: a start token is added to any text that does not come through a template.
        writes = f"{self.bos} $A" if self.bos else None
        return byte_tokenizer(self.special, self.added, self.bos, self.eos, template, writes)


IM = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
THINK = ("<think>", "</think>")
HEADER = ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>"]
TURN = ["<pad>", "<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>"]
CHATS = {
    "qwen3": Chat(
        "qwen3", IM, "<|im_end|>", ["<|im_end|>", "<|endoftext|>"], "<|im_start|>assistant\n", added=THINK,
        thinking_off="<think>\n\n</think>\n\n",
    ),
    "qwen2_5": Chat("qwen2", IM, "<|im_end|>", ["<|im_end|>", "<|endoftext|>"], "<|im_start|>assistant\n"),
    "llama3_2": Chat(
        "llama", HEADER, "<|eot_id|>", ["<|end_of_text|>", "<|eom_id|>", "<|eot_id|>"],
        "<|start_header_id|>assistant<|end_header_id|>\n\n", bos="<|begin_of_text|>",
    ),
    "gemma3": Chat(
        "gemma3_text", TURN, "<eos>", ["<eos>", "<end_of_turn>"], "<end_of_turn>\n<start_of_turn>model\n", bos="<bos>"
    ),
    "smollm3": Chat(
        "smollm3", IM, "<|im_end|>", ["<|im_end|>"], "<|im_start|>assistant\n", SMOLLM3, added=THINK,
        thinking_off="<think>\n\n</think>\n",
    ),
    "mistral": Chat("mistral", ["<s>", "</s>", "[INST]", "[/INST]"], "</s>", ["</s>"], " [/INST]", MISTRAL, bos="<s>"),
}  # fmt: skip
