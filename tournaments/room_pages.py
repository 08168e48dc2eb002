"""The pages of a judge room: what each shows, from templates that escape every value."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from debate.judge_names import PEOPLE
from debate.report import Table
from debate.report.site import environment
from debate.report.speech import Passage, story_html
from debate.transcript import SEATS, Transcript
from debate.verdict import Verdict
from tournaments.room import STEPS, Room
from tournaments.room_config import MAX_EXPLANATION
from tournaments.room_forms import Form
from tournaments.room_guard import POLICY
from tournaments.room_journal import Given, Tagged
from tournaments.room_stage import Shown, Stage
from tournaments.room_tags import ERRORS, SHORT, Judged


@dataclass(frozen=True, slots=True)
class Pages:
    """Renders pages.

    Attributes:
        room: Tells one room's drafts from another's in a browser.
    """

    room: str
    base: Mapping[str, object] = field(default_factory=lambda: {"policy": POLICY})

    def _render(self, template: str, judge: str, csrf: str, **values: object) -> str:
        found = environment().get_template(f"{template}.html.j2")
        return found.render(**self.base, who=judge.removeprefix(PEOPLE), csrf=csrf, **values)

    def name(self, csrf: str, room: Room | None, *, typed: str = "", message: str = "", known: str = "") -> str:
        """Who are you? And what is asked of you. Without a room it is for tagging errors."""
        beliefs, live = (False, False) if room is None else (room.config.beliefs, room.config.live)
        values = {"typed": typed, "message": message, "known": known}
        return self._render("room_name", "", csrf, **values, beliefs=beliefs, live=live, tagging=room is None)

    def message(self, judge: str, csrf: str, *, title: str, message: str, back: str = "/", alert: bool = True) -> str:
        """A sentence, and a way back."""
        return self._render("room_message", judge, csrf, title=title, message=message, back=back, go="", alert=alert)

    def welcome(self) -> str:
        """The link was right; browsers send the new cookie only from a page of this site on."""
        values = {"title": "Welcome", "message": "The room opens in a moment.", "back": "/", "go": "/", "alert": False}
        return self._render("room_message", "", "", **values)

    def home(self, judge: str, csrf: str, room: Room, *, more: bool) -> str:
        """What a person has done, and what is next."""
        rows = []
        for given in room.all_given(judge):
            verdict, debate = room.final(judge, given.debate), room.debate(given.debate)
            if verdict is not None and debate is not None:
                question = debate.transcript.question.text
                rows.append({"number": given.number, "question": question, "said": said(verdict)})
        done = f"You have judged {len(rows)} {'debate' if len(rows) == 1 else 'debates'}."
        lines = [done] if more else [done, "There is nothing left for you to judge. Thank you."]
        values = {
            "title": "Welcome" if not rows and more else "Thank you" if not more else "Go on",
            "lines": lines,
            "more": ("Next debate" if rows else "First debate") if more else "",
            "judged": rows,
        }
        return self._render("room_home", judge, csrf, **values)

    def debate(self, judge: str, csrf: str, room: Room, given: Given, stage: Stage, **more: object) -> str:
        """A debate at a stage; ``more`` is a form that was refused, and why."""
        draft = f"room:{self.room}:{hashlib.sha256(judge.encode()).hexdigest()[:8]}:{given.number}:"
        verdict = room.final(judge, given.debate)
        field_ = room.config.field
        values: dict[str, object] = {
            "number": given.number,
            "stage": stage,
            "form": Form({}),
            "message": "",
            "draft": draft,
            "steps": STEPS,
            "min_words": room.config.min_words,
            "max_words": 0 if field_ is None else field_.protocol.questioner.max_words,
            "max_characters": MAX_EXPLANATION,
            "right": None,
            "said": "" if verdict is None else said(verdict),
            "explanation": "" if verdict is None else verdict.reasoning,
            **more,
        }
        if stage.kind == "done":
            values["sent"] = draft
            debate = room.debate(given.debate)
            if room.config.feedback and debate is not None:
                values["right"] = _right(room.seated(judge, debate))
        shown = cast("Form", values["form"])
        values["form"] = {name: shown[name] for name in ("share", "explanation", "question")}
        return self._render("room_debate", judge, csrf, **values)

    def tag_list(
        self, judge: str, csrf: str, judged: Sequence[Judged], tags: Mapping[str, Tagged], counts: Table
    ) -> str:
        """All judgements, with what this person has tagged of them."""
        rows = []
        for place, one in enumerate(judged):
            tag = tags.get(str(place))
            rows.append(
                {
                    "question": one.debate.transcript.question.text,
                    "judge": one.verdict.judge.removeprefix(PEOPLE),
                    "outcome": _outcome(one),
                    "tags": "" if tag is None else ", ".join(SHORT[error] for error in tag.errors) or "none",
                }
            )
        return self._render("room_list", judge, csrf, rows=rows, counts=counts)

    def tag(
        self, judge: str, csrf: str, one: Judged, tag: Tagged | None, *, number: int, last: bool, **more: object
    ) -> str:
        """A judgement, with the debate as the person saw it, the right answer and the story."""
        transcript = one.debate.transcript
        if transcript.seats != one.verdict.order:
            transcript = transcript.swapped()
        passages: list[Passage] = []
        shown = Shown.of(transcript.view(), passages=passages)
        story = transcript.question.story
        values: dict[str, object] = {
            "shown": shown,
            "right": _right(transcript),
            "by": one.verdict.judge.removeprefix(PEOPLE),
            "outcome": _outcome(one),
            "said": said(one.verdict),
            "explanation": one.verdict.reasoning,
            "beliefs": [(belief.round, said(belief)) for belief in one.beliefs],
            "story": None if story is None else story_html(story, passages),
            "number": number,
            "of": one.key,
            "last": last,
            "errors": ERRORS,
            "ticked": () if tag is None else tag.errors,
            "note": "" if tag is None else tag.note,
            "max_characters": MAX_EXPLANATION,
            "message": "",
            "kept": False,
            **more,
        }
        return self._render("room_tag", judge, csrf, **values)


def said(verdict: Verdict) -> str:
    """A person's judgement in a few words, in the order in which it saw the answers."""
    if verdict.probabilities is None:
        return "named no answer"
    shares = [verdict.probabilities[answer] for answer in verdict.order]
    best = max(range(len(shares)), key=shares.__getitem__)
    return f"{SEATS[best]}, {shares[best]:.0%} sure"


def _right(transcript: Transcript) -> str | None:
    gold = transcript.question.gold
    return None if gold is None else transcript.seat_of(gold)


def _outcome(one: Judged) -> str:
    return {True: "right", False: "wrong", None: "unknown"}[one.right]
