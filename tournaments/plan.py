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
from debate.protocols import build_protocol
from debate.question import Question
from debate.report import Column, Table
from debate.report.table import Cell
from tournaments.config import ConsultancyConfig, FieldConfig, SwissConfig
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
        baselines: Questions that the judge decides without a debate.
        calls: By model name.
        too_long: For each player whose prompts hold the story: how many stories exceed its model's context.
        story_tokens: For each such player the longest story it can be shown, in tokens.
        notes: What else a user must know.
    """

    debates: int
    self_play: int
    baselines: int
    calls: Mapping[str, Calls]
    too_long: Mapping[str, int]
    story_tokens: Mapping[str, int]
    notes: tuple[str, ...] = ()

    @property
    def all_debates(self) -> int:
        """Everything that is judged in both orders."""
        return self.debates + self.self_play + self.baselines

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
        parts = [f"{self.debates} debates"]
        parts += [f"{self.self_play} in self-play"] if self.self_play else []
        parts += [f"{self.baselines} questions without a debate"] if self.baselines else []
        return Table(
            f"Plan: {' and '.join(parts)}",
            columns,
            rows,
            note="Estimated: tokens out are those of the longest replies allowed, hidden reasoning included; shared "
            "calls are counted once; attempts after invalid speeches come on top.",
        )


@dataclass(frozen=True, slots=True)
class Field:
    """What a plan is made from.

    Attributes:
        config: Players, judge, protocol, limits of a speech, baselines.
        questions: All questions that players argue about with others, or alone as consultants.
        self_play: Questions of self-play; none for no self-play.
        debates: Debates to be held, self-play not counted.
        self_play_debates: Debates of players against themselves.
        speeches: Speeches of a player in each round of all its debates, on average over the field.
        sides: Questions and sides that a player argues, on average: as many speeches are its own where they depend on
            nothing else.
    """

    config: FieldConfig
    questions: Sequence[Question]
    self_play: Sequence[Question]
    debates: int
    self_play_debates: int
    speeches: float
    sides: float

    @property
    def rounds(self) -> int:
        """Rounds of a debate."""
        return self.config.protocol.rounds

    @property
    def all_questions(self) -> list[Question]:
        """Every question once."""
        return list({question.id: question for question in (*self.questions, *self.self_play)}.values())

    @property
    def heard(self) -> float:
        """Speeches that a player has heard by its last one, its own included."""
        protocol = self.config.protocol
        if "consultancy" in protocol.kind:
            return protocol.rounds - 1
        return 2 * (protocol.rounds - 1) + (protocol.kind == "sequential")

    @property
    def shared(self) -> bool:
        """Whether an opening is the same in every debate on a question, so that it is drawn once."""
        return self.config.protocol.kind != "sequential"

    @property
    def apart(self) -> bool:
        """Whether no speaker hears another, so that a question and side is argued once for all debates."""
        return self.config.protocol.kind == "double_consultancy"

    @property
    def asked(self) -> int:
        """Times that a speaker hears the judge in a debate."""
        return self.config.protocol.rounds - 1 if self.config.protocol.judge_speaks else 0

    @property
    def questions_asked(self) -> int:
        """Times that the judge speaks in all debates."""
        dialogues = len(self.config.players) * self.sides if self.apart else self.debates + self.self_play_debates
        return round(dialogues * self.asked)


def swiss_field(config: SwissConfig, questions: Sequence[Question], self_play: Sequence[Question]) -> Field:
    """Count the debates of a Swiss tournament, from its configuration and its questions."""
    rounds, players = config.tournament_rounds, len(config.players)
    matches = rounds * (players // 2)
    sets = rounds if config.questions == "fresh" else 1
    seatings = len(build_protocol(config.protocol).seatings(questions[0]))
    share = 2 * matches / players * len(questions) / sets  # each match has two players
    return Field(
        config,
        questions,
        self_play,
        debates=matches * 2 * len(questions) * seatings // sets,
        self_play_debates=players * len(self_play) * seatings,
        speeches=seatings * 2 * (share + len(self_play)),
        sides=2 * ((len(questions) if sets == 1 else share) + len(self_play)),
    )


def consultancy_field(config: ConsultancyConfig, questions: Sequence[Question]) -> Field:
    """Count the consultancies of a field, from its configuration and its questions."""
    each = 2 * len(questions) * len(build_protocol(config.protocol).seatings(questions[0]))
    debates = len(config.players) * each
    return Field(config, questions, (), debates, 0, speeches=each, sides=2 * len(questions))


def make_plan(field: Field) -> Plan:
    """Count what a field's debates and verdicts will take.

    Args:
        field: The field.

    Returns:
        The plan.
    """
    config = field.config
    counters: dict[str, TokenCounter] = {}
    calls: dict[str, Calls] = {}
    too_long: dict[str, int] = {}
    story_tokens: dict[str, int] = {}
    ranked: set[tuple[str, str, str]] = set()
    for player in config.players:
        if player.model is None:
            continue
        model = player.model.model_dump_json()  # one name may be declared with several contexts
        counter = counters.get(model) or counters.setdefault(model, TokenCounter(player.model))
        room = _story_room(player, field, counter)
        if room is not None and player.reads_story(scores=_capabilities(player.model).score):
            story_tokens[player.name] = room
            lengths = {q.story_id: _tokens(counter, q.story or "") for q in field.all_questions}
            too_long[player.name] = sum(length > room for length in lengths.values())
        spent = _speeches(player, field, counter) + _ranking(player, field, counter, ranked)
        calls[player.model.label] = calls.get(player.model.label, Calls()) + spent
    if config.judge.model is not None:
        key, name = config.judge.model.model_dump_json(), config.judge.model.label
        if key not in counters:  # a folder of weights that is not there is found now, not after the start
            counters[key] = TokenCounter(config.judge.model)
        calls[name] = calls.get(name, Calls()) + _judging_all(field, counters[key])
    if field.asked and config.questioner_model is not None:
        name = config.questioner_model.label
        calls[name] = calls.get(name, Calls()) + _asking(field, config.questioner_model)
    return Plan(
        field.debates,
        field.self_play_debates,
        len(config.baselines) * len(field.all_questions),
        calls,
        {name: count for name, count in too_long.items() if count},
        story_tokens,
        tuple(_notes(config)),
    )


def _notes(config: FieldConfig) -> list[str]:
    notes = []
    model = config.judge.model
    if model is not None and config.judge.kind == "letter" and not _capabilities(model).logprobs:
        notes.append(
            f"{model.label} gives no log-probabilities, so the letter judge becomes a vote of {config.judge.votes}"
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
    speech = player.speech or field.config.speech
    heard = math.ceil(field.heard * _speech_tokens(speech)) + field.asked * _question_tokens(field)
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
    speech = player.speech or field.config.speech
    heard = 0.0
    short = player.kind == "evidence_first" and speech.max_words - _quoted_words(player, field) < SHORT_WORDS
    if short or field.apart:
        each = round(field.rounds * field.sides)
    else:
        # In a sequential debate half of the openings answer the opponent's.
        answering = (field.rounds - 1 + (0 if field.shared else 0.5)) * field.speeches
        each = round(field.sides + answering)
    if not short:  # on average half of all that is heard in the end
        heard = (field.heard * _speech_tokens(speech) + field.asked * _question_tokens(field)) / 2
    reads = player.reads_story(scores=True)
    stories = {q.story_id: q.story or "" for q in field.all_questions} if reads else {}
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
    longest = longest_quote((player.speech or field.config.speech).max_words, player.quotes)
    lengths = [len(quote.text.split()) for story in stories for quote in quotable(story, longest)]
    return sum(answers) / len(answers) + player.quotes * sum(lengths) / max(1, len(lengths))


def _ranking(player: PlayerConfig, field: Field, counter: TokenCounter, ranked: set[tuple[str, str, str]]) -> Calls:
    """Ranking by likelihood takes a call a sentence, shared by both sides and all players of one model.

    A model without likelihoods is asked to pick, once for each speech.
    """
    if player.kind != "evidence_first" or player.model is None:
        return Calls()
    questions = field.all_questions
    longest = longest_quote((player.speech or field.config.speech).max_words, player.quotes)
    if not _capabilities(player.model).score:
        picks = round(field.rounds * field.sides)
        story = sum(_tokens(counter, question.story or "") for question in questions) / max(1, len(questions))
        reply = 16 + 8 * player.quotes + _reasoning(player.model)
        return Calls(picks, round(picks * (story + _FRAME_TOKENS)), picks * reply)
    total = Calls()
    for question in questions:
        asked = {"", *(quote.text for quote in quotable(question.story or "", longest))}
        fresh = {(player.model.label, question.id, text) for text in asked} - ranked
        ranked |= fresh
        share = len(fresh) / len(asked)
        total += Calls(len(fresh), round(len(fresh) * 80 + share * _tokens(counter, question.story or "")))
    return total


def _said(field: Field) -> int:
    """Tokens of all that is said in a debate, the judge's questions included."""
    speeches = field.config.protocol.speakers * field.rounds * _speech_tokens(field.config.speech)
    return speeches + (1 + field.apart) * field.asked * _question_tokens(field)


