"""What came of a loop, read from the folders of its stages: who was persuasive, and what each judge was worth."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from debate.agents.judge import JudgeConfig
from debate.metrics.accuracy import accuracy
from debate.metrics.concessions import Concession, concession_rates, without_concessions
from debate.metrics.speeches import SpeechFigures, figures_by_player
from debate.metrics.win_rate import consultant_win_rate
from debate.record import Recorded
from debate.sources import load_debates
from tournaments.concessions import read_concessions
from tournaments.config import RatingConfig
from tournaments.elo_accuracy import Relation, relate
from tournaments.elo_draws import Assigned
from tournaments.judged import by_judge, speaks
from tournaments.matches import outcomes
from tournaments.metrics import Values, interval
from tournaments.ratings import Ratings, fit
from training.judge_measures import measure, paired_differences
from training.loop import Iteration, Tested
from training.loop_config import FIRST, HELD_OUT, LoopConfig

NEW = "new"
"""What the newest judge is called in figures of iterations, whatever its number."""


def debates_of(root: Path, stages: Sequence[str]) -> list[Recorded]:
    """Read the debates of some stages in which somebody speaks, with all verdicts."""
    found = (item for stage in stages for item in load_debates(str(root / stage)))
    return [item for item in found if speaks(item) and item.debate.failed is None]


def of_judge(recorded: Sequence[Recorded], judge: JudgeConfig) -> list[Recorded]:
    """Leave the verdicts of one judge, whatever became of it where its model gives no log-probabilities."""
    found = by_judge(recorded)
    return found.get(judge.label) or found.get(f"{judge.label} by vote of {judge.votes}") or []


def own_by_player(recorded: Sequence[Recorded]) -> dict[str, list[Recorded]]:
    """Sort debates that one player held by itself, on both sides or alone."""
    found: dict[str, list[Recorded]] = {}
    for item in recorded:
        names = {name for name in item.debate.players if name is not None}
        if len(names) == 1:
            found.setdefault(names.pop(), []).append(item)
    return found


@dataclass(frozen=True, slots=True)
class Persuasion:
    """How persuasive players were before one judge.

    Attributes:
        ratings: Of debaters.
        rates: Win rates of consultants, where there are no debates between players.
    """

    ratings: Ratings | None
    rates: Mapping[str, float]

    @staticmethod
    def of(recorded: Sequence[Recorded], config: RatingConfig) -> Persuasion:
        """Rate players by debates between them, or by their consultancies."""
        rows = outcomes(recorded, config.outcome)
        if rows:
            return Persuasion(fit(rows, prior_sd=config.prior_sd), {})
        soft = config.outcome == "soft"
        rates = {name: consultant_win_rate(items, soft=soft) for name, items in own_by_player(recorded).items()}
        return Persuasion(None, {name: rate.both.value for name, rate in rates.items() if rate is not None})

    @property
    def values(self) -> dict[str, float]:
        """Elo or win rate by player."""
        if self.ratings is None:
            return dict(self.rates)
        return {name: rating.elo for name, rating in self.ratings.players.items()}

    def figures(self, name: str) -> Values:
        """What is known of one player, as plain values."""
        if self.ratings is None:
            return {"win_rate": self.rates.get(name)}
        rating = self.ratings.players.get(name)
        if rating is None:
            return {"elo": None, "status": "not yet rated"}
        return {"elo": rating.elo, "elo_interval": [rating.low, rating.high], "status": rating.status}


@dataclass(frozen=True, slots=True)
class Measured:
    """What an iteration came to.

    Attributes:
        iteration: The iteration.
        players: Every player so far, how persuasive it is before the first judge.
        judged: All self-play on validation stories so far, by what the judge is called in figures.
        spoken: What the speeches of the players are made of.
        concessions: One for each speaker in that self-play.
        relation: Persuasiveness against accuracy before the first judge, where there is any.
        made: The players that the loop has made.
    """

    iteration: Iteration
    players: Persuasion
    judged: Mapping[str, Sequence[Recorded]]
    spoken: Mapping[str | None, SpeechFigures]
    concessions: Sequence[Concession]
    relation: Relation | None
    made: frozenset[str] = frozenset()

    @staticmethod
    def of(
        root: Path, found: Iteration, *, first: JudgeConfig, held_out: JudgeConfig | None, config: LoopConfig
    ) -> Measured:
        """Read what an iteration has left."""
        rated = of_judge(debates_of(root, found.rated), first)
        own = debates_of(root, found.validated)
        judges = {FIRST: first, NEW: found.judge, HELD_OUT: held_out}
        if found.judge.label == first.label:
            del judges[NEW]
        judged = {name: of_judge(own, judge) for name, judge in judges.items() if judge is not None}
        mine = own_by_player(judged[FIRST])
        relation = None
        if rated and mine:
            relation = relate(rated, mine, kind=config.outcome, prior_sd=config.prior_sd, seed=config.seed)
        made = frozenset(config.named(number) for number in range(found.number + 1))
        concessions = [one for stage in found.concessions for one in read_concessions(root / stage)]
        return Measured(
            found, Persuasion.of(rated, config), judged, figures_by_player(own), concessions, relation, made
        )

    @property
    def newest(self) -> Mapping[str, Sequence[Recorded]]:
        """The newest player's own debates, by judge."""
        name = self.iteration.newcomer.name
        return {judge: own_by_player(items).get(name, []) for judge, items in self.judged.items()}

    def values(self) -> Values:
        """Everything as plain values, an interval as estimate, low and high end."""
        rates = concession_rates(self.concessions)
        newcomer = self.iteration.newcomer.name
        spoken = self.spoken.get(newcomer)
        return {
            "iteration": self.iteration.number,
            "newcomer": {
                "name": newcomer,
                "accuracy": {judge: interval(accuracy(items).single) for judge, items in self.newest.items()},
                **({} if spoken is None else dataclasses.asdict(spoken)),
                "concedes": interval(rates.get(newcomer)),
            },
            "rated": self._rated(),
            "left": self.iteration.left,
            "judges": {judge: _judge_values(items) for judge, items in self.judged.items()},
            "without_concessions": {
                judge: interval(accuracy(without_concessions(items, self.concessions)).single)
                for judge, items in self.judged.items()
            },
            "gain": {} if NEW not in self.judged else gains(self.judged[FIRST], self.judged[NEW]),
            "players": {
                name: {
                    **self.players.figures(name),
                    "self_play_accuracy": interval(accuracy(items).single),
                    "concedes": interval(rates.get(name)),
                }
                for name, items in own_by_player(self.judged[FIRST]).items()
            },
            "slope": None if self.relation is None else slope_values(self.relation),
        }

    def _rated(self) -> Values:
        """The newest of the loop's own debaters that has met others, and how right the first judge is about it."""
        made = [player.name for player in self.iteration.population if player.name in self.made]
        own = own_by_player(self.judged[FIRST])
        if not made or made[-1] not in own:
            return {}
        name = made[-1]
        return {"name": name, **self.players.figures(name), "accuracy": interval(accuracy(own[name]).single)}


