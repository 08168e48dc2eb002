"""Plans: what a tournament will take in debates, calls and tokens, and whose context its stories exceed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from debate.agents.evidence import SHORT_WORDS, longest_quote
from debate.agents.judge import JudgeConfig
from debate.agents.passages import quotable
from debate.errors import ContextError
from debate.models.base import Capabilities, Message
from debate.models.limits import Price
from debate.models.load import ModelConfig, TokenCounter, capabilities_of, kind_of, open_model
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
        tokens_out: Reply tokens, hidden reasoning included, if every reply is as long as it may be.
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

    @property
    def total_calls(self) -> int:
        """Calls to all models."""
        return sum(calls.calls for calls in self.calls.values())

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
            Column("tokens out", kind="count"),
        )
        return Table(
            f"Plan: {self.debates} debates and {self.self_play} in self-play",
            columns,
            rows,
            note="Estimated: tokens out are those of the longest replies allowed, hidden reasoning included; shared "
            "calls are counted once; attempts after invalid speeches come on top.",
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
        in_turn: Whether the second speaker of a round has heard the first.
        matches: Matches in all, as many in each round of the tournament.
        questions: All questions of cross-play.
        sets: Sets that they are dealt out to, one a round of the tournament; 1 where all matches share them.
        self_play: Questions of self-play; none for no self-play.
    """

    players: Sequence[PlayerConfig]
    speech: SpeechConfig
    judge: JudgeConfig
    rounds: int
    seatings: int
    in_turn: bool
    matches: int
    questions: Sequence[Question]
    sets: int
    self_play: Sequence[Question]

    @property
    def speeches(self) -> float:
        """Speeches of a player in each round of all its debates, on average over the field."""
        share = 2 * self.matches / len(self.players)  # each match has two players
        return self.seatings * 2 * (share * self._set + len(self.self_play))

    @property
    def sides(self) -> float:
        """Questions and sides that a player argues: as many speeches are its own where they depend on nothing else."""
        seen = len(self.questions) if self.sets == 1 else 2 * self.matches / len(self.players) * self._set
        return 2 * (seen + len(self.self_play))

    @property
    def _set(self) -> float:
        return len(self.questions) / self.sets


def make_plan(field: Field) -> Plan:
    """Count what a tournament will take.

    Args:
        field: The tournament.

    Returns:
        The plan.
    """
    debates = field.matches * 2 * len(field.questions) * field.seatings // field.sets
    self_play = len(field.players) * len(field.self_play) * field.seatings
    counters: dict[str, TokenCounter] = {}
    calls: dict[str, Calls] = {}
    too_long: dict[str, int] = {}
    story_tokens: dict[str, int] = {}
    ranked: set[tuple[str, str, str]] = set()
    for player in field.players:
        if player.model is None:
            continue
        model = player.model.model_dump_json()  # one name may be declared with several contexts
        counter = counters.get(model) or counters.setdefault(model, TokenCounter(player.model))
        room = _story_room(player, field, counter)
        if room is not None and player.reads_story(scores=_capabilities(player.model).score):
            story_tokens[player.name] = room
            lengths = {q.story_id: _tokens(counter, q.story or "") for q in (*field.questions, *field.self_play)}
            too_long[player.name] = sum(length > room for length in lengths.values())
        spent = _speeches(player, field, counter) + _ranking(player, field, counter, ranked)
        calls[player.model.name] = calls.get(player.model.name, Calls()) + spent
    judge_model = field.judge.model.model_dump_json()
    if judge_model not in counters:
        TokenCounter(field.judge.model)  # a folder of weights that is not there is found now, not after the start
    judging = _judging(field, 2 * (debates + self_play))
    calls[field.judge.model.name] = calls.get(field.judge.model.name, Calls()) + judging
    return Plan(debates, self_play, calls, {n: k for n, k in too_long.items() if k}, story_tokens, tuple(_notes(field)))


def _notes(field: Field) -> list[str]:
    notes = []
    if field.judge.kind == "letter" and not _capabilities(field.judge.model).logprobs:
        notes.append(
            f"{field.judge.model.name} gives no log-probabilities, so the letter judge becomes a vote of "
            f"{field.judge.votes}"
        )
    return notes


def _capabilities(model: ModelConfig) -> Capabilities:
    """What the model will be able to do once it is open; no weights are loaded for it."""
    kind = kind_of(model.name)
    if kind == "remote":
        return capabilities_of(model)
    return open_model(model).capabilities if kind == "scripted" else Capabilities(score=True)


def _reasoning(model: ModelConfig) -> int:
    """Room for hidden reasoning in each reply, in tokens."""
    return model.reasoning_tokens if _capabilities(model).reasoning else 0


