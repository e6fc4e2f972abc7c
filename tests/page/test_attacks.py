"""Attacks on the page, each of them tried (docs/reliability.md)."""

import asyncio
import gzip
import hmac
import json
import os
import signal
import socket
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from helpers.page_runs import add_eval_point, add_samples, finished_run, start_run
from helpers.page_server import ServedPage, page_server
from passus.page import connections, live_page, server
from passus.page.assets import chart_script, chart_script_gzip
from passus.page.samples import MAX_TEXT
from passus.page.security import COOKIE, Guard, allowed_hosts, is_loopback
from passus.page.serve import make_server

WAIT = 60.0


@contextmanager
def page_in_thread(*folders):
    """Serves a page in this process, so that a test can shorten its times."""
    made = make_server(folders, "127.0.0.1", 0)
    thread = threading.Thread(target=made.server.run, kwargs={"sockets": [made.listener]})
    thread.start()
    try:
        end = time.monotonic() + WAIT
        while not made.server.started:
            assert time.monotonic() < end
            time.sleep(0.02)
        page = ServedPage(None, made.address)
        page.guard, page.uvicorn = made.guard, made.server
        yield page
    finally:
        made.server.should_exit = True
        thread.join(WAIT)
        made.listener.close()
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attacked") / "runs"
    finished_run(folder / "one")
    finished_run(folder / "two", 1)
    return folder


@pytest.fixture(scope="module")
def page(folder):
    with page_server(folder) as page:
        yield page


def until(is_true, what: str) -> None:
    end = time.monotonic() + WAIT
    while not is_true():
        assert time.monotonic() < end, what
        time.sleep(0.05)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:{port}.evil.example", ""]
)
def test_a_name_that_was_pointed_at_this_machine_is_refused(page, host):
    """DNS rebinding: the browser of a victim sends the attacker's name as Host."""
    for path in ("/", "/figure", "/events", "/bokeh.js"):
        status, _, body = page.get(path, {"Host": host.format(port=page.port)})
        assert status == 421 and b"abacus" not in body


def test_two_hosts_are_refused(page):
    with socket.create_connection((page.host, page.port)) as client:
        client.sendall(f"GET /figure HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\nHost: evil.example\r\n\r\n".encode())
        assert client.recv(100).split()[1] in (b"400", b"421")


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
def test_own_names_are_served(page, host):
    assert page.get("/figure", {"Host": host.format(port=page.port)})[0] == 200


@pytest.mark.parametrize("headers", [
    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"}, {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
])  # fmt: skip
def test_pages_of_other_origins_are_refused(page, headers):
    status, answered, body = page.get("/figure", headers)
    assert status == 403 and b"abacus" not in body
    assert not any(name.startswith("access-control") for name in answered)


def test_a_link_from_elsewhere_and_the_own_origin_are_served(page):
    for site in ("cross-site", "same-site"):
        link = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
        assert page.get("/", link)[0] == 200
        for path in ("/freeze", "/figure", "/events", "/compare", "/static/page.js"):
            assert page.get(path, link)[0] == 403
    assert page.get("/figure", {"Origin": f"http://127.0.0.1:{page.port}", "Sec-Fetch-Site": "same-origin"})[0] == 200


@pytest.mark.parametrize("path", [
    "/static/../serve.py", "/static/..%2fserve.py", "/static/%2e%2e/serve.py", "/static/....//serve.py", "/../../../etc/passwd",
    "//etc/passwd", "/static//etc/passwd", "/static/%00", "/static/page.js%00.css", "/static/.", "/static/", "/etc/passwd",
    "/static/..\\serve.py", "/static/index.html/../../server.py",
])  # fmt: skip
def test_no_path_leads_out(page, path):
    status, _, body = page.get(path)
    assert status == 404 and b"root:" not in body and b"import" not in body