def _question_tokens(field: Field) -> int:
    """Tokens of what the judge says at a time."""
    return math.ceil(field.config.protocol.questioner.max_words * _TOKENS_PER_WORD) + 10


def _asking(field: Field, model: ModelConfig) -> Calls:
    """The judge asks before each round but the first, having heard on average half of all that is said."""
    calls, questioner = field.questions_asked, field.config.protocol.questioner
    hidden = _reasoning(model)
    return Calls(calls, calls * (_JUDGE_TOKENS + _said(field) // 2), calls * (questioner.max_tokens + hidden))


def _judging_all(field: Field, counter: TokenCounter) -> Calls:
    """Every debate is judged in both orders, and so is every question that the judge decides without one."""
    config, questions = field.config, field.all_questions
    judged = judging(config.judge, 2 * (field.debates + field.self_play_debates), _JUDGE_TOKENS + _said(field))
    for baseline in config.baselines:
        stories = (_tokens(counter, q.story or "") if baseline == "expert" else 0 for q in questions)
        judged += judging(config.judge, 2 * len(questions), _JUDGE_TOKENS + sum(stories) // len(questions))
    return judged


def judging(judge: JudgeConfig, verdicts: int, prompt: int) -> Calls:
    """Count the calls of a judge; none for one without a model.

    Args:
        judge: The judge.
        verdicts: How many, both orders counted.
        prompt: Tokens of a prompt.
    """
    if judge.model is None:
        return Calls()
    if judge.kind == "letter" and _capabilities(judge.model).logprobs:
        return Calls(verdicts, verdicts * prompt, verdicts)
    samples = judge.votes if judge.kind in {"letter", "vote"} else 1
    return Calls(
        verdicts * samples, verdicts * prompt, verdicts * samples * (judge.max_tokens + _reasoning(judge.model))
    )
