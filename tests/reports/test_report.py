"""The written report, from run folders and from curve files."""

import json
import re
from types import SimpleNamespace

import pytest

from helpers.small_run import small_config
from helpers.synthetic_runs import make_run
from passus.analysis.finding import Conclusion, Finding
from passus.cli.report import report as passus_report
from passus.config.experiment import load_experiment
from passus.config.resolve import flatten
from passus.errors import UsageError
from passus.figures.spec import Mark
from passus.reports import next_experiments, renderer
from passus.reports.appendix import environment_blocks
from passus.reports.document import Details, Document, DocumentSection, Listing, Note, Picture, SamplePair, Table
from passus.reports.markdown import to_markdown
from passus.reports.report import build_report, finding_marks
from passus.runs.curve import Curve, CurvePoint, Curves
from passus.runs.curve_file import write_curve_file
from passus.runs.run_folder import RunFolder

ORDER = ["Results", "What cannot be told", "Training signals", "Before and after", "Details"]


@pytest.fixture
def runs(tmp_path):
    for number, (name, shift) in enumerate({"better": 0.15, "worse": 0.0}.items()):
        run = make_run(tmp_path / "runs" / name, {"x": shift}, seed=number)
        for step in range(1, 51):
            row = {
                "step": step,
                "train/accuracy": 0.5,
                "train/reward": step / 50,
                "train/frac_reward_zero_std": step / 50,
                "train/num_tokens": 100 * step,
            }
            run.append_metrics(row | {"time/elapsed": step / 2, "time/rollout": 0.3})
    return tmp_path / "runs"


def test_the_answer_comes_first_and_the_rest_in_order(runs, tmp_path):
    written = renderer.write(build_report([runs]), tmp_path / "r.md")
    text = (tmp_path / "r.md").read_text()
    assert re.findall(r"^## (.*)$", text, re.M) == ORDER
    names = ["r.md", "r-accuracy.svg", "r-signals.svg"]
    assert [path.name for path in written] == names and all(path.exists() for path in written)
    answer, _, _ = text.partition("## Results")
    assert "No line can be called better: there is one run per line" in answer
    assert "the pair of lines is shown to differ at the end" in answer and "60 items x 4 samples" in answer
    assert re.search(r"better finishes 1\d\.\d points above worse", text) and "paired over 60 items x 4 samples" in text
    assert not re.search(r"\b(A\d+|L[0-3])\b", text)  # codes are for JSON and docs
    assert "The power of this design is unknown" in text and "5k" in text


def unfolded_words(document):
    """Counts the words outside folded blocks, as a reader of the page meets them; words inside figures do not count."""
    words = document.title.split()
    for section in document.sections:
        words += section.title.split()
        for block in section.blocks:
            match block:
                case str():
                    words += block.split()
                case Table():
                    words += [
                        w
                        for row in (block.head, *block.rows)
                        for c in row
                        for w in " ".join([c] if isinstance(c, str) else c).split()
                    ]
                case Details():
                    words += block.summary.split()
                case SamplePair():
                    words += f"{block.heading} {block.note} {block.before.completion} {block.after.completion}".split()
                case Picture():
                    words += block.caption.split()
                case Note():
                    words += block.text.split()
    return len(words)


@pytest.mark.parametrize(("seeds", "benchmarks"), [(1, 1), (2, 1), (2, 3)])
def test_eight_lines_take_at_most_600_words_unfolded(tmp_path, seeds, benchmarks):
    for arm in range(8):
        for seed in range(seeds):
            shifts = {f"bench{n}": 0.01 * arm for n in range(benchmarks)}
            path, config = tmp_path / "runs" / f"arm-{arm}-{seed}", small_config(seed=seed)
            make_run(path, shifts, seed=10 * arm + seed, label=f"model {arm}", config=config)
    assert 100 < unfolded_words(build_report([tmp_path / "runs"])) <= 600


def test_the_page_needs_nothing_and_runs_nothing(runs, tmp_path):
    assert passus_report(runs, out=tmp_path / "r.html", title="<b>mine</b>") == 0
    page = (tmp_path / "r.html").read_text()
    assert "<h1>&lt;b&gt;mine&lt;/b&gt;</h1>" in page and "<svg" in page
    assert "<script" not in page and not re.search(r"(src|href)=.?http", page)
    assert "\x1b" not in page and "\\x1b[31mred" in page  # what a model wrote is shown as text
    assert "default-src 'none'" in page


