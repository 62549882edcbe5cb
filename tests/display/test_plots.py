"""Plots of runs: their contents, not their looks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.contour import QuadContourSet

import r1nes
from r1nes.arrays import Array
from r1nes.display.report import Report
from r1nes.parallel.objective import Function
from r1nes.result import Result
from support.functions import rosenbrock


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


def panels(result: Result) -> dict[str, Axes]:
    return {panel.get_title(): panel for panel in result.plot().axes}


def curve(panel: Axes, label: str) -> Array:
    return np.asarray(next(line for line in panel.get_lines() if line.get_label() == label).get_ydata())


def test_the_panels_hold_the_history() -> None:
    result = r1nes.minimize(rosenbrock, np.zeros(5), sigma0=0.5, max_evals=2000, rng=1)
    shown = panels(result)
    history = result.history
    np.testing.assert_array_equal(curve(shown["Values"], "best so far"), history["best"])
    sizes = shown["Standard deviations"]
    np.testing.assert_array_equal(curve(sizes, "σ, average of the base"), history["sigma"])
    np.testing.assert_allclose(
        curve(sizes, "σ exp(c), direction 3"), history["sigma"] * np.exp(history["c2"]), rtol=1e-12
    )
    np.testing.assert_array_equal(curve(shown["Log stretches"], "c, direction 1"), history["c0"])
    assert "Path" not in shown


@pytest.mark.parametrize(
    ("method", "titles"),
    [
        ("r1nes", ["Values", "Standard deviations", "Log stretches", "Path"]),
        ("snes", ["Values", "Standard deviations", "Path"]),
        ("xnes", ["Values", "Standard deviations", "Path"]),
    ],
)
def test_each_method_has_its_panels(method: str, titles: list[str]) -> None:
    result = r1nes.minimize(rosenbrock, np.zeros(2), method=method, max_evals=300, rng=1)
    shown = panels(result)
    assert list(shown) == titles
    if method == "r1nes":
        along = math.sqrt(1 + math.exp(2 * result.history["c"][-1])) * result.history["sigma"][-1]
        sizes = shown["Standard deviations"]
        assert curve(sizes, "along u")[-1] == pytest.approx(along)
        np.testing.assert_array_equal(curve(sizes, "σ, other directions"), result.history["sigma"])


def test_the_alignment_is_high_in_a_valley_and_low_in_a_bowl() -> None:
    def median_alignment(fun: Function, x0: Array) -> float:
        result = r1nes.minimize(fun, x0, sigma0=0.1, max_evals=4000, rng=1)
        return float(np.median(result.history["alignment"]))

    assert median_alignment(lambda x: 1e4 * float(x[1:] @ x[1:]) - x[0], np.ones(40)) > 0.9
    assert median_alignment(lambda x: float(x @ x), np.ones(100)) < 0.5


def test_the_ellipses_of_two_variables_are_those_of_the_distribution() -> None:
    optimizer = r1nes.Optimizer(np.array([-1.0, 2.0]), 0.5, rng=3)
    result = r1nes.minimize(rosenbrock, np.array([-1.0, 2.0]), sigma0=0.5, max_evals=optimizer.popsize, rng=3)
    X = optimizer.ask()
    optimizer.tell(X, [rosenbrock(x) for x in X])
    figure = result.plot(contour=lambda x: float(rosenbrock(x)))
    course = figure.axes[-1]
    ellipse = np.asarray(course.get_lines()[0].get_xydata())
    away = ellipse - optimizer.strategy.mean
    distances = np.einsum("ij,jk,ik->i", away, np.linalg.inv(optimizer.strategy.cov()), away)
    np.testing.assert_allclose(distances, 1, rtol=1e-9)
    (contours,) = [found for found in course.get_children() if isinstance(found, QuadContourSet)]
    assert len(list(contours.levels)) > 5


def test_long_runs_and_infinite_values_can_be_drawn(tmp_path: Path) -> None:
    calls = 0

    def falling(x: Array) -> float:
        """Every seventh value is infinite; the others fall, so that the run lasts to its limit."""
        nonlocal calls
        calls += 1
        return math.inf if calls % 7 == 0 else float(rosenbrock(x)) - 100 * calls

    result = r1nes.minimize(falling, np.zeros(10), method="snes", popsize=2, max_evals=4000, xtol=0, rng=1)
    values = panels(result)["Values"]
    best = curve(values, "best so far")
    assert best.size <= 1500 < result.nit
    assert values.get_ylabel().startswith("value + ")
    assert (best >= 0).all()
    result.plot().savefig(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000


def test_a_plot_of_nothing_and_contours_of_three_variables_are_refused() -> None:
    result = r1nes.minimize(rosenbrock, np.zeros(3), max_evals=100, rng=1)
    with pytest.raises(
        ValueError, match="contour needs a run with 2 variables, none of them fixed, got one with 3"
    ):
        result.plot(contour=lambda _: 0.0)
    result.update(history={})
    with pytest.raises(ValueError, match="plot needs a history"):
        result.plot()


def test_the_page_is_self_contained_and_complete(tmp_path: Path) -> None:
    path = tmp_path / "<run> & 1.r1nes"
    result = r1nes.minimize(rosenbrock, np.full(300, 0.5), max_evals=200, checkpoint=path, rng=7)
    report = Report(path)
    report.write(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count('src="data:image/svg+xml;base64,') == page.count("<img ") == 2
    assert "&lt;run&gt; &amp; 1.r1nes" in page
    assert f"{result.fun:.12g}" in page
    assert f"{result.x[199]:.12g}" in page
    assert "100 more variables are in the checkpoint" in page
    assert "http" not in page.replace("data:image", "")
    facts = report.facts()
    assert facts["method"] == "rknes, 300 variables"
    assert facts["evaluations"] == f"{result.nfev:,}, of which 0 NaN"


def test_a_checkpoint_without_a_generation_has_no_page(tmp_path: Path) -> None:
    def breaks(_: Array) -> float:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        r1nes.minimize(breaks, np.zeros(3), checkpoint=tmp_path / "run.r1nes")
    with pytest.raises(ValueError, match="no history yet"):
        Report(tmp_path / "run.r1nes").write(tmp_path / "page.html")
