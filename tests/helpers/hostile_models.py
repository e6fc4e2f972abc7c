"""Mutated model folders, adapters, reward models, chat templates and replies of a judge, each a function of a seed.

`scripts/fuzz.py` tries thousands of them, and tests try some of each kind.
"""

import json
import os
import pickle
import random
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from helpers.hostile_files import TEXTS, hostile_value, mutate_bytes, mutate_json, temporary_folder, watched
from helpers.model_folders import CHATS, NANO, byte_tokenizer, chat_folder, nano_folder, small_model, trl_template
from helpers.reward_models import random_reward_model
from passus.config.tables import LoraTable, ModelTable
from passus.engine.interface import SamplingParams
from passus.errors import PassusError
from passus.grading.verdict import Rule, Verdict
from passus.models import loader, lora, reward_head
from passus.models.chat_format import ChatFormat
from passus.models.locate import portable_name
from passus.models.policy import Policy
from passus.tasks.grade_items import grade_items
from passus.tasks.item import Item
from passus.tasks.llm_judge import Judge

ITEM = Item("made", 0, "12+34", "46")


class Executed:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.path), "w")


@cache
def original_folders() -> Path:
    """Returns a folder with models of several layouts and an adapter, made once per process."""
    root = Path(tempfile.mkdtemp(prefix="passus-models-"))
    nano_folder(root / "plain", small_model("qwen3"))
    nano_folder(root / "shards", small_model("llama"), max_shard_size="40KB")
    tokenizer = byte_tokenizer(
        ["<s>", "</s>", "<e>"], bos="<s>", eos="</s>", template=CHATS["mistral"].template, writes="<s> $A"
    )
    chat_folder(root / "chat", "mistral", tokenizer, ["</s>", "<e>"])
    nano_folder(root / "other", small_model("olmo2"))
    scorer = random_reward_model("qwen3-26k")
    scorer.model.save_pretrained(root / "reward")
    scorer.chat.tokenizer.save_pretrained(root / "reward")
    policy = loader.load("nano/qwen3-26k", "cpu", "float32")
    table = ModelTable(base="nano/qwen3-26k", tuning="frozen", lora=LoraTable(rank=2, targets=["q_proj", "v_proj"]))
    (root / "adapter").mkdir()
    lora.attach(policy.model, table, *portable_name("nano/qwen3-26k"), 0).save(root / "adapter")
    return root


def mutate_folder(folder: Path, rng: random.Random) -> None:
    """Changes one or two files of a model folder."""
    for _ in range(rng.choice((1, 1, 2))):
        path = rng.choice(sorted(folder.iterdir()))
        if not path.is_file():
            continue
        match rng.randrange(10):
            case 0:
                _replace_by_something_else(path, rng)
            case 1:
                _point_to_a_pickle(folder)
            case 2 if path.suffix == ".safetensors":
                _spoil_weights(path, rng)
            case _ if path.suffix == ".json" and rng.randrange(4):
                _mutate_json_file(path, rng)
            case _ if path.suffix == ".jinja":
                path.write_text(mutate_template(path.read_text(errors="replace"), rng), errors="replace")
            case _:
                path.write_bytes(mutate_bytes(path.read_bytes(), rng))


def _mutate_json_file(path: Path, rng: random.Random) -> None:
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError):  # mutated before
        return
    if isinstance(value, dict) and rng.randrange(2) and value:
        value[rng.choice(sorted(value))] = hostile_value(rng)
    else:
        value = mutate_json(value, rng)
    path.write_text(json.dumps(value))


def _replace_by_something_else(path: Path, rng: random.Random) -> None:
    path.unlink()
    match rng.randrange(4):
        case 0:
            os.mkfifo(path)
        case 1:
            path.mkdir()
        case 2:
            path.symlink_to("/dev/zero")


def _point_to_a_pickle(folder: Path) -> None:
    for name in ("pytorch_model.bin", "adapter_model.bin", "training_args.bin"):
        (folder / name).write_bytes(pickle.dumps(Executed(folder.parent / "executed")))
    index = folder / "model.safetensors.index.json"
    (folder / "model.safetensors").unlink(missing_ok=True)
    index.write_text('{"metadata": {}, "weight_map": {"lm_head.weight": "pytorch_model.bin"}}')


