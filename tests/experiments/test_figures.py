"""Fig. 1, speed and theory as experiments: what their cells compute and what verdicts say."""

from types import SimpleNamespace

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.experiments import contenders
from quadfeat.experiments.datasets import Data
from quadfeat.experiments.figures import (
    fig1,
    fig1a,
    fig1b,
    fig1c,
    reweighting,
    sample_complexity,
    speed,
)
from quadfeat.experiments.speech import kernel_rows
from quadfeat.plotting import style


@pytest.fixture(autouse=True)
def few_samples(monkeypatch):
    monkeypatch.setitem(fig1.SAMPLES, "small", 500)


def run(module, wanted=lambda key: True):
    return [
        record
        for cell in module.cells("small", Data(None))
        if wanted(cell.key)
        for record in cell.run()
    ]


def one_seed(key):
    return key.get("seed", 0) == 0


@pytest.fixture(scope="module")
def fig1b_records():
    patch = pytest.MonkeyPatch()
    patch.setitem(fig1.SAMPLES, "small", 500)
    yield run(fig1b, one_seed)
    patch.undo()


def swapped(records, first, second):
    """The records with two maps in each other's place."""
    other = {first: second, second: first}
    return [{**r, "map": other.get(r["map"], r["map"])} for r in records]


def test_points_of_a_ball_are_uniform_in_it():
    points = np.concatenate(list(fig1.balls(25_000, 3.0, seed=0)))
    assert points.shape == (25_000, fig1.AXES)
    volumes = (np.linalg.norm(points, axis=1) / 3.0) ** fig1.AXES  # uniform on [0, 1]
    assert volumes.max() <= 1.0
    for q in (0.1, 0.5, 0.9):
        deviation = np.sqrt(q * (1 - q) / len(points))
        assert abs((volumes < q).mean() - q) < 5 * deviation
    assert np.abs(points.mean(axis=0)).max() < 5 * 3.0 / np.sqrt(len(points))


def test_more_samples_begin_with_the_fewer_and_can_only_raise_the_maximum():
    few, many = (next(fig1.balls(n, 1.0, seed=7)) for n in (10_000, 20_000))
    np.testing.assert_array_equal(few, many)


def test_a_cell_gives_the_same_records_again(fig1b_records):
    again = run(fig1b, lambda key: key["map"] == "random" and key["seed"] == 0)
    assert again == [r for r in fig1b_records if r["map"] == "random"]


def test_the_sparse_grid_of_fig_1b_holds_its_claims_and_random_in_its_place_does_not(
    fig1b_records,
):
    assert [verdict.holds for verdict in fig1b.verdicts(fig1b_records)] == [True] * 4
    wrong = fig1b.verdicts(swapped(fig1b_records, "sparse grid", "random"))
    assert not any(verdict.holds for verdict in wrong[1:3])


def test_errors_of_a_map_are_those_of_its_rule(fig1b_records):
    rule = fig1b.qf.SparseGrid(fig1.KERNEL, level=2, weights="signed")
    rule = rule.fit(np.zeros((2, fig1.AXES))).rule_
    gaps = next(fig1.balls(500, 2.0, seed=7))
    expected = np.abs(rule(gaps) - fig1.KERNEL.at(gaps)).max()
    # Both sums round by at most a few eps for each unit of the weights' magnitudes.
    rounding = 100 * np.finfo(float).eps * np.abs(rule.weights).sum()
    assert abs(fig1.mean_error(fig1b_records, "sparse grid", 2.0) - expected) < rounding


def test_plain_least_squares_meets_the_moments_with_as_many_points():
    records = fig1a.plain_errors(0, 500)
    assert records[0]["points"] == 351  # C(27, 2) equations
    assert abs(records[0]["mass"] - 1.0) < 1e-10  # one of the equations, solved to rounding


def test_figures_of_fig_1_show_every_map(fig1b_records):
    labels = fig1b.draw(fig1b_records).legends[0].get_texts()
    names = " ".join(text.get_text() for text in labels)
    assert all(name in names for name in ("random", "orthogonal", "sparse grid", "Hermite-Mercer"))