@pytest.mark.parametrize("query", [
    {"run": "../../../etc", "what": "steps"}, {"run": "/etc/passwd", "what": "steps"}, {"run": "", "what": "steps"},
    {"what": "group", "step": "../1", "item": "1"}, {"what": "group", "step": "-1", "item": "1"},
    {"what": "group", "step": "9" * 40, "item": "0"},
    {"what": "item", "benchmark": "../../x", "step": "0", "item": "1e3"}, {"what": "rows"}, {"what": "items", "step": "7"},
])  # fmt: skip
def test_no_query_leads_out(page, query):
    run = next(iter(page.ids().values()))
    status, _, body = page.get("/texts", **({"run": run} | query))
    assert status == 400 and "error" in json.loads(body)
    assert str(os.getcwd()) not in body.decode()


def test_methods_and_sizes_are_limited(page):
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
        assert page.get("/figure", method=method)[0] == 405
    assert page.get("/figure", find="a" * 5000)[0] == 414
    assert page.get("/figure", find="a" * 300)[0] == 400
    with socket.create_connection((page.host, page.port)) as client:  # headers without end
        client.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000)
        client.settimeout(WAIT)
        assert client.recv(100).split()[1] == b"400"


def test_every_answer_has_a_policy_without_inline_scripts(page):
    for path in ("/", "/static/page.js", "/figure", "/nowhere", "/bokeh.js", "/freeze"):
        _, headers, _ = page.get(path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy and "unsafe-eval" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    index = page.get("/")[2].decode()
    assert "<script>" not in index and "onclick" not in index and "http" not in index.replace("http-equiv", "")


def test_the_folder_is_only_read(page, folder):
    def everything() -> dict:
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*")}

    before = everything()
    ids = list(page.ids().values())
    page.json("/compare", a=ids[0], b=ids[1])
    page.json("/texts", run=ids[0], what="groups", step=1)
    assert page.get("/freeze")[0] == 200
    assert everything() == before


def test_a_completion_of_10_MB_is_cut(tmp_path):
    run = start_run(tmp_path / "runs" / "run")
    add_eval_point(run, 0)
    add_samples(run, 1, "x" * 10_000_000, prompts=1, prompt="y" * 1_000_000)
    with page_server(tmp_path / "runs") as page:
        (run_id,) = page.ids().values()
        began = time.monotonic()
        status, _, body = page.get("/texts", run=run_id, what="group", step=1, item=10)
        group = json.loads(body)
        assert status == 200 and len(body) < 10 * MAX_TEXT and time.monotonic() - began < WAIT
        assert all(
            "characters" in sample["completion"] and len(sample["completion"]) < MAX_TEXT + 60 for sample in group["samples"]
        )
        listed = page.json("/texts", run=run_id, what="groups", step=1, search="xxx")
        assert listed["found"] == 1 and len(json.dumps(listed)) < 1000


def test_a_client_that_does_not_finish_its_request_is_closed(folder, monkeypatch):
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.3)
    with page_in_thread(folder) as page:
        silent, slow, again = (socket.create_connection((page.host, page.port)) for _ in range(3))
        slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
        again.sendall(f"GET /static/icon.svg HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n\r\n".encode())
        again.settimeout(WAIT)
        assert again.recv(4096)
        again.sendall(b"GET /fig")  # the second request of a connection that was kept open
        for client in (silent, slow, again):
            client.settimeout(WAIT)
            while True:
                try:
                    if not client.recv(4096):
                        break
                except ConnectionResetError:
                    break
            client.close()
        assert page.get("/static/icon.svg")[0] == 200


def test_a_client_that_does_not_read_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "SEND_SECONDS", 0.3)
    monkeypatch.setattr(live_page, "LOOK_SECONDS", 0.05)
    run = start_run(tmp_path / "run")
    with page_in_thread(tmp_path) as page:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.connect((page.host, page.port))
        request = f"GET /bokeh.js HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n\r\n".encode()
        client.sendall(request * 20)  # far more than the buffers of both sides
        until(lambda: len(page.uvicorn.server_state.connections) > 0, "connected")
        until(lambda: len(page.uvicorn.server_state.connections) == 0, "closed")
        client.close()
        add_eval_point(run, 0)
        assert page.get("/static/icon.svg")[0] == 200


