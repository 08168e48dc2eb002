"""``accelerate launch training/finetune_debater.py``: a debater learns from winning speeches, or from better ones."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from pydantic import Field, JsonValue, model_validator

from debate.card import Card, check_judge_unseen, check_unseen
from debate.command import Command, Invocation
from debate.config import NOT_IN_DIGEST, Config
from debate.errors import SourceError
from debate.models.base import Messages
from debate.models.load import ModelConfig, ModelField
from debate.prompts import Prompts
from debate.question import Question
from debate.report import Column, Table, print_table
from debate.run_folder import RunFolder
from tournaments.players import PlayerConfig, SpeechConfig
from tournaments.questions import choose_questions
from training.argument_rows import ArgumentConfig, Fits, argument_row_set, pick_judge
from training.candidate_pairs import PairConfig, pair_row_set
from training.debater_fit import Method, PreferenceSettings, RowsToFit, fit_debater, lengths_of
from training.debater_measures import Said, SpeechesConfig, compare_speeches, measure_player, measure_speeches
from training.fitted import Fitted
from training.fitting import AdapterSettings, Base, FitSettings, Process, cut_long, find_base
from training.folder import TrainingConfig, count_tags, facts_of, leave, open_folder
from training.gather import DataConfig, Gathered, gather_all
from training.quoted_tokens import Learn
from training.rows import AnyRows, check_fold
from training.rows_command import counts_table
from training.saving import ADAPTER, MERGED, save_card, save_merged
from training.start import adapter_facts, cards_from, with_start
from training.worth import TOO_LONG, short_enough

KIND: Final = "debater"
NAME = "debater"
"""What the measured player is called."""


class DebaterTrainingConfig(TrainingConfig):
    """How a debater is trained."""

    method: Method = Field(
        "sft",
        description="sft: it learns to say what won; dpo: to prefer the best candidate of a turn to the worst",
    )
    start: str | None = Field(
        None, min_length=1, description="a debater's adapter to go on from, which dpo holds it close to"
    )
    data: tuple[DataConfig, ...] = Field(min_length=1, description="recorded debates to learn from, of fold debater")
    arguments: ArgumentConfig = Field(ArgumentConfig(), description="which speeches sft learns from")
    learn: Learn = Field(
        "speech",
        description="what sft learns of a speech: all of it; or its quotes alone, for a debater that has the form "
        "already and shall learn where to look",
    )
    pairs: PairConfig = Field(PairConfig(), description="which candidates dpo learns from")
    measure: dict[str, SpeechesConfig] = Field(
        {}, description="questions that it speaks on before and after training, by a name; on stories it never saw"
    )
    speech: SpeechConfig = Field(
        SpeechConfig(max_attempts=1), description="limits and sampling of the speeches that are measured"
    )
    scorer: ModelField | None = Field(
        None, description="whose likelihood says what measured quotes are worth; none for the base"
    )
    adapter: AdapterSettings = Field(AdapterSettings(), description="what is trained, unless it starts from an adapter")
    packed: bool | None = Field(
        None,
        description="compute what rows share once, and nothing for padding; none: on a CPU. "
        " Its attention keeps all scores, so of long stories on a GPU TRL's own way needs less memory",
        json_schema_extra=NOT_IN_DIGEST,
    )
    dpo: PreferenceSettings = Field(PreferenceSettings(), description="how dpo weighs what is better")
    merge: bool = Field(
        default=False, description="also save base and adapter as one model", json_schema_extra=NOT_IN_DIGEST
    )

    @model_validator(mode="after")
    def _asks_for_what_it_learns(self) -> Self:
        learned = self.arguments if self.method == "sft" else self.pairs
        key = "arguments" if self.method == "sft" else "pairs"
        asked = (self.speech.min_words, self.speech.max_words)
        if self.measure and (learned.min_words, learned.max_words) != asked:
            raise ValueError(
                f"{key} asks for {learned.min_words} to {learned.max_words} words, but speech for {asked[0]} to "
                f"{asked[1]}; give both the same, for it is in the prompt that the debater learns to answer"
            )
        if self.learn == "quotes" and (self.method != "sft" or not self.arguments.min_quotes):
            raise ValueError("learn quotes: only sft learns quotes alone, of speeches that have one (min_quotes 1)")
        if self.method == "dpo" and self.adapter.dropout:
            raise ValueError(
                f"adapter.dropout {self.adapter.dropout:g}: dpo holds the debater against itself, of which nothing may "
                "be left out at random; set it to 0"
            )
        return self


class Material(NamedTuple):
    """All debates of a training, and the rows that are made of them.

    Attributes:
        rows: To learn from.
        validation: Whose loss is logged.
        measured: The questions that are spoken on, by name.
        everything: All questions.
        judges: Whose verdicts say who won, where that counts.
    """

    rows: AnyRows
    validation: AnyRows | None
    measured: dict[str, list[Question]]
    everything: list[Question]
    judges: list[JsonValue]


def judges_of(config: DebaterTrainingConfig, gathered: Sequence[Gathered]) -> list[JsonValue]:
    """Name whose verdicts say which speeches won; of published debates whoever ended each."""
    if config.method != "sft" or not config.arguments.won:
        return []
    named = (pick_judge(part.recorded, config.arguments.judge) for part in gathered)
    return list(dict.fromkeys(name or "whoever ended the debate" for name in named))


def read_material(config: DebaterTrainingConfig, prompts: Prompts, base: Base) -> Material:
    """Gather debates and make rows, and hold that no story is where it must not be.

    Raises:
        DissoiError: Data cannot be had; a row is of a fold it must not be of; a measured story is learned from.
    """
    parts = gather_all([*config.data, *config.validation])
    train, held = parts[: len(config.data)], parts[len(config.data) :]
    rows = make_rows(config, train, prompts, base)
    check_fold(rows, "debater")
    check_short(rows, config.fit, base, "training")
    validation = make_rows(config, held, prompts, base) if held else None
    if validation is not None:
        check_fold(validation, "validation")
        check_short(validation, config.fit, base, "validation")
    measured = {name: choose_questions(one, config.seed) for name, one in config.measure.items()}
    everything = [question for part in parts for question in part.questions]
    asked = [question for questions in measured.values() for question in questions]
    apart = [question for part in held for question in part.questions] + asked
    own = Card(kind=KIND, base=config.base, stories=rows.stories, data=rows.digest)
    for card in cards_from(config.start, own):
        check_unseen(card, apart, who="the debater that this configuration trains")
    check_judge_unseen(ModelConfig(name=config.base), apart)
    return Material(rows, validation, measured, [*everything, *asked], judges_of(config, train))


def make_rows(config: DebaterTrainingConfig, gathered: Sequence[Gathered], prompts: Prompts, base: Base) -> AnyRows:
    """Make the rows of the method; the story of a prompt that is too long is cut around the quotes."""
    fits = fits_in(config.fit, base)
    if config.method == "sft":
        return argument_row_set(gathered, config.arguments, prompts, fits=fits)
    return pair_row_set(gathered, config.pairs, prompts, fits=fits)


def check_short(rowset: AnyRows, fit: FitSettings, base: Base, what: str) -> None:
    """Hold that few speeches were left out because not even their quotes fit.

    Args:
        rowset: The rows, with what was left out.
        fit: With ``max_length`` and ``max_cut``.
        base: With its context.
        what: The rows, for the message.

    Raises:
        SourceError: They were too many.
    """
    over = rowset.dropped.get(TOO_LONG, 0)
    every = over + short_enough(rowset)
    if over > fit.max_cut * every:
        longest = min(fit.max_length or base.context, base.context)
        raise SourceError(
            f"{over} of {every} {what} rows have more than {longest} tokens even with the story cut to what they "
            f"quote, above fit.max_cut {fit.max_cut:g}; raise fit.max_length, at most to the model's context of "
            f"{base.context}, or give shorter debates"
        )


def fits_in(fit: FitSettings, base: Base) -> Fits:
    """Return a test whether a prompt with its reply is short enough to be trained on."""
    longest = min(fit.max_length or base.context, base.context)

    def fits(messages: Messages) -> bool:
        *prompt, reply = messages
        return len(base.texts.exchange(prompt, reply.content)) <= longest

    return fits


def select_rows(config: DebaterTrainingConfig, material: Material, base: Base) -> RowsToFit:
    """Leave out rows that are too long even so.

    Raises:
        SourceError: They are too many, fewer than a batch are left, or a speech is empty.
    """
    lengths = lengths_of(material.rows.rows, base.texts, config.learn)
    cut = cut_long([length.all for length in lengths], config.fit, base, config.method)
    held: list[Any] = []
    if material.validation is not None:
        held = list(material.validation.rows)
        spoken = lengths_of(held, base.texts, config.learn)
        fits = cut_long([length.all for length in spoken], config.fit, base, "validation")
        held = [held[place] for place in fits.kept]
    train = [material.rows.rows[place] for place in cut.kept]
    return RowsToFit(train, held, [lengths[place] for place in cut.kept], cut.over)


def plan_table(config: DebaterTrainingConfig, rows: RowsToFit, process: Process) -> Table:
    """Say what will be trained."""
    tokens = sum(length.all for length in rows.lengths)
    learned = sum(length.learned for length in rows.lengths)
    cut = sum(row.tags.get("story") == "cut" for row in rows.train)
    lines = [
        ("training rows", f"{len(rows.train):,}"),
        ("with a story cut around its quotes", f"{cut:,}"),
        ("left out: more tokens than fit.max_length", f"{rows.over:,}"),
        ("tokens of an epoch", f"{tokens:,}"),
        ("tokens of a row, mean", f"{tokens / len(rows.train):,.0f}"),
        ("tokens that are learned", f"{learned:,} ({learned / tokens:.1%})"),
        ("validation rows", f"{len(rows.validation):,}"),
        ("steps", f"{config.steps(len(rows.train)):,}"),
        ("processes", f"{process.world}"),
    ]
    return Table(f"Plan: {config.method} of a debater on {config.base}", (Column("what"), Column("number")), lines)


def speak(
    config: DebaterTrainingConfig, material: Material, run: RunFolder, prompts: Prompts, adapter: str | None
) -> dict[str, list[Said]]:
    """Have the debater speak on the questions it is measured on, as a player that is built as every command does."""
    if not material.measured:
        return {}
    model = ModelConfig(name=config.base, adapter=adapter, dtype=config.fit.dtype, device=config.fit.device)
    scorer = config.scorer or model.model_copy(update={"adapter": None})
    return asyncio.run(
        measure_player(
            PlayerConfig(name=NAME, kind="free", model=model),
            {name: (config.measure[name].role, questions) for name, questions in material.measured.items()},
            speech=config.speech,
            scorer=scorer,
            prompts=prompts,
            store=run.store,
            seed=config.seed,
        )
    )


def card_of(
    config: DebaterTrainingConfig, material: Material, fitted: Fitted, figures: Mapping[str, JsonValue]
) -> Card:
    """Describe the debater that was trained."""
    learned: Config = config.arguments if config.method == "sft" else config.pairs
    facts = {
        "method": config.method,
        "start": config.start,
        "learned from": learned.model_dump(mode="json"),
        "judges": material.judges,
        "players": count_tags(material.rows, "player"),
        "assigned": count_tags(material.rows, "assigned"),
        **facts_of(config, KIND, material.rows, fitted, figures),
        "adapter": adapter_facts(config),
    }
    rows = material.rows
    own = Card(kind=KIND, base=config.base, stories=rows.stories, data=rows.digest, facts=facts)
    return with_start(config.start, own)


def run_finetune(config: DebaterTrainingConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    process = Process.here()
    prompts = config.open_prompts()
    base = find_base(config.base)
    material = read_material(config, prompts, base)
    rows = select_rows(config, material, base)
    config.fit.per_pass(process.world)
    if process.main:
        print_table(counts_table(material.rows))
        print_table(plan_table(config, rows, process))
    if invocation.dry_run:
        return 0
    if not process.main:
        fit_debater(rows, base, config, process, Path(process.share("")))
        return 0
    questions = material.everything
    with open_folder(config, invocation, prompts, kind=KIND, rows=material.rows, questions=questions) as run:
        before = speak(config, material, run, prompts, config.start)
        process.share(str(run.path))
        fitted = fit_debater(rows, base, config, process, run.path)
        gc.collect()  # the trained model goes before its adapter is loaded anew
        return _finish(config, material, run, prompts, base, fitted=fitted, before=before)


def _finish(
    config: DebaterTrainingConfig,
    material: Material,
    run: RunFolder,
    prompts: Prompts,
    base: Base,
    *,
    fitted: Fitted,
    before: Mapping[str, list[Said]],
) -> int:
    """Measure the trained debater by the way that everybody will use it, and leave tables, figures and its card."""
    adapter = run.path / ADAPTER
    save_card(adapter, card_of(config, material, fitted, {}))
    after = speak(config, material, run, prompts, str(adapter))
    figures: dict[str, Any] = {
        name: {"before": measure_speeches(before[name]).values(), "after": measure_speeches(after[name]).values()}
        for name in after
    }
    card = card_of(config, material, fitted, figures)
    save_card(adapter, card)
    if config.merge:
        save_merged(base, adapter, run.path / MERGED, card)
    leave(
        config,
        run,
        command=COMMAND.name,
        title=f"A debater on {config.base}, {config.method}",
        rows=material.rows,
        fitted=fitted,
        tables=[compare_speeches(before[name], after[name], title=name) for name in after],
        figures=figures,
    )
    return 0


COMMAND = Command(
    name="training.finetune_debater",
    about="Train a debater on speeches that won, or on what was better of two (LoRA), and measure its quotes.",
    config=DebaterTrainingConfig,
    run=run_finetune,
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
