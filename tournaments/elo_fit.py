"""The numerics under the ratings: a penalised logistic fit and its cluster-robust uncertainty, all in logits.

Every cluster enters only through its score (p) and information (p, p), so that the bias-reduced sandwich costs a few
p × p products a story, however many debates a story has. Array names carry shapes: n outcomes, k entries a row,
p parameters, g clusters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from debate.metrics.intervals import t_quantile

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_LOST = 0.01  # share of a direction's variance left outside a cluster, below which the cluster holds all of it
_ROUNDING = 1e-20  # share of the model's variance that rounding makes where clusters do not differ
_MODELLED = 0.5  # share of the model's variance that the robust estimate must be able to see


@dataclass(frozen=True, slots=True)
class Design:
    """Outcomes as sparse rows of a logistic regression without intercept.

    Attributes:
        columns_nk: Parameter index of each entry of a row.
        values_nk: Coefficient of each entry.
        score_n: Outcomes in [0, 1].
        cluster_n: Cluster index of each outcome, 0 to G − 1.
        size: Number of parameters, P.
        clusters: Number of clusters, G.
        precision: Of the Gaussian prior with mean 0 on every parameter, in 1 / logit².
    """

    columns_nk: Ints
    values_nk: Floats
    score_n: Floats
    cluster_n: Ints
    size: int
    clusters: int
    precision: float

    def linear(self, beta_p: Floats) -> Floats:
        """Logit of each outcome, shape (N,)."""
        total: Floats = (self.values_nk * beta_p[self.columns_nk]).sum(axis=1)
        return total

    def scores(self, residual_n: Floats) -> Floats:
        """Sum of residual times row by cluster, shape (G, P)."""
        flat = self.cluster_n[:, None] * self.size + self.columns_nk
        weight = self.values_nk * residual_n[:, None]
        total: Floats = np.bincount(flat.ravel(), weights=weight.ravel(), minlength=self.clusters * self.size).astype(
            np.float64, copy=False
        )
        return total.reshape(self.clusters, self.size)

    def information(self, weight_n: Floats, *, by_cluster: bool) -> Floats:
        """Sum of weight times row row', shape (G, P, P), or (1, P, P) over all clusters."""
        groups = self.clusters if by_cluster else 1
        group_n = self.cluster_n if by_cluster else np.zeros_like(self.cluster_n)
        rows = group_n[:, None] * self.size + self.columns_nk
        flat = rows[:, :, None] * self.size + self.columns_nk[:, None, :]
        weight = self.values_nk[:, :, None] * self.values_nk[:, None, :] * weight_n[:, None, None]
        total: Floats = np.bincount(flat.ravel(), weights=weight.ravel(), minlength=groups * self.size**2).astype(
            np.float64, copy=False
        )
        return total.reshape(groups, self.size, self.size)


def sigmoid(logit: Floats) -> Floats:
    """Logistic function, without overflow."""
    value: Floats = 0.5 * (1.0 + np.tanh(0.5 * logit))
    return value


def solve(design: Design) -> Floats:
    """Maximum a posteriori parameters by Newton's method with step halving.

    The log posterior Σ [y η − log(1 + e^η)] − precision/2 ‖β‖² is strictly concave, so the solution is unique and
    finite whatever the outcomes.

    Args:
        design: The outcomes and the prior.

    Returns:
        Parameters in logits, shape (P,), to about 1e-11.
    """

    def posterior(beta: Floats) -> float:
        eta = design.linear(beta)
        likelihood = design.score_n @ eta - np.logaddexp(0.0, eta).sum()
        return float(likelihood - 0.5 * design.precision * (beta @ beta))

    beta = np.zeros(design.size)
    value = posterior(beta)
    prior = design.precision * np.eye(design.size)
    for _ in range(100):
        p = sigmoid(design.linear(beta))
        gradient = design.scores(design.score_n - p).sum(axis=0) - design.precision * beta
        step = np.linalg.solve(design.information(p * (1 - p), by_cluster=False)[0] + prior, gradient)
        if np.abs(step).max() < 1e-6:  # converges quadratically: the error after this step is of order 1e-12
            return beta + step
        scale = 1.0
        while (new := posterior(beta + scale * step)) < value and scale > 1e-8:
            scale /= 2
        beta, value = beta + scale * step, new
    return beta


