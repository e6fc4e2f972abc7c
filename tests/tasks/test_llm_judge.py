"""A judge at a local endpoint: its request, which replies are verdicts, and every way in which it can fail."""

import asyncio
import gzip
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from passus.config import resolve, tables
from passus.errors import UsageError
from passus.evaluation import suite
from passus.evaluation.evaluate import evaluate
from passus.grading.verdict import Rule, Verdict
from passus.tasks import judge_client
from passus.tasks.grade_items import grade_items
from passus.tasks.item import Item
from passus.tasks.judge_client import MAX_REPLY_BYTES
from passus.tasks.judge_url import check_judge_url
from passus.tasks.llm_judge import MAX_ANSWER_CHARACTERS, Judge, make_judge


def chat_reply(text: str) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}}]}).encode()


class Endpoint:
    """An OpenAI-compatible server whose reply depends on a word in the model's answer."""

    def __init__(self, replies):
        self.replies, self.requests, self.keys = replies, [], []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append((self.path, body))
                outer.keys.append(self.headers.get("Authorization"))
                content = body["messages"][0]["content"]
                reply = next(reply for word, reply in outer.replies.items() if word in content)
                reply(self) if callable(reply) else self.answer(reply)

            def answer(self, body: bytes, code: int = 200):
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # a client that stops reading is expected
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1"


