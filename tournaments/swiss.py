"""``python -m tournaments.swiss``: a Swiss tournament of debates, judged and rated."""

from __future__ import annotations

import asyncio
import csv
import io
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Self

from pydantic import Field, TypeAdapter, model_validator

from debate.agents.judge import JudgeConfig, build_judge
from debate.command import Command, Invocation
from debate.config import NOT_IN_DIGEST, Config
from debate.errors import ConfigError, ContextError, DissoiError
from debate.metrics.accuracy import unparsed
from debate.models.limits import Budget, Meter, Price
from debate.models.load import EMBEDDED, Models, check_access
from debate.progress import Progress
from debate.prompts import Prompts
from debate.protocols import ProtocolConfig, build_protocol
from debate.provenance import provenance
from debate.question import Fold, Question
from debate.record import Recorded
from debate.report import DebatePage, Report, Table, print_table, write_report
from debate.run_folder import RunFolder, default_path
from debate.sources import load, select
from tournaments import ladder, plan
from tournaments.matches import Arena, OutcomeKind, Setup, match_setups, outcomes, scores, self_play_setups
from tournaments.pairing import Pairing, default_rounds, pair_round, round_robin, schedule_is_round_robin
from tournaments.players import PlayerConfig, SpeechConfig, build_player
from tournaments.ratings import Ratings, fit

UNTRAINED = (
    "The judge is the embedded model as it was published: nobody has trained it to judge, it is near chance and "
    "follows the order of the answers. This ladder shows that everything works; it says little about who argues better."
)


class QuestionsConfig(Config):
    """Which questions are debated."""

    source: str = Field(
        "shipped:stories", description="shipped:stories, quality:FILE, leval:FILE, nyu:FILE, questions:FILE"
    )
    fold: Fold | None = Field(None, description="judge, debater, validation or test; none for all")
    stories: int | None = Field(None, ge=1, description="at most so many stories")
    per_story: int | None = Field(None, ge=1, description="at most so many questions of a story")
    limit: int | None = Field(None, ge=1, description="at most so many questions")


class SelfPlayConfig(QuestionsConfig):
    """Questions on which every player debates itself, on other stories than cross-play: they measure the judge."""


class BudgetConfig(Config):
    """What the whole run may use, resumed sessions included."""

    max_calls: int | None = Field(None, ge=0, description="finished calls")
    max_tokens: int | None = Field(None, ge=0, description="tokens in and out")
    max_cost: float | None = Field(None, ge=0, description="dollars; every remote model needs a price then")


class PriceConfig(Config):
    """What a model costs, in dollars per million tokens."""

    input: float = Field(ge=0, description="prompt tokens")
    output: float = Field(ge=0, description="reply tokens")
    cached: float | None = Field(None, ge=0, description="prompt tokens from a cache")


class SwissConfig(QuestionsConfig):
    """A Swiss tournament."""

    players: tuple[PlayerConfig, ...] = Field(min_length=2, description="the field, names unique")
    judge: JudgeConfig = Field(description="who judges")
    protocol: ProtocolConfig = Field(ProtocolConfig(), description="how a debate goes")
    speech: SpeechConfig = Field(SpeechConfig(), description="limits and sampling of speeches")
    self_play: SelfPlayConfig | None = Field(None, description="self-play on other stories; none for no self-play")
    rounds: int | None = Field(None, ge=1, description="rounds of the tournament; default ceil(log2 players) + 2")
    questions: Literal["shared", "fresh"] = Field(
        "shared", description="shared: every match has the same questions; fresh: they are dealt out to the rounds"
    )
    outcome: OutcomeKind = Field("hard", description="hard: the likelier answer takes the point; soft: its probability")
    prior_sd: float = Field(500.0, gt=0, description="sd of the ratings' prior, in Elo")
    long_stories: Literal["refuse", "window"] = Field(
        "refuse", description="what to do with stories over a player's context: refuse to start, or show a window"
    )
    seed: int = Field(0, ge=0, description="draws, question choice and pairings follow from it")
    max_unparsed: float = Field(0.02, ge=0, le=1, description="share of unparsed verdicts above which the run fails")
    max_failed: float = Field(0.02, ge=0, le=1, description="share of failed debates above which the run fails")
    prompts: str | None = Field(None, description="folder whose templates take the place of the shipped ones")
    concurrency: int = Field(256, ge=1, description="debates under way at a time", json_schema_extra=NOT_IN_DIGEST)
    budget: BudgetConfig = Field(BudgetConfig(), description="when to stop", json_schema_extra=NOT_IN_DIGEST)
    prices: dict[str, PriceConfig] = Field({}, description="by model name", json_schema_extra=NOT_IN_DIGEST)

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = Counter(player.name for player in self.players)
        double = sorted(name for name, count in names.items() if count > 1)
        if double:
            raise ValueError(f"player named twice: {', '.join(double)}; give every player a name of its own")
        return self

    @property
    def tournament_rounds(self) -> int:
        """Rounds to be played: as asked or by default, no more than a round robin has."""
        n = len(self.players)
        rounds = self.rounds or default_rounds(n)
        return len(round_robin(range_names(n), 0)) if schedule_is_round_robin(n, rounds) else rounds

    @property
    def price_table(self) -> dict[str, Price]:
        """Prices by model name."""
        return {name: Price(price.input, price.output, price.cached) for name, price in self.prices.items()}


