"""``accelerate launch training/finetune_preference.py``: a reward model is trained on better and worse speeches."""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import Field, JsonValue, field_validator

from debate.card import Card, check_judge_unseen, check_unseen
from debate.command import Command, Invocation
from debate.models.load import ModelConfig
from debate.prompts import Prompts
from debate.report import Column, Table, print_table
from debate.run_folder import RunFolder
from training.candidate_pairs import PairConfig
from training.fitted import Fitted
from training.fitting import AdapterSettings, Base, FitSettings, Process, cut_long, find_base
from training.folder import TrainingConfig, facts_of, leave, open_folder
from training.gather import DataConfig, Gathered, gather_all
from training.reward_measures import PairMeasures, ask_rewards, baseline_measures, measure_pairs, measures_table
from training.reward_rows import reward_row_set
from training.rows import PairRow, RowSet, check_fold, check_some
from training.rows_command import counts_table
from training.saving import ADAPTER, save_card

KIND: Final = "preference"
VALIDATION = "validation"


class PreferenceTrainingConfig(TrainingConfig):
    """How a reward model is trained."""

    data: tuple[DataConfig, ...] = Field(
        min_length=1, description="recorded debates to train on, of fold judge, by players with an optimizer"
    )
    measure: dict[str, DataConfig] = Field(
        {}, description="more debates whose pairs it is measured on, by a name; on stories it is not trained on"
    )
    pairs: PairConfig = Field(PairConfig(), description="which candidates make a pair")
    adapter: AdapterSettings = Field(AdapterSettings(), description="what is trained, beside a head")
    fit: FitSettings = Field(FitSettings(learning_rate=1e-3), description="how")
    center: float = Field(
        0.01,
        ge=0,
        description="weight in the loss of the squared sum of both rewards, which keeps rewards around 0",
    )

    @field_validator("measure")
    @classmethod
    def _own_names(cls, measure: dict[str, DataConfig]) -> dict[str, DataConfig]:
        if VALIDATION in measure:
            raise ValueError(f"{VALIDATION} is the name of the validation pairs, which are measured too; use another")
        return measure


class Material(NamedTuple):
    """All pairs of a training.

    Attributes:
        rows: To train on.
        measured: To measure on, by name; ``validation`` is for selection.
        everything: The debates behind them.
    """

    rows: RowSet[PairRow]
    measured: dict[str, RowSet[PairRow]]
    everything: list[Gathered]

    @property
    def held(self) -> Sequence[PairRow]:
        """The validation pairs, if any."""
        return self.measured[VALIDATION].rows if VALIDATION in self.measured else ()


def read_material(config: PreferenceTrainingConfig, prompts: Prompts) -> Material:
    """Gather debates and make pairs, and hold that no story is where it must not be.

    Raises:
        DissoiError: Data cannot be had; no pair is left; a pair is of a fold it must not be of; a measured story is
            trained on.
    """
    parts = gather_all([*config.data, *config.validation, *config.measure.values()])
    first, second = len(config.data), len(config.data) + len(config.validation)
    rows = reward_row_set(parts[:first], config.pairs, prompts)
    check_fold(rows, "judge")
    groups = {VALIDATION: parts[first:second]} if config.validation else {}
    groups |= {name: [part] for name, part in zip(config.measure, parts[second:], strict=True)}
    measured = {name: reward_row_set(group, config.pairs, prompts) for name, group in groups.items()}
    if VALIDATION in measured:
        check_fold(measured[VALIDATION], "validation")
    card = Card(kind="preference", base=config.base, stories=rows.stories, data=rows.digest)
    questions = [question for part in parts[first:] for question in part.questions]
    check_unseen(card, questions, who="the reward model that this configuration trains")
    check_judge_unseen(ModelConfig(name=config.base), questions)
    return Material(rows, measured, parts)


def readable(material: Material, base: Base) -> Material:
    """Leave out of what is measured what is longer than the model's context, and count it.

    Raises:
        SourceError: Nothing is left of a set.
    """
    measured: dict[str, RowSet[PairRow]] = {}
    for name, rowset in material.measured.items():
        kept = tuple(row for row in rowset.rows if max(lengths_of(row, base)) <= base.context)
        over = len(rowset.rows) - len(kept)
        dropped = {**rowset.dropped, **({"longer than the model's context": over} if over else {})}
        measured[name] = RowSet(kept, rowset.stories, dropped)
        check_some(measured[name], name)
    return material._replace(measured=measured)


def lengths_of(row: PairRow, base: Base) -> tuple[int, int]:
    """Count the tokens of a pair's better and of its worse speech, each with the prompt."""
    better, worse = (len(base.texts.exchange(row.prompt, text)) for text in (row.chosen, row.rejected))
    return better, worse


class Chosen(NamedTuple):
    """The pairs that are short enough, to train on and of the validation set, and what the former take."""

    train: list[PairRow]
    held: list[PairRow]
    tokens: int
    over: int


