"""Unknown chat templates: rendered as transformers renders them, in a process that hostile ones cannot leave or exhaust."""

import hashlib
import os
from pathlib import Path

import jinja2
import pytest
import trl

from helpers.model_folders import CHATS, NANO, byte_tokenizer, chat_folder, trl_template
from helpers.tiers import slow_cases
from passus.errors import UsageError
from passus.models import chat_format, loader, template_process
from passus.models.chat_format import ChatFormat
from passus.models.template_process import TemplateFailedError, TemplateLimitError, shared_renderer
from passus.tasks.item import Item

RELEASED = sorted(path.stem for path in (Path(trl.__file__).parent / "chat_templates").glob("*.jinja"))
ITEM = Item("made", 0, 'How many is 6 x 7?  "é" <b> \U0001f600\n', "42")
CONVERSATIONS = [
    [{"role": "user", "content": ITEM.question}],
    [{"role": "system", "content": "Think."}, {"role": "user", "content": "1"}],
    [{"role": "user", "content": "1"}, {"role": "assistant", "content": "<think>\nx\n</think>\n\n2"}],
    [{"role": "assistant", "content": "2"}],
]


def chat(template: str, **settings: str) -> ChatFormat:
    return ChatFormat(byte_tokenizer(["<s>", "<e>"], bos="<s>", eos="<e>", template=template), **settings)


def unknown(template: str, **settings: str) -> ChatFormat:
    """Returns a chat format that renders in the child process, whatever the template is."""
    made = chat(template, **settings)
    made.__dict__["_template_is_known"] = False
    return made


def by_transformers(made: ChatFormat, conversation: list, **options: bool) -> str | None:
    """Renders with transformers; returns None where the template raises."""
    try:
        return made.tokenizer.apply_chat_template(conversation, chat_template=made.chat_template, tokenize=False, **options)
    except (jinja2.TemplateError, TypeError, ValueError, KeyError, AttributeError):
        return None


def by_process(made: ChatFormat, conversation: list, **options: bool) -> str | None:
    try:
        return made._apply([conversation], **options)[0]
    except TemplateFailedError:
        return None


@pytest.mark.parametrize("name", [*RELEASED, *(name for name in CHATS if CHATS[name].template)])
def test_released_templates_render_as_in_transformers(name):
    made = unknown(CHATS[name].template if name in CHATS and CHATS[name].template else trl_template(name))
    rendered = []
    for conversation in CONVERSATIONS:
        for options in ({}, {"add_generation_prompt": True}, {"add_generation_prompt": True, "enable_thinking": False}):
            expected = by_transformers(made, conversation, **options)
            assert by_process(made, conversation, **options) == expected
            rendered.append(expected)
    assert any(rendered)


@pytest.mark.parametrize(
    "template",
    [
        "{{ messages | tojson }}{{ messages[0] | tojson(indent=2) }}",
        "{%- set ns = namespace(found=false, n=1) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
        "{{ dict(a=1) }}{{ dict.fromkeys(['b']) }}{{ namespace(self=3).self }}",
        "  {% if tools is none %}\n    x\n  {% endif %}\n{{ documents }}{{ bos_token }}{{ eos_token }}{{ pad_token }}",
        "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% break %}{% endfor %}",
        "{{ messages[0]['content'].split('x')[-1] | trim }}{{ messages[0].nothing }}{{ messages[0].role.upper() }}",
        "{{ namespace(_a=1)._a }}",
        "{{ messages[0].__class__ }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.append(1) }}",
    ],
)
def test_features_of_templates_are_those_of_transformers(template):
    made = unknown(template)
    assert by_process(made, CONVERSATIONS[0]) == by_transformers(made, CONVERSATIONS[0])


def test_the_date_is_a_constant_however_a_template_asks_for_it():
    assert unknown("{{ strftime_now('%Y') }}{% set f = '%d %b' %}{{ strftime_now(f) }}").render(ITEM) == "202426 Jul"


def test_templates_of_shipped_models_and_tested_families_are_known():
    names = ("qwen3", "qwen3_instruct_2507", "qwen2_5", "llama3_2", "gemma3")
    sources = [(NANO / "chat_template.jinja").read_text(), *map(trl_template, names)]
    assert [hashlib.sha256(s.strip().encode()).hexdigest() for s in sources] == list(chat_format.KNOWN_TEMPLATES)
    shared_renderer().close()
    for source in sources:
        chat(source).render(ITEM)
    assert shared_renderer().worker is None


def test_many_prompts_come_back_in_their_order_from_one_process():
    made = unknown("<{{ messages[0].content }}>")
    items = [Item("made", n, f"{n} {'x' * n}", "") for n in range(3 * template_process.BATCH + 1)]
    assert made.render_all(items) == [f"<{item.question}>" for item in items]
    pid = shared_renderer().worker.process.pid
    assert made.render(items[7]) == f"<{items[7].question}>" and shared_renderer().worker.process.pid == pid
    assert made.render_all([]) == []


