"""The debates of a persuasion run: which there are, how they are held and kept, and what is withheld of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from debate.agents.helper import Helper
from debate.agents.memory import Memory, Speaker
from debate.agents.moderator import MODERATORS, Moderators
from debate.agents.talker import Talker
from debate.claim import Claim
from debate.errors import ModelError
from debate.models.base import Draw
from debate.models.load import Models
from debate.prompts import Prompts
from debate.protocols.persuasion import PERSUASION, Persuasion, Scenario
from debate.record import Debate, Recorded, from_json, join_key, to_json, verdict_key
from debate.run_folder import RunFolder
from debate.store import Store
from debate.together import together
from debate.transcript import Transcript
from debate.verdict import Verdict
from tournaments.persuasion_config import PersuasionConfig, Talkers
from tournaments.speakers import SpeakerConfig


class Setup(NamedTuple):
    """One debate to be held."""

    claim: Claim
    talkers: Talkers
    scenario: Scenario
    repetition: int

    @property
    def id(self) -> str:
        """The debate's id in its run."""
        persuader, debater = (one.name for one in self.talkers)
        return join_key(PERSUASION, self.claim.id, persuader, debater, self.scenario, str(self.repetition))

    def debate(self, transcript: Transcript, tags: Mapping[str, str], failed: str | None = None) -> Debate:
        """The debate that is set up, as it went."""
        named = {"scenario": self.scenario, "claim": self.claim.text, "reason": self.claim.reason}
        names = (self.talkers.persuader.name, self.talkers.debater.name)
        return Debate(self.id, PERSUASION, transcript, names, self.repetition, failed, {**named, **tags})


def setups(config: PersuasionConfig, claims: Sequence[Claim]) -> Iterator[Setup]:
    """List all debates: every claim, scenario and repetition, for each persuader and debater."""
    for talkers in config.pairs:
        for claim in claims:
            for repetition in range(config.repetitions):
                for scenario in config.scenarios:
                    yield Setup(claim, talkers, scenario, repetition)


@dataclass(frozen=True, slots=True)
class Field:
    """Holds debates, each once: what the store holds is not held again.

    Attributes:
        config: The configuration.
        models: The run's models.
        prompts: Templates.
        store: The run's store.
        progress: Called after each debate.
    """

    config: PersuasionConfig
    models: Models
    prompts: Prompts
    store: Store
    progress: Callable[[], None]

    async def hold(self, claims: Sequence[Claim], run: RunFolder) -> list[Recorded]:
        """Hold all debates on some claims, at once as far as the configuration allows.

        Args:
            claims: The claims.
            run: The open run, which writes down what the models are.

        Returns:
            Each debate with the stance after each round, in the order of ``setups``. One that a model failed in comes
            with the reason; it is not kept as such, so a resumed run tries it again.

        Raises:
            DissoiError: Anything that stops the run: a spent budget, a lost model, a full disk.
        """
        protocols = self._protocols()
        run.keep_models(self.models.facts)
        failed: dict[str, str] = {}
        slots = asyncio.Semaphore(self.config.concurrency)
        await together((self._hold(setup, protocols, failed) for setup in setups(self.config, claims)), slots)
        return [self._read(setup, failed.get(setup.id)) for setup in setups(self.config, claims)]

    async def _hold(
        self, setup: Setup, protocols: Mapping[tuple[Talkers, Scenario], Persuasion], failed: dict[str, str]
    ) -> None:
        if self.store.get("debates", setup.id) is None:
            try:
                draw = Draw(self.config.seed, repetition=setup.repetition)
                found = await protocols[setup.talkers, setup.scenario].hold(setup.claim, draw)
            except ModelError as error:
                failed[setup.id] = str(error)
            else:
                # The debate last: where it is kept, its verdicts are.
                for verdict in found.verdicts:
                    await self.store.put("verdicts", _verdict_key(setup.id, verdict.round), to_json(verdict))
                debate = setup.debate(found.transcript, found.tags)
                await self.store.put("debates", setup.id, to_json(debate))
        self.progress()

    def _read(self, setup: Setup, failed: str | None) -> Recorded:
        kept = self.store.get("debates", setup.id)
        if kept is None:
            silent = Transcript(setup.claim.question, spoken_order=True)
            return Recorded(setup.debate(silent, {}, failed), ())
        debate = from_json(Debate, kept)
        keys = [_verdict_key(setup.id, round_) for round_ in (*range(1, int(debate.tags["rounds"])), None)]
        verdicts = self.store.find("verdicts", keys)
        return Recorded(debate, tuple(from_json(Verdict, verdicts[key]) for key in keys))

    def _protocols(self) -> dict[tuple[Talkers, Scenario], Persuasion]:
        """Open all models, and make a protocol of each persuader and debater in each scenario."""
        config, prompts = self.config, self.prompts
        memory = Memory(prompts=prompts, context=config.memory.context, summary_tokens=config.memory.summary_tokens)
        second = config.moderators.second
        moderators = Moderators(
            self.models.get(config.moderators.model),
            None if second is None else self.models.get(second),
            prompts=prompts,
            config=config.moderators,
            memory=memory,
        )
        found = {}
        for pair in config.pairs:
            persuader = self._talker(pair.persuader, "persuader", memory)
            debater = self._talker(pair.debater, "debater", memory)
            for scenario in config.scenarios:
                helper = None
                if scenario != "none":
                    helper = Helper(
                        self.models.get(config.helper.model or pair.persuader.model),
                        kind=scenario,
                        prompts=prompts,
                        config=config.helper,
                        memory=memory,
                        max_words=config.talk.max_words,
                    )
                found[pair, scenario] = Persuasion(persuader, debater, helper, moderators, prompts, config.rounds)
        return found

    def _talker(self, speaker: SpeakerConfig, role: Speaker, memory: Memory) -> Talker:
        return Talker(
            self.models.get(speaker.model),
            name=speaker.name,
            role=role,
            prompts=self.prompts,
            config=self.config.talk_of(speaker),
            memory=memory,
            character=speaker.character,
        )


def _verdict_key(debate: str, round_: int | None) -> str:
    final = verdict_key(debate, MODERATORS, (0, 1))
    return final if round_ is None else f"{final} | {round_}"
