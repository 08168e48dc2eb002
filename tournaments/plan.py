"""Plans: what a tournament will take in debates, calls and tokens, and whose context its stories exceed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from debate.agents.evidence import SHORT_WORDS, longest_quote, useful_drafts
from debate.agents.passages import quotable
from debate.models.limits import Price, is_free
from debate.models.load import ModelConfig, capabilities_of
from debate.prompts import Prompts
from debate.protocols import build_protocol, judge_reads_story
from debate.question import Question
from debate.report import Column, Table
from debate.report.table import Cell
from debate.view import Role
from tournaments.calls import Calls, hidden_tokens, judging_calls
from tournaments.config import ConsultancyConfig, FieldConfig, SwissConfig
from tournaments.contexts import (
    check_judge,
    check_player_examples,
    check_preferences,
    check_questioner,
    examples_tokens,
    heard_tokens,
    pick_tokens,
    roles,
    story_room,
    template_of,
    thinks,
)
from tournaments.lengths import Reader
from tournaments.optimizer_calls import Reply, need, optimizer_calls
from tournaments.players import PlayerConfig


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
                if not is_free(name):
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
    def role(self) -> Role:
        """What the players are."""
        return "consultant" if "consultancy" in self.config.protocol.kind else "debater"

    @property
    def heard(self) -> tuple[int, int]:
        """Speeches of its own and of others that a player has in its last prompt, at most."""
        protocol = self.config.protocol
        others = 0 if self.role == "consultant" else protocol.rounds - 1 + (protocol.kind == "sequential")
        return protocol.rounds - 1, others

    def words(self, player: PlayerConfig) -> int:
        """Most words of a player's speeches."""
        return (player.speech or self.config.speech).max_words

    @property
    def mean_words(self) -> float:
        """Most words of a speech, on average over the players."""
        return sum(map(self.words, self.config.players)) / len(self.config.players)

    def longest_other(self, player: PlayerConfig) -> int:
        """Most words of the speeches of those whom a player meets."""
        met = [other for other in self.config.players if other is not player or self.self_play]
        return max(map(self.words, met), default=self.words(player))

    @property
    def longest_pair(self) -> int:
        """Most words of all who speak in one round."""
        speakers = self.config.protocol.speakers
        words = sorted(map(self.words, self.config.players), reverse=True)
        return sum((words[:1] * speakers if self.self_play or len(words) < speakers else words)[:speakers])

    @property
    def shared(self) -> bool:
        """Whether an opening is the same in every debate on a question, so that it is drawn once."""
        return self.config.protocol.kind != "sequential"

    @property
    def apart(self) -> bool:
        """Whether no speaker hears another, so that a question and side is argued once for all debates."""
        return self.config.protocol.kind == "double_consultancy"

    @property
    def turns(self) -> int:
        """Speeches of a player that differ by what it has heard."""
        if self.apart:
            return round(self.rounds * self.sides)
        # In a sequential debate half of the openings answer the opponent's.
        return round(self.sides + (self.rounds - 1 + (0 if self.shared else 0.5)) * self.speeches)

    @property
    def turns_by_reply(self) -> dict[Reply, int]:
        """The same, by how the opponent replies to what a speaker may say; openings are of the first kind."""
        if self.role == "consultant":
            return {"none": self.turns}
        if self.config.protocol.kind != "sequential":
            return {"alike": self.turns}
        # Who speaks first is heard before the opponent speaks; who speaks second has heard it.
        first = round(self.sides + (self.rounds - 1) * self.speeches / 2)
        return {"each": first, "none": self.turns - first}

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


def plan_field(field: Field) -> Plan:
    """Count what a field's debates and verdicts will take.

    Args:
        field: The field.

    Returns:
        The plan.

    Raises:
        ContextError: The context of a model is too short, whatever story a player may be shown: a player's for the
            speeches that it hears, a judge's for a debate or for a story that it is to read.
        DissoiError: A player's examples are none, or on a story of the field.
    """
    config = field.config
    prompts = Prompts(Path(config.prompts) if config.prompts else None)
    readers: dict[str, Reader] = {}

    def reader_of(model: ModelConfig) -> Reader:
        key = model.model_dump_json()  # one name may be declared with several contexts
        return readers.get(key) or readers.setdefault(key, Reader(model, field.all_questions, prompts))

    calls: dict[str, Calls] = {}
    too_long: dict[str, int] = {}
    story_tokens: dict[str, int] = {}
    ranked: set[tuple[str, str, str]] = set()
    for player in config.players:
        if player.model is None:
            continue
        check_player_examples(player, field)
        reader = reader_of(player.model)
        check_preferences(player, field, reader_of)
        room = story_room(player, field, reader_of)
        if room is not None and player.needs_story(scores=capabilities_of(player.model).score):
            story_tokens[player.name] = room
            too_long[player.name] = sum(length > room for length in reader.stories.values())
        spent = _speeches(player, field, reader) + ranking_calls(player, field, reader, ranked)
        calls[player.model.label] = calls.get(player.model.label, Calls()) + spent
    for player in config.players:
        for model, spent in optimizer_calls(player, field, reader_of):
            calls[model.label] = calls.get(model.label, Calls()) + spent
    if config.judge.model is not None:
        reader, name = reader_of(config.judge.model), config.judge.model.label
        check_judge(field, reader)
        calls[name] = calls.get(name, Calls()) + judging_all(field, reader)
    if field.asked and config.questioner_model is not None:
        reader, name = reader_of(config.questioner_model), config.questioner_model.label
        check_questioner(field, reader)
        calls[name] = calls.get(name, Calls()) + asking_calls(field, config.questioner_model, reader)
    return Plan(
        field.debates,
        field.self_play_debates,
        len(config.baselines) * len(field.all_questions),
        calls,
        {name: count for name, count in too_long.items() if count},
        story_tokens,
        tuple(plan_notes(config)),
    )