def test_what_to_run_next_are_experiment_files(runs, tmp_path):
    (section,) = [s for s in build_report([runs]).sections if s.title == "What cannot be told"]
    files = [block for block in section.blocks if isinstance(block, Details)]
    assert files
    for block in files:
        assert any(isinstance(text, str) and f"passus run {block.summary}" in text for text in section.blocks)
        path = tmp_path / block.summary
        path.write_text(block.blocks[0].text)
        loaded = load_experiment(str(path))
        assert {arm.config.model.tuning for arm in loaded.arms} == {"live"} and len(loaded.arms) == (
            3 if "seeds" in path.name else 1
        )


@pytest.mark.parametrize("ys", [[0.5], [0.1, float("nan"), 0.3], []])
def test_few_points_are_reported_as_what_they_are(tmp_path, ys):
    points = [CurvePoint(10 * i, y, approximate=True) for i, y in enumerate(ys)]
    whole = [CurvePoint(0, 0.2), CurvePoint(10, 0.3)]
    given = Curves("t", "step", "accuracy", [Curve("a", "b", points), Curve("c", "b", whole)], source="a text")
    write_curve_file(given, tmp_path / "c.json")
    text = to_markdown(build_report([tmp_path / "c.json"]), "r")
    assert "approximate" in text and ("~.500" in text) is (len(ys) == 1)
    assert ("gives no values" in text) is (not ys) and ("missing" in text) is (len(ys) == 3)
    assert "settings" not in text


def test_a_run_that_is_being_written(runs, tmp_path):
    with (runs / "better" / "evals.jsonl").open("a") as file:
        file.write('{"step": 60, "bench')
    assert "better" in to_markdown(build_report([runs]), "r")


def test_nothing_to_report_and_other_formats_are_refused(runs, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="nothing in"):
        build_report([tmp_path / "empty"])
    with pytest.raises(UsageError, match=r"\.html or \.md"):
        renderer.write(build_report([runs]), tmp_path / "r.pdf")


def test_markdown_and_html_leave_text_as_it_is():
    hostile = "<img src=x> *a* [b](c) `d` | # e\x00"
    blocks = [hostile, Table([hostile], [[hostile]]), Listing("```\n" + hostile)]
    made = Document(hostile, [DocumentSection(hostile, blocks)])
    assert "<img" not in renderer.to_html(made) and "\x00" not in renderer.to_html(made)
    text = to_markdown(made, "r")
    assert "](c)" not in re.sub(r"(?s)````.*````", "", text).replace("\\]", "") and "````" in text


def test_falls_and_spikes_are_marked_where_they_are():
    found = [
        Finding("A3", "a", "x", "", Conclusion.SUPPORTED, "L2", "", {"before": 90.0}),
        Finding("A4", "b", "y", "", Conclusion.SUPPORTED, "L2", "", {"x": 40.0, "z": -5.0}),
        Finding("A3", "b", "y", "", Conclusion.NOT_SUPPORTED, "L2", "", {"before": 30.0}),
    ]
    assert finding_marks(found) == [Mark(90.0, "falls", "a", "x"), Mark(40.0, "dip", "b", "y")]


def test_runs_made_with_other_versions_are_told_apart(runs, tmp_path):
    meta = json.loads((runs / "worse" / "meta.json").read_text())
    meta["launches"][-1]["versions"]["torch"] = "9.9"
    RunFolder(runs / "worse").write_single("meta.json", json.dumps(meta))
    said = [
        block
        for block in environment_blocks([RunFolder(runs / name) for name in ("better", "worse")])
        if isinstance(block, str)
    ]
    assert len(said) == 2 and said[0].startswith("better: ") and "torch 9.9" in said[1]


def test_many_benchmarks_are_one_row_per_line_and_the_rest_is_folded(tmp_path):
    for number, name in enumerate(("a", "b")):
        make_run(tmp_path / "runs" / name, {f"bench{n}": 0.002 * number for n in range(4)})
    results = next(s for s in build_report([tmp_path / "runs"]).sections if s.title == "Results").blocks
    tables = [block for block in results if isinstance(block, Table)]
    folded = [block for block in results if isinstance(block, Details)]
    assert len(tables) == 1 and len(tables[0].rows) == 2
    assert folded[0].summary == "Each benchmark" and len(folded[0].blocks[0].rows) == 8


