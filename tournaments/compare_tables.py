"""Tables, figures and plain values of a comparison of optimizers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from debate.metrics.intervals import Interval
from debate.report import Column, Figure, Section, Table
from debate.report import Interval as Span
from debate.report.figure import ACCENT
from debate.report.table import Cell
from tournaments.compared import Compared, JudgeView, Side
from tournaments.ladder import status_cell
from tournaments.metrics import Values, interval, judge_figures
from tournaments.ratings import Rating
from tournaments.tables import few_note, judge_table
from tournaments.variants import Variant

_COLOURS = (ACCENT, "var(--high)", "var(--low)")


def judge_result(found: Compared, view: JudgeView) -> Table:
    """What one judge made of the variants, a row each."""
    ratings, several = view.ratings(found.playing), found.several
    rows: list[list[Cell]] = []
    for variant in found.variants:
        rates = view.rates(variant)
        rows.append(
            [
                variant.name,
                *([variant.preference.label] if several else []),
                view.match(variant),
                found.preference_scores.get(variant.name),
                rates.both,
                rates.right,
                rates.wrong,
                rates.self_play,
                *(_elo(ratings.get((variant.name, side))) for side in _sides()),
            ]
        )
    columns = (
        Column("variant"),
        *([Column("preference model")] if several else []),
        Column("the judge is"),
        Column("preference score", kind="log_odds"),
        Column("wins against N=1", kind="share"),
        Column("when right", kind="share"),
        Column("when wrong", kind="share"),
        Column("judge right in self-play", kind="share"),
        Column("Elo when right", kind="rating"),
        Column("Elo when wrong", kind="rating"),
    )
    note = (
        f"Judge: {view.name}; 'matched': it is the preference model itself"
        f"{'' if several else ', ' + found.variants[0].preference.label}. 'Preference score': mean log-odds that the "
        "preference model gave to what was spoken against the base (of N=1, in self-play). Intervals are 95 %, robust "
        "by story. Both Elo columns are of one fit, in which self-play joins the two sides; 0 is the mean of all."
    )
    return Table(f"Before {view.name}", columns, rows, note=note + few_note(view.recorded))


def _sides() -> tuple[Side, Side]:
    return "right", "wrong"


def _elo(rating: Rating | None) -> Cell:
    if rating is None:
        return None
    return Span(rating.elo, rating.low, rating.high) if rating.status == "ok" else status_cell(rating)


def gap_table(found: Compared) -> Table:
    """Over-optimisation: what a variant gains before its own preference model alone."""
    rows: list[list[Cell]] = [
        [gap.variant.name, gap.variant.preference.label, gap.matched, gap.judge, gap.held_out, gap.gap]
        for gap in found.gaps
    ]
    columns = (
        Column("variant"),
        Column("preference model"),
        Column("wins before it", kind="share"),
        Column("other judge"),
        Column("wins before that", kind="share"),
        Column("gap", kind="share"),
    )
    note = (
        "Over-optimisation: what the preference model likes and another judge does not. The gap is paired by debate; "
        "intervals are 95 %, robust by story. A win rate before the preference model alone says that it was optimised "
        "for, not that the speeches are better."
    )
    if not rows:
        note = (
            "No preference model is among the judges beside another one, so over-optimisation cannot be seen. " + note
        )
    return Table("Over-optimisation", columns, rows, note=note)


def speech_table(found: Compared) -> Table:
    """What the variants' speeches are made of, and what one takes."""
    rows: list[list[Cell]] = []
    for variant in found.playing:
        speeches, cost = found.spoken.get(variant.name), found.costs.get(variant.name)
        rows.append(
            [
                variant.name,
                variant.expert_calls,
                ", ".join(found.equals(variant)) or None,
                variant.preference_calls,
                *((None, None, None) if cost is None else (cost.calls, cost.tokens_in, cost.tokens_out)),
                *(
                    (None, None, None, None)
                    if speeches is None
                    else (speeches.verified, speeches.words, speeches.invalid, speeches.unscored)
                ),
            ]
        )
    columns = (
        Column("variant"),
        Column("expert calls", kind="count"),
        Column("as many as"),
        Column("preference calls", kind="count"),
        Column("calls measured", kind="number"),
        Column("tokens in", kind="count"),
        Column("tokens out", kind="count"),
        Column("quotes verified", kind="share"),
        Column("words", kind="number"),
        Column("invalid", kind="share"),
        Column("scores unread", kind="share"),
    )
    note = (
        "All for one speech. Expert calls write and read the story: N speeches, K critiques and a refinement; "
        "preference calls score what they wrote. 'As many as': variants of equal expert calls. Measured: with attempts "
        "after invalid speeches, in self-play, as if nothing were shared; in the run, variants share samples, and the "
        "first N of 16 are those of best-of-N."
    )
    return Table("Speeches", columns, rows, note=note)


