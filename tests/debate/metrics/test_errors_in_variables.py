"""Lines with errors in both coordinates, against published figures, a library and what is simulated."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from debate.errors import ConfigError
from debate.metrics.errors_in_variables import york, york_slopes

# Pearson's points with York's weights, the test case of York (1966) and of every paper since.
X = [0.0, 0.9, 1.8, 2.6, 3.3, 4.4, 5.2, 6.1, 6.5, 7.4]
Y = [5.9, 5.4, 4.4, 4.6, 3.5, 3.7, 2.8, 2.8, 2.4, 1.5]
ERROR_X = np.array([1000, 1000, 500, 800, 200, 80, 60, 20, 1.8, 1.0]) ** -0.5
ERROR_Y = np.array([1, 1.8, 4, 8, 20, 20, 70, 70, 100, 500.0]) ** -0.5


def test_pearsons_points_have_the_published_line() -> None:
    line = york(X, Y, ERROR_X, ERROR_Y)
    assert line.slope == pytest.approx(-0.480533407, abs=5e-10)
    assert line.intercept == pytest.approx(5.47991022, abs=5e-9)
    assert line.slope_error == pytest.approx(0.0580, abs=5e-5)
    assert line.intercept_error == pytest.approx(0.2950, abs=5e-5)
    assert line.chi_square / 8 == pytest.approx(1.4833, abs=5e-5)
    assert line.n == 10
    assert line.scatter == 0


def test_the_line_is_that_of_orthogonal_distance_regression() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        odr = pytest.importorskip("scipy.odr")
        draw = np.random.default_rng(3)
        x, sx, sy = draw.normal(size=9), draw.uniform(0.1, 0.4, 9), draw.uniform(0.1, 0.4, 9)
        y = 0.7 * x + 0.2 + draw.normal(size=9) * sy
        model = odr.Model(lambda beta, at: beta[0] * at + beta[1])
        found = odr.ODR(odr.RealData(x, y, sx, sy), model, [1.0, 0.0], maxit=500, sstol=1e-15).run()
    line = york(x, y, sx, sy)
    assert (line.slope, line.intercept) == pytest.approx(tuple(found.beta), rel=1e-5)


def test_without_errors_in_x_it_is_weighted_least_squares() -> None:
    line = york(X, Y, np.zeros(10), ERROR_Y)
    slope, intercept = np.polyfit(X, Y, 1, w=1 / ERROR_Y)
    assert (line.slope, line.intercept) == pytest.approx((slope, intercept))


def test_scatter_is_estimated_and_does_not_steepen_the_line() -> None:
    draw = np.random.default_rng(0)
    true = draw.normal(size=4000)
    x = true + 0.5 * draw.normal(size=4000)
    y = 0.6 * true + 0.8 * draw.normal(size=4000) + 0.1 * draw.normal(size=4000)
    errors = np.full(4000, 0.5), np.full(4000, 0.1)
    line = york(x, y, *errors, scatter=True)
    assert line.chi_square == pytest.approx(3998)
    assert line.scatter == pytest.approx(0.8, abs=0.03)
    assert line.slope == pytest.approx(0.6, abs=0.05)  # least squares gives 0.6 / 1.25 = 0.48
    assert york(x, y, *errors).slope > 0.9  # scatter that is taken for error in x


def test_many_lines_at_once_are_the_single_ones_and_points_count_as_often_as_they_are_drawn() -> None:
    draw = np.random.default_rng(5)
    x, y = draw.normal(size=(6, 7)), draw.normal(size=(6, 7))
    errors = draw.uniform(0.1, 0.3, 7), draw.uniform(0.1, 0.3, 7)
    times = draw.multinomial(7, np.full(7, 1 / 7), size=6).astype(float)
    slopes = york_slopes(x, y, *errors, times)
    for row in range(6):
        at = np.repeat(np.arange(7), times[row].astype(int))
        single = york(x[row][at], y[row][at], errors[0][at], errors[1][at], scatter=True)
        assert slopes[row] == pytest.approx(single.slope, rel=1e-6)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (([1, 2], [1, 2], [1, 1], [1, 1]), "at least 3 points"),
        (([1, 2, 3], [1, 2], [1, 1, 1], [1, 1, 1]), "each with both errors"),
        (([1, 2, np.nan], [1, 2, 3], [1, 1, 1], [1, 1, 1]), "finite"),
        (([1, 2, 3], [1, 2, 3], [1, 1, 1], [1, 0, 1]), "above 0"),
        (([2, 2, 2], [1, 2, 3], [1, 1, 1], [1, 1, 1]), "the same x"),
    ],
)
def test_what_is_no_line_is_refused(columns: tuple[list[float], ...], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        york(*columns)
