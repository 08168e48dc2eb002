"""Outcomes of FORD as they are recorded: a JSON object for each sample, read back into chains, measured and shown.

Fields: ``run`` (the speakers' names in speaking order, joined by ``__``), ``dataset``, ``index``, ``gold``,
``predictions`` (in speaking order, null for unparsable) and ``consensus_round`` (0 for agreed at once, null for never).
A run of this project adds ``id``, ``story``, ``rounds`` (most turns), ``samples`` (how many began), ``judged`` and
``verdict``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from debate.errors import SourceError
from debate.metrics.consensus import Chain, ConsensusFigures, Outcome, Sway, measure, why_broken
from debate.report import Column, Table
from debate.report.table import Cell
from debate.sources.rows import Row, json_rows
from tournaments.found import Found
from tournaments.metrics import interval

#: Samples that each run of the published logs began with (Xiong et al. 2023; their scripts hold these numbers).
PUBLISHED_SAMPLES = {
    "anli": 1507,
    "csqa": 1221,
    "copa": 500,
    "ecare": 2122,
    "socialiqa": 1935,
    "piqa": 1838,
    "strategyqa": 2290,
}
JOINT = "__"
_FIELDS = (
    *("system", "run", "dataset", "index", "gold", "predictions", "consensus_round"),
    *("id", "story", "rounds", "samples", "judged", "verdict"),
)


class Named(NamedTuple):
    """A chain and what it is called.

    Attributes:
        run: The speakers, joined.
        dataset: The data set.
        chain: The samples.
    """

    run: str
    dataset: str
    chain: Chain


class Refused(NamedTuple):
    """A chain that cannot be measured.

    Attributes:
        run: The speakers, joined.
        dataset: The data set.
        samples: How many samples are recorded.
        reason: Why not.
    """

    run: str
    dataset: str
    samples: int
    reason: str


def to_row(name: Named, outcome: Outcome, index: int) -> dict[str, object]:
    """Write one outcome as it is recorded.

    Args:
        name: The chain that it is of.
        outcome: What became of the sample.
        index: Its place in the chain.

    Returns:
        Plain values.
    """
    return {
        "system": "ford",
        "run": name.run,
        "dataset": name.dataset,
        "index": index,
        "id": outcome.id,
        "story": outcome.cluster,
        "gold": outcome.gold,
        "predictions": list(outcome.predictions),
        "consensus_round": outcome.agreed,
        "rounds": name.chain.rounds,
        "samples": name.chain.samples,
        "judged": outcome.judged,
        "verdict": outcome.verdict,
    }


def read_chains(path: Path) -> tuple[list[Named], list[Refused]]:
    """Read recorded outcomes, chain by chain, in the order of the file.

    How many samples a chain began with is what its rows say, else the number of the published data set of that name,
    else the number that most runs of the file have on the data set.

    Args:
        path: A JSON Lines file.

    Returns:
        Chains that can be measured, and those that cannot.

    Raises:
        SourceError: The file or a row is malformed.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in json_rows(path):
        row.only(_FIELDS)
        groups.setdefault((row.text("run"), row.text("dataset")), []).append(row)
    turns: dict[str, int] = {}
    sizes: dict[str, list[int]] = {}
    for (run, dataset), rows in groups.items():
        longest = max(len(row.items("predictions")) for row in rows) - len(run.split(JOINT))
        turns[run] = max(turns.get(run, 0), longest)
        sizes.setdefault(dataset, []).append(len(rows))
    chains: list[Named] = []
    refused: list[Refused] = []
    for (run, dataset), rows in groups.items():
        began = _began(dataset, rows, sizes[dataset])
        if began is None:
            counts = ", ".join(map(str, dict.fromkeys(sizes[dataset])))
            reason = (
                f"runs on {dataset} hold {counts} samples, and nothing says how many began: some were lost or doubled"
            )
            refused.append(Refused(run, dataset, len(rows), reason))
            continue
        limit = rows[0].integer("rounds") if rows[0].has("rounds") else turns[run]
        outcomes = tuple(_outcome(row) for row in rows)
        chain = Chain(tuple(run.split(JOINT)), limit, began, outcomes)
        broken = why_broken(chain)
        if broken is None:
            chains.append(Named(run, dataset, chain))
        else:
            refused.append(Refused(run, dataset, len(rows), broken))
    return chains, refused