def test_a_thousand_connections_leave_room(folder, monkeypatch):
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 50)
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 1.0)
    with page_in_thread(folder) as page:
        stream = page.events()
        assert next(stream)[0] == "figure"
        most, clients = 0, []
        for _ in range(1000):
            client = socket.socket()
            client.settimeout(WAIT)
            client.connect((page.host, page.port))
            clients.append(client)
            most = max(most, len(page.uvicorn.server_state.connections))
        assert most <= 50
        until(lambda: len(page.uvicorn.server_state.connections) <= 2, "silent ones are closed")
        assert page.get("/static/icon.svg")[0] == 200 and next(stream)[0] == "arms"
        for client in clients:
            client.close()
        stream.close()


def test_streams_are_limited_and_end_with_their_page(folder, monkeypatch):
    monkeypatch.setattr(server, "MAX_STREAMS", 3)
    monkeypatch.setattr(live_page, "PING_SECONDS", 0.1)
    with page_in_thread(folder) as page:
        streams = [page.events() for _ in range(3)]
        for stream in streams:
            next(stream)
        refused = page.events()
        kind, data = next(refused)
        assert kind == "figure" and "3 pages are open" in data["error"] and next(refused, None) is None
        for stream in streams:
            stream.close()
        until(lambda: page.get("/static/icon.svg")[0] == 200 and len(page.uvicorn.server_state.connections) <= 1, "streams end")
        again = page.events()
        assert next(again)[0] == "figure"
        again.close()


def test_a_folder_that_vanishes_while_it_is_served(tmp_path):
    finished_run(tmp_path / "runs" / "one")
    with page_server(tmp_path / "runs") as page:
        (run_id,) = page.ids().values()
        os.rename(tmp_path / "runs", tmp_path / "elsewhere")
        states = (row["state"] for kind, rows in page.events() if kind == "arms" for row in rows.values() if row)
        until(lambda: next(states) == "gone", "gone")
        assert page.json("/figure")["series"] == []
        assert "error" in page.json("/texts", run=run_id, what="groups", step=1)
        assert "error" in page.json("/compare", a=run_id, b=run_id)
        os.rename(tmp_path / "elsewhere", tmp_path / "runs")
        until(lambda: page.json("/figure")["series"] != [], "back")


def test_a_run_that_fails_is_seen_within_five_seconds(tmp_path):
    run = start_run(tmp_path / "run")
    add_eval_point(run, 0)
    run.write_status(state="finished")
    with page_server(tmp_path) as page:
        rows = (row for kind, changed in page.events() if kind == "arms" for row in changed.values())
        assert next(rows)["state"] == "finished"
        began = time.monotonic()
        run.write_status(state="failed", error="the grader ended <script>alert(1)</script>")
        row = next(rows)
        assert row["state"] == "failed" and "<script>" in row["error"] and time.monotonic() - began < 5


def test_the_server_ends_cleanly_with_open_pages(folder):
    with page_server(folder) as page:
        stream = page.events()
        next(stream)
        ids = list(page.ids().values())
        page.json("/compare", a=ids[0], b=ids[1])  # starts a worker
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(page.process.pid)], capture_output=True, text=True
        ).stdout.split()
        assert children
        page.process.send_signal(signal.SIGTERM)
        assert page.process.wait(30) in (143, -signal.SIGTERM, 0)
        running = [Path(f"/proc/{child}/cmdline") for child in children]
        until(lambda: not any(path.exists() and path.read_text() for path in running), "workers end")
        assert not any("Traceback" in line for line in page.said), page.said
        stream.close()