def test_lines_of_a_file_are_described_and_not_ranked(tmp_path):
    points = {name: [{"x": 10 * n, "y": y} for n in range(8)] for name, y in (("a", 0.2), ("b", 0.8))}
    series = [{"name": name, "n": 400, "points": own} for name, own in points.items()]
    file = tmp_path / "curves.json"
    file.write_text(json.dumps({"title": "t", "x": "step", "y": "accuracy", "series": series}))
    answer = " ".join(block for block in build_report([file]).sections[0].blocks if isinstance(block, str))
    assert "they start between .200 and .800" in answer.lower() and "highest" not in answer and "bound the noise" in answer


@pytest.mark.parametrize(("temperature", "expected"), [(1.0, ["samples"]), (0.0, []), ([0.0, 0.6], ["samples"])])
def test_more_samples_are_proposed_only_where_evaluation_samples(temperature, expected):
    """Greedy decoding gives every item one sample, so a larger eval.samples would change nothing."""
    configs = [small_config(seed=seed, eval={"temperature": temperature}) for seed in range(3)]
    runs = [
        SimpleNamespace(config=lambda config=config: config, settings=lambda config=config: flatten(config))
        for config in configs
    ]
    found = [Finding("A3", "a", "x", "", Conclusion.UNDERPOWERED, "L2", "", {})]
    assert [proposal.name for proposal in next_experiments.proposals(runs, found)] == expected


def text_of(*sources):
    return to_markdown(build_report(sources), "r")


def make_line(folder, name, seed=0, shift=0.0):
    config = small_config(seed=seed)
    return make_run(folder / f"{name}{seed}", {"x": shift}, seed=10 * seed + len(name), label=name, config=config)


def test_a_failed_arm_is_left_out_and_the_others_are_compared(tmp_path):
    """An arm that failed at step 20 must not move the end of the others there."""
    runs = tmp_path / "runs"
    for seed in (0, 1):
        make_line(runs, "better", seed, 0.15)
        make_line(runs, "worse", seed)
    whole = text_of(runs)
    run = make_line(runs, "broken")
    run.forget_checksums()
    rows = (run.path / "evals.jsonl").read_text().splitlines()
    (run.path / "evals.jsonl").write_text("\n".join(rows[:3]) + "\n")
    run.write_status(state="failed", error="out of memory")
    text = text_of(runs)
    assert "Left out, because it failed: broken0." in text
    for line in ("better", "worse"):
        assert re.findall(rf"^\| {line} .*$", text, re.M)[0] == re.findall(rf"^\| {line} .*$", whole, re.M)[0]


def test_while_an_arm_runs_each_line_has_its_own_end_and_nothing_is_claimed(tmp_path):
    runs = tmp_path / "runs"
    rows = [make_line(runs, name).path / "evals.jsonl" for name in ("done", "slow")]
    done = text_of(runs / "done0")
    RunFolder(runs / "slow0").forget_checksums()
    rows[1].write_text("\n".join(rows[1].read_text().splitlines()[:3]) + "\n")
    RunFolder(runs / "slow0").write_status(state="killed", error=None)
    text = text_of(runs)
    assert "Claims are made when all arms have ended" in text and "What cannot be told" not in text
    alone, beside = (re.findall(r"^\| done .*$", page, re.M)[0] for page in (done, text))
    assert alone == beside


def test_a_missing_file_of_items_leaves_its_eval_point_out(tmp_path):
    run = make_run(tmp_path / "runs" / "a", {"x": 0.0}, seed=0)
    run.forget_checksums()  # as in a folder from before manifests
    sorted((run.path / "items").glob("*.parquet"))[2].unlink()
    assert "## Results" in text_of(tmp_path / "runs")


def test_lines_of_one_run_are_named_where_others_have_several(tmp_path):
    runs = tmp_path / "runs"
    for name, seed in (("many", 0), ("many", 1), ("single", 0)):
        make_line(runs, name, seed, 0.1 * (name == "many"))
    text = text_of(runs)
    assert "No line can be called better: single has one run, and another seed would end elsewhere." in text
    assert "-seeds.toml" in text


def test_more_seeds_are_proposed_where_three_would_not_tell():
    config = small_config()
    run = SimpleNamespace(config=lambda: config, settings=lambda: flatten(config), path=SimpleNamespace(name="a_seed-0"))
    (proposal, *_) = next_experiments.proposals([run], [], seeds=10)
    assert proposal.changes == {"seed": list(range(10))}
    (proposal, *_) = next_experiments.proposals([run], [], seeds=2)
    assert proposal.changes == {"seed": [0, 1, 2]}


def test_two_files_are_refused_under_one_name(runs, tmp_path):
    with pytest.raises(UsageError, match="both"):
        passus_report(runs, out=tmp_path / "r.md", table=tmp_path / "r.md")
