"""Findings on curves whose truth is known."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from helpers.made_curves import RISE_T, curve
from helpers.small_run import small_config
from passus.analysis import analyse, curve_comparison, drop_diagnosis, model_size, sensitivity, single_curve
from passus.analysis.finding import OVERALL, Verdict
from passus.runs.curves import Curve, Curves, Origin, Point, parameters_in
from passus.runs.run_folder import RunFolder
from passus.stats import intervals


def of(given: Curve) -> single_curve.Measured:
    return single_curve.measured(given, given.name)


def points_alone(given: Curve, n: int | None = None) -> Curve:
    return dataclasses.replace(given, items=None, n=n, k=1 if n else None)


def asked(curves: list[Curve]) -> dict[str, list]:
    found: dict[str, list] = {}
    for finding in analyse.analyse(Curves("", "step", "accuracy", curves)):
        found.setdefault(finding.id, []).append(finding)
    return found


@pytest.mark.parametrize("truth_T", [np.full(15, 0.7), RISE_T], ids=["flat", "rising"])
def test_noise_alone_seldom_alarms(truth_T):
    """At most 8 % of 200 runs, 100 of each shape, before any correction for the other tests of a report."""
    rng, alarms = np.random.default_rng(0), 0
    for _ in range(100):
        m = of(curve(rng, truth_T))
        alarms += Verdict.SUPPORTED in (single_curve.degradation(m).verdict, single_curve.dips(m).verdict)
    assert alarms <= 8


@pytest.mark.parametrize("items, expected", [(500, Verdict.SUPPORTED), (30, Verdict.UNDERPOWERED)])
def test_a_late_drop_is_found_with_many_items_and_called_underpowered_with_few(items, expected):
    truth_T = RISE_T - 0.15 * (np.arange(15) >= 12)
    rng = np.random.default_rng(1)
    verdicts = [single_curve.degradation(of(curve(rng, truth_T, items, samples=1))).verdict for _ in range(30)]
    assert verdicts.count(expected) >= 27


def coupled(rng: np.random.Generator, truth_T: np.ndarray, tokens_T: np.ndarray):
    found = single_curve.coupling(of(curve(rng, truth_T, tokens_T=tokens_T)))
    assert found is not None
    return found


def test_two_independent_rising_curves_share_a_trend_and_no_more():
    rng, steps_T = np.random.default_rng(2), np.arange(15)
    found = [coupled(rng, np.linspace(0.3, 0.8, 15), 100 + 10 * steps_T + rng.normal(0, 6, 15)) for _ in range(20)]
    assert min(one.numbers["level_pearson"] for one in found) > 0.8
    assert abs(np.mean([one.numbers["differences"] for one in found])) < 0.15
    assert sum(one.verdict is Verdict.SUPPORTED for one in found) <= 3
    assert all(("shared trend" in one.said) is (one.verdict is not Verdict.SUPPORTED) for one in found)


def test_curves_that_rise_fast_and_then_slowly_share_even_the_trend_of_their_changes():
    rng, steps_T = np.random.default_rng(3), np.arange(15)
    found = [coupled(rng, RISE_T, 300 - 200 * np.exp(-steps_T / 4) + rng.normal(0, 4, 15)) for _ in range(20)]
    assert np.mean([one.numbers["differences"] for one in found]) > 0.5
    assert sum(one.verdict is Verdict.SUPPORTED for one in found) <= 3


def test_what_goes_together_beyond_a_trend_is_found():
    rng, steps_T = np.random.default_rng(4), np.arange(15)
    for _ in range(5):
        shock_T = rng.normal(0, 1, 15)
        tokens_T = 300 - 200 * np.exp(-steps_T / 4) + 8 * shock_T + rng.normal(0, 2, 15)
        assert coupled(rng, RISE_T + 0.05 * shock_T, tokens_T).verdict is Verdict.SUPPORTED


def test_flat_curves_with_noise_have_changes_that_do_not_go_together():
    rng = np.random.default_rng(3)
    found = [single_curve.coupling(of(curve(rng, np.full(20, 0.6), tokens_T=rng.normal(100, 5, 20)))) for _ in range(30)]
    assert sum(one is not None and one.verdict is Verdict.SUPPORTED for one in found) <= 5
    assert abs(np.mean([one.numbers["differences"] for one in found if one is not None])) < 0.15


def test_identical_arms_differ_in_one_case_of_twenty():
    rng, significant, hard_Q = np.random.default_rng(4), 0, np.random.default_rng(0).normal(0, 1.5, 100)
    for _ in range(1000):
        chance_Q = 1 / (1 + np.exp(hard_Q))
        a_Q, b_Q = (rng.binomial(12, chance_Q) / 12 for _ in range(2))
        significant += intervals.sign_flip(a_Q - b_Q, resamples=999).p < 0.05
    assert 37 <= significant <= 64


def test_a_real_difference_is_found_and_told_with_its_size():
    rng, hard_Q = np.random.default_rng(5), np.random.default_rng(0).normal(0, 1.5, 300)
    a = curve(rng, RISE_T, 300, name="a", difficulty_Q=hard_Q)
    b = curve(rng, RISE_T - 0.05, 300, name="b", difficulty_Q=hard_Q)
    (found,) = asked([a, b])["A6"]
    assert found.verdict is Verdict.SUPPORTED and found.level == "L2" and found.low < 0.05 < found.high
    assert "paired over 300 items x 4 samples" in found.said


def test_seeds_make_it_a_statement_about_the_method():
    rng = np.random.default_rng(6)

    def seeds(name: str, shift: float) -> list[Curve]:
        origins = [Origin(Path("nowhere"), name, "live", name, seed, ()) for seed in range(3)]
        return [dataclasses.replace(curve(rng, RISE_T + shift, name=name), origin=origin) for origin in origins]

    (found,) = asked(seeds("a", 0.0) + seeds("b", -0.2))["A6"]
    assert found.level == "L3" and found.verdict is Verdict.SUPPORTED and "3 and 3 seeds" in found.said


def seeds_of(rng: np.random.Generator, name: str, truth_T: np.ndarray, count: int = 3) -> list[Curve]:
    origins = [Origin(Path("nowhere"), name, "live", name, seed, ()) for seed in range(count)]
    return [dataclasses.replace(curve(rng, truth_T, name=name), origin=origin) for origin in origins]


def test_a_run_that_has_not_come_as_far_is_compared_where_it_is():
    rng = np.random.default_rng(20)
    whole, short = seeds_of(rng, "a", RISE_T), seeds_of(rng, "b", RISE_T[:4])
    (found,) = asked(whole + short)["A6"]
    assert found.verdict is not Verdict.SUPPORTED and abs(found.numbers["difference"]) < 0.05 and "at 30" in found.said


def test_two_seeds_are_averaged_and_called_too_few():
    rng = np.random.default_rng(21)
    (found,) = asked(seeds_of(rng, "a", RISE_T, 2) + seeds_of(rng, "b", RISE_T - 0.1, 2))["A6"]
    assert found.level == "L2" and "too few seeds" in found.said


def test_lines_of_one_name_in_curve_files_are_not_seeds():
    rng = np.random.default_rng(22)
    twice = [points_alone(curve(rng, RISE_T, name=name)) for name in ("a", "b") for _ in range(3)]
    found = asked(twice)["A6"]
    assert len(found) == 15 and {one.level for one in found} == {"L0"}


@pytest.mark.slow
def test_noise_between_settings_is_seldom_taken_for_their_effect():
    rng = np.random.default_rng(23)
    supported = 0
    for _ in range(40):
        lines = curve_comparison.comparable([of(c) for name in "abcd" for c in seeds_of(rng, name, np.full(6, 0.6))])
        (found,) = sensitivity.findings(lines)
        supported += found.verdict is Verdict.SUPPORTED
    assert supported <= 5


def test_a_sweep_is_split_into_what_was_set_the_seed_and_the_rest():
    rng, hard_Q = np.random.default_rng(30), np.random.default_rng(0).normal(0, 1.5, 200)
    curves = []
    for rate, shift in (("1e-5", -0.15), ("1e-4", 0.0)):
        for samples in ("4", "8"):
            for seed in range(3):
                settings = (("train.learning_rate", rate), ("train.samples", samples), ("train.steps", "140"))
                origin = Origin(Path("nowhere"), "m", "live", "grpo", seed, settings)
                made = curve(rng, RISE_T + shift, name=f"{rate} {samples}", difficulty_Q=hard_Q)
                curves.append(dataclasses.replace(made, origin=origin))
    (found,) = sensitivity.findings(curve_comparison.comparable([of(c) for c in curves]))
    assert found.verdict is Verdict.SUPPORTED and found.numbers["learning_rate"] > 0.8 > 0.1 > found.numbers["samples"]
    shares = [found.numbers[name] for name in ("learning_rate", "samples", "seed", "remainder")]
    assert sum(shares) == pytest.approx(1) and "other items would move all ends together" in found.said
    assert found.numbers["items_se"] == pytest.approx(0.2 / np.sqrt(200) * 1.2, rel=0.4)


def test_keys_that_vary_together_are_one_factor():
    rng, curves = np.random.default_rng(35), []
    for name, settings in (("grpo", {"method.clip_high": "0.2"}), ("dapo", {"method.clip_high": "0.28"})):
        for seed in range(3):
            both = (*settings.items(), ("method.name", name), ("train.steps", "140"))
            made = curve(rng, RISE_T - 0.1 * (name == "dapo"), name=name)
            curves.append(dataclasses.replace(made, origin=Origin(Path("nowhere"), "m", "live", name, seed, both)))
    (found,) = sensitivity.findings(curve_comparison.comparable([of(c) for c in curves]))
    assert found.numbers["clip_high, name"] > 0.8 and set(found.numbers) >= {"seed", "remainder", "between_settings"}


def test_a_fall_is_placed_where_it_begins_and_not_where_luck_was_best():
    rng, truth_T, found = np.random.default_rng(36), np.full(30, 0.7) - 0.15 * (np.arange(30) > 25), []
    for _ in range(20):
        fall = single_curve.degradation(of(curve(rng, truth_T, 500, 2)))
        assert fall.verdict is Verdict.SUPPORTED
        found.append(fall.numbers["before"])
    assert found.count(250) >= 18


def test_eval_points_whose_rows_are_lost_cost_only_themselves():
    rng, hard_Q = np.random.default_rng(37), np.random.default_rng(0).normal(0, 1.5, 100)
    a, b = (curve(rng, RISE_T, 100, name=name, difficulty_Q=hard_Q) for name in "ab")
    assert a.items is not None
    a.items = a.items.at(a.items.item_Q, [step for step in a.items.steps_T if step != 100])
    (found,) = asked([a, b])["A6"]
    assert found.level == "L2" and "over 120 to 140" in found.said and len(of(a).x_T) == 14


def on(benchmark: str, given: Curve) -> Curve:
    return dataclasses.replace(given, benchmark=benchmark)


def test_lines_are_compared_over_all_benchmarks_too():
    rng = np.random.default_rng(31)
    curves = []
    for benchmark in ("x", "y", "z"):
        hard_Q = rng.normal(0, 1.5, 100)
        curves += [
            on(benchmark, curve(rng, RISE_T - shift, 100, name=n, difficulty_Q=hard_Q)) for n, shift in (("a", 0), ("b", 0.06))
        ]
    *single, over_all = asked(curves)["A6"]
    assert over_all.benchmark == OVERALL and over_all.verdict is Verdict.SUPPORTED and "300 items" in over_all.said
    assert over_all.numbers["difference"] == pytest.approx(np.mean([one.numbers["difference"] for one in single]))
    assert over_all.high - over_all.low < 0.7 * min(one.high - one.low for one in single)


def test_seeds_are_compared_over_all_benchmarks_by_their_means():
    rng = np.random.default_rng(32)
    curves = [
        on(b, c) for b in ("x", "y") for name, shift in (("a", 0), ("b", 0.2)) for c in seeds_of(rng, name, RISE_T - shift)
    ]
    over_all = asked(curves)["A6"][-1]
    assert over_all.benchmark == OVERALL and over_all.level == "L3" and "3 and 3 seeds" in over_all.said


def sizes_on(rng: np.random.Generator, benchmark: str, gain: float) -> list[Curve]:
    """Three sizes, each four times the one before. All start at .3; each gains so much more in a run than the one before."""
    hard_Q, progress_T = rng.normal(0, 1.5, 150), np.linspace(0, 1, 10)
    truths = [0.3 + (0.2 + gain * i) * progress_T for i in range(3)]
    names = ("m, 0.5B", "m, 2B", "m, 8B")
    return [
        on(benchmark, curve(rng, truth_T, 150, name=n, difficulty_Q=hard_Q)) for n, truth_T in zip(names, truths, strict=True)
    ]


def test_whether_larger_ones_gain_more_is_an_interaction():
    rng = np.random.default_rng(33)
    found = asked([c for benchmark in ("x", "y", "z") for c in sizes_on(rng, benchmark, 0.1)])["A12"]
    more = [one for one in found if "gain more" in one.claim]
    assert [one.benchmark for one in more] == ["x", "y", "z", OVERALL] and more[-1].verdict is Verdict.SUPPORTED
    # Two doublings lie between neighbours, which gain .1 more each: .05 a doubling.
    assert more[-1].low < 0.05 < more[-1].high and more[-1].numbers["per_doubling"] == pytest.approx(0.05, abs=0.015)
    (higher,) = [one for one in found if "end higher" in one.claim and one.benchmark == OVERALL]
    assert higher.verdict is Verdict.SUPPORTED and "3 of 3 benchmarks" in higher.said


@pytest.mark.parametrize(
    ("dips", "verdict", "who"),
    [
        ((0.12, 0.0, 0.0), Verdict.SUPPORTED, "m, 0.5B falls first"),
        ((0.0, 0.0, 0.0), Verdict.NOT_SUPPORTED, "none falls first"),
        ((0.12, 0.12, 0.12), Verdict.NOT_SUPPORTED, "m, 0.5B, m, 2B, m, 8B fall first"),
        ((0.18, 0.1, 0.1), Verdict.NOT_SUPPORTED, "m, 0.5B, m, 2B, m, 8B fall first"),
    ],
)
def test_whether_small_ones_fall_first(dips, verdict, who):
    """The mean of three benchmarks; what all sizes do is nothing of the small ones."""
    rng, hard_Q = np.random.default_rng(44), np.random.default_rng(1).normal(0, 1.5, 150)
    curves = []
    for benchmark in ("x", "y", "z"):
        for name, dip in zip(("m, 0.5B", "m, 2B", "m, 8B"), dips, strict=True):
            truth_T = 0.4 + np.where(np.isin(np.arange(10), [1, 2]), -dip, 0.3 * np.linspace(0, 1, 10))
            curves.append(on(benchmark, curve(rng, truth_T, 150, name=name, difficulty_Q=hard_Q)))
    (found,) = [one for one in asked(curves)["A13"] if one.series == "all"]
    assert (found.benchmark, found.verdict) == (OVERALL, verdict) and found.said.startswith(who)
    assert verdict is not Verdict.SUPPORTED or found.high < 0


def test_too_few_items_cannot_tell_whether_small_ones_fall_first():
    rng = np.random.default_rng(45)
    few = [curve(rng, np.linspace(0.4, 0.6, 10), 8, name=name) for name in ("m, 0.5B", "m, 2B", "m, 8B")]
    (found,) = [one for one in asked(few)["A13"] if one.series == "all"]
    assert found.verdict is Verdict.UNDERPOWERED
    bare = [dataclasses.replace(one, items=None) for one in few]
    (found,) = [one for one in asked(bare)["A13"] if one.series == "all"]
    assert found.verdict is Verdict.UNTESTABLE


def test_lines_of_one_size_count_together_in_whatever_order_they_come():
    rng, hard_Q = np.random.default_rng(38), np.random.default_rng(0).normal(0, 1.5, 200)
    levels = {"q": 0.4, "l": 0.6}
    curves = [
        curve(rng, np.full(8, level), name=f"{name} {size}", difficulty_Q=hard_Q)
        for name, level in levels.items()
        for size in ("1B", "2B", "4B")
    ]
    for given in (curves, curves[::-1]):
        higher = [one for one in asked(given)["A12"] if "higher" in one.claim]
        assert [one.verdict for one in higher] == [Verdict.NOT_SUPPORTED]


def test_strangers_are_not_paired():
    rng = np.random.default_rng(39)
    curves = sizes_on(rng, "x", 0.1)
    for number, one in enumerate(curves):
        assert one.items is not None
        one.items.item_Q = [1000 * number + q for q in one.items.item_Q]
    found = asked(curves)["A12"]
    assert [one.claim for one in found] == ["larger ones end higher"] and "Jonckheere" in found[0].said


def test_temperatures_are_not_benchmarks():
    rng = np.random.default_rng(40)
    curves = []
    for temperature in (0.0, 1.0):
        for name in "ab":
            made = on(f"x, temperature {temperature:g}", curve(rng, RISE_T, name=name))
            curves.append(dataclasses.replace(made, temperature=temperature))
    assert {one.benchmark for one in asked(curves)["A6"]} == {"x, temperature 0", "x, temperature 1"}


def test_a_benchmark_that_one_line_lacks_leaves_the_others():
    rng, curves = np.random.default_rng(41), []
    for benchmark, names in (("x", "ab"), ("y", "ab"), ("z", "a")):
        hard_Q = rng.normal(0, 1.5, 100)
        curves += [on(benchmark, curve(rng, RISE_T, 100, name=name, difficulty_Q=hard_Q)) for name in names]
    assert "mean of 2 benchmarks" in asked(curves)["A6"][-1].said


@pytest.mark.slow
def test_sizes_that_gain_alike_are_seldom_said_to_differ():
    rng, supported = np.random.default_rng(34), [0, 0]
    for _ in range(40):
        _, *asked_of_both = model_size.findings(curve_comparison.comparable([of(c) for c in sizes_on(rng, "x", 0.0)]))
        for n, one in enumerate(asked_of_both):
            supported[n] += one.verdict is Verdict.SUPPORTED
    assert max(supported) <= 4


def test_seeds_that_end_alike_cannot_be_tested():
    rng = np.random.default_rng(24)
    (found,) = asked(seeds_of(rng, "a", np.full(8, 1.0)) + seeds_of(rng, "b", np.full(8, 0.0)))["A6"]
    assert found.verdict is Verdict.UNTESTABLE and "nan" not in json.dumps(found.to_json(), allow_nan=False)


def test_what_points_alone_can_and_cannot_tell():
    given = points_alone(curve(np.random.default_rng(7), RISE_T))
    found = asked([given, dataclasses.replace(given, name="b")])
    assert {f.verdict for f in found["A3"] + found["A6"] + found["A5"]} == {Verdict.UNTESTABLE}
    assert all(f.level == "L0" for fs in found.values() for f in fs)
    counted = asked([points_alone(given, n=30)])
    assert counted["A1"][0].level == "L1" and counted["A3"][0].verdict is Verdict.UNDERPOWERED


def test_speed_is_told_in_tokens_and_seconds_too(tmp_path):
    m = planted(tmp_path / "run", np.random.default_rng(25), overfits=True)
    assert m.curve.origin is not None
    rows = [{"step": step, "train/num_tokens": 100 * step, "time/elapsed": step / 2} for step in range(1, 141)]
    (m.curve.origin.path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = single_curve.speed(m)
    assert found is not None and found.numbers["half_tokens"] == pytest.approx(100 * found.numbers["half"])
    assert found.numbers["half_seconds"] == pytest.approx(found.numbers["half"] / 2) and "training tokens" in found.said


def test_plateaus():
    rng = np.random.default_rng(8)
    reached = single_curve.plateau(of(curve(rng, 0.9 - 0.5 * np.exp(-np.arange(20) / 1.5), 500)))
    assert reached.verdict is Verdict.SUPPORTED and 10 <= reached.numbers["start"] <= 120
    rising = single_curve.plateau(of(curve(rng, np.linspace(0.2, 0.9, 20), 500)))
    assert rising.verdict is Verdict.NOT_SUPPORTED and "still moves" in rising.said


def test_tiers_and_starts():
    rng, hard_Q = np.random.default_rng(9), np.random.default_rng(0).normal(0, 1.5, 400)
    shifts = {"a": 0.0, "b": 0.0, "c": -0.1}
    found = asked([curve(rng, RISE_T + shift, 400, name=name, difficulty_Q=hard_Q) for name, shift in shifts.items()])
    (tiers,), (start,) = found["A7"], found["A9"]
    assert (
        tiers.numbers["tiers"] == 2 and " | c ." in tiers.said and "[3; 100%]" in tiers.said and "[1 to 2; 100%]" in tiers.said
    )
    assert start.verdict is Verdict.SUPPORTED and "2 of 3 pairs differ" in start.said


def test_larger_is_better_only_where_it_is():
    rng = np.random.default_rng(10)
    sized = [curve(rng, RISE_T + shift, name=f"model {size}") for size, shift in (("0.5B", -0.1), ("7B", -0.05), ("32b", 0.0))]
    assert asked(sized)["A12"][0].verdict is Verdict.SUPPORTED
    assert parameters_in("Qwen3-shaped, 0.8M") == 8e5 and parameters_in("Qwen2.5") is None
    assert "A12" not in asked(sized[:2])


def test_an_early_dip():
    truth_T = RISE_T.copy()
    truth_T[1:4] = truth_T[0] - 0.15
    m = of(curve(np.random.default_rng(11), truth_T, 300))
    found = single_curve.early_dip(m)
    assert found is not None and found.verdict is Verdict.SUPPORTED
    plain = single_curve.early_dip(of(curve(np.random.default_rng(11), RISE_T, 300)))
    assert plain is not None and plain.verdict is Verdict.NOT_SUPPORTED


def test_a_curve_that_is_flat_at_first_seldom_seems_to_dip():
    """The lowest of several noisy points lies below the start, and one of them always is the lowest."""
    rng, flat_T = np.random.default_rng(12), np.where(np.arange(11) < 6, 0.4, 0.6)
    found = [single_curve.early_dip(of(curve(rng, flat_T, 100))) for _ in range(80)]
    assert sum(one is not None and one.verdict is Verdict.SUPPORTED for one in found) <= 3


@pytest.mark.parametrize("ys", [[], [0.5], [0.5, float("nan")], [0.2, 0.4], [float("nan")] * 4, [0.5] * 12, [1.0] * 12])
def test_short_empty_and_constant_curves_get_an_answer(ys):
    given = Curve("a", "b", [Point(10 * i, y, tokens=5.0) for i, y in enumerate(ys)], 30, 1)
    found = analyse.analyse(Curves("", "step", "accuracy", [given]))
    assert (len(found) > 0) is bool(ys) and all(one.said for one in found)
    assert {one.id for one in found if one.verdict is Verdict.SUPPORTED} <= {"A2"}  # flat is a plateau, and nothing else
    json.dumps([one.to_json() for one in found], allow_nan=False)


def test_verdicts_stand_on_corrected_values():
    rng = np.random.default_rng(12)
    found = analyse.analyse(Curves("", "step", "accuracy", [curve(rng, RISE_T, name=str(i)) for i in range(6)]))
    tested = [f for f in found if f.p is not None]
    assert len(tested) > 40 and all(f.q is not None and f.q >= f.p for f in tested)
    assert all(f.q < 0.05 for f in tested if f.verdict is Verdict.SUPPORTED)
    assert [f for f in found if f.id == "A3" and f.verdict is Verdict.SUPPORTED] == []


def planted(path, rng: np.random.Generator, overfits: bool) -> single_curve.Measured:
    """A run whose accuracy falls by 15 points from step 70 on. Overfitting: training accuracy goes on to 1. A learning rate too
    high: training accuracy falls as well, and gradients grow."""
    steps = np.arange(1, 141)
    late = np.clip((steps - 70) / 40, 0, 1)
    rise = 0.85 - 0.5 * np.exp(-steps / 30)
    accuracy = np.clip(rise + (0.14 * late if overfits else -0.15 * late) + rng.normal(0, 0.03, 140), 0, 1)
    norm = np.exp(rng.normal(0, 0.25, 140)) * (1 + (0 if overfits else 6 * late))
    path.mkdir(parents=True)
    run = RunFolder(path)
    run.start(small_config(task={"name": "abacus/add2", "limit": 64}), {"label": "a"}, None)
    for step, acc, size in zip(steps.tolist(), accuracy.tolist(), norm.tolist(), strict=True):
        run.append_metrics({"step": step, "train/accuracy": acc, "train/grad_norm": size})
    truth_T = RISE_T - 0.15 * np.clip((10 * np.arange(15) - 70) / 40, 0, 1)
    given = curve(rng, truth_T, 500, samples=1)
    return of(dataclasses.replace(given, origin=Origin(path, "a", "live", "grpo", 0, ())))


def test_overfitting_and_a_learning_rate_too_high_are_told_apart(tmp_path):
    rng, right = np.random.default_rng(13), 0
    for number in range(40):
        overfits = number % 2 == 0
        said = drop_diagnosis.cause(planted(tmp_path / str(number), rng, overfits), peak=70.0).said
        right += said.startswith("overfitting" if overfits else "instability")
    assert right >= 36


def test_verbosity():
    after, again = single_curve.verbosity(
        [("so it is 42", "42"), ("\\boxed{42} and that is it, it is so, and that is it, I think", "42")]
    )
    assert after == pytest.approx((0 + 51) / (11 + 61), abs=0.03) and 0 < again < 0.3
    assert single_curve.verbosity([("abcd" * 5, "")])[1] == pytest.approx(13 / 17)
    assert single_curve.verbosity([]) == (0, 0)