@pytest.mark.parametrize("length", [1, 12, 30, 60])
def test_a_legend_takes_no_more_columns_than_its_figure_is_wide(length):
    made = style.figure()
    ax = made.subplots()
    for i in range(8):
        ax.plot([0, 1], [0, i], label=f"{i}" + "m" * length)
    style.legend_below(made, columns=4)
    (legend,) = made.legends
    assert legend.get_window_extent().width <= made.bbox.width or legend._ncols == 1
    assert legend._ncols == 4 or length > 1


def test_subsampled_grids_are_compared_at_four_sizes():
    keys = [cell.key["map"] for cell in fig1c.cells("paper", Data(None))]
    assert {f"subsampled, L = {n}" for n in (2, 3, 5, 11)} < set(keys)


def test_multiplies_are_counted_as_they_are_made():
    shape = speed.SHAPES["speech"]()
    counted = {t: speed.multiplies(shape, t, 10_000) for t in (speed.RANDOM, speed.PADDED)}
    assert counted == {speed.RANDOM: 50 * 100 * 5, speed.PADDED: 50 * 100 * 40}
    assert speed.multiplies(shape, speed.TABLE, 10_000) == 40 * 11


def test_the_two_numpy_procedures_of_the_speed_test_run_on_any_number_of_rows():
    shape = speed.SHAPES["speech"]()._replace(columns=1000)
    X = np.random.default_rng(0).normal(size=(70, 40)).astype(np.float32)
    for job in speed._by_numpy(shape, X).values():
        job()


def timings(**changed):
    seconds = {speed.GRID: 1.0, speed.RANDOM: 1.0, speed.PADDED: 3.0, speed.SKLEARN: 9.0,
               speed.TABLE: 2.0, speed.BATCHED: 1.5} | changed  # fmt: skip
    return [
        {"shape": shape, "map": name, "seconds": s, "rows": 10, "columns": 100, "multiplies": 5}
        for shape in speed.SHAPES
        for name, s in seconds.items()
    ]


def test_verdicts_on_speed_follow_the_times():
    assert [v.holds for v in speed.verdicts(timings())] == [True, False, False, False]
    faster = timings(**{speed.RANDOM: 2.0, speed.BATCHED: 3.0, speed.PADDED: 1.9})
    assert [v.holds for v in speed.verdicts(faster)] == [False, True, True, True]
    assert len(speed.draw(timings()).axes) == 2


def test_tables_hold_the_curves_and_nothing_where_a_curve_has_no_point():
    records = [
        {"map": name, "width": w, "rms": w * f} for w in (10, 20) for f in (1, 3) for name in "ab"
    ]
    records += [{"map": "b", "width": 1000, "rms": 7.0}]
    curves = {name: contenders.curve(records, "width", "rms", map=name) for name in "ab"}
    made = contenders.table("errors", "columns", curves, lambda m, s: f"{m:g} +- {s:.3f}")
    assert made.head == ["columns", "a", "b"]
    twice = "20 +- 14.142", "40 +- 28.284"
    assert [list(row) for row in made.rows] == [
        ["10", twice[0], twice[0]],
        ["20", twice[1], twice[1]],
        ["1,000", "", "7 +- 0.000"],
    ]


@pytest.mark.parametrize("number", [1.0, 12.0, 999_999.0, 1e6, 2.44e7, 9.94e7, 9.96e7, 3.2e250])
def test_powers_are_printed_as_numbers_are_read(number):
    printed = sample_complexity._power(np.log10(number))
    digits = f"{number:,.0f}" if number < 1e6 else f"{number:.1e}".replace("e+0", "e")
    assert printed == digits.replace("e+", "e")
    assert sample_complexity._power(None) == "none"


def test_theory_is_exact_where_it_can_be_read_off():
    records = run(sample_complexity, lambda key: key["part"] != "measured sum")
    sums = {r["rule"]: r for r in records if r["part"] == "sum" and r["m"] == 1}
    assert sums["polynomially exact"]["counted"] < sums["random"]["counted"]
    m, logs = sample_complexity._line(records, "sum", "polynomially exact", "m", "counted")
    np.testing.assert_allclose(np.diff(logs), np.diff(np.log10(m)), rtol=1e-12)
    _, slopes = sample_complexity.exponents(records, "random", "counted")
    # eps^-2 log(1 / eps): above 2 by 1 / log(1 / eps) and less
    assert all(2 < slope < 2.2 for slope in slopes)