def drip(handler):
    """Sends a byte at a time without end: a timeout of the socket alone would never fire."""
    handler.send_response(200)
    handler.end_headers()
    while True:  # until the judge's client hangs up
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def drip_headers(handler):
    """Sends a header line at a time without end, each in time for a timeout that begins anew with every read."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        handler.wfile.write(b"X-Wait: 1\r\n")
        handler.wfile.flush()
        time.sleep(0.05)


def drip_status(handler):
    """Announces again and again that a reply will follow."""
    while True:
        handler.wfile.write(b"HTTP/1.1 102 Processing\r\n\r\n")
        handler.wfile.flush()
        time.sleep(0.05)


def zipped(handler):
    """Sends a small reply that would be huge if it were decompressed."""
    body = gzip.compress(b" " * (64 << 20))
    handler.send_response(200)
    handler.send_header("Content-Encoding", "gzip")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def raw(data: bytes):
    """Sends bytes that need not be HTTP."""
    return lambda handler: (handler.wfile.write(data), handler.wfile.flush(), handler.connection.shutdown(socket.SHUT_RDWR))


def never(handler):
    threading.Event().wait()


def redirect(handler):
    handler.send_response(307)
    handler.send_header("Location", "http://127.0.0.1:1/elsewhere")
    handler.end_headers()


CASES = {
    "right one": (chat_reply("They agree.\nCORRECT"), Verdict.CORRECT, None),
    "wrong one": (chat_reply("They differ.\n\nWRONG\n"), Verdict.WRONG, None),
    "thought": (chat_reply("<think>WRONG?\nWRONG</think>\nCORRECT"), Verdict.CORRECT, None),
    "hedged": (chat_reply("It is CORRECT, or WRONG"), Verdict.ERROR, "ended with"),
    "lower": (chat_reply("correct"), Verdict.ERROR, "ended with 'correct'"),
    "mute": (chat_reply(""), Verdict.ERROR, "said nothing"),
    "no text": (json.dumps({"choices": [{"message": {"content": None}}]}).encode(), Verdict.ERROR, "said nothing"),
    "no chat": (b'{"choices": []}', Verdict.ERROR, "something else"),
    "no json": (b"<html>", Verdict.ERROR, "something else"),
    "refusal": (lambda h: h.answer(b"{}", 429), Verdict.ERROR, "HTTP 429"),
    "elsewhere": (redirect, Verdict.ERROR, "HTTP 307"),
    "slow": (never, Verdict.ERROR, "timed out after 0.4 s"),
    "dripping": (drip, Verdict.ERROR, "timed out after 0.4 s"),
    "dripping headers": (drip_headers, Verdict.ERROR, "timed out after 0.4 s"),
    "dripping status": (drip_status, Verdict.ERROR, "timed out after 0.4 s"),
    "zipped": (zipped, Verdict.ERROR, "something else"),
    "nested": (b"[" * 900_000, Verdict.ERROR, "something else"),
    "nested deeper": (b'{"choices": [' * 60_000, Verdict.ERROR, "something else"),
    "long number": (b'{"choices": ' + b"1" * 100_000 + b"}", Verdict.ERROR, "something else"),
    "other types": (b'{"choices": [5]}', Verdict.ERROR, "something else"),
    "other content": (json.dumps({"choices": [{"message": {"content": ["CORRECT"]}}]}).encode(), Verdict.ERROR, "said nothing"),
    "no text at all": (b"\xff\xfe\x00", Verdict.ERROR, "something else"),
    "no http": (raw(b"\x00\x1b[2J\r\n\r\n"), Verdict.ERROR, "cannot be reached"),
    "many headers": (raw(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200_000), Verdict.ERROR, "cannot be reached"),
    "cut": (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"), Verdict.ERROR, "cannot be reached"),
    "huge": (lambda h: h.answer(b" " * (MAX_REPLY_BYTES + 9)), Verdict.ERROR, "more than"),
}


@pytest.fixture(scope="module")
def endpoint():
    return Endpoint({f"[{word}]": reply for word, (reply, _, _) in CASES.items()})


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """Times out the replies that never come whole, and gives all others the time they need on a busy machine."""
    real = judge_client.post

    async def post(client, url, key, content, timeout):
        endless = any(word in content for word in (b"[slow]", b"[dripping", b"41+1"))
        return await real(client, url, key, content, timeout if endless else 600.0)

    monkeypatch.setattr(judge_client, "post", post)


def item(gold: str = "the reference", kind: str = "judge") -> Item:
    return Item("mine", 0, "the problem", gold, rule=Rule(kind))


@pytest.mark.parametrize("case", CASES)
def test_only_the_word_on_the_last_line_counts(endpoint, case):
    _, verdict, reason = CASES[case]
    grades, failed = grade_items(Judge(endpoint.url, "j", 0.4, "secret"), [item()], [f"[{case}] \\boxed{{7}}"], [False])
    assert grades[0].verdict == verdict and grades[0].extracted == "7"
    assert (list(failed) == []) if reason is None else (reason in next(iter(failed)))


def test_a_timeout_leaves_other_answers_unaffected(endpoint):
    answers = ["[right one]", "[slow]", "[wrong one]", "\\boxed{4}", "", "[right one]"]
    items = [item(), item(), item(), item("4", "math"), item(), item()]
    grades, failed = grade_items(Judge(endpoint.url, "j", 0.4), items, answers, [False] * 5 + [True])
    assert [g.verdict for g in grades] == ["correct", "error", "wrong", "correct", "unparseable", "truncated"]
    assert dict(failed) == {"the judge timed out after 0.4 s": 1}


def test_the_request_has_the_problem_the_reference_and_the_end_of_the_answer(endpoint):
    endpoint.requests.clear(), endpoint.keys.clear()
    answer = "x" * (2 * MAX_ANSWER_CHARACTERS) + "[right one]"
    grade_items(Judge(endpoint.url, "the-judge", 5, "secret"), [item()], [answer], [False])
    (path, body), (key,) = endpoint.requests[0], endpoint.keys
    content = body["messages"][0]["content"]
    assert (
        path == "/v1/chat/completions" and body["model"] == "the-judge" and body["temperature"] == 0 and key == "Bearer secret"
    )
    assert "the problem" in content and "the reference" in content and len(content) < MAX_ANSWER_CHARACTERS + 1000


def test_the_deadline_holds_while_the_host_is_looked_up(monkeypatch):
    """The system's resolver may take minutes, and nothing can stop it. The test lets it go on once the grade is there."""
    may_end, has_ended = threading.Event(), threading.Event()

    def look_up(*_, **__):
        may_end.wait(600)
        has_ended.set()
        raise socket.gaierror("unknown host")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    judge = Judge("http://judge.example/v1", "m", 0.2)
    grades, failures = grade_items(judge, [item()], ["[slow]"], [False])
    assert not has_ended.is_set()
    may_end.set()
    assert grades[0].verdict == Verdict.ERROR and list(failures) == ["the judge timed out after 0.2 s"]


def test_an_endpoint_that_does_not_exist():
    grades, failed = grade_items(Judge("http://127.0.0.1:1/v1", "j", 1), [item()], ["7"], [False])
    assert grades[0].verdict == Verdict.ERROR and "cannot be reached" in next(iter(failed))


def test_the_key_comes_from_the_environment_and_is_in_no_config(monkeypatch):
    monkeypatch.setenv("PASSUS_JUDGE_KEY", "secret")
    judge = {"url": "http://localhost:1/v1/", "model": "j"}
    config = resolve.resolve({"model": {"base": "nano/qwen3"}, "judge": judge}, "test")
    assert make_judge(config.judge.url, config.judge.model) == Judge(
        "http://localhost:1/v1", "j", 60.0, "secret"
    ) and "secret" not in resolve.to_toml(config)
    assert make_judge("", "") is None
    for bad in ({"url": "http://x"}, {"url": "file:///etc/passwd", "model": "j"}):
        with pytest.raises(UsageError, match="judge"):
            resolve.resolve({"model": {"base": "nano/qwen3"}, "judge": bad}, "test")