@dataclass(frozen=True, slots=True)
class Sandwich:
    """Cluster-robust uncertainty of a penalised logistic fit.

    The fit is read as the weighted least squares it solves at its last step, with the prior as further rows without
    error. CR2 then multiplies each cluster's residuals so that the estimate is unbiased if outcomes were independent
    (Bell & McCaffrey 2002; Pustejovsky & Tipton 2018, eq. 5), and the degrees of freedom are Satterthwaite's for the
    same model. With B the penalised and S the plain information, K = 2B⁻¹ − B⁻¹SB⁻¹ takes the place of the (X'WX)⁻¹ of
    the unpenalised formula, since the residuals of cluster g have variance I − X_g K X_g' in units of their weights.

    Attributes:
        inverse_pp: B⁻¹.
        plain_pp: S.
        smoother_pp: K.
        score_gp: Score of each cluster at the solution.
        information_gpp: Information of each cluster.
        adjust_gpp: What CR2 makes of each score.
    """

    inverse_pp: Floats
    plain_pp: Floats
    smoother_pp: Floats
    score_gp: Floats
    information_gpp: Floats
    adjust_gpp: Floats

    @staticmethod
    def of(design: Design, beta_p: Floats, *, power: float = 0.5) -> Sandwich:
        """The sandwich at a solution.

        Args:
            design: The outcomes and the prior.
            beta_p: The solution.
            power: Of the inverse residual variance that adjusts the scores: 0 for CR0, ½ for CR2, 1 for CR3.

        Returns:
            The pieces from which any contrast gets its variance.
        """
        p = sigmoid(design.linear(beta_p))
        information = design.information(p * (1 - p), by_cluster=True)
        plain = information.sum(axis=0)
        values, axes = np.linalg.eigh(plain)
        values = np.maximum(values, 0.0)  # the field as a whole can move freely, so one is 0 but for rounding
        inverse = (axes / (values + design.precision)) @ axes.T
        root = axes * (np.sqrt(values + 2 * design.precision) / (values + design.precision))
        # X_g K X_g' has the eigenvalues of root' S_g root, which is P × P however many rows the cluster has
        share, vectors = np.linalg.eigh(root.T @ information @ root)
        share = np.clip(share, 0.0, 1.0)
        left = np.maximum(1.0 - share, _LOST)
        # ((1 − x)^−power − 1) / x, without loss of digits at small x; a lost direction is taken out
        small = share < 1e-8
        gain = np.where(small, power, (left**-power - 1.0) / np.where(small, 1.0, share))
        gain = np.where(1.0 - share < _LOST, -1.0 / np.where(small, 1.0, share), gain)
        span = root @ vectors
        adjust = np.eye(design.size) + information @ (span * gain[:, None, :]) @ span.transpose(0, 2, 1)
        return Sandwich(inverse, plain, root @ root.T, design.scores(design.score_n - p), information, adjust)

    def covariance(self) -> Floats:
        """CR2 covariance of the parameters in logit², shape (P, P)."""
        half = np.einsum("gpq,gq->gp", self.adjust_gpp, self.score_gp) @ self.inverse_pp
        total: Floats = half.T @ half
        return total

    def variance(self, contrast_p: Floats) -> tuple[float, float]:
        """Variance of a contrast and its Satterthwaite degrees of freedom.

        Args:
            contrast_p: Weights of the parameters.

        Returns:
            Variance in logit², and degrees of freedom; (inf, 1) where one cluster holds all that is known of the
            contrast, or where clusters do not differ at all, as under a judge that always says one half: nothing can
            be learned then of how clusters differ.
        """
        t_gp = (self.inverse_pp @ contrast_p) @ self.adjust_gpp
        m_gp = (t_gp[:, None, :] @ self.information_gpp)[:, 0]
        expected_gg = np.diag((t_gp * m_gp).sum(axis=1)) - m_gp @ self.smoother_pp @ m_gp.T
        trace = float(np.trace(expected_gg))
        modelled = float(contrast_p @ self.inverse_pp @ self.plain_pp @ self.inverse_pp @ contrast_p)
        known = (np.diagonal(self.information_gpp, axis1=1, axis2=2)[:, contrast_p != 0] > 0).sum(axis=0)
        if known.min(initial=2) < 2 or trace <= _MODELLED * modelled:
            return float("inf"), 1.0
        variance = float(((t_gp * self.score_gp).sum(axis=1) ** 2).sum())
        if variance <= _ROUNDING * modelled:
            return float("inf"), 1.0
        return variance, trace**2 / float((expected_gg**2).sum())

    def half_width(self, contrast_p: Floats, level: float) -> float:
        """Half the width of the interval of a contrast, in logits; infinite where clusters cannot tell."""
        variance, df = self.variance(contrast_p)
        return float("inf") if np.isinf(variance) else t_quantile((1 + level) / 2, df) * variance**0.5