def range_names(n: int) -> list[str]:
    """Return n different names."""
    return [str(index) for index in range(n)]


class Data(NamedTuple):
    """The questions of a tournament."""

    cross_play: list[Question]
    self_play: list[Question]


def read_questions(config: SwissConfig) -> Data:
    """Load and choose the questions; those of self-play come from other stories.

    Raises:
        SourceError: A source is wrong or empty.
        ConfigError: Cross-play and self-play share a story.
    """
    cross = _choose(config, config.seed)
    own = [] if config.self_play is None else _choose(config.self_play, config.seed)
    shared = {q.story_id for q in cross} & {q.story_id for q in own}
    if shared:
        raise ConfigError(
            f"self_play shares {len(shared)} stories with cross-play, such as {min(shared)!r}; "
            "choose another fold or source for it"
        )
    if config.questions == "fresh" and len(cross) < config.tournament_rounds:
        raise ConfigError(
            f"{len(cross)} questions cannot be dealt out to {config.tournament_rounds} rounds; use questions: shared"
        )
    return Data(cross, own)


def _choose(config: QuestionsConfig, seed: int) -> list[Question]:
    questions = [question.pair() for question in load(config.source)]
    return select(
        questions, fold=config.fold, stories=config.stories, per_story=config.per_story, limit=config.limit, seed=seed
    )