def effort_figure(found: Compared, view: JudgeView) -> Figure:
    """Win rate against N = 1 by expert calls a speech: a line of best-of-N and one of critiques, dots of both."""
    kinds = ("best-of-N", "critique-and-refine", "both")
    groups: dict[tuple[str, str], list[tuple[Variant, Interval]]] = {}
    rows: list[list[Cell]] = []
    for variant in found.playing:
        rate = view.rates(variant).both
        if rate is None:
            continue
        kind = kinds[0] if not variant.critiques else kinds[1] if variant.n == 1 else kinds[2]
        groups.setdefault((kind, variant.preference.label), []).append((variant, rate))
        rows.append([variant.name, variant.preference.label, view.match(variant), variant.expert_calls, rate])
    traces = [
        _trace(
            f"{kind} by {label}" if found.several else kind,
            points,
            kinds.index(kind),
            matched=view.match(points[0][0]) == "matched",
        )
        for (kind, label), points in groups.items()
    ]
    columns = (
        Column("variant"),
        Column("preference model"),
        Column("the judge is"),
        Column("expert calls", kind="count"),
        Column("wins against N=1", kind="share"),
    )
    ticks = sorted({variant.expert_calls for variant in found.playing})
    layout = {
        "height": 380,
        "xaxis": {"type": "log", "tickvals": ticks, "title": {"text": "expert calls a speech (best-of-N: N)"}},
        "yaxis": {"title": {"text": "wins against N = 1, 95 % interval"}, "tickformat": ".0%", "automargin": True},
        "shapes": [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 0.5, "y1": 0.5, "line": {"dash": "dot"}}],
        "showlegend": True,
        "legend": {"orientation": "h", "y": -0.25},
    }
    title = f"Win rate against N = 1 before {view.name}"
    return Figure(
        title,
        traces,
        layout,
        "Dotted: N = 1 itself. A line is whole where the judge is the preference model.",
        Table(title, columns, rows),
    )


def _trace(name: str, points: Sequence[tuple[Variant, Interval]], kind: int, *, matched: bool) -> Mapping[str, object]:
    colour = _COLOURS[kind]
    ordered = sorted(points, key=lambda point: point[0].expert_calls)
    rates = [rate for _, rate in ordered]
    return {
        "type": "scatter",
        "mode": "lines+markers" if kind < 2 else "markers",
        "name": name,
        "x": [variant.expert_calls * 1.03**kind for variant, _ in ordered],  # beside each other, not upon
        "y": [rate.value for rate in rates],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [rate.high - rate.value for rate in rates],
            "arrayminus": [rate.value - rate.low for rate in rates],
            "color": colour,
        },
        "line": {"color": colour, "dash": "solid" if matched else "dash"},
        "marker": {"color": colour, "size": 9},
        "hovertext": [f"{variant.name}: {rate.format(percent=True)}" for variant, rate in ordered],
        "hoverinfo": "text",
    }


def sections(found: Compared, cost: Table) -> list[Section]:
    """All that the report's overview shows."""
    judged = [Section(view.name, (judge_result(found, view), effort_figure(found, view))) for view in found.views]
    groups = {
        view.name: {
            "matches": [item for items in view.matches.values() for item in items],
            "self-play": [item for items in view.self_play.values() for item in items],
        }
        for view in found.views
    }
    tables = [judge_table(f"Judge {name}", own, {}, "Over all variants.") for name, own in groups.items()]
    return [
        *judged,
        Section("Over-optimisation", (gap_table(found),)),
        Section("Speeches", (speech_table(found),)),
        Section("Judges", tuple(tables)),
        Section("Cost", (cost,)),
    ]


def metrics(found: Compared) -> Values:
    """The figures that the tables show, as plain values."""
    return {
        "variants": {variant.name: _speaking(found, variant) for variant in found.variants},
        "judges": {view.name: _judged(found, view) for view in found.views},
        "over_optimisation": [
            {
                "variant": gap.variant.name,
                "judge": gap.judge,
                "matched": interval(gap.matched),
                "held_out": interval(gap.held_out),
                "gap": interval(gap.gap),
            }
            for gap in found.gaps
        ],
    }


def _speaking(found: Compared, variant: Variant) -> Values:
    speeches, cost = found.spoken.get(variant.name), found.costs.get(variant.name)
    return {
        "n": variant.n,
        "critiques": variant.critiques,
        "preference": variant.preference.label,
        "preference_score": interval(found.preference_scores.get(variant.name)),
        "expert_calls": variant.expert_calls,
        "preference_calls": variant.preference_calls,
        "equal_expert_calls": found.equals(variant),
        "measured": None if cost is None else asdict(cost),
        "speeches": None if speeches is None else asdict(speeches),
    }


def _judged(found: Compared, view: JudgeView) -> Values:
    ratings = view.ratings(found.playing)
    rows: dict[str, object] = {}
    for variant in found.variants:
        rates = view.rates(variant)
        elo: Values = {}
        for side in _sides():
            rating = ratings.get((variant.name, side))
            elo[f"elo_{side}"] = None if rating is None else rating.elo
            elo[f"status_{side}"] = None if rating is None else rating.status
        rows[variant.name] = {
            "the_judge_is": view.match(variant),
            "win_rate": interval(rates.both),
            "win_rate_right": interval(rates.right),
            "win_rate_wrong": interval(rates.wrong),
            "self_play_accuracy": interval(rates.self_play),
            **elo,
        }
    return {"variants": rows, **judge_figures(view.recorded)}
