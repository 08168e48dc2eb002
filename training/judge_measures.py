"""What a judge makes of recorded debates: how right, how steady and how calibrated it is, before and after training."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from debate.agents.judge import Judge, JudgeConfig, build_judge
from debate.card import check_judge_unseen
from debate.errors import ConfigError, ModelError
from debate.metrics.accuracy import Accuracy, accuracy, final_verdicts, mean_mass, unparsed_share
from debate.metrics.beliefs import gold_probability
from debate.metrics.bias import position_bias
from debate.metrics.calibration import brier_scores, calibration_error, confidence, log_scores, most_confident
from debate.metrics.intervals import Interval, cluster_mean
from debate.models.limits import Budget, Meter
from debate.models.load import Models
from debate.prompts import Prompts
from debate.record import Recorded
from debate.report import Column, Table
from debate.report.table import Cell
from debate.store import Store
from debate.together import together
from debate.verdict import points
from tournaments.comparison import mean_gap
from tournaments.matches import judge_debate
from tournaments.metrics import Values, interval

COVERAGE = 0.9


@dataclass(frozen=True, slots=True)
class JudgeMeasures:
    """Figures of one judge on debates with known gold answers; intervals are 95 %, robust by story.

    Probabilities are those of the gold answer, the mean of a debate's two orders; the calibration error is that of the
    answer named.

    Attributes:
        judge: Its name; empty where there is no verdict.
        debates: Debates with a verdict on a question with a gold answer.
        stories: Stories they are on.
        failed: Debates that the judge's model failed on.
        accuracy: Combined, of single verdicts, and by where the gold answer was shown.
        flips: Share of debates whose two orders name different answers.
        brier: Mean Brier score; 0.25 is that of one half throughout.
        log_score: Mean log score in nats; log 2 = 0.69 is that of one half throughout.
        calibration_error: Expected calibration error in 10 bins of equal width.
        adaptive_error: The same in 10 bins of equal numbers.
        confident: Accuracy on the 90 % of debates with the most confident verdicts.
        unparsed: Share of verdicts that named no answer.
        mass: Mean probability that the answer letters held, where known.
    """

    judge: str
    debates: int
    stories: int
    failed: int
    accuracy: Accuracy
    flips: Interval | None
    brier: Interval | None
    log_score: Interval | None
    calibration_error: float | None
    adaptive_error: float | None
    confident: Interval | None
    unparsed: float | None
    mass: float | None

    def values(self) -> Values:
        """Return the figures as plain values, an interval as estimate, low and high end."""
        found: dict[str, object] = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            found[field.name] = interval(value) if isinstance(value, Interval) else value
        found["accuracy"] = {
            field.name: interval(getattr(self.accuracy, field.name)) for field in dataclasses.fields(self.accuracy)
        }
        return found


def measure(recorded: Sequence[Recorded]) -> JudgeMeasures:
    """Measure one judge.

    Args:
        recorded: Debates with its verdicts; those without a gold answer are left out.

    Returns:
        Its figures; None where there is nothing to measure.

    Raises:
        ConfigError: The verdicts are of several judges.
    """
    judges = {verdict.judge for item in recorded for verdict in final_verdicts(item)}
    if len(judges) > 1:
        raise ConfigError(f"verdicts of {len(judges)} judges ({', '.join(sorted(judges))}); measure one at a time")
    judged = [item for item in recorded if item.debate.transcript.question.gold is not None and final_verdicts(item)]
    bias = position_bias(judged)
    found = [(chance, item) for item in judged if (chance := gold_probability(item)) is not None]
    chances = [chance for chance, _ in found]
    stories = [item.debate.transcript.question.story_id for _, item in found]
    sure = [confidence(chance) for chance in chances]
    right = [points(chance) for chance in chances]
    kept = most_confident(sure, COVERAGE)
    return JudgeMeasures(
        judge=next(iter(judges), ""),
        debates=len(judged),
        stories=len({item.debate.transcript.question.story_id for item in judged}),
        failed=sum(item.debate.failed is not None for item in recorded),
        accuracy=accuracy(judged),
        flips=None if bias is None else bias.flip_rate,
        brier=cluster_mean(brier_scores(chances, [1.0] * len(chances)), stories, bounds=(0, 1)) if found else None,
        log_score=cluster_mean(log_scores(chances, [1.0] * len(chances)), stories, bounds=_ANY) if found else None,
        calibration_error=calibration_error(sure, right) if found else None,
        adaptive_error=calibration_error(sure, right, by="number") if found else None,
        confident=cluster_mean([right[at] for at in kept], [stories[at] for at in kept], bounds=(0, 1))
        if kept
        else None,
        unparsed=unparsed_share(judged),
        mass=mean_mass(judged),
    )


_ANY = (-math.inf, math.inf)


def before_after(before: Sequence[Recorded], after: Sequence[Recorded], *, title: str = "Judge") -> Table:
    """Compare a judge before and after training on the same debates.

    Args:
        before: Debates with the verdicts of the judge before.
        after: The same debates with those of the judge after.
        title: The table's.

    Returns:
        A row a figure: before, after, and the mean difference over the debates that both have judged, paired, with its
        interval where it has one.

    Raises:
        ConfigError: They are not the same debates in the same order.
    """
    one, two = measure(before), measure(after)
    gaps = paired_differences(before, after)
    shares: list[tuple[str, Cell, Cell, Interval | None]] = [
        ("accuracy, orders combined", one.accuracy.combined, two.accuracy.combined, gaps["accuracy"]),
        ("accuracy, single orders", one.accuracy.single, two.accuracy.single, gaps["single"]),
        ("accuracy, right answer first", one.accuracy.gold_first, two.accuracy.gold_first, None),
        ("accuracy, right answer second", one.accuracy.gold_second, two.accuracy.gold_second, None),
        (f"accuracy, {COVERAGE:.0%} most confident", one.confident, two.confident, None),
        ("flips", one.flips, two.flips, gaps["flips"]),
        ("unparsed", one.unparsed, two.unparsed, None),
    ]
    scores: list[tuple[str, Cell, Cell, Interval | None]] = [
        ("Brier score", one.brier, two.brier, gaps["brier"]),
        ("log score, nats", one.log_score, two.log_score, gaps["log_score"]),
        ("calibration error", one.calibration_error, two.calibration_error, None),
        ("calibration error, adaptive", one.adaptive_error, two.adaptive_error, None),
    ]
    columns = [Column("figure"), Column("before"), Column("after"), Column("difference")]
    rows = [[name, *(_text(cell, percent=True) for cell in cells)] for name, *cells in shares]
    rows += [[name, *(_text(cell, percent=False) for cell in cells)] for name, *cells in scores]
    note = (
        f"{two.debates} debates on {two.stories} stories. Scores are of the mean probability of both orders; lower is "
        "better. Intervals are 95 %, robust by story; differences are paired by debate."
    )
    return Table(title, columns, rows, note=note)


def _text(cell: Cell, *, percent: bool) -> Cell:
    """Write a figure out: one column holds shares and scores, which are of two kinds."""
    if isinstance(cell, Interval):
        return cell.format(percent=percent)
    if isinstance(cell, float):
        return f"{100 * cell:.1f} %" if percent else f"{cell:.3f}"
    return cell


def paired_differences(before: Sequence[Recorded], after: Sequence[Recorded]) -> dict[str, Interval | None]:
    """Measure what training has changed, debate by debate.

    Args:
        before: Debates with the verdicts of the judge before.
        after: The same debates with those of the judge after.

    Returns:
        After less before, for ``accuracy`` (orders combined), ``single``, ``flips``, ``brier`` and ``log_score``; None
        where no debate was judged by both.

    Raises:
        ConfigError: They are not the same debates in the same order.
    """
    values: dict[str, Callable[[Recorded], float | None]] = {
        "accuracy": lambda item: _of_gold(item, points),
        "single": _single,
        "flips": _flips,
        "brier": lambda item: _of_gold(item, lambda chance: brier_scores([chance], [1.0])[0]),
        "log_score": lambda item: _of_gold(item, lambda chance: log_scores([chance], [1.0])[0]),
    }
    if [item.debate.id for item in before] != [item.debate.id for item in after]:
        raise ConfigError("before and after are not the same debates in the same order, so they cannot be paired")
    found: dict[str, Interval | None] = {}
    for name, value in values.items():
        pairs = [
            (value(old), value(new), new.debate.transcript.question.story_id)
            for old, new in zip(before, after, strict=True)
        ]
        gaps = [(new - old, story) for old, new, story in pairs if old is not None and new is not None]
        most = math.inf if name == "log_score" else 1.0
        found[name] = mean_gap([gap for gap, _ in gaps], [story for _, story in gaps], most=most) if gaps else None
    return found


def _of_gold(item: Recorded, value: Callable[[float], float]) -> float | None:
    chance = gold_probability(item)
    return None if chance is None else value(chance)


def _single(item: Recorded) -> float | None:
    single = accuracy([item]).single
    return None if single is None else single.value


def _flips(item: Recorded) -> float | None:
    bias = position_bias([item])
    return None if bias is None else bias.flip_rate.value


async def judge_recorded(
    judge: Judge, recorded: Sequence[Recorded], *, seed: int = 0, concurrency: int = 64
) -> list[Recorded]:
    """Have a judge judge recorded debates in both orders.

    Args:
        judge: The judge.
        recorded: The debates; verdicts that they come with are left out.
        seed: Of a judge that samples.
        concurrency: Debates under way at a time.

    Returns:
        The debates in order, each with its verdicts, or with the reason why the judge's model failed on it.

    Raises:
        DissoiError: Anything that stops the run, such as a spent budget.
    """
    with tempfile.TemporaryDirectory(prefix="dissoi-verdicts-") as folder:
        # A judge is told from itself before training by its weights, which the call log knows; here names would meet.
        store = Store(Path(folder) / "verdicts.sqlite")

        async def decide(place: int, item: Recorded) -> Recorded:
            try:
                # Debates of several sources may share an id.
                debate = dataclasses.replace(item.debate, id=str(place))
                return Recorded(item.debate, await judge_debate(debate, judge, store, seed=seed))
            except ModelError as error:
                return Recorded(dataclasses.replace(item.debate, failed=str(error)), ())

        try:
            slots = asyncio.Semaphore(concurrency)
            return await together((decide(place, item) for place, item in enumerate(recorded)), slots)
        finally:
            store.close()


async def judge_with(
    config: JudgeConfig,
    recorded: Mapping[str, Sequence[Recorded]],
    *,
    prompts: Prompts,
    store: Store | None = None,
    seed: int = 0,
    concurrency: int = 64,
) -> dict[str, list[Recorded]]:
    """Open a judge's model, have it judge sets of debates in both orders, and close it.

    Args:
        config: The judge, with its model and adapter.
        recorded: Debates by the name of their set; verdicts that they come with are left out.
        prompts: Templates.
        store: Where finished calls are kept, so that another try asks only for what is missing; None keeps none.
        seed: Of a judge that samples.
        concurrency: Debates under way at a time.

    Returns:
        By set, the debates with its verdicts, as of ``judge_recorded``.

    Raises:
        ConfigError: The judge cannot be made.
        FoldError: Its weights were trained on a story of these debates.
        ModelAccessError: Its model cannot be had.
    """
    if config.model is not None:
        questions = [item.debate.transcript.question for items in recorded.values() for item in items]
        check_judge_unseen(config.model, questions)
    models = Models(store, Meter(Budget(), {}))
    try:
        judge = build_judge(config, None if config.model is None else models.get(config.model), prompts)
        return {
            name: await judge_recorded(judge, items, seed=seed, concurrency=concurrency)
            for name, items in recorded.items()
        }
    finally:
        await models.close()
