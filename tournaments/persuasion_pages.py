"""One persuasion as its page shows it: drafts, what helpers made of them, replies, and rulings."""

from __future__ import annotations

from debate.protocols.persuasion import SCENARIOS, Stop
from debate.record import Recorded
from debate.report import Option, Part, Result, Said, TalkPage
from debate.transcript import Turn
from debate.verdict import Verdict
from tournaments.persuasion_tables import SCENARIO_NAMES


def talk_page(item: Recorded) -> TalkPage:
    """Work out what the page of a debate shows."""
    debate = item.debate
    question, tags = debate.transcript.question, debate.tags
    persuader, debater = (name or "" for name in debate.players)
    speakers = {"persuader": f"{persuader} (persuader)", "debater": f"{debater} (debater)"}
    rounds = sorted({turn.round for turn in debate.transcript.turns})
    parts = []
    for round_, verdict in zip(rounds, item.verdicts, strict=True):
        said = [_said(turn, speakers[turn.role]) for turn in debate.transcript.turns if turn.round == round_]
        parts.append(Part(f"Round {round_}", (*said, _ruling(verdict))))
    shown = {
        "scenario": SCENARIO_NAMES[next(one for one in SCENARIOS if one == tags["scenario"])],
        "repetition": str(debate.repetition + 1),
        "replies refused by the first moderator": tags.get("refused", "0"),
        "moderators' replies that could not be read": tags.get("unread", "0"),
    }
    return TalkPage(
        id=debate.id,
        question=question.text,
        kind=f"persuasion, {shown['scenario']}",
        speakers=(persuader, debater),
        parts=parts,
        options=(Option("Claim", question.answers[0]),),
        results=() if "stop" not in tags else (_result(Stop(tags["stop"])),),
        failed=debate.failed,
        facts=shown,
    )


def _result(stop: Stop) -> Result:
    answer = {True: "convinced", False: "not convinced", None: "unread"}[stop.convinced]
    return Result("moderators", answer, stop.value.replace("_", " "))


def _said(turn: Turn, speaker: str) -> Said:
    details = {}
    note = f"Not valid: {'; '.join(turn.flaws)}" if turn.flaws else ""
    help_ = turn.help
    if help_ is not None:
        what = "the helper failed, so the draft was said" if help_.failed else help_.name
        details["What was drafted"] = help_.draft.plain()
        details |= {
            f"The helper's reply {number}{f', not read: {flaw}' if flaw else ''}": reply
            for number, (reply, flaw) in enumerate(zip(help_.replies, help_.flaws, strict=True), 1)
        }
        note = "; ".join(filter(None, (f"Rewritten: {what}" if not help_.failed else f"Not rewritten: {what}", note)))
    if turn.thinking:
        details["Told to nobody"] = turn.thinking
    return Said(speaker, turn.argument.plain(), note=note, details=details)


def _ruling(verdict: Verdict) -> Said:
    if verdict.probabilities is None:
        return Said("moderators", verdict.reasoning, holds="unread", note=verdict.unparsed or "")
    convinced = verdict.probabilities[0] > 0.5
    return Said("moderators", verdict.reasoning, holds="convinced" if convinced else "not convinced")
