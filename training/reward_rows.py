"""Reward rows: the better and the worse candidate of one turn, each as a reward model will read it in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from debate.prompts import Prompts
from optimizers.reward import read_speech
from training.argument_rows import Spoken, by_one_of, speeches
from training.candidate_pairs import Pair, PairConfig, pair_of
from training.gather import Gathered
from training.rows import SOURCE, PairRow, RowSet, check_some
from training.worth import Worth, settle


def reward_row_set(gathered: Iterable[Gathered], config: PairConfig, prompts: Prompts) -> RowSet[PairRow]:
    """Make the pairs that a reward model is trained on, each once, and hold that there is one.

    They are the pairs that a debater is trained on by preference (``training.candidate_pairs``), read otherwise: a
    debater's prompt holds the story, a reward model's does not.

    Args:
        gathered: Debates with candidates that a preference model has scored.
        config: Which pairs.
        prompts: Templates.

    Returns:
        The pairs, and what was left out by why.

    Raises:
        SourceError: No pair is left.
    """
    found: list[Worth[PairRow]] = []
    dropped: Counter[str] = Counter()
    for part in gathered:
        more, lost = _worth(part, config, prompts)
        found += more
        dropped.update(lost)
    rowset = settle(found, dropped, balanced=config.balance)
    check_some(rowset, "preference")
    return rowset


def _worth(gathered: Gathered, config: PairConfig, prompts: Prompts) -> tuple[list[Worth[PairRow]], Counter[str]]:
    """Find the pairs of one source, and what is left out by why."""
    dropped = Counter(gathered.dropped)
    kept: list[Worth[PairRow]] = []
    for spoken in speeches(item for item in gathered.recorded if item.debate.failed is None):
        found = _pair(spoken, config)
        if isinstance(found, str):
            dropped[found] += 1
            continue
        row = reward_row(spoken, found, prompts, source=gathered.config.debates)
        if row.chosen == row.rejected:
            dropped["the same speech"] += 1
        else:
            kept.append(Worth(row, row.margin, spoken.item.debate.transcript.question))
    return kept, dropped


def _pair(spoken: Spoken, config: PairConfig) -> Pair | str:
    if not by_one_of(spoken.item.debate.players[spoken.answer], config.players):
        return "another player"
    return pair_of(spoken.turn.candidates, config)


def reward_row(spoken: Spoken, pair: Pair, prompts: Prompts, *, source: str) -> PairRow:
    """Make the row of a pair: both speeches as ``optimizers.reward.read_speech`` shows them.

    Args:
        spoken: The turn.
        pair: Two of its candidates.
        prompts: Templates.
        source: What the row is tagged with as its source.
    """
    better, worse = (read_speech(spoken.view, one.argument, prompts) for one in (pair.better, pair.worse))
    question = spoken.item.debate.transcript.question
    return PairRow(
        prompt=better.prompt,
        chosen=better.completion,
        rejected=worse.completion,
        margin=pair.margin,
        question=question.id,
        story=question.story_id,
        fold=question.fold,
        tags={SOURCE: source, **spoken.tags},
    )