def plan_for(config: SwissConfig, data: Data) -> plan.Plan:
    """Plan the tournament.

    Raises:
        ContextError: Stories exceed a player's context, and the configuration refuses that.
    """
    rounds = config.tournament_rounds
    made = plan.make_plan(
        plan.Field(
            players=config.players,
            speech=config.speech,
            judge=config.judge,
            rounds=config.protocol.rounds,
            seatings=len(build_protocol(config.protocol).seatings),
            in_turn=config.protocol.kind == "sequential",
            matches=rounds * (len(config.players) // 2),
            questions=data.cross_play,
            sets=rounds if config.questions == "fresh" else 1,
            self_play=data.self_play,
        )
    )
    if made.too_long and config.long_stories == "refuse":
        raise ContextError(
            _long_stories(made) + "; set long_stories: window to show them in part, or use another model"
        )
    return made


def _long_stories(made: plan.Plan) -> str:
    return "; ".join(
        f"player {name!r}: {count} stories exceed the {made.story_tokens[name]} tokens that its model's context leaves"
        for name, count in sorted(made.too_long.items())
    )


def notes_for(config: SwissConfig, made: plan.Plan) -> list[str]:
    """What a reader of the ladder must know first."""
    notes = [UNTRAINED] if config.judge.model.name == EMBEDDED else []
    notes.extend(made.notes)
    if made.too_long:
        notes.append(f"{_long_stories(made)}; there they read a window of the story.")
    return notes


class Played(NamedTuple):
    """What has been played."""

    cross_play: list[Recorded]
    self_play: dict[str, list[Recorded]]
    matches: Counter[str]

    @property
    def recorded(self) -> list[Recorded]:
        """All debates."""
        return [*self.cross_play, *(item for items in self.self_play.values() for item in items)]


async def play(config: SwissConfig, data: Data, arena: Arena) -> Played:
    """Play all rounds, then self-play.

    Args:
        config: The tournament.
        data: Its questions.
        arena: Holds and judges debates.

    Returns:
        All debates with their verdicts.
    """
    names = [player.name for player in config.players]
    rounds = config.tournament_rounds
    robin = schedule_is_round_robin(len(names), config.rounds or default_rounds(len(names)))
    schedule = round_robin(names, config.seed) if robin else None
    standings = dict.fromkeys(names, 0.0)
    met: Counter[frozenset[str]] = Counter()
    byes: set[str] = set()
    played = Played([], {}, Counter())
    for number in range(rounds):
        pairings = schedule[number] if schedule else pair_round(standings, set(met), byes, config.seed * 1009 + number)
        questions = data.cross_play[number::rounds] if config.questions == "fresh" else data.cross_play
        recorded = await arena.play(_round_setups(pairings, questions, met, config))
        played.cross_play.extend(recorded)
        for name, score in scores(outcomes(recorded, config.outcome)).items():
            standings[name] += score
        for pairing in pairings:
            if pairing.player_b is None:
                byes.add(pairing.player_a)
                continue
            met[frozenset((pairing.player_a, pairing.player_b))] += 1
            played.matches.update((pairing.player_a, pairing.player_b))
    protocol = build_protocol(config.protocol)
    if data.self_play:
        own = await arena.play(s for name in names for s in self_play_setups(name, data.self_play, protocol))
        for item in own:
            played.self_play.setdefault(item.debate.players[0] or "", []).append(item)
    return played


def _round_setups(
    pairings: Iterable[Pairing], questions: Sequence[Question], met: Counter[frozenset[str]], config: SwissConfig
) -> list[Setup]:
    protocol = build_protocol(config.protocol)
    return [
        setup
        for pairing in pairings
        if pairing.player_b is not None
        for setup in match_setups(
            pairing.player_a,
            pairing.player_b,
            questions,
            protocol,
            # A rematch on the same questions is a repetition, drawn anew.
            repetition=met[frozenset((pairing.player_a, pairing.player_b))] if config.questions == "shared" else 0,
        )
    ]


def rate(config: SwissConfig, played: Played) -> ladder.Standings:
    """Rate what has been played.

    Raises:
        DissoiError: No verdict could be rated.
    """
    rows = outcomes(played.cross_play, config.outcome)
    if not rows:
        reasons = [str(item.debate.failed) for item in played.recorded if item.debate.failed is not None]
        reasons += [str(verdict.unparsed) for verdict in unparsed(played.recorded)]
        raise DissoiError(
            "no debate has a verdict, so nobody can be rated; all debates are in debates.jsonl; why: "
            + "; ".join(list(dict.fromkeys(reasons))[:3])
        )
    ratings = fit(rows, prior_sd=config.prior_sd)
    judge = next(v.judge for item in played.cross_play for v in item.verdicts)
    return ladder.Standings(ratings, rows, played.matches, played.cross_play, played.self_play, judge)


def write_debates(run: RunFolder, played: Played) -> None:
    """Write ``debates.jsonl``, a line for each debate with its verdicts."""
    rows = TypeAdapter(Recorded)
    run.write_lines("debates.jsonl", (rows.dump_json(item).decode() for item in played.recorded))


def export(run: RunFolder, standings: ladder.Standings, report: Report, extra: dict[str, object]) -> None:
    """Write ``ratings.csv``, ``metrics.json`` and ``report.html`` into the run folder."""
    ratings = _ratings_csv(standings.ratings, standings.order)
    asyncio.run(run.store.put("ratings", f"{len(standings.outcomes)} outcomes", ratings))
    run.write_text("ratings.csv", ratings)
    run.write_json("metrics.json", {**ladder.metrics(standings), **extra})
    write_report(report, (DebatePage(item.debate, item.verdicts) for item in standings.recorded), run.path)


def _ratings_csv(ratings: Ratings, order: Sequence[str]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["player", "elo", "low", "high", "status"])
    for name in order:
        rating = ratings.players[name]
        writer.writerow([name, f"{rating.elo:.4f}", f"{rating.low:.4f}", f"{rating.high:.4f}", rating.status])
    return text.getvalue()


def check_quality(config: SwissConfig, recorded: Sequence[Recorded]) -> list[str]:
    """Say why the run fails: too many unparsed verdicts or failed debates, with examples; empty if it does not."""
    found = []
    verdicts = sum(len(item.verdicts) for item in recorded)
    lost = unparsed(recorded)
    if verdicts and len(lost) / verdicts > config.max_unparsed:
        examples = "; ".join(dict.fromkeys(str(verdict.unparsed) for verdict in lost[:3]))
        found.append(
            f"{len(lost)} of {verdicts} verdicts are unparsed, more than max_unparsed {config.max_unparsed:g}: "
            f"{examples}"
        )
    failed = [item.debate.failed for item in recorded if item.debate.failed is not None]
    if recorded and len(failed) / len(recorded) > config.max_failed:
        examples = "; ".join(dict.fromkeys(failed[:3]))
        found.append(
            f"{len(failed)} of {len(recorded)} debates failed, more than max_failed {config.max_failed:g}: {examples}"
        )
    return found


async def tournament(config: SwissConfig, data: Data, made: plan.Plan, run: RunFolder, meter: Meter) -> Played:
    """Open the models, play, and close them again."""
    models = Models(run.store, meter)
    prompts = Prompts(Path(config.prompts) if config.prompts else None)
    try:
        debaters = {
            player.name: build_player(
                player,
                speech=config.speech,
                models=models,
                prompts=prompts,
                story_tokens=made.story_tokens.get(player.name) if player.name in made.too_long else None,
            )
            for player in config.players
        }
        judge = build_judge(config.judge, models.get(config.judge.model), prompts)
        with Progress("swiss", made.debates + made.self_play, made.total_calls, meter) as progress:
            arena = Arena(
                protocol=build_protocol(config.protocol),
                debaters=debaters,
                judge=judge,
                store=run.store,
                seed=config.seed,
                slots=asyncio.Semaphore(config.concurrency),
                progress=lambda _: progress.advance(),
            )
            return await play(config, data, arena)
    finally:
        await models.close()


def run_swiss(config: SwissConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    start = time.monotonic()
    data = read_questions(config)
    made = plan_for(config, data)
    models = [model for model in (config.judge.model, *(p.model for p in config.players)) if model is not None]
    budget = Budget(**config.budget.model_dump())
    Meter(budget, config.price_table).require_prices({model.name for model in models})
    if invocation.dry_run:
        return _print_plan(config, made)
    for model in models:
        check_access(model)  # before there is a run folder, which a second try would find in its way
    with _open(config, data, invocation) as run:
        meter = Meter(budget, config.price_table, earlier=run.store.usage())
        played = asyncio.run(tournament(config, data, made, run, meter))
        write_debates(run, played)  # first of all: where nobody can be rated, they hold the reasons
        standings = rate(config, played)
        seconds = time.monotonic() - start
        report = Report(
            title="Swiss tournament",
            subtitle=f"{len(config.players)} players, {len(data.cross_play)} questions, judge {standings.judge}",
            notes=notes_for(config, made),
            sections=ladder.sections(standings, meter.by_model(), seconds),
        )
        export(run, standings, report, {"seconds": seconds})
        for note in report.notes:
            sys.stdout.write(f"Note: {note}\n")
        for table in (block for section in report.sections for block in section.blocks if isinstance(block, Table)):
            print_table(table)
        sys.stdout.write(f"\nReport: {run.path / 'report.html'}\n")
        failures = check_quality(config, standings.recorded)
    for failure in failures:
        sys.stderr.write(f"tournaments.swiss: {failure}\n")
    return 1 if failures else 0


def _open(config: SwissConfig, data: Data, invocation: Invocation) -> RunFolder:
    origin = provenance({"cross_play": data.cross_play, "self_play": data.self_play})
    if invocation.resume is not None:
        return RunFolder.resume(invocation.resume, config, origin)
    return RunFolder.create(invocation.output or default_path("swiss"), config, origin)


def _print_plan(config: SwissConfig, made: plan.Plan) -> int:
    print_table(made.table())
    cost = made.cost(config.price_table)
    sys.stdout.write(f"Cost: {'unknown (no price given)' if cost is None else f'${cost:.2f} at most'}\n")
    for note in notes_for(config, made):
        sys.stdout.write(f"Note: {note}\n")
    return 0


COMMAND = Command(
    name="tournaments.swiss",
    about="Hold a Swiss tournament of debates between players, have every debate judged in both orders, and rate them.",
    config=SwissConfig,
    run=run_swiss,
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
