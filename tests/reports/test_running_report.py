"""The page: its numbers, what it makes of hostile text, and that it can be written at any time."""

import shutil
import sys
from html.parser import HTMLParser

import pytest

from helpers.small_run import small_config
from passus.cli.demo import demo
from passus.figures import export
from passus.launch import runner
from passus.reports import renderer, sample_changes
from passus.reports.arm_status import read_arm_status, score_cells
from passus.reports.document import Details, Note
from passus.reports.report import build_report, build_running_report
from passus.runs.eval_point import EvalPoint
from passus.runs.run_folder import RunFolder
from passus.tasks.lookup import benchmark_items

BENCHMARK = "abacus/add2"
ITEMS = benchmark_items(BENCHMARK, 4)
FIRST = [False, False, True, True]
LAST = [True, True, False, True]


def point(step, accuracy, **others):
    band = {"ci_low": accuracy - 0.1, "ci_high": accuracy + 0.1, "q": len(ITEMS), "k": 2}
    where = {"step": step, "benchmark": BENCHMARK, "temperature": 1.0, "acc": accuracy, "tokens_mean": 10.0 + step}
    return EvalPoint.from_row(where | band | others)


def rows(rights, said=None):
    """Two samples an item, the first right where `rights` says so, the second always wrong."""
    verdicts = [verdict for right in rights for verdict in ("correct" if right else "wrong", "truncated")]
    answers = [answer for item, right in zip(ITEMS, rights, strict=True) for answer in (item.gold if right else "no", None)]
    n = len(verdicts)
    return {
        "benchmark": [BENCHMARK] * n, "temperature": [1.0] * n, "item": [i // 2 for i in range(n)], "sample": [0, 1] * (n // 2),
        "verdict": verdicts, "extracted": answers, "tokens": [5] * n, "logp": [-1.0] * n,
        "completion": [said or f"so it is {answer}" for answer in answers],
        "value": [None] * len(answers),
    }  # fmt: skip


def make_arm(path, label="Qwen3-shaped, 0.8M", said=None, evals=((0, 0.5), (4, 0.9), (8, 0.75)), state="finished"):
    path.mkdir(parents=True)
    run = RunFolder(path)
    run.start(small_config(), {"label": label, "family": "Qwen3", "parameters": 1}, None)
    run.write_status(state=state, error=None)
    for step, accuracy in evals:
        agreeing = {"value": [accuracy] * 2 * len(ITEMS)}  # the mean of the items is that of the eval point
        run.write_rows("items", step, rows(LAST if step else FIRST, said) | agreeing)
        run.append_evals([point(step, accuracy)])
    return run


class Page(HTMLParser):
    """What a browser would make of the page."""

    def __init__(self, path):
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.text = ""
        self.feed(self.source)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        self.links += [value or "" for name, value in attrs if name.rpartition(":")[2] in ("src", "href", "srcset", "data")]

    def handle_data(self, data):
        self.text += data


def write(tmp_path, *folders, **options):
    page = build_running_report([tmp_path / folder for folder in folders], "families", **{"live": False} | options)
    renderer.write(page, tmp_path / "report.html")
    return Page(tmp_path / "report.html")


def test_numbers(tmp_path):
    make_arm(tmp_path / "a")
    page = write(tmp_path, "a", made_with=["passus demo"], next_commands=["passus ls a&b"])
    for part in (".500 [.400, .600]", ".750 [.650, .850]", ".900 (4) [.800, 1.000]", "biased upwards", "18.0"):
        assert part in page.text
    assert "over other items" in page.text and "passus ls a&b" in page.text and "Claims are made when all arms" in page.text
    assert "4 items x 2 samples" in page.text
    assert "2 of 8 samples went from wrong to correct, 1 the other way" in page.text
    (scores,) = read_arm_status(tmp_path / "a").scores
    assert score_cells(scores)[2] == ("0.900, step 4", "[0.800, 1.000]") and scores.last.step == 8


def test_samples_before_and_after(tmp_path):
    make_arm(tmp_path / "a")
    text = write(tmp_path, "a").text
    for item, shown in zip(ITEMS, (True, True, True, False), strict=True):
        assert (f"Correct answer {item.gold} ({BENCHMARK}, item {item.index}, sample 0)" in text) is shown
    order = [text.index(f"item {i}, sample 0") for i in (0, 1, 2)]
    assert order == sorted(order)  # those gained first, then the one lost


def test_a_question_that_does_not_fit_its_answers_is_not_shown(tmp_path, monkeypatch):
    make_arm(tmp_path / "a")
    monkeypatch.setattr(sample_changes, "benchmark_items", lambda name: benchmark_items(name)[1:] + benchmark_items(name)[:1])
    assert ITEMS[0].question in write(tmp_path, "a").text  # order does not matter
    other = [type(item)(item.benchmark, item.index, "another", "-1") for item in ITEMS]
    monkeypatch.setattr(sample_changes, "benchmark_items", lambda name: other)
    text = write(tmp_path, "a").text
    assert "another" not in text and "item 0, sample 0" in text and "or has changed" in text


HOSTILE = "</pre></div><script>alert(1)</script><img src=http://x/y onerror=z>&amp;\x1b[2J\x00\u202e\"'"


@pytest.mark.filterwarnings("ignore:Glyph")
def test_hostile_text_is_only_text(tmp_path):
    make_arm(tmp_path / "a", label="<b onclick=x>" + HOSTILE.replace("\x00", ""), said=HOSTILE)
    page = write(tmp_path, "a", made_with=[HOSTILE])
    assert not page.tags & {"script", "img", "iframe", "object", "link", "a"}
    assert "<script>alert(1)</script><img src=http://x/y onerror=z>&amp;\\x1b[2J\\x00\\u202e\"'" in page.text
    assert not {"\x1b", "\x00", "\u202e"} & set(page.source)
    assert all(link.startswith("#") for link in page.links), page.links


def test_a_long_text_is_cut_in_the_middle(tmp_path):
    make_arm(tmp_path / "a", said="head" + "<" * 1_000_000 + "tail")
    page = write(tmp_path, "a")
    assert len(page.source) < 100_000
    assert "head<<" in page.text and "<<tail" in page.text and "[…999,408 characters…]" in page.text


def test_nothing_is_fetched_and_nothing_runs(tmp_path):
    make_arm(tmp_path / "a")
    page = write(tmp_path, "a")
    assert "svg" in page.tags and "path" in page.tags and "default-src 'none'" in page.source
    assert all(link.startswith("#") for link in page.links) and "url(http" not in page.source and "@import" not in page.source
    assert "prefers-color-scheme: dark" in page.source and "width=device-width" in page.source


def test_it_reloads_only_while_somebody_writes_it(tmp_path):
    make_arm(tmp_path / "a")
    assert 'http-equiv="refresh"' in write(tmp_path, "a", live=True).source
    assert 'http-equiv="refresh"' not in write(tmp_path, "a").source


def test_arms_that_wait_or_have_just_begun(tmp_path):
    page = write(tmp_path, "a", "b")
    assert "2 waiting" in page.text and "no eval point yet" in page.text and "not final" in page.text
    assert [section.title for section in build_running_report([tmp_path / "a"], "t").sections] == [
        "",
        "Results",
        "Before and after",
    ]
    make_arm(tmp_path / "a", evals=())
    make_arm(tmp_path / "b", evals=((0, 0.5),))
    text = write(tmp_path, "a", "b", "c").text
    assert "2 finished, 1 waiting" in text and "No second eval point yet" in text and ".500" in text


def test_a_finished_arm_is_not_held_back_by_one_that_begins(tmp_path):
    make_arm(tmp_path / "a", label="done")
    make_arm(tmp_path / "b", label="new", evals=((0, 0.5),), state="running")
    text = write(tmp_path, "a", "b").text
    assert ".750 [.650, .850]" in text and "Arms: 1 finished, 1 " in text


def spoil_evals(run):
    (run.path / "evals.jsonl").write_bytes(b'{"step": 0}\n')


def spoil_number(run):
    run.append_evals([point(9, 0.5, acc=None, ci_low=0, ci_high=1)])


def spoil_config(run):
    run.config_path.write_text("name = ")


def spoil_meta(run):
    (run.path / "meta.json").write_text('{"model": {}, "launches": []}')


def spoil_last_line(run):
    with open(run.path / "evals.jsonl", "ab") as file:
        file.write(b'{"step": 12, "benchm')


def spoil_items(run):
    path = run.path / "items/step-000008.parquet"
    path.write_bytes(path.read_bytes()[:-20])


def drop_items(run):
    shutil.rmtree(run.path / "items")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        *((spoil, "1 unreadable") for spoil in (spoil_evals, spoil_number, spoil_config, spoil_meta)),
        *((spoil, "items cannot be read") for spoil in (spoil_items, drop_items)),
        (spoil_last_line, "2 finished"),
    ],
)
def test_one_torn_arm_does_not_spoil_the_page(tmp_path, spoil, said):
    make_arm(tmp_path / "good")
    spoil(make_arm(tmp_path / "torn"))
    page = write(tmp_path, "torn", "good")
    assert said in page.text and "2 of 8 samples" in page.text and "svg" in page.tags