def _began(dataset: str, rows: Sequence[Row], sizes: Sequence[int]) -> int | None:
    if rows[0].has("samples"):
        return rows[0].integer("samples")
    if dataset in PUBLISHED_SAMPLES:
        return PUBLISHED_SAMPLES[dataset]
    (most, count), *others = Counter(sizes).most_common()
    return None if others and others[0][1] == count else most


def _outcome(row: Row) -> Outcome:
    name = row.text("id") if row.has("id") else str(row.integer("index"))
    return Outcome(
        id=name,
        cluster=row.text("story") if row.has("story") else name,
        gold=row.text("gold"),
        predictions=tuple(_answer(row, answer) for answer in row.items("predictions")),
        agreed=row.integer("consensus_round") if row.has("consensus_round") else None,
        judged=row.has("judged") and row.boolean("judged"),
        verdict=row.text("verdict") if row.has("verdict") else None,
    )


def _answer(row: Row, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise row.error(f"a prediction is {value!r}; text or null is needed")
    return value


def read_outcomes(path: Path) -> Found:
    """Measure recorded outcomes: all runs and data sets of a file, and what of it is refused.

    Args:
        path: A JSON Lines file.

    Returns:
        Tables and plain values.

    Raises:
        SourceError: The file is malformed, or all of it is refused.
    """
    chains, refused = read_chains(path)
    if not chains:
        first = refused[0] if refused else None
        why = "it is empty" if first is None else f"{first.run} on {first.dataset}: {first.reason}"
        raise SourceError(f"{path} holds no outcomes that can be measured; {why}")
    return show(chains, refused)


def show(chains: Sequence[Named], refused: Sequence[Refused] = ()) -> Found:
    """Measure chains, and show the figures.

    Args:
        chains: Chains that can be measured.
        refused: Those that cannot.

    Returns:
        Tables and plain values.
    """
    figures = [(name, measure(name.chain)) for name in chains]
    tables = [accuracy_table(figures), incon_table(figures), sway_table(figures)]
    if refused:
        tables.append(refused_table(refused))
    return Found(
        tables,
        {
            "system": "ford",
            "chains": [_values(name, found) for name, found in figures],
            "refused": [one._asdict() for one in refused],
        },
    )


Figures = Sequence[tuple[Named, ConsensusFigures]]


def accuracy_table(figures: Figures) -> Table:
    """What speakers get right alone, by vote, after debate and with a judge."""
    judged = any(found.judged is not None for _, found in figures)
    rows: list[list[Cell]] = []
    for name, found in figures:
        row: list[Cell] = [spoken(name.run), name.dataset, found.n, _both(share.value for share in found.alone)]
        row += [found.col_s, found.col_h, found.majority, found.ford, found.gain]
        row += [found.judged] if judged else []
        rows.append([*row, f"{found.unread} of {found.predictions}"])
    columns = [
        Column("speakers, in order"),
        Column("data set"),
        Column("n", kind="count"),
        Column("each alone"),
        Column("Col-S", kind="share"),
        Column("Col-H", kind="share"),
        Column("majority", kind="share"),
        Column("FORD", kind="share"),
        Column("less majority", kind="share"),
        *([Column("FORD, judge", kind="share")] if judged else []),
        Column("unread"),
    ]
    note = (
        "Shares of right answers, with 95 % intervals robust by story. Col-S: mean of the speakers alone. Col-H: all "
        "right alone. Majority: the most frequent of the answers alone, without a debate. FORD: the agreed answer, "
        "else the most frequent of all predictions; of equals the one given first. Unread: predictions that name no "
        "answer, which are no votes and never right."
    )
    return Table("Right answers", columns, rows, note=note)


def incon_table(figures: Figures) -> Table:
    """INCON by round."""
    rounds = max(len(found.incon) for _, found in figures)
    rows: list[list[Cell]] = [
        [spoken(name.run), name.dataset, *found.incon, *[None] * (rounds - len(found.incon))] for name, found in figures
    ]
    columns = [Column("speakers, in order"), Column("data set"), Column("before", kind="share")]
    columns += [Column(f"turn {number}", kind="share") for number in range(1, rounds)]
    note = (
        "INCON: the share of all samples on which the speakers do not agree yet, before the debate and after each turn."
    )
    return Table("INCON", columns, rows, note=note)


def sway_table(figures: Figures) -> Table:
    """Who gives in to whom."""
    rows: list[list[Cell]] = [
        [
            *(spoken(name.run), name.dataset, one.speaker, share, found.debated, found.agreed),
            *(
                one.dominance_of_agreed,
                one.dominance_of_debated,
                one.compromises,
                one.compromises_of_agreed,
                one.changes,
            ),
        ]
        for name, found in figures
        for one, share in zip(found.sway, found.alone, strict=True)
    ]
    columns = (
        Column("speakers, in order"),
        Column("data set"),
        Column("speaker"),
        Column("alone", kind="share"),
        Column("debated", kind="count"),
        Column("agreed", kind="count"),
        Column("dominance, of agreed", kind="share"),
        Column("dominance, of debated", kind="share"),
        Column("compromises", kind="count"),
        Column("of agreed", kind="share"),
        Column("changes", kind="count"),
    )
    note = (
        "Debated: samples that were not agreed at once; agreed: those of them that ended in agreement. Dominance: the "
        "share of either in which all agreed on the answer that the speaker gave alone. Compromises: its turn brought "
        "the agreement. Changes: turns in which it named another answer than before."
    )
    return Table("Dominance", columns, rows, note=note)


def refused_table(refused: Iterable[Refused]) -> Table:
    """What cannot be measured, and why."""
    columns = (Column("speakers, in order"), Column("data set"), Column("samples", kind="count"), Column("reason"))
    rows: list[list[Cell]] = [[spoken(one.run), one.dataset, one.samples, one.reason] for one in refused]
    return Table("Refused", columns, rows)


def spoken(run: str) -> str:
    """The speakers of a run, in order, for people."""
    return run.replace(JOINT, ", ")


def _both(shares: Iterable[float]) -> str:
    return " / ".join(f"{100 * share:.1f}" for share in shares)


def _values(name: Named, found: ConsensusFigures) -> Mapping[str, object]:
    return {
        "run": name.run,
        "dataset": name.dataset,
        "n": found.n,
        "alone": {one: interval(share) for one, share in zip(name.chain.speakers, found.alone, strict=True)},
        "col_s": interval(found.col_s),
        "col_h": interval(found.col_h),
        "majority": interval(found.majority),
        "ford": interval(found.ford),
        "ford_less_majority": interval(found.gain),
        "ford_judged": interval(found.judged),
        "incon": [interval(share) for share in found.incon],
        "debated": found.debated,
        "agreed": found.agreed,
        "agreed_on_nothing": found.empty,
        "unread": found.unread,
        "predictions": found.predictions,
        "sway": [_sway_values(one) for one in found.sway],
    }


def _sway_values(one: Sway) -> Mapping[str, object]:
    return {
        "speaker": one.speaker,
        "upheld": one.upheld,
        "dominance_of_agreed": interval(one.dominance_of_agreed),
        "dominance_of_debated": interval(one.dominance_of_debated),
        "compromises": one.compromises,
        "compromises_of_agreed": interval(one.compromises_of_agreed),
        "changes": one.changes,
        "turns": one.turns,
    }