def _spoil_weights(path: Path, rng: random.Random) -> None:
    try:
        tensors = load_file(path)
    except SafetensorError:  # mutated before
        return
    name = rng.choice(sorted(tensors))
    match rng.randrange(4):
        case 0:
            del tensors[name]
        case 1:
            tensors[name] = tensors[name][..., :1].clone()
        case 2:
            tensors[name] = tensors[name].to(rng.choice((torch.int8, torch.float64, torch.complex64, torch.bool)))
        case _:
            tensors[name].view(-1)[rng.randrange(tensors[name].numel())] = rng.choice((float("nan"), float("inf")))
    save_file(tensors, path, {"format": "pt"})


SNIPPETS = (
    "{{ messages }}",
    "{% for i in range(9) %}",
    "{% endfor %}",
    "{{ 1 / 0 }}",
    "{{ x.y.z }}",
    "{% if",
    "{{ '",
    "{%- set a = [] %}",
    "{{ messages | map(attribute='content') | join }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ cycler.__init__ }}",
    "{{ self._TemplateReference__context }}",
    "{{ raise_exception('\x1b[2J') }}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as o %}",
    "{{ namespace(__class__=1) }}",
    "{{ messages | tojson | length }}",
    "{{ 'x' * 5000000 }}",
    "{{ 'x' * 900000000 }}",
    "{{ range(10**9) }}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{{ lipsum() }}",
    "{{ dict(a=1).items() }}",
    "{{ strftime_now('%Y') }}",
    "{{ messages.append(5) }}",
    "{% set messages = 5 %}",
    "{{ messages[0].content.format(messages) }}",
    "{{ '%s' | format(1) }}",
    "{{ '{0.__class__}'.format(messages) }}",
    "{{ (1, 2) | random }}",
    "{{ messages[0].update({}) }}",
    "\x00",
    "{{ 9 ** 99999 }}",
    "{{ [[[[[[[[1]]]]]]]] }}",
    "{{ " + "(" * 900 + "1" + ")" * 900 + " }}",
    "{% raw %}",
    "{{ [1] * 10**9 }}",
    "{{ joiner() }}",
)
SLOW = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


@cache
def original_templates() -> list[str]:
    names = ("qwen3", "llama3_2", "gemma3", "qwen3_5_think", "deepseekv3", "gptoss", "phi3", "cohere2")
    return [(NANO / "chat_template.jinja").read_text(), CHATS["mistral"].template, *map(trl_template, names)]


