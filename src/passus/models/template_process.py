"""Rendering of chat templates that passus does not know, in a child process with limits of time, memory and output.

The process is started with the first template and kept, so that a prompt costs one message through a pipe. A template that
reaches a limit ends it, and the next template starts another one.
"""

import atexit
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from passus.errors import PassusError, UsageError
from passus.formatting import printable

CPU_SECONDS = 1
"""Processor time per conversation. The kernel counts whole seconds, so that a template may have up to one more."""
WALL_SECONDS = 120.0
"""Time per conversation by the clock, for the case that the process does nothing at all. A busy machine needs part of it."""
MEGABYTES = 512
"""Address space of the process, of which Python and Jinja take about 50 MB."""
MAX_CHARACTERS = 4_000_000
"""Characters of one rendered conversation, about a million tokens."""
MAX_TEMPLATE_CHARACTERS = 1_000_000
BATCH = 64
"""Conversations per request, so that neither side ever writes while the other one also waits to write."""
KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "LANG", "LC_ALL", "SYSTEMROOT")
"""Environment variables that the process sees. Keys and tokens are not among them."""

Messages = list[dict[str, str]]


class ChatTemplateError(UsageError):
    """A chat template that cannot be rendered. `problem` is the rest of a sentence about it."""

    def __init__(self, name: str, problem: str):
        self.problem = printable(problem)
        super().__init__(
            f"the chat template of {name} {self.problem}",
            expected="a template for messages with text (chat_template.jinja, or chat_template in tokenizer_config.json)",
        )


class TemplateFailedError(ChatTemplateError):
    """A chat template that raised an error, possibly only for these messages."""

    def __init__(self, name: str, kind: str, reason: str):
        super().__init__(name, f"fails: {kind}: {reason}")


class TemplateLimitError(ChatTemplateError):
    """A chat template that needs more time, memory or characters than it may have."""

    def __init__(self, name: str, limit: str):
        super().__init__(name, f"needs more than {limit}")


class WorkerGone(Exception):  # noqa: N818 (it says what happened)
    """The process ended or fell silent before it replied. `limit` says why, if that is known."""

    def __init__(self, limit: str):
        super().__init__(limit)
        self.limit = limit


class TemplateProcess:
    """The child process, and the bytes of it that were not read as a reply yet."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-B", str(Path(__file__).with_name("template_worker.py")), str(MEGABYTES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ},
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.unread = bytearray()

    def send(self, request: Mapping[str, Any]) -> None:
        """Sends a request, which the process reads as a whole before it replies."""
        line = memoryview(json.dumps(request).encode() + b"\n")
        try:
            while line:
                line = line[self.stdin.write(line) :]
        except BrokenPipeError:
            raise WorkerGone(self._cause_of_death()) from None

    def reply(self) -> dict[str, str]:
        """Reads one reply, within the limit of time."""
        deadline = time.monotonic() + WALL_SECONDS
        searched = 0
        with selectors.DefaultSelector() as selector:
            selector.register(self.stdout, selectors.EVENT_READ)
            while (end := self.unread.find(b"\n", searched)) < 0:
                searched = len(self.unread)
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise WorkerGone(f"{WALL_SECONDS:g} s")
                part = os.read(self.stdout.fileno(), 1 << 20)
                if not part:
                    raise WorkerGone(self._cause_of_death())
                self.unread += part
        line = bytes(self.unread[:end])
        del self.unread[: end + 1]
        reply: dict[str, str] = json.loads(line)
        return reply

    def _cause_of_death(self) -> str:
        """Returns the limit that ended the process. One that crashed had run out of stack or memory."""
        code = self.process.wait()
        if code > 0:
            raise PassusError(f"the process that renders chat templates ended with exit code {code}")
        return f"{CPU_SECONDS} s of processor time" if code == -signal.SIGXCPU else f"{MEGABYTES} MB of memory"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.stdin.close()
        self.stdout.close()


class TemplateRenderer:
    """Renders conversations in a process that is started when it is first needed, and again after it was lost."""

    def __init__(self) -> None:
        self.worker: TemplateProcess | None = None
        self.owner = os.getpid()
        self.lock = threading.Lock()

    def render(
        self, name: str, template: str, today: str, conversations: Sequence[Messages], values: Mapping[str, Any]
    ) -> list[str]:
        """Returns the text of each conversation.

        `name` is the model in error messages, `today` the date that the template sees, and `values` its other variables.
        """
        if len(template) > MAX_TEMPLATE_CHARACTERS:
            raise TemplateLimitError(name, f"{MAX_TEMPLATE_CHARACTERS} characters of source")
        limits = {"seconds": CPU_SECONDS, "characters": MAX_CHARACTERS}
        texts: list[str] = []
        with self.lock:
            for start in range(0, len(conversations), BATCH):
                part = list(conversations[start : start + BATCH])
                request = {"template": template, "today": today, "conversations": part, "values": dict(values), **limits}
                texts += self._exchange(name, request)
        return texts

    def _exchange(self, name: str, request: Mapping[str, Any]) -> list[str]:
        worker = self._started()
        finished = False
        try:
            worker.send(request)
            texts = [_text(name, worker.reply()) for _ in request["conversations"]]
            finished = True
            return texts
        except TemplateFailedError:  # the last reply to this request
            finished = True
            raise
        except WorkerGone as error:
            raise TemplateLimitError(name, error.limit) from None
        finally:
            if not finished:  # also after Ctrl-C: replies that nobody read would be taken for those of the next request
                self.close()

    def _started(self) -> TemplateProcess:
        if self.owner != os.getpid():  # a fork must not talk to its parent's process
            self.worker, self.owner = None, os.getpid()
        if self.worker is not None and self.worker.process.poll() is not None:
            self.close()
        if self.worker is None:
            try:
                self.worker = TemplateProcess()
            except OSError as error:
                raise PassusError(f"the process that renders chat templates cannot be started: {error}") from None
        return self.worker

    def close(self) -> None:
        """Ends the process, if this one started it."""
        if self.worker is not None and self.owner == os.getpid():
            self.worker.kill()
        self.worker = None


def _text(name: str, reply: Mapping[str, str]) -> str:
    match reply:
        case {"text": str(text)}:
            return text
        case {"limit": "memory"}:
            raise TemplateLimitError(name, f"{MEGABYTES} MB of memory")
        case {"limit": "depth"}:
            raise TemplateLimitError(name, "the depth of nested calls and blocks that Python allows")
        case {"limit": _}:
            raise TemplateLimitError(name, f"{MAX_CHARACTERS} characters for one conversation")
        case _:
            raise TemplateFailedError(name, str(reply.get("error")), str(reply.get("reason")))


@lru_cache(maxsize=1)
def shared_renderer() -> TemplateRenderer:
    """Returns the renderer of this process, which is created when it is first needed."""
    renderer = TemplateRenderer()
    atexit.register(renderer.close)
    return renderer
