"""Lines through points whose two coordinates are both measured with error.

Least squares of y on x takes x for exact; with errors in x its slope is too flat. York's line (York 1966; York et al.
2004) weighs each point by both of its errors. Where points scatter about the line by more than their errors, as players
do, that scatter is taken to be in y and estimated too, so that it is not mistaken for error in x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from debate.errors import ConfigError

Floats = npt.NDArray[np.float64]

_STEPS = 60  # York's iteration gains about a digit a step
_NEAR = 1e-11
_HALVINGS = 32
_LEAST = 1e-9


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line.

    Attributes:
        slope: Of y by x.
        intercept: y at x = 0.
        slope_error: Standard error of the slope (York et al. 2004, eq. 13), the scatter counted as an error of y.
        intercept_error: Standard error of the intercept.
        chi_square: Weighted squared distances of the points from the line; n − 2 on average if the errors are right.
        scatter: Standard deviation of the points about the line beyond their errors, in units of y.
        n: Number of points.
    """

    slope: float
    intercept: float
    slope_error: float
    intercept_error: float
    chi_square: float
    scatter: float
    n: int


def york(
    x: npt.ArrayLike, y: npt.ArrayLike, error_x: npt.ArrayLike, error_y: npt.ArrayLike, *, scatter: bool = False
) -> Line:
    """Fit a line to points with independent errors in both coordinates (York et al. 2004, without correlation).

    Args:
        x: Coordinates, shape (P,), at least 3 and not all equal.
        y: The same.
        error_x: Standard deviation of each x, 0 or more.
        error_y: Standard deviation of each y, above 0.
        scatter: Whether points may scatter about the line by more than their errors.

    Returns:
        The line.

    Raises:
        ConfigError: Shapes differ, there are fewer than 3 points, or a number is not finite or an error negative.
    """
    x_p, y_p, sx_p, sy_p = (np.atleast_1d(np.asarray(value, dtype=np.float64)) for value in (x, y, error_x, error_y))
    _check(x_p, y_p, sx_p, sy_p)
    once = np.ones((1, len(x_p)))
    extra = _scatter(x_p[None], y_p[None], sx_p**2, sy_p**2, once) if scatter else np.zeros(1)
    slope = _slopes(x_p[None], y_p[None], sx_p**2, sy_p**2 + extra[:, None], once)
    b, vy_p = float(slope[0]), sy_p**2 + float(extra[0])
    weight = 1 / (vy_p + b**2 * sx_p**2)
    mean_x, mean_y = (float(weight @ value / weight.sum()) for value in (x_p, y_p))
    intercept = mean_y - b * mean_x
    # The points moved onto the line, along the direction that their errors give.
    moved = mean_x + weight * (vy_p * (x_p - mean_x) + b * sx_p**2 * (y_p - mean_y))
    centre = float(weight @ moved / weight.sum())
    variance = 1 / float(weight @ (moved - centre) ** 2)
    return Line(
        slope=b,
        intercept=intercept,
        slope_error=variance**0.5,
        intercept_error=(1 / float(weight.sum()) + centre**2 * variance) ** 0.5,
        chi_square=float(weight @ (y_p - intercept - b * x_p) ** 2),
        scatter=float(extra[0]) ** 0.5,
        n=len(x_p),
    )


def york_slopes(x_bp: Floats, y_bp: Floats, error_x_p: Floats, error_y_p: Floats, times_bp: Floats) -> Floats:
    """Fit many lines at once, with scatter, as a bootstrap needs them.

    Args:
        x_bp: Coordinates of P points in B sets.
        y_bp: The same.
        error_x_p: Standard deviations of the x.
        error_y_p: Standard deviations of the y.
        times_bp: How often each point counts, any number from 0 on.

    Returns:
        Slopes, shape (B,).
    """
    vx_p, vy_p = error_x_p**2, error_y_p**2
    extra = _scatter(x_bp, y_bp, vx_p, vy_p, times_bp)
    return _slopes(x_bp, y_bp, vx_p, vy_p + extra[:, None], times_bp)


def _slopes(x: Floats, y: Floats, vx: Floats, vy: Floats, times: Floats, *, start: Floats | None = None) -> Floats:
    """York's iteration; rows are sets of points, ``vx`` and ``vy`` variances that broadcast to them."""
    slope = _flat_slopes(x, y, times) if start is None else start
    for _ in range(_STEPS):
        b = slope[:, None]
        single = 1 / (vy + b**2 * vx)
        weight = times * single
        total = weight.sum(axis=1, keepdims=True)
        u, v = (value - (weight * value).sum(axis=1, keepdims=True) / total for value in (x, y))
        beta = single * (vy * u + b * vx * v)
        fresh = (weight * beta * v).sum(axis=1) / (weight * beta * u).sum(axis=1)
        fresh = np.where(np.isfinite(fresh), fresh, slope)
        moved, slope = np.abs(fresh - slope), fresh
        if bool((moved <= _NEAR * np.abs(fresh)).all()):
            break
    return slope


def _flat_slopes(x: Floats, y: Floats, times: Floats) -> Floats:
    """Least squares of y on x, where the iteration begins."""
    total = times.sum(axis=1, keepdims=True)
    dx, dy = (value - (times * value).sum(axis=1, keepdims=True) / total for value in (x, y))
    slope: Floats = (times * dx * dy).sum(axis=1) / np.maximum((times * dx * dx).sum(axis=1), np.finfo(float).tiny)
    return slope


def _scatter(x: Floats, y: Floats, vx: Floats, vy: Floats, times: Floats) -> Floats:
    """Variance of each set's points about its line beyond their errors: that at which chi square is n − 2, or 0."""
    wanted = np.maximum(times.sum(axis=1) - 2, _LEAST)
    slope = _flat_slopes(x, y, times)

    def excess(extra: Floats) -> Floats:
        nonlocal slope
        wide = vy + extra[:, None]
        slope = _slopes(x, y, vx, wide, times, start=slope)
        b = slope[:, None]
        weight = times / (wide + b**2 * vx)
        middle = (weight * (y - b * x)).sum(axis=1, keepdims=True) / weight.sum(axis=1, keepdims=True)
        found: Floats = (weight * (y - b * x - middle) ** 2).sum(axis=1) - wanted
        return found

    low = np.zeros(len(x))
    high = np.maximum(y.var(axis=1) * 4, _LEAST)
    inside = excess(low) > 0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = excess(middle) > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    extra: Floats = np.where(inside, (low + high) / 2, 0.0)
    return extra


def _check(*columns: Floats) -> None:
    if len({column.shape for column in columns}) > 1 or len(columns[0]) < 3:
        raise ConfigError("a line with errors in both coordinates needs at least 3 points, each with both errors")
    x, _, error_x, error_y = columns
    if not all(np.isfinite(column).all() for column in columns) or (error_x < 0).any() or (error_y <= 0).any():
        raise ConfigError("coordinates and errors must be finite, errors of x not negative, and errors of y above 0")
    if float(np.ptp(x)) == 0:
        raise ConfigError("all points have the same x, so no line can be laid through them")