def test_errors_of_measured_sums_do_not_depend_on_the_order_of_cells():
    again = sample_complexity.measured_sums(1, 64), sample_complexity.measured_sums(1, 64)
    assert again[0] == again[1]
    assert {record["m"] for record in again[0]} == set(sample_complexity.SUMS)


def reweighted(errors_by_samples, kept, random):
    made = [(reweighting.NEW, n, e) for n, errors in errors_by_samples.items() for e in errors]
    made += [(reweighting.KEPT, 500, e) for e in kept] + [
        (reweighting.RANDOM, 0, e) for e in random
    ]
    return [
        {"map": title, "samples": n, "seed": i, "rms": e, "frames": 30_000}
        for i, (title, n, e) in enumerate(made)
    ]


def test_verdicts_on_reweighting_follow_the_errors():
    good = reweighted({500: [0.010, 0.011], 2000: [0.010, 0.010]}, [0.010, 0.0101], [0.02, 0.03])
    assert [v.holds for v in reweighting.verdicts(good)] == [True, True]
    bad = reweighted({500: [0.02, 0.03], 2000: [0.01, 0.01]}, [0.01, 0.03], [0.02, 0.021])
    assert [v.holds for v in reweighting.verdicts(bad)] == [False, False]
    assert reweighting.draw(good).axes


@pytest.mark.parametrize("name", speed.SHAPES)
def test_every_way_to_compute_features_is_timed_and_counted(name, monkeypatch):
    shape = speed.SHAPES[name]()
    monkeypatch.setitem(speed.SHAPES, name, lambda: shape._replace(rows=3))
    records = speed.measure(name, rounds=1)
    ways = [record["map"] for record in records]
    assert len(ways) == len(set(ways)) and {speed.GRID, speed.RANDOM, speed.SKLEARN} <= set(ways)
    assert all(np.isfinite(record["seconds"]) and record["seconds"] >= 0 for record in records)
    counts = {record["map"]: record["multiplies"] for record in records}
    # A sparse grid's angle takes the axes of its group; a padded one, or scikit-learn's, all.
    assert counts[speed.RANDOM] * shape.axes == counts[speed.PADDED] * shape.group_axes
    assert counts[speed.SKLEARN] == 2 * counts[speed.PADDED]
    assert counts[speed.GRID] <= counts[speed.RANDOM]


def test_only_maps_of_plain_nodes_are_timed(rng):
    X = rng.normal(size=(20, 2))
    with pytest.raises(TypeError, match="only maps of plain nodes are timed here"):
        speed._by_engine(qf.DenseGrid(qf.Gaussian(0.3)).fit(X), X)


def test_the_least_of_the_rounds_after_the_first_counts():
    clock, calls = iter([100, 0, 5, 0, 7]), []  # the first round is not timed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(speed, "time", SimpleNamespace(process_time=lambda: next(clock)))
        best = speed.least_times({"job": lambda: calls.append(1)}, rounds=2)
    assert best == {"job": 5} and len(calls) == 3


def test_every_kind_of_reweighting_is_measured(rng, monkeypatch):
    """Random points, points that the seed draws, and the same points for every seed."""
    monkeypatch.setattr(reweighting, "COLUMNS", 64)
    monkeypatch.setattr(kernel_rows, "N_SUBSETS", 2)
    kernel = qf.Anova(qf.Gaussian(0.1), [[0, 1], [1, 2]])
    train, unseen = rng.normal(size=(60, 3)), rng.normal(size=(40, 3))
    rows = kernel_rows.SpeechRows(kernel, train, unseen, kernel(unseen) / 2)
    found = {}
    for title, samples in ((reweighting.NEW, 20), (reweighting.KEPT, 20), (reweighting.RANDOM, 0)):
        (one,) = reweighting.measure(lambda: rows, title, samples, 0)
        (again,) = reweighting.measure(lambda: rows, title, samples, 0)
        assert one == again and one["frames"] == 60
        found[title] = one["rms"]
    assert len(set(found.values())) == 3 and all(0 < error < 1 for error in found.values())
