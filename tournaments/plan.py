"""Plans: what a tournament will take in debates, calls and tokens, and whose context its stories exceed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from debate.agents.evidence import quotable
from debate.agents.judge import JudgeConfig
from debate.errors import ContextError
from debate.models.base import Message
from debate.models.limits import Price
from debate.models.load import ModelConfig, TokenCounter, capabilities_of, kind_of
from debate.question import Question
from debate.report import Column, Table
from debate.report.table import Cell
from tournaments.players import PlayerConfig, SpeechConfig

# Words to tokens, rounded up: what English prose takes in common vocabularies.
_TOKENS_PER_WORD = 1.5
# Room for instructions, question and answers beside the story and the speeches, in tokens.
_FRAME_TOKENS = 450
_JUDGE_TOKENS = 220


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls to one model.

    Attributes:
        calls: How many.
        tokens_in: Prompt tokens, estimated.
        tokens_out: Reply tokens at most.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Calls) -> Calls:
        """Add up."""
        return Calls(self.calls + other.calls, self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a tournament will take; attempts after invalid speeches come on top.

    Attributes:
        debates: Debates between different players.
        self_play: Debates of players against themselves.
        calls: By model name.
        too_long: For each player whose prompts hold the story: how many stories exceed its model's context.
        story_tokens: For each such player the longest story it can be shown, in tokens.
        notes: What else a user must know.
    """

    debates: int
    self_play: int
    calls: Mapping[str, Calls]
    too_long: Mapping[str, int]
    story_tokens: Mapping[str, int]
    notes: tuple[str, ...] = ()

    def cost(self, prices: Mapping[str, Price]) -> float | None:
        """Price the plan in dollars; None where a remote model's price is not known."""
        total = 0.0
        for name, calls in self.calls.items():
            price = prices.get(name)
            if price is None:
                if kind_of(name) == "remote":
                    return None
                continue
            total += (calls.tokens_in * price.input + calls.tokens_out * price.output) / 1e6
        return total

    def table(self) -> Table:
        """Show calls and tokens by model."""
        rows: list[list[Cell]] = [
            [name, calls.calls, calls.tokens_in, calls.tokens_out] for name, calls in sorted(self.calls.items())
        ]
        columns = (
            Column("model"),
            Column("calls", kind="count"),
            Column("tokens in", kind="count"),
            Column("tokens out, at most", kind="count"),
        )
        return Table(
            f"Plan: {self.debates} debates and {self.self_play} in self-play",
            columns,
            rows,
            note="Estimated; attempts after invalid speeches come on top, shared calls are counted once.",
        )


@dataclass(frozen=True, slots=True)
class Field:
    """What a plan is made from.

    Attributes:
        players: The players.
        speech: The tournament's speech limits.
        judge: The judge.
        rounds: Rounds in a debate.
        seatings: Seatings each debate is held in.
        matches: Matches in all.
        questions: Questions of a match.
        sets: Different sets of questions over the matches (1 where all matches share one).
        self_play: Questions of self-play; none for no self-play.
    """

    players: Sequence[PlayerConfig]
    speech: SpeechConfig
    judge: JudgeConfig
    rounds: int
    seatings: int
    matches: int
    questions: Sequence[Question]
    sets: int
    self_play: Sequence[Question]


def make_plan(field: Field) -> Plan:
    """Count what a tournament will take.

    Args:
        field: The tournament.

    Returns:
        The plan.
    """
    debates = field.matches * 2 * len(field.questions) * field.seatings
    self_play = len(field.players) * len(field.self_play) * field.seatings
    counters: dict[str, TokenCounter] = {}
    calls: dict[str, Calls] = {}
    too_long: dict[str, int] = {}
    story_tokens: dict[str, int] = {}
    ranked: set[tuple[str, str]] = set()
    for player in field.players:
        if player.model is None:
            continue
        counter = counters.setdefault(player.model.name, TokenCounter(player.model))
        room = _story_room(player, field, counter)
        if room is not None and player.reads_story(scores=_scores(player.model)):
            story_tokens[player.name] = room
            lengths = {q.story_id: _tokens(counter, q.story or "") for q in (*field.questions, *field.self_play)}
            too_long[player.name] = sum(length > room for length in lengths.values())
        spent = _speeches(player, field, counter, self_play) + _ranking(player, field, counter, ranked)
        calls[player.model.name] = calls.get(player.model.name, Calls()) + spent
    judging = _judging(field, 2 * (debates + self_play))
    calls[field.judge.model.name] = calls.get(field.judge.model.name, Calls()) + judging
    return Plan(debates, self_play, calls, {n: k for n, k in too_long.items() if k}, story_tokens, tuple(_notes(field)))


