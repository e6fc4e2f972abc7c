"""The HTTP exchange with a judge: one request and one reply, under one deadline and a limit on the reply's size.

Timeouts of an HTTP client hold for one read at a time, so that a server which sends a byte now and then is never late. Here the
whole exchange is cancelled when its time is over: finding the host, connecting, encryption, headers and body.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from passus.errors import UsageError

MAX_REPLY_BYTES = 1 << 20
CONCURRENT_REQUESTS = 8
MAX_LOOKUPS = 64
"""Lookups of hosts that may go on at the same time, those that nobody waits for any more included."""

T = TypeVar("T")


class JudgeError(Exception):
    """Why a judge gave no verdict."""


def ask_all(asks: Sequence[Callable[[Any], Awaitable[T]]]) -> list[T]:
    """Runs functions that take the client, several at a time, and returns their results in order."""
    return _run(_ask_all(asks))


class ResolverThreads(ThreadPoolExecutor):
    """Threads that look up hosts. A lookup cannot be cancelled, so the end of the event loop does not wait for one."""

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = True) -> None:
        super().shutdown(wait=False, cancel_futures=cancel_futures)


async def _ask_all(asks: Sequence[Callable[[Any], Awaitable[T]]]) -> list[T]:
    asyncio.get_running_loop().set_default_executor(ResolverThreads(MAX_LOOKUPS, "judge-resolver"))
    free = asyncio.Semaphore(CONCURRENT_REQUESTS)

    async def ask_one(client: Any, ask: Callable[[Any], Awaitable[T]]) -> T:
        async with free:
            return await ask(client)

    async with _client() as client:
        return list(await asyncio.gather(*(ask_one(client, ask) for ask in asks)))


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end, in a thread of its own where an event loop is running already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, "judge") as pool:
        return pool.submit(asyncio.run, work).result()


def _httpx() -> Any:
    """Imports the HTTP client that huggingface_hub brings. Machines that only read runs have none."""
    try:
        import httpx2 as httpx
    except ImportError:
        try:
            import httpx  # type: ignore[no-redef]  # the older name of the same package
        except ImportError:
            raise UsageError("a judge needs the package httpx", expected="huggingface_hub, which installs it") from None
    return httpx


def _client() -> Any:
    """Returns a client without redirects, which would send the key to another host, and without reuse of connections."""
    httpx = _httpx()
    return httpx.AsyncClient(follow_redirects=False, timeout=None, limits=httpx.Limits(max_keepalive_connections=0))


async def post(client: Any, url: str, key: str, content: bytes, timeout: float) -> bytes:
    """Sends a request, and returns the whole reply within the limits of time and size. The key is a bearer token."""
    httpx = _httpx()
    try:
        async with asyncio.timeout(timeout):
            return await _exchange(client, url, key, content)
    except TimeoutError:
        raise JudgeError(f"timed out after {timeout:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        raise JudgeError(f"cannot be reached: {type(error).__name__}: {str(error)[:200]}") from None


async def _exchange(client: Any, url: str, key: str, content: bytes) -> bytes:
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
    headers |= {"Authorization": f"Bearer {key}"} if key else {}
    reply = bytearray()
    async with client.stream("POST", url, content=content, headers=headers) as response:
        if not response.is_success:
            raise JudgeError(f"refused: HTTP {response.status_code}")
        async for part in response.aiter_raw():
            reply += part
            if len(reply) > MAX_REPLY_BYTES:
                raise JudgeError(f"replied with more than {MAX_REPLY_BYTES} bytes")
    return bytes(reply)