def mutate_template(source: str, rng: random.Random) -> str:
    """Adds hostile snippets to a template, or damages its source."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        place = rng.randrange(len(source) + 1)
        match rng.randrange(4):
            case 0:
                source = mutate_bytes(source.encode("utf-8", "replace"), rng).decode("utf-8", "replace")
            case 1:
                source = source[:place] + rng.choice(TEXTS) + source[place:]
            case _:
                source = source[:place] + rng.choice(SNIPPETS) + source[place:]
    return source + SLOW if rng.randrange(100) == 0 else source


@contextmanager
def no_pickles() -> Iterator[None]:
    """Fails if anything reaches a pickle."""

    def reached(*_: Any, **__: Any) -> None:
        raise RuntimeError("a pickle was about to be read")  # which passus would hide, so that it is looked for in errors too

    with mock.patch.object(torch, "load", reached), mock.patch.object(pickle, "load", reached):
        yield


def _attempt(folder: Path, use: Callable[[], object]) -> str:
    """Uses a mutated folder. Fails for any error but those of passus, and for anything that was executed or written."""
    with watched(folder) as seen, no_pickles():
        try:
            use()
            outcome = "accepted"
        except PassusError as error:
            assert not any(words in str(error) for words in ("pickle was about", "run out of memory", "Traceback")), error
            outcome = "refused"
    seen = [event for event in seen if "template_worker.py" not in event]
    assert not seen and not (folder / "executed").exists(), seen
    return outcome


def _sample(policy: Policy) -> None:
    prompt = policy.prompt(ITEM, 0)
    policy.check_fits_context([prompt], 2, "--max-tokens")
    rollout = policy.sampler().generate([prompt], SamplingParams(1, 2, 0, "x"))
    policy.chat.answers(rollout.tokens, policy.chat.batch_decode(rollout.tokens))


def try_model_folder(seed: int) -> str:
    """Mutates a model folder, loads it, and samples two tokens from what was accepted."""
    rng = random.Random(f"model/{seed}")
    with temporary_folder() as folder:
        shutil.copytree(original_folders() / rng.choice(("plain", "shards", "chat", "other")), folder / "model")
        mutate_folder(folder / "model", rng)
        dtype = rng.choice(("float32", "bfloat16"))
        return _attempt(folder, lambda: _sample(loader.load(str(folder / "model"), "cpu", dtype)))


def try_adapter(seed: int) -> str:
    """Mutates an adapter, loads it onto its base, and samples two tokens from what was accepted."""
    rng = random.Random(f"adapter/{seed}")
    with temporary_folder() as folder:
        shutil.copytree(original_folders() / "adapter", folder / "adapter")
        mutate_folder(folder / "adapter", rng)
        return _attempt(folder, lambda: _sample(loader.load(str(folder / "adapter"), "cpu", "float32")))


def try_reward_model(seed: int) -> str:
    """Mutates a reward model, loads it, and scores two answers."""
    rng = random.Random(f"reward/{seed}")
    with temporary_folder() as folder:
        shutil.copytree(original_folders() / "reward", folder / "reward")
        mutate_folder(folder / "reward", rng)

        def use() -> None:
            policy = reward_head.load_checked(str(folder / "reward"), "it", [ITEM], 8, "cpu", "float32")
            reward_head.score_completions(policy, [ITEM], [["\\boxed{46}", "\\boxed{47}"]], 1000)

        return _attempt(folder, use)


def try_template(seed: int) -> str:
    """Mutates a chat template, and renders a question and an answer."""
    rng = random.Random(f"template/{seed}")
    source = mutate_template(rng.choice(original_templates()), rng)
    chat = ChatFormat(byte_tokenizer(["<s>", "</s>"], bos="<s>", eos="</s>", template=source))
    with temporary_folder() as folder:
        return _attempt(folder, lambda: (chat.render(ITEM), chat.turn_end(), chat.exchange("1", "2")))


class RawServer:
    """Replies to every connection with the same bytes, and closes it."""

    def __init__(self) -> None:
        self.reply = b""
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"

    def _serve(self) -> None:
        while True:
            connection, _ = self.listener.accept()
            with connection:
                try:
                    self._read_request(connection)
                    connection.sendall(self.reply)
                    connection.shutdown(socket.SHUT_WR)
                except OSError:  # the client has seen enough
                    pass

    def _read_request(self, connection: socket.socket) -> None:
        """Reads the whole request, because closing a connection with unread bytes would reset it."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += connection.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")).split(b":")[1])
        while len(body) < length:
            body += connection.recv(65536)


@cache
def raw_server() -> RawServer:
    return RawServer()


CHAT_REPLY = {
    "id": "x", "object": "chat.completion", "created": 1, "model": "j", "usage": {"total_tokens": 3},
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "They agree.\nCORRECT"}}],
}  # fmt: skip


def try_judge_reply(seed: int) -> str:
    """Mutates the reply of a judge, its headers included, and grades an answer by it."""
    rng = random.Random(f"judge/{seed}")
    body = json.dumps(mutate_json(CHAT_REPLY, rng) if rng.randrange(2) else CHAT_REPLY).encode()
    body = mutate_bytes(body, rng) if rng.randrange(2) else body
    if rng.randrange(10) == 0:
        body = rng.choice((b"[", b'{"choices":[', b"\xff", b" ", b"9")) * rng.choice((1000, 100_000, 900_000))
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    head = mutate_bytes(head, rng) if rng.randrange(4) == 0 else head
    server = raw_server()
    server.reply = head + body
    item = Item("mine", 0, "the problem", "the reference", rule=Rule("judge"))
    (grade,), failures = grade_items(Judge(server.url, "j", 600.0), [item], ["an answer"], [False])
    assert grade.verdict in (Verdict.CORRECT, Verdict.WRONG, Verdict.ERROR)
    assert sum(failures.values()) == (grade.verdict == Verdict.ERROR) and all(len(reason) < 500 for reason in failures)
    return "refused" if failures else "accepted"


KINDS: list[tuple[str, Callable[[int], str]]] = [
    ("model folders", try_model_folder),
    ("adapters", try_adapter),
    ("reward models", try_reward_model),
    ("chat templates", try_template),
    ("judge replies", try_judge_reply),
]
"""Kinds of files that this module mutates. Each function takes a seed and returns `accepted` or `refused`, or raises."""
