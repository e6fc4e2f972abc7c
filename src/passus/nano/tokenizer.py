"""Tokenizer of the nano world: one token per character, and one for each marker.

`\\boxed{` and `}` are single tokens, so that the same extractor works for nano and real models without longer answers. The chat
template turns the usual messages into markers, so that nano and real models share the same code.
"""

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

PAD, EOS = "<pad>", "<eos>"
MARKERS = ["<q>", "<a>", "<lesson>", "<wrong>", "<right>", "<why>", "\\boxed{"]
CHARACTERS = "}0123456789+-*/=;?,:><()%.ABCDEF"
TEMPLATE = (
    "{% for message in messages %}"
    "{{ {'system': '<lesson>', 'user': '<q>', 'assistant': '<a>'}[message['role']] + message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ '<eos>' }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<a>' }}{% endif %}"
)


def make_tokenizer() -> PreTrainedTokenizerFast:
    """Builds the tokenizer with its chat template."""
    words = [PAD, EOS, *MARKERS, *CHARACTERS]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=PAD))
    # Markers are plain added tokens, so that decoding with skip_special_tokens keeps \boxed{ and drops only <pad> and <eos>.
    tokenizer.add_tokens([AddedToken(word, normalized=False) for word in MARKERS])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=EOS,
        chat_template=TEMPLATE,
        padding_side="left",
        clean_up_tokenization_spaces=False,
        model_max_length=512,
    )