def _tokens(counter: TokenCounter, text: str) -> int:
    return counter([Message("user", text)])


def _speech_tokens(speech: SpeechConfig) -> int:
    return math.ceil(speech.max_words * _TOKENS_PER_WORD) + 20


def _story_room(player: PlayerConfig, field: Field, counter: TokenCounter) -> int | None:
    """Tokens that the model's context leaves for the story in the last round, or None where the context is unknown."""
    if counter.context is None:
        return None
    speech = player.speech or field.speech
    heard = (2 * (field.rounds - 1) + field.in_turn) * _speech_tokens(speech)
    room = counter.context - _FRAME_TOKENS - heard - speech.max_tokens
    if room <= 0:
        raise ContextError(
            f"player {player.name!r}: its model's context of {counter.context} tokens leaves no room for a "
            f"story beside {field.rounds} rounds of {speech.max_words} words; use fewer rounds or another model"
        )
    return room


def _speeches(player: PlayerConfig, field: Field, counter: TokenCounter) -> Calls:
    """Speeches that no opponent can have changed are drawn once for each question and side, others for each debate.

    Openings are such; all speeches of an evidence-first debater that has only room for a sentence beside its quotes.
    """
    if player.model is None:
        return Calls()
    speech = player.speech or field.speech
    heard = 0.0
    if player.kind == "evidence_first" and speech.max_words - _quoted_words(player, field) < SHORT_WORDS:
        each = round(field.rounds * field.sides)
    else:
        answering = (field.rounds - 1 + field.in_turn / 2) * field.speeches
        each = round(field.sides + answering)
        heard = (field.rounds - 1) * _speech_tokens(speech)  # on average half of all that is heard in the end
    stories = {q.story_id: q.story or "" for q in (*field.questions, *field.self_play)} if player.kind == "free" else {}
    story = sum(_tokens(counter, text) for text in stories.values()) / max(1, len(stories))
    drafts = player.drafts if player.kind == "evidence_first" else 1
    scoring = drafts if drafts > 1 and _capabilities(player.model).score else 0
    return Calls(
        each * (drafts + scoring),
        round(each * (_FRAME_TOKENS + story + heard) + each * scoring * 120),
        each * drafts * (speech.max_tokens + _reasoning(player.model)),
    )


def _quoted_words(player: PlayerConfig, field: Field) -> float:
    """Words that the own answer and the quotes take, on average over questions and sentences."""
    answers = [len(answer.split()) for question in field.questions for answer in question.answers]
    stories = {question.story_id: question.story or "" for question in field.questions}.values()
    longest = longest_quote((player.speech or field.speech).max_words, player.quotes)
    lengths = [len(quote.text.split()) for story in stories for quote in quotable(story, longest)]
    return sum(answers) / len(answers) + player.quotes * sum(lengths) / max(1, len(lengths))


def _ranking(player: PlayerConfig, field: Field, counter: TokenCounter, ranked: set[tuple[str, str, str]]) -> Calls:
    """Ranking by likelihood takes a call a sentence, shared by both sides and all players of one model.

    A model without likelihoods is asked to pick, once for each speech.
    """
    if player.kind != "evidence_first" or player.model is None:
        return Calls()
    questions = {q.id: q for q in (*field.questions, *field.self_play)}.values()
    longest = longest_quote((player.speech or field.speech).max_words, player.quotes)
    if not _capabilities(player.model).score:
        picks = round(field.rounds * field.sides)
        story = sum(_tokens(counter, question.story or "") for question in questions) / max(1, len(questions))
        reply = 16 + 8 * player.quotes + _reasoning(player.model)
        return Calls(picks, round(picks * (story + _FRAME_TOKENS)), picks * reply)
    total = Calls()
    for question in questions:
        asked = {"", *(quote.text for quote in quotable(question.story or "", longest))}
        fresh = {(player.model.name, question.id, text) for text in asked} - ranked
        ranked |= fresh
        share = len(fresh) / len(asked)
        total += Calls(len(fresh), round(len(fresh) * 80 + share * _tokens(counter, question.story or "")))
    return total


def _judging(field: Field, verdicts: int) -> Calls:
    judge = field.judge
    prompt = _JUDGE_TOKENS + 2 * field.rounds * _speech_tokens(field.speech)
    if judge.kind == "letter" and _capabilities(judge.model).logprobs:
        return Calls(verdicts, verdicts * prompt, verdicts)
    samples = 1 if judge.kind == "reason" else judge.votes
    return Calls(
        verdicts * samples, verdicts * prompt, verdicts * samples * (judge.max_tokens + _reasoning(judge.model))
    )
