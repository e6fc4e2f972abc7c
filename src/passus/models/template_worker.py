"""Worker process that renders chat templates: one line of JSON per request, and one per rendered conversation.

template_process.py starts this file as a script, so that no other module of passus and no torch is loaded here. A template is
code of whoever wrote the model folder. Jinja's sandbox keeps it from Python's internals, and the limits of this process keep it
from using up time and memory. The process can write no file, and it ends with its input.

The environment is that of `apply_chat_template` in transformers, with one difference: the current date is a constant.
"""

import json
import resource
import signal
import sys
import time
from collections.abc import Iterator
from datetime import date
from typing import Any

from jinja2 import Template, TemplateError, ext, nodes, utils
from jinja2.exceptions import SecurityError
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

MAX_TEMPLATES = 8
"""Compiled templates that are kept."""


class OutputLimit(Exception):  # noqa: N818 (the name says what was reached)
    """A template wrote more than it may."""


class GenerationBlock(ext.Extension):
    """The tag `{% generation %}`, with which training libraries mark the model's own text. It changes nothing here."""

    tags = {"generation"}  # noqa: RUF012 (as in jinja2)

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_content"), [], [], body).set_lineno(line)

    def _content(self, caller: Any) -> str:
        return str(caller())


class TemplateDict:
    """Makes dictionaries in a template, and offers nothing else of `dict`."""

    def __call__(self, *args: Any, **values: Any) -> dict[Any, Any]:
        return dict(*args, **values)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args)


class TemplateNamespace(utils.Namespace):
    """A namespace without names that begin with an underscore, which would lead to Python's internals."""

    def __init__(*args: Any, **values: Any) -> None:  # the parameter `self` would forbid a variable of that name
        self, rest = args[0], args[1:]
        variables = dict(*rest, **values)
        for name in variables:
            TemplateNamespace._check_name(name)
        utils.Namespace.__init__(self, variables)

    def __setitem__(self, name: str, value: Any) -> None:
        TemplateNamespace._check_name(name)
        utils.Namespace.__setitem__(self, name, value)

    @staticmethod
    def _check_name(name: Any) -> None:
        if isinstance(name, str) and name.startswith("_"):
            raise SecurityError(f"a namespace cannot store {name!r}")


def to_json(value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
    """Writes JSON without the escapes for HTML that Jinja's own filter adds."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message: str) -> None:
    raise TemplateError(message)


def environment(today: date) -> ImmutableSandboxedEnvironment:
    """Returns the environment of transformers, in which `strftime_now` formats `today`."""
    sandbox = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationBlock, ext.loopcontrols]
    )
    sandbox.filters["tojson"] = to_json
    sandbox.globals["raise_exception"] = raise_exception
    sandbox.globals["strftime_now"] = today.strftime
    sandbox.globals["dict"] = TemplateDict()
    sandbox.globals["namespace"] = TemplateNamespace
    return sandbox


def render(template: Template, values: dict[str, Any], max_characters: int) -> str:
    """Renders a template, and stops as soon as its output is too long."""
    parts, length = [], 0
    for part in template.generate(**values):
        parts.append(part)
        length += len(part)
        if length > max_characters:
            raise OutputLimit
    return "".join(parts)


def limit_process(megabytes: int) -> None:
    """Limits memory, and forbids files and core dumps."""
    limits = {resource.RLIMIT_AS: megabytes << 20, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0}
    for kind, limit in limits.items():
        hard = resource.getrlimit(kind)[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (limit, limit))


def limit_time(seconds: int) -> None:
    """Allows so many seconds of processor time from now on; after them the kernel ends the process."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    limit = int(time.process_time()) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def replies(line: str, compiled: dict[str, Template]) -> Iterator[dict[str, str]]:
    """Returns the text of each conversation of a request, up to the first that runs into an error or a limit."""
    try:
        request = json.loads(line)
        source = request["template"]
        limit_time(request["seconds"])
        if source not in compiled:
            while len(compiled) >= MAX_TEMPLATES:
                compiled.pop(next(iter(compiled)))
            compiled[source] = environment(date.fromisoformat(request["today"])).from_string(source)
        for messages in request["conversations"]:
            limit_time(request["seconds"])
            values = {"messages": messages, "tools": None, "documents": None, **request["values"]}
            yield {"text": render(compiled[source], values, request["characters"])}
    except MemoryError:
        yield {"limit": "memory"}
    except RecursionError:
        yield {"limit": "depth"}
    except OutputLimit:
        yield {"limit": "characters"}
    except Exception as error:  # noqa: BLE001 whatever a hostile template raises is its own error, with its reason
        yield {"error": type(error).__name__, "reason": str(error)[:300]}


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    environment(date.today()).from_string("{{ 1 }}").render()  # loads what Jinja imports late
    limit_process(int(sys.argv[1]))
    compiled: dict[str, Template] = {}
    for line in sys.stdin:
        for reply in replies(line, compiled):
            print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