SECRETS = [
    "http://user:hunter2@localhost:1/v1", "https://hunter2@host/v1", "http://user:hunter2@", "http://us er:hunter2@host",
    "http://user:hunter2@host:99999/v1", "http://[user:hunter2@x", "ftp://user:hunter2@host", "user:hunter2@host",
    "https://host/v1?api_key=hunter2", "https://host/v1#hunter2", "http://a@b:hunter2@host/v1",
]  # fmt: skip


@pytest.mark.parametrize("url", SECRETS)
def test_an_address_with_a_secret_is_refused_and_not_repeated(url):
    for refuse in (check_judge_url, lambda url: make_judge(url, "j"), in_config):
        with pytest.raises(UsageError, match="PASSUS_JUDGE_KEY") as caught:
            refuse(url)
        assert "hunter2" not in str(caught.value)


def test_no_error_repeats_the_password_of_an_address():
    with pytest.raises(UsageError, match=r"judge = 'http://\.\.\.@host/v1'") as caught:
        resolve.resolve({"model": {"base": "nano/qwen3"}, "judge": "http://user:hunter2@host/v1"}, "test")
    assert "hunter2" not in str(caught.value)


def in_config(url: str) -> None:
    resolve.resolve({"model": {"base": "nano/qwen3"}, "judge": {"url": url, "model": "j"}}, "test")


@pytest.mark.parametrize(
    "url", ["http://", "http:///v1", "http://h:x/v1", "http://h:0", "http://h:99999", "http://[::1", "a b"]
)
def test_an_address_that_is_none_is_refused(url):
    for refuse in (check_judge_url, lambda url: make_judge(url, "j"), in_config):
        with pytest.raises(UsageError, match=r"judge\.url"):
            refuse(url)


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("inf"), float("nan")])
def test_a_timeout_that_is_none_is_refused(timeout):
    with pytest.raises(UsageError, match="timeout"):
        make_judge("http://localhost/v1", "j", timeout)


def test_a_judge_can_be_asked_while_an_event_loop_runs(endpoint):
    """As in a notebook."""

    async def main():
        return grade_items(Judge(endpoint.url, "j", 0.4), [item()], ["[right one]"], [False])

    assert asyncio.run(main())[0][0].verdict == Verdict.CORRECT


def test_no_more_than_a_few_requests_run_at_a_time():
    running, most, lock = 0, 0, threading.Lock()

    def count(handler):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1
        handler.answer(chat_reply("CORRECT"))

    served = Endpoint({"x": count})
    grades, _ = grade_items(Judge(served.url, "j", 0.4), [item()] * 40, ["x"] * 40, [False] * 40)
    assert {grade.verdict for grade in grades} == {Verdict.CORRECT} and 1 < most <= judge_client.CONCURRENT_REQUESTS


def test_without_a_judge_its_items_are_left_out_and_counted(tmp_path):
    mine = tmp_path / "mine.jsonl"
    mine.write_text('{"problem": "a", "answer": "1"}\n{"problem": "b", "answer": "a proof", "kind": "judge"}\n')
    table = tables.EvalTable(suite=[str(mine)])
    without, judged = suite.load_suite(table), suite.load_suite(table, judged=True)
    assert [i.index for i in without.items[str(mine)]] == [0] and without.unjudged == {str(mine): 1}
    assert len(judged.items[str(mine)]) == 2 and not judged.remarks() and "judge" in without.remarks()[0]
    mine.write_text('{"problem": "b", "answer": "a proof", "kind": "judge"}\n')
    suite.dataset._load_items.cache_clear()
    with pytest.raises(UsageError, match="need a judge"):
        suite.load_suite(table)


def test_an_eval_point_says_how_often_the_judge_failed_and_why(tmp_path, nano):
    """The judge times out on every second item."""
    served = Endpoint({"41+1": never, "40+1": chat_reply("CORRECT")})
    mine = tmp_path / "mine.jsonl"
    rows = [{"problem": f"{40 + n % 2}+1", "answer": "a text", "kind": "judge", "id": str(n)} for n in range(4)]
    mine.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = tables.EvalTable(suite=[str(mine)], samples=1, temperature=0.0)
    (point,), columns = evaluate(nano, nano.sampler(), table, 48, 0, 0, judge=Judge(served.url, "j", 0.3))
    assert columns["verdict"] == ["correct", "error", "correct", "error"], columns["completion"]
    assert point.error == 0.5 and point.judge == {"the judge timed out after 0.3 s": 2}