def plan_notes(config: FieldConfig) -> list[str]:
    """What a user must know of how the judge will judge."""
    notes = []
    model = config.judge.model
    if model is not None and config.judge.kind == "letter" and thinks(config.judge):
        notes.append(
            f"{model.label} gives no log-probabilities, so the letter judge becomes a vote of {config.judge.votes}"
        )
    return notes


def _speeches(player: PlayerConfig, field: Field, reader: Reader) -> Calls:
    """Speeches that no opponent can have changed are drawn once for each question and side, others for each debate.

    Openings are such; all speeches of an evidence-first debater that has only room for a sentence beside its quotes.
    """
    if player.model is None:
        return Calls()
    samples = need(player, judge=field.config.judge).samples
    turns = round(field.rounds * field.sides) if is_short(player, field) else field.turns
    return sampling_calls(samples * turns, player, field, reader)


def is_short(player: PlayerConfig, field: Field) -> bool:
    """Whether a player has only room for a sentence beside its quotes, and so hears nothing of the debate."""
    speech = player.speech or field.config.speech
    return player.kind == "evidence_first" and speech.max_words - _quoted_words(player, field) < SHORT_WORDS


def sampling_calls(samples: int, player: PlayerConfig, field: Field, reader: Reader) -> Calls:
    """Count the calls of a player's model that sample so many speeches."""
    if player.model is None:
        return Calls()
    speech = player.speech or field.config.speech
    heard = 0.0 if is_short(player, field) else heard_tokens(player, field, reader)
    story = reader.mean_story if player.reads_story(scores=True) else 0
    frame = reader.speaker_frame(field.role, template_of(player, field), longest=False)
    frame += examples_tokens(player, field, reader)
    able = capabilities_of(player.model)
    drafts = useful_drafts(player.drafts, able, speech.sampling) if player.kind == "evidence_first" else 1
    scoring = drafts if drafts > 1 else 0
    return Calls(
        samples * (drafts + scoring),
        round(samples * (frame + story + heard) + samples * scoring * 120),
        samples * drafts * (speech.max_tokens + hidden_tokens(player.model)),
    )


def _quoted_words(player: PlayerConfig, field: Field) -> float:
    """Words that the own answer and the quotes take, on average over questions and sentences."""
    answers = [len(answer.split()) for question in field.questions for answer in question.answers]
    stories = {question.story_id: question.story or "" for question in field.questions}.values()
    longest = longest_quote((player.speech or field.config.speech).max_words, player.quotes)
    lengths = [len(quote.text.split()) for story in stories for quote in quotable(story, longest)]
    return sum(answers) / len(answers) + player.quotes * sum(lengths) / max(1, len(lengths))


def ranking_calls(player: PlayerConfig, field: Field, reader: Reader, ranked: set[tuple[str, str, str]]) -> Calls:
    """Ranking by likelihood takes a call a sentence, shared by both sides and all players of one model.

    A model without likelihoods is asked to pick, once for each speech.
    """
    if player.kind != "evidence_first" or player.model is None:
        return Calls()
    questions = field.all_questions
    longest = longest_quote((player.speech or field.config.speech).max_words, player.quotes)
    if not capabilities_of(player.model).score:
        picks = round(field.rounds * field.sides)
        prompt = reader.mean_story + reader.speaker_frame(field.role, "evidence_pick", longest=False)
        return Calls(picks, round(picks * prompt), picks * (pick_tokens(player) + hidden_tokens(player.model)))
    total = Calls()
    for question in questions:
        asked = {"", *(quote.text for quote in quotable(question.story or "", longest))}
        fresh = {(player.model.label, question.id, text) for text in asked} - ranked
        ranked |= fresh
        share = len(fresh) / len(asked)
        total += Calls(len(fresh), round(len(fresh) * 80 + share * reader.stories[question.story_id]))
    return total


def _said(field: Field, reader: Reader) -> int:
    """Tokens of all that is said in a debate, the judge's questions included, on average."""
    protocol = field.config.protocol
    speeches = protocol.speakers * field.rounds * reader.speech(field.mean_words)
    return round(speeches + (1 + field.apart) * field.asked * reader.speech(protocol.questioner.max_words))


def asking_calls(field: Field, model: ModelConfig, reader: Reader) -> Calls:
    """The judge asks before each round but the first, having heard on average half of all that is said."""
    calls, questioner = field.questions_asked, field.config.protocol.questioner
    prompt = reader.questioner_frame(roles(field), longest=False) + _said(field, reader) // (2 * (1 + field.apart))
    return Calls(calls, calls * prompt, calls * (questioner.max_tokens + hidden_tokens(model)))


def judging_all(field: Field, reader: Reader) -> Calls:
    """Every debate is judged in both orders, and so is every question that the judge decides without one."""
    judge, questions = field.config.judge, field.all_questions
    frame = reader.judge_frame(roles(field), thinks=thinks(judge), informed=False, longest=False)
    judged = judging_calls(judge, 2 * (field.debates + field.self_play_debates), frame + _said(field, reader))
    for baseline in field.config.baselines:
        informed = judge_reads_story(baseline)
        story = sum(reader.stories[q.story_id] for q in questions) // len(questions) if informed else 0
        frame = reader.judge_frame((), thinks=thinks(judge), informed=informed, longest=False)
        judged += judging_calls(judge, 2 * len(questions), frame + story)
    return judged