def loose_directions(design: Design) -> Floats:
    """Directions in which the likelihood alone has no maximum, so that only the prior holds the parameters.

    Outcomes are separated along β if none contradicts it: η never falls where a point was taken whole, never rises
    where it was lost whole, and stays where it was shared. A linear programme finds the β that strictly agrees with as
    many rows as can be (Konis 2007, ch. 4); the rows left over overlap, and what they do not span is loose.

    Args:
        design: The outcomes.

    Returns:
        An orthonormal basis of the loose directions, shape (P, L); L = 0 where all is held by the outcomes.
    """
    rows, hard = _distinct_rows(design)
    keep = np.ones(len(rows), dtype=bool)
    if hard.any():
        keep = ~_separated(rows, hard)
    values, vectors = np.linalg.eigh(rows[keep].T @ rows[keep])
    basis: Floats = vectors[:, values < 1e-9 * max(1.0, float(values.max(initial=0.0)))]
    return basis


def _distinct_rows(design: Design) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Rows turned so that points flow along them, and whether all outcomes of a row flow one way."""
    flows: dict[tuple[tuple[int, float], ...], bool] = {}
    for columns, values, score in zip(design.columns_nk, design.values_nk, design.score_n, strict=True):
        row = tuple(sorted((int(c), float(v)) for c, v in zip(columns, values, strict=True) if v != 0))
        back = tuple((c, -v) for c, v in row)
        if score > 0:
            flows[row] = True
        if score < 1:
            flows[back] = True
    rows, hard = np.zeros((len(flows), design.size)), np.zeros(len(flows), dtype=bool)
    for i, row in enumerate(flows):
        for column, value in row:
            rows[i, column] += value
        hard[i] = tuple((c, -v) for c, v in row) not in flows
    return rows, hard


def _separated(rows: Floats, hard: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Rows that some direction strictly agrees with while no row contradicts it."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack

    p, h = rows.shape[1], int(hard.sum())
    shared = rows[~hard]
    found = linprog(
        np.concatenate([np.zeros(p), -np.ones(h)]),
        A_ub=hstack([csr_array(-rows[hard]), eye_array(h)]),
        b_ub=np.zeros(h),
        A_eq=hstack([csr_array(shared), csr_array((len(shared), h))]) if len(shared) else None,
        b_eq=np.zeros(len(shared)) if len(shared) else None,
        bounds=[(None, None)] * p + [(0, 1)] * h,
        method="highs",
    )
    separated = np.zeros(len(rows), dtype=bool)
    separated[np.flatnonzero(hard)] = found.x[p:] > 0.5
    return separated
