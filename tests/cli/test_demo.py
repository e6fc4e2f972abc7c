"""`passus demo`: which experiment, where the page is, and when a browser opens it."""

import sys
import urllib.error
import urllib.request
import webbrowser

import pytest

from passus.cli import demo as command
from passus.config.experiment import load_experiment
from passus.errors import UsageError
from passus.launch import runner
from passus.tasks.lookup import benchmark_size


class NoArms:
    """A runner that trains nothing."""

    def __init__(self, experiment, overrides, out, jobs, on_eval=None):
        self.experiment = experiment

    def run(self):
        assert self.experiment.name == "demo"
        return 1


@pytest.fixture
def opened(monkeypatch):
    addresses = []
    monkeypatch.setattr(runner, "Runner", NoArms)
    monkeypatch.setattr(webbrowser, "open", lambda address: addresses.append(address) or True)
    return addresses


def test_the_page_is_named_at_once_and_not_opened_where_there_is_no_terminal(tmp_path, capsys, opened):
    assert command.demo(out=tmp_path / "demo", jobs=1, page=False) == 1
    assert opened == [] and str(tmp_path / "demo/report.html") in capsys.readouterr().out
    assert (tmp_path / "demo/report.html").is_file()


def test_open_opens_the_page_before_the_arms_begin(tmp_path, opened):
    command.demo(out=tmp_path / "a demo", jobs=1, open_=True, page=False)
    assert opened == [(tmp_path / "a demo/report.html").as_uri()]


def test_without_a_browser_the_address_is_printed(tmp_path, capsys, opened, monkeypatch):
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    command.demo(out=tmp_path, jobs=1, open_=True, page=False)
    assert f"no browser was found; the address is {(tmp_path / 'report.html').as_uri()}" in capsys.readouterr().out


def test_the_live_page_is_served_while_the_arms_run(tmp_path, capsys, opened, monkeypatch):
    seen = []

    class Watched(NoArms):
        def run(self):
            seen.append(urllib.request.urlopen(opened[0], timeout=60).read().decode())
            return super().run()

    monkeypatch.setattr(runner, "Runner", Watched)
    assert command.demo(out=tmp_path / "demo", jobs=1, open_=True) == 1
    assert opened[0].startswith("http://127.0.0.1:") and opened[0] in capsys.readouterr().out
    assert "passus" in seen[0] and (tmp_path / "demo/report.html").is_file()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(opened[0], timeout=5)


def test_without_its_packages_the_static_page_is_written(tmp_path, capsys, opened, monkeypatch):
    monkeypatch.setattr("passus.page.assets.find_spec", lambda name: None)
    assert command.demo(out=tmp_path / "demo", jobs=1) == 1
    assert "reloads itself" in capsys.readouterr().out
    with pytest.raises(UsageError, match="starlette"):
        command.demo(out=tmp_path / "demo", jobs=1, page=True)


@pytest.mark.parametrize(
    ("terminal", "environment", "asked", "opens"),
    [
        (True, {"DISPLAY": ":0"}, None, True), (True, {"WAYLAND_DISPLAY": "w"}, None, True), (True, {}, None, False),
        (False, {"DISPLAY": ":0"}, None, False), (True, {"DISPLAY": ":0", "SSH_CONNECTION": "x"}, None, False),
        (True, {"DISPLAY": ":0"}, False, False), (False, {}, True, True),
    ],
)  # fmt: skip
def test_a_browser_is_opened_unasked_only_from_a_terminal_on_a_desktop(monkeypatch, terminal, environment, asked, opens):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert command._is_wanted(asked) is opens


def test_the_demo_trains_five_families_on_the_kinds_that_it_measures():
    arms = load_experiment("demo").arms
    configs = [arm.config for arm in arms]
    assert len({config.model.base for config in configs}) == 5
    assert {tuple(config.eval.benchmarks) for config in configs} == {("abacus/add3", "abacus/chain", "abacus/mul")}
    assert {config.task.name for config in configs} == {"abacus/add3+chain+mul"}
    assert all(benchmark_size(name) >= configs[0].eval.limit for name in configs[0].eval.benchmarks)