def test_a_page_that_cannot_be_made_leaves_the_old_one(tmp_path, monkeypatch):
    make_arm(tmp_path / "a")
    before = write(tmp_path, "a").source

    def fail(figure, column):
        raise OSError("no space")

    monkeypatch.setattr(export, "svg", fail)
    with pytest.raises(OSError, match="no space"):
        write(tmp_path, "a")
    assert (tmp_path / "report.html").read_text() == before
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["report.html"]


def test_the_finished_report_is_the_same_page_with_claims(tmp_path):
    """The page must not get worse when the run ends."""
    folders = [make_arm(tmp_path / name).path for name in ("a", "b")]
    running = build_running_report(folders, "families", ["passus demo"], ["passus ls"])
    finished = build_report(folders, "families", ["passus demo"], ["passus ls"])
    assert running.reload_seconds and not finished.reload_seconds
    sections = {section.title: section.blocks for section in finished.sections}
    assert set(sections) - {section.title for section in running.sections} <= {"What cannot be told"}
    for section in running.sections[1:]:
        missing = [block for block in section.blocks if block not in sections[section.title]]
        assert [block for block in missing if not isinstance(block, Details | Note)] == []
    assert "All findings" in [block.summary for block in sections["Details"]]


class Arms:
    """Stands in for the runner: makes the first arm, then the others, and looks at the page in between."""

    def __init__(self, experiment, overrides, out, jobs, on_eval):
        self.experiment, self.out, self.on_eval = experiment, out, on_eval

    def run(self):
        page = self.out / "report.html"
        seen = [page.read_text()]
        for arm in self.experiment.arms:
            make_arm(self.out / arm.name)
            self.on_eval()
            seen.append(page.read_text())
        assert len(set(seen)) == len(seen) and all("refresh" in text for text in seen)
        return 0


