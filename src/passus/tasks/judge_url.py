"""The address of a judge. It is recorded with every run and shown in reports, so that it must not contain a secret."""

from urllib.parse import urlsplit

from passus.errors import UsageError

KEY = "PASSUS_JUDGE_KEY"
"""Environment variable with the key that a judge asks for."""
EXAMPLE = "such as https://host/v1"


def check_judge_url(url: str) -> None:
    """Refuses an address that is not plain http or https, or that may contain a secret. No error repeats a secret."""
    try:
        parts = urlsplit(url)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_web = False
    if "@" in url or "?" in url or "#" in url:
        raise UsageError(
            "judge.url contains a user name, a password or a query (@, ? or #), which would be recorded with the run",
            expected=f"the address alone, {EXAMPLE}, and the key in the environment",
            write=f"export {KEY}=...",
        )
    if not is_web or not url.isprintable() or " " in url:
        raise UsageError(f"judge.url = {url!r}: it must begin with http:// or https://, and name a host", expected=EXAMPLE)