def test_a_view_that_is_refused_is_an_event_and_asked_for_again(page):
    """A status of 400 would end an EventSource for good."""
    for query in ({"kind": "x"}, {"find": "a" * 300}, {"low": "nan"}, {"smooth": "2"}):
        status, headers, body = page.get("/events", **query)
        assert status == 200 and headers["content-type"].startswith("text/event-stream")
        retry, kind, data = body.decode().strip().split("\n")
        assert (retry, kind) == ("retry: 5000", "event: figure")
        error = json.loads(data.removeprefix("data: "))
        assert "expected" in error["error"] and error["figure"] == {"error": error["error"]}


def test_an_error_that_nobody_expected_is_json(folder, monkeypatch):
    def fail(*_):
        raise RuntimeError("a bug")

    monkeypatch.setattr(server, "line_figure", fail)
    with page_in_thread(folder) as page:
        status, headers, body = page.get("/figure")
        assert status == 500 and headers["content-type"] == "application/json" and "RuntimeError" in json.loads(body)["error"]
        assert page.get("/findings")[0] == 200


def test_the_charting_script_is_compressed_once(page):
    chart_script_gzip.cache_clear()
    status, headers, body = page.get("/bokeh.js", {"Accept-Encoding": "gzip, br"})
    assert status == 200 and headers["content-encoding"] == "gzip" and gzip.decompress(body) == chart_script()
    assert page.get("/bokeh.js")[2] == chart_script()
    assert chart_script_gzip() is chart_script_gzip()


async def answer_of(guard: Guard, path: str = "/figure", query: str = "", **headers: str) -> tuple[int, dict[str, str]]:
    sent: list[dict] = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request"}

    listed = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    await guard(
        {"type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": listed}, receive, send
    )
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}


async def inner(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"numbers"})


def test_an_open_address_asks_for_the_token():
    guard, host = Guard(inner, allowed_hosts("192.0.2.1", 8470), "right-token", 8470), "192.0.2.1:8470"
    value = hmac.new(b"right-token", f"{COOKIE}-8470".encode(), "sha256").hexdigest()

    async def statuses():
        right = [
            await answer_of(guard, host=host, authorization="Bearer right-token"),
            await answer_of(guard, host=host, cookie=f"a=b; {COOKIE}-8471=x; {COOKIE}-8470={value}"),
        ]
        wrong = [
            await answer_of(guard, host=host),
            await answer_of(guard, host=host, authorization="Bearer right-tokem"),
            await answer_of(guard, host=host, authorization="Basic right-token"),
            await answer_of(guard, host=host, cookie=f"{COOKIE}-8470="),
            await answer_of(guard, host=host, cookie=f"{COOKIE}-8470=right-token"),
            await answer_of(guard, host=host, cookie=f"{COOKIE}-8471={value}"),
            await answer_of(guard, host=host, authorization=f"Bearer {value}"),
            await answer_of(guard, host=host, cookie="\x00;=;" * 50),
            await answer_of(guard, "/", "token=right-toke", host=host),
        ]  # fmt: skip
        first = await answer_of(guard, "/", "token=right-token&x=1", host=host)
        return right, wrong, first, await answer_of(guard, host="evil.example", authorization="Bearer right-token")

    right, wrong, first, rebound = asyncio.run(statuses())
    assert {status for status, _ in right} == {200} and {status for status, _ in wrong} == {401} and rebound[0] == 421
    assert first[0] == 303 and first[1]["location"] == "/?x=1"
    assert first[1]["set-cookie"].startswith(f"{COOKIE}-8470={value};") and "right-token" not in first[1]["set-cookie"]
    assert "HttpOnly" in first[1]["set-cookie"] and "SameSite=Strict" in first[1]["set-cookie"]


def test_which_addresses_ask_for_a_token():
    assert all(map(is_loopback, ("127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.1.2", "example.org", "127.0.0.1.evil.example", "")))