def test_demo_keeps_figure_and_page_up_to_date(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runner, "Runner", Arms)
    monkeypatch.setattr(sys.modules[demo.__module__], "PAGE_INTERVAL", 0)  # every eval point is shown at once
    out = tmp_path / "demo"
    assert demo(out=out, jobs=1, page=False) == 0
    said = capsys.readouterr().out
    assert said.index(str(out / "demo.png")) < said.index("biased") and said.index(str(out / "report.html")) < said.index(
        "biased"
    )
    assert "time of all arms: rollout" in said
    _, _, ahead = said.partition("next:\n")
    assert len(ahead.splitlines()) == 4 and all(line.startswith("  passus ") for line in ahead.splitlines())
    page = Page(out / "report.html")
    assert "refresh" not in page.source and all(line.strip() in page.text for line in ahead.splitlines())
    assert {path.name for path in out.iterdir() if path.is_file()} == {"demo.png", "demo.svg", "report.html"}


def test_what_cannot_be_drawn_does_not_end_the_arms(tmp_path, monkeypatch, capsys):
    class Quiet(Arms):
        def run(self):
            make_arm(self.out / self.experiment.arms[0].name)
            self.on_eval()
            return 0

    def fail(figure, *paths):
        raise ValueError("a figure of no size")

    monkeypatch.setattr(runner, "Runner", Quiet)
    monkeypatch.setattr(export, "draw", fail)
    assert demo(out=tmp_path / "demo", jobs=1, page=False) == 0
    said = capsys.readouterr()
    assert "a figure of no size" in said.err and "[0.650, 0.850]" in said.out