def choose_rows(config: PreferenceTrainingConfig, material: Material, base: Base) -> Chosen:
    """Leave out pairs of which a speech with its prompt is too long.

    Raises:
        SourceError: They are too many, or fewer than a batch are left.
    """
    found, held = [lengths_of(row, base) for row in material.rows.rows], list(material.held)
    cut = cut_long(list(map(max, found)), config.fit, base, "training")
    if held:
        lengths = [max(lengths_of(row, base)) for row in held]
        held = [held[place] for place in cut_long(lengths, config.fit, base, VALIDATION).kept]
    tokens = sum(sum(found[place]) for place in cut.kept)
    return Chosen([material.rows.rows[place] for place in cut.kept], held, tokens, cut.over)


def plan_table(config: PreferenceTrainingConfig, chosen: Chosen, process: Process) -> Table:
    """Say what will be trained."""
    lines = [
        ("training pairs", len(chosen.train)),
        ("left out: more tokens than fit.max_length", chosen.over),
        ("tokens of an epoch", chosen.tokens),
        ("tokens of a speech with its prompt, mean", round(chosen.tokens / (2 * len(chosen.train)))),
        ("validation pairs", len(chosen.held)),
        ("steps", config.steps(len(chosen.train))),
        ("processes", process.world),
    ]
    return Table(f"Plan: a reward model on {config.base}", (Column("what"), Column("number", kind="count")), lines)


def measure_all(
    config: PreferenceTrainingConfig, material: Material, run: RunFolder, adapter: Path | None
) -> dict[str, dict[str, PairMeasures]]:
    """Measure a reward model, or what there is before it, on each set of pairs.

    Args:
        config: The configuration.
        material: The pairs.
        run: Keeps every score.
        adapter: The reward model's; None for what it must beat: its start, at which all rewards are 0, what the base
            finds likelier, the longer speech, and the one with more verified quotes.

    Returns:
        Figures by set and name.
    """
    model = ModelConfig(
        name=config.base,
        adapter=None if adapter is None else str(adapter),
        dtype=config.fit.dtype,
        device=config.fit.device,
    )
    found: dict[str, dict[str, PairMeasures]] = {}
    for name, rowset in material.measured.items():
        rows = rowset.rows
        asked = measure_pairs(ask_rewards(model, rows, run.store), rows)
        if adapter is None:
            start = measure_pairs([(0.0, 0.0)] * len(rows), rows)
            found[name] = {"before": start, "likelier to the base": asked, **baseline_measures(rows)}
        else:
            found[name] = {"after": asked}
    return found


def run_finetune(config: PreferenceTrainingConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    process = Process.here()
    prompts = config.open_prompts()
    material = read_material(config, prompts)
    base = find_base(config.base)
    chosen = choose_rows(config, material, base)
    material = readable(material, base)
    config.fit.per_pass(process.world)
    if process.main:
        print_table(counts_table(material.rows))
        print_table(plan_table(config, chosen, process))
    if invocation.dry_run:
        return 0
    from training.reward_trainer import Pairs, Settings, fit_reward

    pairs = Pairs(chosen.train, chosen.held)
    settings = Settings(config.adapter, config.fit, config.center, config.seed)
    if not process.main:
        fit_reward(pairs, base, settings, process, Path(process.share("")))
        return 0
    questions = [question for part in material.everything for question in part.questions]
    with open_folder(config, invocation, prompts, kind=KIND, rows=material.rows, questions=questions) as run:
        before = measure_all(config, material, run, None)
        process.share(str(run.path))
        fitted = fit_reward(pairs, base, settings, process, run.path)
        gc.collect()  # the trained model goes before its adapter is loaded anew
        return _finish(config, material, run, fitted, before)


def _finish(
    config: PreferenceTrainingConfig,
    material: Material,
    run: RunFolder,
    fitted: Fitted,
    before: Mapping[str, dict[str, PairMeasures]],
) -> int:
    """Measure the reward model by the way by which optimizers ask it, and leave tables, figures and its card."""
    adapter = run.path / ADAPTER
    save_card(adapter, card_of(config, material, fitted, {}))  # with a card a story that it has seen is refused
    after = measure_all(config, material, run, adapter)
    measures = {name: {**before[name], **after[name]} for name in after}
    figures: dict[str, Any] = {
        name: {which: found.values() for which, found in group.items()} for name, group in measures.items()
    }
    save_card(adapter, card_of(config, material, fitted, figures))
    leave(
        config,
        run,
        command=COMMAND.name,
        title=f"A reward model on {config.base}",
        rows=material.rows,
        fitted=fitted,
        tables=[measures_table(group, name) for name, group in measures.items()],
        figures=figures,
    )
    return 0


def card_of(
    config: PreferenceTrainingConfig, material: Material, fitted: Fitted, figures: Mapping[str, JsonValue]
) -> Card:
    """Describe the reward model that was trained."""
    rows = material.rows
    facts = {
        "pairs": config.pairs.model_dump(mode="json"),
        "center": config.center,
        **facts_of(config, KIND, rows, fitted, figures),
    }
    return Card(kind=KIND, base=config.base, stories=rows.stories, data=rows.digest, facts=facts)


COMMAND = Command(
    name="training.finetune_preference",
    about="Train a reward model on better and worse speeches of one turn (LoRA and a head), and measure it on others.",
    config=PreferenceTrainingConfig,
    run=run_finetune,
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
