"""Ratings, held against choix, scikit-learn, textbook matrix formulas and closed forms."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Literal

import choix
import numpy as np
import pytest
import scipy.linalg
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from debate.errors import ConfigError
from tournaments.ratings import ELO, Outcome, Rating, Term, fit, fit_by_assignment

Seat = Literal["A", "B"]
SEATS: tuple[Seat, Seat] = ("A", "B")


def game(a: str, b: str, score: float, story: int = 0, seat: Seat = "A", *, right: str | None = None) -> Outcome:
    return Outcome(a, b, score, f"q{story}", f"s{story}", seat, right)


def random_games(n: int, players: int, stories: int, seed: int, *, shares: bool = False) -> list[Outcome]:
    rng = np.random.default_rng(seed)
    games = []
    for _ in range(n):
        a, b = (int(i) for i in rng.choice(players, 2, replace=False))
        p = 1 / (1 + math.exp(-0.4 * (a - b) - 0.5))
        score = float(rng.beta(4 * p, 4 - 4 * p)) if shares else float(rng.random() < p)
        right = (f"p{a}", f"p{b}", None)[int(rng.integers(3))]
        games.append(
            game(f"p{a}", f"p{b}", score, int(rng.integers(stories)), SEATS[int(rng.integers(2))], right=right)
        )
    return games


def every_game(games: Sequence[str], *, times: int = 12) -> list[Outcome]:
    """`AB`: A took the point from B. Each once a story, or twice on a third of the stories, in both seats."""
    return [
        game(text[0], text[1], 1.0, story, seat)
        for story, (at, text), seat in itertools.product(range(times), enumerate(games), SEATS)
        for _ in range(1 + ((story + at) % 3 == 0))
    ]


def signs(outcome: Outcome) -> tuple[float, float]:
    seat = 1.0 if outcome.seat_a == "A" else -1.0
    right = 0.0 if outcome.right is None else 1.0 if outcome.right == outcome.player_a else -1.0
    return seat, right


def by_scikit(games: Sequence[Outcome], prior_sd: float, *, terms: bool) -> np.ndarray:
    """Players in sorted order, then seat and right, in Elo; a shared point is a weighted win and loss."""
    names = sorted({name for o in games for name in (o.player_a, o.player_b)})
    rows = np.zeros((len(games), len(names) + 2))
    for row, o in zip(rows, games, strict=True):
        row[names.index(o.player_a)], row[names.index(o.player_b)] = 1, -1
        row[-2:] = signs(o)
    rows = rows if terms else rows[:, :-2]
    score = np.array([o.score_a for o in games])
    model = LogisticRegression(
        C=(prior_sd / ELO) ** 2, fit_intercept=False, solver="newton-cholesky", tol=1e-12, max_iter=1000
    )
    label = np.repeat([1, 0], len(games))
    model.fit(np.vstack([rows, rows]), label, sample_weight=np.concatenate([score, 1 - score]))
    return ELO * np.asarray(model.coef_[0])


@pytest.mark.parametrize("prior_sd", [100.0, 500.0, 2000.0])
def test_equal_to_choix_and_scikit_learn_without_terms(prior_sd: float) -> None:
    games = random_games(400, 7, 20, seed=1)
    ratings = fit(games, prior_sd=prior_sd, terms=())
    ours = [ratings.players[f"p{i}"].elo for i in range(7)]
    pairs = [
        (int(w[1:]), int(loser[1:]))
        for o in games
        for w, loser in [(o.player_a, o.player_b) if o.score_a == 1 else (o.player_b, o.player_a)]
    ]
    # choix penalises alpha times the sum of squares, without the half of a Gaussian's exponent
    theirs = choix.opt_pairwise(7, pairs, alpha=(ELO / prior_sd) ** 2 / 2, method="Newton-CG", tol=1e-12)
    assert ours == pytest.approx(list(ELO * theirs), abs=1e-4)
    assert ours == pytest.approx(list(by_scikit(games, prior_sd, terms=False)), abs=1e-4)
    assert ratings.seat is None
    assert ratings.right is None


@pytest.mark.parametrize("shares", [False, True])
@pytest.mark.parametrize("prior_sd", [100.0, 500.0])
def test_equal_to_scikit_learn_with_terms_and_shared_points(prior_sd: float, *, shares: bool) -> None:
    games = random_games(300, 5, 20, seed=2, shares=shares)
    ratings = fit(games, prior_sd=prior_sd)
    assert ratings.seat is not None
    assert ratings.right is not None
    ours = [*(ratings.players[f"p{i}"].elo for i in range(5)), ratings.seat.elo, ratings.right.elo]
    assert ours == pytest.approx(list(by_scikit(games, prior_sd, terms=True)), abs=1e-4)


def test_terms_are_whole_advantages_in_elo() -> None:
    # expected points of known abilities, so the answer is known: 10^(d / 400) to 1, with an all but flat prior
    elo = {"x": 200.0, "y": 0.0, "z": -200.0}
    games = [
        game(
            a,
            b,
            1 / (1 + 10 ** (-(elo[a] - elo[b] + 90 * seat + 40 * right) / 400)),
            i % 12,
            SEATS[seat < 0],
            right=who,
        )
        for i in range(12)
        for a, b in itertools.combinations("xyz", 2)
        for seat in (1, -1)
        for right, who in ((1, a), (-1, b))
    ]
    ratings = fit(games, prior_sd=1e6)
    assert {name: r.elo for name, r in ratings.players.items()} == pytest.approx(elo, abs=1e-3)
    assert ratings.seat is not None
    assert ratings.right is not None
    assert (ratings.seat.elo, ratings.right.elo) == pytest.approx((90, 40), abs=1e-3)
    assert ratings.difference("x", "z").elo == pytest.approx(400, abs=1e-3)


def test_abilities_by_assignment_share_one_anchor() -> None:
    right, wrong = {"x": 250.0, "y": 50.0, "z": 0.0}, {"x": 100.0, "y": -150.0, "z": -250.0}
    games = [
        game(a, b, 1 / (1 + 10 ** (-(right[a] - wrong[b] + 70 * seat) / 400)), story, SEATS[seat < 0], right=a)
        for story in range(12)
        for a, b in itertools.permutations("xyz", 2)
        for seat in (1, -1)
    ]
    half = len(games) // 2
    swapped = [dataclasses.replace(o, player_a=o.player_b, player_b=o.player_a, score_a=1 - o.score_a) for o in games]
    swapped = [dataclasses.replace(o, seat_a=SEATS[o.seat_a == "A"]) for o in swapped]
    ratings = fit_by_assignment(games[:half] + swapped[half:], prior_sd=1e6)
    assert {name: r.elo for name, r in ratings.right.items()} == pytest.approx(right, abs=1e-3)
    assert {name: r.elo for name, r in ratings.wrong.items()} == pytest.approx(wrong, abs=1e-3)
    assert ratings.seat is not None
    assert ratings.seat.elo == pytest.approx(70, abs=1e-3)
    assert ratings.difference(("x", "right"), ("z", "wrong")).elo == pytest.approx(500, abs=1e-3)
    assert {r.status for r in ratings.players.values()} == {"ok"}


def test_two_players_by_assignment_have_nothing_in_common() -> None:
    games = [game("x", "y", float(i % 2), i, SEATS[i // 2 % 2], right="xy"[i // 4 % 2]) for i in range(24)]
    ratings = fit_by_assignment(games)
    assert {r.status for r in ratings.players.values()} == {"disconnected"}
    assert ratings.difference(("x", "right"), ("y", "wrong")).high < math.inf
    assert ratings.difference(("x", "right"), ("x", "wrong")).high == math.inf


def test_two_players_have_the_interval_of_a_cluster_mean() -> None:
    # logit of a mean, by the delta method: the t interval of 15 story means, divided by m (1 - m)
    rng = np.random.default_rng(5)
    won = (rng.random((15, 6)) < rng.beta(3, 2, size=(15, 1))).astype(float)
    games = [game("x", "y", won[g, i], g) for g in range(15) for i in range(6)]
    ratings = fit(games, prior_sd=1e5, terms=())
    m = won.mean()
    half = scipy.stats.t.ppf(0.975, 14) * scipy.stats.sem(won.mean(axis=1)) / (m * (1 - m))
    difference = ratings.difference("x", "y")
    assert difference.elo == pytest.approx(ELO * math.log(m / (1 - m)), abs=1e-4)
    assert difference.high - difference.elo == pytest.approx(ELO * half, rel=1e-6)
    # about the field's mean it is half of that
    x = ratings.players["x"]
    assert x.high - x.elo == pytest.approx(ELO * half / 2, rel=1e-6)


def textbook_cr2(games: Sequence[Outcome], contrast: np.ndarray, names: Sequence[str]) -> tuple[float, float]:
    """CR2 half width in Elo and degrees of freedom, with N x N matrices and the last player as the reference."""
    rows = np.zeros((len(games), len(names) + 2))
    for row, o in zip(rows, games, strict=True):
        row[names.index(o.player_a)], row[names.index(o.player_b)] = 1, -1
        row[-2:] = signs(o)
    x = np.delete(rows, len(names) - 1, axis=1)
    y = np.array([o.score_a for o in games])
    story = np.array([o.story_id for o in games])
    beta = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ beta))
        beta += np.linalg.solve(x.T @ (x * (p * (1 - p))[:, None]), x.T @ (y - p))
    w = p * (1 - p)
    bread = np.linalg.inv(x.T @ (x * w[:, None]))
    residue = np.eye(len(y)) - np.sqrt(w)[:, None] * x @ bread @ x.T * np.sqrt(w)
    scaled = (y - p) / np.sqrt(w)
    variance, columns = 0.0, []
    for g in np.unique(story):
        own = story == g
        adjust = np.linalg.inv(scipy.linalg.sqrtm(residue[np.ix_(own, own)]).real)
        weight = adjust @ (np.sqrt(w)[own, None] * x[own]) @ bread @ contrast
        variance += float(weight @ scaled[own]) ** 2
        columns.append(residue[:, own] @ weight)
    gram = np.array(columns) @ np.array(columns).T
    df = float(np.trace(gram) ** 2 / (gram**2).sum())
    return float(ELO * scipy.stats.t.ppf(0.975, df) * variance**0.5), df


def test_intervals_equal_the_textbook_formula_of_cr2() -> None:
    games = random_games(180, 3, 9, seed=7)
    ratings = fit(games, prior_sd=1e5)
    assert ratings.seat is not None
    assert ratings.right is not None
    cases: list[tuple[Term, list[float]]] = [
        (ratings.difference("p0", "p2"), [1, 0, 0, 0]),
        (ratings.difference("p0", "p1"), [1, -1, 0, 0]),
        (ratings.seat, [0, 0, 1, 0]),
        (ratings.right, [0, 0, 0, 1]),
    ]
    for term, contrast in cases:
        half, df = textbook_cr2(games, np.array(contrast), ["p0", "p1", "p2"])
        assert 2 < df < 8
        assert (term.high - term.low) / 2 == pytest.approx(half, rel=1e-4)
    x = ratings.players["p0"]
    half, _ = textbook_cr2(games, np.array([2 / 3, -1 / 3, 0, 0]), ["p0", "p1", "p2"])
    assert (x.high - x.low) / 2 == pytest.approx(half, rel=1e-4)


def test_covariance_is_that_of_the_intervals() -> None:
    ratings = fit(random_games(600, 4, 24, seed=8))
    at = {name: i for i, name in enumerate(ratings.parameters)}
    assert ratings.parameters == ("p0", "p1", "p2", "p3", "term:seat", "term:right")
    contrast = np.zeros(6)
    contrast[at["p1"]], contrast[at["p3"]] = 1, -1
    difference = ratings.difference("p1", "p3")
    se = math.sqrt(contrast @ ratings.covariance @ contrast)
    # 24 stories: the t quantile lies between those of 10 and infinitely many degrees of freedom
    assert 1.96 < (difference.high - difference.elo) / se < 2.23


def test_stories_that_swing_widen_the_intervals_of_terms() -> None:
    # whole stories go to one seat: 480 outcomes, but 24 independent facts
    swing = [game("x", "y", float((s + k) % 2), s, SEATS[k % 2]) for s in range(24) for k in range(20)]
    mixed = [game("x", "y", float((k // 2 + s * (k == 0)) % 2), s, SEATS[k % 2]) for s in range(24) for k in range(20)]
    wide, narrow = fit(swing, terms=("seat",)).seat, fit(mixed, terms=("seat",)).seat
    assert wide is not None
    assert narrow is not None
    assert wide.high - wide.low > 100 > narrow.high - narrow.low


def test_few_clusters() -> None:
    assert fit(random_games(100, 3, 9, seed=1)).few_clusters
    ratings = fit(random_games(400, 3, 10, seed=1))
    assert (ratings.few_clusters, ratings.clusters, ratings.outcomes) == (False, 10, 400)
    assert (ratings.prior_sd, ratings.level) == (500.0, 0.95)


def test_one_story_bounds_nothing() -> None:
    ratings = fit(random_games(200, 3, 1, seed=1))
    assert ratings.seat is not None
    ends = [(r.low, r.high) for r in ratings.players.values()] + [(ratings.seat.low, ratings.seat.high)]
    assert set(ends) == {(-math.inf, math.inf)}


def finite(rating: Rating) -> tuple[bool, bool, bool]:
    return math.isfinite(rating.elo), math.isfinite(rating.low), math.isfinite(rating.high)


def test_undefeated_and_winless_are_named_and_open_on_one_side() -> None:
    ratings = fit(every_game(["AB", "BC", "CA", "UA", "UB", "AW", "CW"]))
    status = {name: r.status for name, r in ratings.players.items()}
    assert status == {"A": "ok", "B": "ok", "C": "ok", "U": "undefeated", "W": "winless"}
    u, w = ratings.players["U"], ratings.players["W"]
    assert (finite(u), u.high) == ((True, True, False), math.inf)
    assert (finite(w), w.low) == ((True, False, True), -math.inf)
    assert next(iter(ratings.players)) == "U"
    assert list(ratings.players)[-1] == "W"
    assert u.low < u.elo
    assert all(finite(ratings.players[name]) == (True, True, True) for name in "ABC")
    assert ratings.difference("U", "A") == Term(u.elo - ratings.players["A"].elo, -math.inf, math.inf)


def test_lower_bound_of_an_undefeated_player_is_exact_by_story() -> None:
    # against one opponent at 0, in 12 stories: the share that wins all of them once in forty is 0.025^(1 / 12)
    games = every_game(["U0", "01", "10"])
    ratings = fit(games, terms=())
    share = 0.025 ** (1 / 12)
    opponent = ratings.players["0"].elo
    assert ratings.players["U"].low == pytest.approx(opponent + ELO * math.log(share / (1 - share)), abs=1e-6)


def test_everybody_beaten_by_the_next_is_not_a_field_of_equals() -> None:
    ratings = fit(every_game(["AB", "AC", "BC"]))
    assert {name: r.status for name, r in ratings.players.items()} == {
        "A": "undefeated",
        "B": "disconnected",
        "C": "winless",
    }
    elo = [ratings.players[name].elo for name in "ABC"]
    assert elo == sorted(elo, reverse=True)
    assert len({round(value) for value in elo}) == 3


def test_fields_without_a_link_are_named() -> None:
    ratings = fit(every_game(["AB", "BC", "CA", "DE", "ED"]))
    assert {name for name, r in ratings.players.items() if r.status == "disconnected"} == {"D", "E"}
    assert finite(ratings.players["D"]) == (True, False, False)
    # but D and E can be compared with each other
    assert math.isfinite(ratings.difference("D", "E").high)
    assert ratings.difference("A", "D").high == math.inf


def test_of_two_equal_fields_neither_is_the_main_one() -> None:
    ratings = fit(every_game(["A=B", "CD", "DC"]))
    assert {r.status for r in ratings.players.values()} == {"disconnected"}


def test_groups_between_which_points_flow_one_way_are_named() -> None:
    ratings = fit(every_game(["AB", "BC", "CA", "DE", "ED", "AD", "BE", "CE"]))
    assert {name: r.status for name, r in sorted(ratings.players.items())} == {
        "A": "ok",
        "B": "ok",
        "C": "ok",
        "D": "disconnected",
        "E": "disconnected",
    }
    assert ratings.players["D"].elo < ratings.players["A"].elo


def test_a_seat_that_explains_every_outcome_leaves_players_unknown() -> None:
    games = [
        game(a, b, float(seat == "A"), s, seat) for s in range(20) for a, b in ("xy", "yz", "xz") for seat in SEATS
    ]
    ratings = fit(games)
    assert ratings.seat is not None
    assert ratings.seat.high == math.inf
    assert all(r.status == "ok" and r.high == math.inf for r in ratings.players.values())
    # without the term, points are shared evenly on every story: how stories differ cannot be told
    assert all(r.high == math.inf for r in fit(games, terms=()).players.values())


def test_a_judge_that_always_says_one_half_tells_nothing() -> None:
    games = [
        game(a, b, 0.5, s, seat, right=a if s % 2 else b)
        for s in range(12)
        for a, b in ("xy", "yz", "xz")
        for seat in SEATS
    ]
    ratings, by_side = fit(games), fit_by_assignment(games)
    assert ratings.seat is not None
    assert ratings.seat.high == math.inf
    assert all(abs(r.elo) < 1e-9 and (r.low, r.high) == (-math.inf, math.inf) for r in ratings.players.values())
    assert all((r.low, r.high) == (-math.inf, math.inf) for r in by_side.players.values())


def test_what_one_story_alone_tells_has_no_interval() -> None:
    games = every_game(["AB", "BA", "AC", "CA", "BC", "CB"]) + [game("A", "N", s, 3) for s in (0.0, 1.0, 1.0)]
    ratings = fit(games, terms=())
    assert ratings.players["N"].high == math.inf
    # and the newcomer does not open the intervals of the others
    assert all(finite(ratings.players[name]) == (True, True, True) for name in "ABC")


def test_a_player_whose_points_the_seat_explains_does_not_open_the_others() -> None:
    # the seat decides all games of N, and is bounded only by those of the others; N's difference is bounded by both
    games = every_game(["AB", "BA", "BC", "CB", "AC", "CA"]) + [
        game("N", "A", float(s == "A"), i, s) for i in range(9) for s in SEATS
    ]
    ratings = fit(games)
    assert all(finite(r) == (True, True, True) for r in ratings.players.values())
    # where N sits in seat A alone and shares points only with M, nothing bounds the two against the rest
    games += [game("M", "N", 0.5, i, s) for i in range(9) for s in SEATS]
    games = [o for o in games if {o.player_a, o.player_b} != {"A", "N"}] + [
        game(one, two, score, i) for i in range(9) for one, two, score in (("N", "A", 1.0), ("M", "A", 0.0))
    ]
    ratings = fit(games)
    assert {r.status for r in ratings.players.values()} == {"ok"}
    assert all(finite(ratings.players[name]) == (True, True, True) for name in "ABC")


OUTCOMES = st.lists(
    st.builds(
        lambda pair, score, story, seat, right: game(
            pair[0], pair[1], score, story, seat, right={0: None, 1: pair[0], 2: pair[1]}[right]
        ),
        st.sampled_from(list(itertools.permutations("ABCDE", 2))),
        st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)),
        st.integers(0, 11),
        st.sampled_from(SEATS),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(OUTCOMES, st.data())
def test_who_is_called_a_makes_no_difference(games: list[Outcome], data: st.DataObject) -> None:
    other = {"A": SEATS[1], "B": SEATS[0]}
    exchanged = [
        Outcome(o.player_b, o.player_a, 1 - o.score_a, o.question_id, o.story_id, other[o.seat_a], o.right)
        if data.draw(st.booleans()) and 1 - (1 - o.score_a) == o.score_a
        else o
        for o in games
    ]
    one, two = fit(games), fit(exchanged)
    for name, rating in one.players.items():
        assert two.players[name].status == rating.status
        assert_close(two.players[name], rating)


@settings(max_examples=60, deadline=None)
@given(OUTCOMES)
def test_names_and_order_make_no_difference(games: list[Outcome]) -> None:
    renamed = dict(zip("ABCDE", "DAEBC", strict=True))
    moved = [
        Outcome(
            renamed[o.player_a],
            renamed[o.player_b],
            o.score_a,
            o.question_id,
            f"other {o.story_id}",
            o.seat_a,
            o.right and renamed[o.right],
        )
        for o in reversed(games)
    ]
    one, two = fit(games), fit(moved)
    for name, rating in one.players.items():
        assert two.players[renamed[name]].status == rating.status
        assert_close(two.players[renamed[name]], rating)


@settings(max_examples=60, deadline=None)
@given(OUTCOMES)
def test_never_nan_and_always_about_zero(games: list[Outcome]) -> None:
    ratings = fit(games)
    for rating in ratings.players.values():
        assert math.isfinite(rating.elo)
        assert rating.low <= rating.elo <= rating.high
    assert sum(rating.elo for rating in ratings.players.values()) == pytest.approx(0, abs=1e-6)


def assert_close(one: Rating, two: Rating) -> None:
    assert one.elo == pytest.approx(two.elo, abs=1e-5)
    for low, high in ((one.low, two.low), (one.high, two.high)):
        assert low == high or low == pytest.approx(high, rel=1e-4, abs=1e-3)


@pytest.mark.parametrize(
    ("games", "message"),
    [
        ([], "no outcomes"),
        ([game("A", "A", 1.0)], "against itself"),
        ([game("A", "B", 1.5)], "score_a is 1.5"),
        ([game("A", "B", math.nan)], "score_a is nan"),
        ([game("A", "B", 1.0, right="C")], "right is 'C'"),
        ([game("A", "B", 1.0, seat="C")], "seat_a is 'C'"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_rated_is_refused(games: list[Outcome], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        fit(games)


def test_other_errors_say_what_to_do() -> None:
    games = [game("A", "B", 1.0)]
    with pytest.raises(ConfigError, match="prior_sd is 0"):
        fit(games, prior_sd=0)
    with pytest.raises(ConfigError, match="level is 95"):
        fit(games, level=95)
    with pytest.raises(ConfigError, match="unknown terms 'order'"):
        fit(games, terms=("order",))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="not known who"):
        fit_by_assignment(games)
    with pytest.raises(ConfigError, match="leave it out"):
        fit_by_assignment(games, terms=("right",))
    with pytest.raises(ConfigError, match="'C' has no rating"):
        fit(games).difference("A", "C")