def _judge_values(items: Sequence[Recorded]) -> Values:
    found = measure(items).values()
    by_order = found.pop("accuracy")
    assert isinstance(by_order, dict)  # noqa: S101 - as measure makes it
    return {
        "accuracy": by_order["single"],
        "accuracy_combined": by_order["combined"],
        "accuracy_gold_first": by_order["gold_first"],
        "accuracy_gold_second": by_order["gold_second"],
        **found,
    }


def gains(before: Sequence[Recorded], after: Sequence[Recorded]) -> Values:
    """Hold two judges against each other on the debates that both have judged, paired."""
    one, two = paired(before, after)
    return {name: interval(value) for name, value in paired_differences(one, two).items()}


def paired(before: Sequence[Recorded], after: Sequence[Recorded]) -> tuple[list[Recorded], list[Recorded]]:
    """Leave the debates that both judges have judged, in one order."""
    later = {item.debate.id: item for item in after}
    both = [item for item in before if item.debate.id in later]
    return both, [later[item.debate.id] for item in both]


def slope_values(relation: Relation) -> Values:
    """A slope as plain values."""
    slope = relation.slope
    if slope.value is None:
        return {"value": None, "players": slope.players, "why": slope.why}
    return {
        "value": [slope.value, slope.low, slope.high],
        "scatter": slope.scatter,
        "without": {"player": slope.without, "value": slope.value_without},
        "players": slope.players,
        "stories": slope.stories,
    }


@dataclass(frozen=True, slots=True)
class JudgeTest:
    """What the test says of one judge.

    Attributes:
        judge: Its name.
        persuasion: How persuasive players were before it.
        own: The players' own debates, with its verdicts.
        relations: Persuasiveness against accuracy: over both assignments, as assigned the right answer, the wrong one;
            and over both without debates in which somebody gave its side away.
    """

    judge: str
    persuasion: Persuasion
    own: Sequence[Recorded]
    relations: Mapping[str, Relation]


BOTH, RIGHT, WRONG, WITHOUT = "both assignments", "assigned right", "assigned wrong", "without concessions"


def read_test(root: Path, tested: Tested, config: LoopConfig) -> list[JudgeTest]:
    """Read what the test has left, one for each judge, each on its own scale."""
    cross, own = debates_of(root, [tested.tournament]), debates_of(root, [tested.own])
    conceded = [] if tested.concessions is None else read_concessions(root / tested.concessions)
    found = []
    for judge in tested.judges:
        rated, mine = of_judge(cross, judge), of_judge(own, judge)
        if rated and mine:
            relations = _relations(rated, mine, conceded, config)
            found.append(JudgeTest(judge.label, Persuasion.of(rated, config), mine, relations))
    return found


def _relations(
    rated: Sequence[Recorded], mine: Sequence[Recorded], conceded: Sequence[Concession], config: LoopConfig
) -> dict[str, Relation]:
    own = own_by_player(mine)

    def drawn(of: Mapping[str, Sequence[Recorded]], assigned: Assigned | None = None) -> Relation:
        kind, sd = config.outcome, config.prior_sd
        return relate(rated, of, kind=kind, prior_sd=sd, assigned=assigned, seed=config.seed)

    relations = {BOTH: drawn(own), RIGHT: drawn(own, "right"), WRONG: drawn(own, "wrong")}
    kept = own_by_player(without_concessions(mine, conceded))
    return relations if not conceded or not kept else {**relations, WITHOUT: drawn(kept)}


def values_of(tests: Sequence[JudgeTest]) -> Values:
    """What the test says of all judges, as plain values."""
    return {
        one.judge: {
            **_judge_values(one.own),
            "slope": {name: slope_values(relation) for name, relation in one.relations.items()},
            "players": {
                point.player: {
                    one.relations[BOTH].axis: interval(point.x),
                    "status": point.status,
                    "accuracy": interval(point.y),
                }
                for point in one.relations[BOTH].points
            },
            **({} if one is tests[0] else {"gain": gains(tests[0].own, one.own)}),
        }
        for one in tests
    }