def test_an_error_of_one_conversation_leaves_the_process_in_step():
    made = unknown("{{ raise_exception('no') if messages[0].content == '1' else messages[0].content }}")
    with pytest.raises(TemplateFailedError, match="fails: TemplateError: no"):
        made.render_all([Item("made", n, str(n), "") for n in range(4)])
    assert made.render_all([Item("made", n, str(n), "") for n in (2, 3)]) == ["2", "3"]


TIME, MEMORY, LENGTH, DEPTH = "s of processor time", "MB of memory", "characters", "the depth of nested calls"
HOSTILE = {
    "nested loops": ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", TIME),
    "a power": ("{{ 10 ** (10 ** 9) }}", TIME),
    "a filter": ("{{ lipsum(n=100000, min=1000, max=1001) }}", TIME),
    "a long string": ("{{ 'x' * 600000000 }}", MEMORY),
    "a string that doubles": (
        "{% set n = namespace(x='a') %}{% for i in range(64) %}{% set n.x = n.x + n.x %}{% endfor %}", MEMORY,
    ),
    "a wide field": ("{{ 'x' | center(10 ** 12) }}", MEMORY),
    "a list": ("{% set x = [0] * 10 ** 10 %}", MEMORY),
    "many pieces": ("{% for i in range(99999) %}{{ 'x' * 10000 }}{% endfor %}", LENGTH),
    "recursion": ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", DEPTH),
    "nested blocks": ("{% if 1 %}" * 3000 + "{% endif %}" * 3000, DEPTH),
    "nested brackets": ("{{ " + "(" * 20000 + "1" + ")" * 20000 + " }}", DEPTH),
    "nested signs": ("{{ " + "-" * 50000 + "1 }}", DEPTH),
    "a long source": ("x" * 1_000_001, LENGTH),
}  # fmt: skip


@pytest.mark.parametrize(
    "case", ["a wide field", "recursion", *slow_cases(*(c for c in HOSTILE if c not in ("a wide field", "recursion")))]
)
def test_a_template_that_reaches_a_limit_is_refused_by_name(case):
    template, limit = HOSTILE[case]
    made = chat(template)
    made.tokenizer.name_or_path = "some/model"
    with pytest.raises(TemplateLimitError, match=f"the chat template of some/model needs more than .*{limit}"):
        made.render(ITEM)
    assert chat("{{ messages[0].content }}").render(ITEM) == ITEM.question  # by another process if need be


def test_a_hostile_template_is_refused_when_its_model_is_loaded(tmp_path):
    tokenizer = byte_tokenizer(["<e>"], eos="<e>", template=HOSTILE["nested loops"][0])
    folder = chat_folder(tmp_path, "llama", tokenizer, ["<e>"])
    with pytest.raises(UsageError, match=r"model\.base = .* its chat template needs more than 1 s of processor time"):
        loader.load(str(folder), "cpu", "float32")


def test_a_template_that_is_hostile_only_in_answers(tmp_path):
    source = "{{ messages[0].content }}{% if messages | length > 1 %}{{ 'x' * 600000000 }}{% endif %}"
    folder = chat_folder(tmp_path, "llama", byte_tokenizer(["<e>"], eos="<e>", template=source), ["<e>"])
    with pytest.raises(UsageError, match="MB of memory"):
        loader.load(str(folder), "cpu", "float32")


@pytest.mark.parametrize("template", [5, ["a"], {"tool_use": "x"}, {"default": 5}])
def test_a_template_that_is_no_text(template):
    made = chat("")
    made.tokenizer.chat_template = template
    with pytest.raises(TemplateFailedError):
        made.render(ITEM)


def test_control_characters_of_a_template_are_written_out_in_its_error():
    with pytest.raises(TemplateFailedError, match=r"TemplateError: \\x1b\[2Jx"):
        chat("{{ raise_exception('\x1b[2Jx') }}").render(ITEM)


def test_the_process_has_no_keys_and_can_write_no_file(monkeypatch):
    monkeypatch.setenv("PASSUS_JUDGE_KEY", "secret")
    shared_renderer().close()
    chat("{{ messages }}").render(ITEM)
    process = Path("/proc") / str(shared_renderer().worker.process.pid)
    if not process.is_dir():
        pytest.skip("this system has no /proc")
    assert b"secret" not in (process / "environ").read_bytes()
    limits = {line[:26].strip(): line[26:].split()[:2] for line in (process / "limits").read_text().splitlines()}
    assert limits["Max file size"] == ["0", "0"]
    assert limits["Max address space"] == [str(template_process.MEGABYTES << 20)] * 2


def test_a_fork_starts_its_own_process():
    made = chat("{{ messages[0].content }}")
    made.render(ITEM)
    renderer = shared_renderer()
    parent = renderer.worker
    renderer.owner = os.getpid() + 1  # as it is after a fork
    try:
        assert made.render(ITEM) == ITEM.question and renderer.worker is not parent
    finally:
        parent.kill()
