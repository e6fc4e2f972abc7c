"""`passus serve` in a process of its own, on this machine's own address, ended by the test that started it."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from helpers.command import ONE_THREAD


class ServedPage:
    def __init__(self, process: subprocess.Popen, address: str):
        self.process, self.address = process, address
        parts = urlsplit(address)
        self.host, self.port, self.query = parts.hostname, parts.port, parts.query

    def get(self, path: str, headers: dict[str, str] | None = None, method: str = "GET", **query: object):
        """Returns status, headers and body. Nothing is added to the path, so that tests can send odd ones."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            connection.putrequest(
                method, path + (f"?{urlencode(query)}" if query else ""), skip_host="Host" in (headers or {}),
                skip_accept_encoding="Accept-Encoding" in (headers or {}),
            )  # fmt: skip
            for name, value in (headers or {}).items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def json(self, path: str, **query: object):
        return json.loads(self.get(path, **query)[2])

    def ids(self) -> dict[str, str]:
        """Returns the ids of all runs by name, as the stream sends them."""
        return {row["name"]: key for key, row in next(data for kind, data in self.events() if kind == "arms").items()}

    def events(self, last_id: str = "", **query: object) -> Iterator[tuple[str, dict]]:
        """Yields the changes of one stream until the caller stops asking."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        headers = {"Last-Event-ID": last_id} if last_id else {}
        try:
            connection.request("GET", f"/events?{urlencode(query)}", headers=headers)
            answer, kind = connection.getresponse(), ""
            while line := answer.readline():
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "id":
                    self.last_id = value
                elif name == "event":
                    kind = value
                elif name == "data":
                    yield kind, json.loads(value)
        finally:
            connection.close()


@contextmanager
def page_server(*folders: Path, host: str = "127.0.0.1", env: dict[str, str] | None = None) -> Iterator[ServedPage]:
    """Starts the page of some folders on a free port."""
    source = str(Path(__file__).parents[2] / "src")
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "passus", "serve", *map(str, folders), "--port", "0", "--host", host],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=os.environ | ONE_THREAD | {"PYTHONPATH": source} | (env or {}),
    )  # fmt: skip
    said: list[str] = []
    try:
        assert process.stdout is not None
        while "page: " not in (line := process.stdout.readline()):
            said.append(line)
            assert line, f"the server ended: {''.join(said)}"
        threading.Thread(target=lambda: said.extend(process.stdout), daemon=True).start()
        server = ServedPage(process, line.partition("page: ")[2].strip())
        server.said = said
        yield server
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
