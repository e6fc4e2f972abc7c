"""The regression alarm of a training run: when it goes off, its three reactions, and no effect otherwise."""

import weakref

import pytest

from helpers.small_run import assert_same, run_small, small_config, stop_in_step
from helpers.synthetic_runs import make_run
from helpers.tiers import slow_cases
from passus.errors import Stop
from passus.figures import kinds
from passus.launch import arm_process
from passus.runs.run_folder import RunFolder, saved_checkpoints
from passus.training import between_steps, regression_alarm, setup
from passus.training.regression_alarm import Regression

EVALS = {"eval": {"every": 1, "limit": 4, "samples": 1}, "train": {"steps": 9, "prompts": 2, "samples": 2}}


def tables(on_regression: str) -> dict:
    return EVALS | {"eval": EVALS["eval"] | {"on_regression": on_regression}}


def falling(path, low: float, items: int = 60) -> RunFolder:
    """Six eval points, the last three of them lower."""
    run = make_run(path / "run", {"x": 0.0, "y": 0.1}, items=items)
    later = make_run(path / "later", {"x": -low, "y": 0.1 - low}, items=items)
    made = RunFolder(path)
    made.append_evals([p for p in run.evals() if p.step < 30] + [p for p in later.evals() if p.step >= 30])
    return made


def test_a_fall_is_detected_with_its_size_and_its_best_step(tmp_path):
    found = regression_alarm.find_regression(falling(tmp_path / "a", 0.2), -1, 6)
    assert found is not None and found.best_step == 10 and found.drop == pytest.approx(0.2, abs=0.05)
    assert regression_alarm.find_regression(falling(tmp_path / "b", 0.0), -1, 6) is None


def test_one_eval_point_is_no_fall_and_an_alarm_resets_the_test(tmp_path):
    run = falling(tmp_path / "a", 0.2)
    assert regression_alarm.find_regression(run, 40, 6) is None and regression_alarm.find_regression(run, 20, 6) is None


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return run_small(tmp_path_factory.mktemp("plain") / "arm", **EVALS)


@pytest.mark.slow
@pytest.mark.parametrize("on_regression", ["return", *slow_cases("warn", "stop")])
def test_an_alarm_that_never_goes_off_changes_nothing(tmp_path, plain, on_regression):
    assert_same(run_small(tmp_path / "arm", **tables(on_regression)).path, plain.path)


@pytest.fixture
def goes_off(monkeypatch):
    """The alarm goes off at step 6, with the best accuracy around step 2."""
    set_off(monkeypatch)


def set_off(monkeypatch):
    def fall(folder, after, looks):
        last = max(point.step for point in folder.evals())
        return Regression(2, 0.1, 5.0) if last == 6 and after < 6 else None

    monkeypatch.setattr(regression_alarm, "find_regression", fall)
    monkeypatch.setattr(regression_alarm, "steps_to_keep", lambda folder, after: [2])


@pytest.fixture(scope="module")
def returned(tmp_path_factory):
    """A run that returned to its best checkpoint at step 6."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        set_off(monkeypatch)
        return run_small(tmp_path_factory.mktemp("returned") / "arm", **tables("return"))


def test_a_warning_is_recorded_and_the_run_continues(tmp_path, goes_off):
    run = run_small(tmp_path / "arm", **tables("warn"))
    assert [(row["step"], row["event"], row["best"]) for row in run.events()] == [(6, "warn", 2)]
    assert run.metrics()[-1]["step"] == 9
    (mark,) = kinds.curves([run.path]).marks
    assert (mark.x, mark.text) == (6, "alarm")


def test_a_run_that_the_alarm_stops_is_finished(tmp_path, goes_off):
    run = run_small(tmp_path / "arm", **tables("stop"))
    assert run.metrics()[-1]["step"] == 6 and arm_process.is_complete(run, small_config(**tables("stop")))
    assert run_small(tmp_path / "arm", **tables("stop")).metrics()[-1]["step"] == 6


def test_a_run_that_returns_has_the_best_weights_and_a_lower_learning_rate(tmp_path, goes_off):
    run = run_small(tmp_path / "arm", run={"keep_checkpoints": 1}, **tables("return"))
    rows = run.metrics()
    rates = [row["train/learning_rate"] for row in rows]
    assert rates[5] == 2 * rates[6] and rows[-1]["step"] == 9
    assert {2, 6} & set(saved_checkpoints(run.checkpoints)) == {2}  # the best stays, whatever run.keep_checkpoints says
    assert [(row["event"], row["best"]) for row in run.events()] == [("return", 2)]
    assert kinds.curves([run.path]).marks[0].text == "alarm: back to 2"


def test_a_return_restores_weights_and_moments_of_the_best_checkpoint(returned):
    best, back, other = (saved_checkpoints(returned.checkpoints)[step] for step in (2, 6, 5))
    for name in ("model.safetensors", "optimizer.safetensors"):
        assert (back / name).read_bytes() == (best / name).read_bytes() != (other / name).read_bytes()


@pytest.mark.parametrize("step", [7, *slow_cases(5, 8)])
def test_a_run_that_returns_resumes_exactly(tmp_path, returned, goes_off, step):
    with pytest.raises(Stop):
        run_small(tmp_path / "cut", check_stop=stop_in_step(tmp_path / "cut", step), **tables("return"))
    again = run_small(tmp_path / "cut", **tables("return"))
    assert_same(again.path, returned.path)
    assert again.events() == returned.events()


@pytest.mark.slow
def test_the_live_reader_returns_with_the_policy(tmp_path, goes_off):
    """A run that resumes after the alarm builds a new reader. A reader with the old weights would differ from it."""
    watched = tables("return") | {"reward": {"reader": "live"}, "train": EVALS["train"] | {"learning_rate": 5e-3}}
    whole = run_small(tmp_path / "whole", **watched)
    assert [row["event"] for row in whole.events()] == ["return"]
    with pytest.raises(Stop):
        run_small(tmp_path / "cut", check_stop=stop_in_step(tmp_path / "cut", 8), **watched)
    run_small(tmp_path / "cut", **watched)
    assert_same(tmp_path / "cut", whole.path)


def test_a_return_holds_one_optimizer_at_a_time(tmp_path, goes_off, monkeypatch):
    """When the optimizer of the earlier checkpoint is made, the one from before is gone, and so are its weights."""
    made, alive = [], []

    class Watched(setup.Optimizer):
        def __init__(self, model, *args):
            alive.append(sum(reference() is not None for reference in made))
            super().__init__(model, *args)
            made.extend([weakref.ref(self), weakref.ref(model)])

    monkeypatch.setattr(setup, "Optimizer", Watched)
    run_small(tmp_path / "arm", **tables("return"))
    assert alive == [0, 0]


@pytest.mark.slow
def test_layers_are_recomputed_after_a_return_as_before(tmp_path, goes_off, monkeypatch):
    """The memory plan of the run holds for the model of the earlier checkpoint, too. On a CPU nothing reads the mark."""
    marks = []

    def return_and_look(run, step):
        run.cuda.recomputed_layers = 1
        setup.return_to_checkpoint(run, step)
        marks.extend(layer.recompute_activations for layer in run.policy.model.get_decoder().layers)

    monkeypatch.setattr(between_steps, "return_to_checkpoint", return_and_look)
    run_small(tmp_path / "arm", **tables("return"))
    assert marks[0] and len(marks) > 1 and not any(marks[1:])