def _notes(field: Field) -> list[str]:
    notes = []
    if field.judge.kind == "letter" and not _gives_logprobs(field.judge.model):
        notes.append(
            f"{field.judge.model.name} gives no log-probabilities, so the letter judge becomes a vote of "
            f"{field.judge.votes}"
        )
    return notes


def _gives_logprobs(model: ModelConfig) -> bool:
    return kind_of(model.name) != "remote" or capabilities_of(model).logprobs


def _scores(model: ModelConfig) -> bool:
    return kind_of(model.name) != "remote"


def _tokens(counter: TokenCounter, text: str) -> int:
    return counter([Message("user", text)])


def _speech_tokens(speech: SpeechConfig) -> int:
    return math.ceil(speech.max_words * _TOKENS_PER_WORD) + 20


def _story_room(player: PlayerConfig, field: Field, counter: TokenCounter) -> int | None:
    """Tokens that the model's context leaves for the story in the last round, or None where the context is unknown."""
    if counter.context is None:
        return None
    speech = player.speech or field.speech
    heard = 2 * (field.rounds - 1) * _speech_tokens(speech)
    room = counter.context - _FRAME_TOKENS - heard - speech.max_tokens
    if room <= 0:
        raise ContextError(
            f"player {player.name!r}: its model's context of {counter.context} tokens leaves no room for a "
            f"story beside {field.rounds} rounds of {speech.max_words} words; use fewer rounds or another model"
        )
    return room


def _speeches(player: PlayerConfig, field: Field, counter: TokenCounter, self_play: int) -> Calls:
    """Opening speeches are drawn once for each question and side; later ones once for each debate."""
    if player.model is None:
        return Calls()
    speech = player.speech or field.speech
    matches = 2 * field.matches / len(field.players)  # a player's share, each match having two players
    openings = 2 * (field.sets * len(field.questions) + len(field.self_play))
    own = matches * 2 * len(field.questions) * field.seatings + 2 * self_play / len(field.players)
    later = (field.rounds - 1) * own
    stories = {q.story_id: q.story or "" for q in (*field.questions, *field.self_play)}
    reads = player.reads_story(scores=_scores(player.model))
    story = sum(_tokens(counter, text) for text in stories.values()) / max(1, len(stories)) if reads else 0
    heard = (field.rounds - 1) * _speech_tokens(speech)  # on average half of all that is heard in the end
    drafts = player.drafts if player.kind == "evidence_first" else 1
    scoring = drafts if drafts > 1 and _scores(player.model) else 0
    each = round(openings + later)
    prompt = _FRAME_TOKENS + story + (heard if later else 0)
    return Calls(
        each * (drafts + scoring),
        round(each * prompt + each * scoring * 120),
        each * drafts * speech.max_tokens,
    )


def _ranking(player: PlayerConfig, field: Field, counter: TokenCounter, ranked: set[tuple[str, str]]) -> Calls:
    """Ranking a question's sentences takes one call a sentence, shared by both sides and all players of one model."""
    if player.kind != "evidence_first" or player.model is None:
        return Calls()
    total = Calls()
    for question in {q.id: q for q in (*field.questions, *field.self_play)}.values():
        key = (player.model.name, question.id)
        if key in ranked:
            continue
        ranked.add(key)
        if _scores(player.model):
            sentences = len(quotable(question.story or "", 30))
            total += Calls(sentences + 1, round((sentences + 1) * 80 + _tokens(counter, question.story or "")))
        else:
            sides = 2 * field.rounds
            total += Calls(sides, sides * (_tokens(counter, question.story or "") + _FRAME_TOKENS), sides * 40)
    return total


def _judging(field: Field, verdicts: int) -> Calls:
    judge = field.judge
    prompt = _JUDGE_TOKENS + 2 * field.rounds * _speech_tokens(field.speech)
    if judge.kind == "letter" and _gives_logprobs(judge.model):
        return Calls(verdicts, verdicts * prompt, verdicts)
    samples = 1 if judge.kind == "reason" else judge.votes
    return Calls(verdicts * samples, verdicts * prompt, verdicts * samples * judge.max_tokens)
