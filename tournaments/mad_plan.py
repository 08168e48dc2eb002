"""What a MAD run takes at most: calls and tokens by model, counted by the prompts that will be asked."""

from __future__ import annotations

from collections.abc import Sequence

from debate.agents.open_judge import form_prompt, letter_prompt
from debate.item import Item
from debate.models.base import Messages
from debate.models.letters import CHOICE_DRAWS
from debate.models.load import ModelConfig, TokenCounter, capabilities_of
from debate.open_debate import OpenDebate, Speech, show_form, show_task
from debate.prompts import Prompts
from debate.protocols.alone import Method
from debate.protocols.tit_for_tat import speech_prompt
from tournaments.calls import Calls, hidden_tokens
from tournaments.mad_config import MadConfig
from tournaments.plan import Plan

#: Prompt tokens of a speech shown, beside its own: its speaker's name and the heading of its iteration.
_LABEL = 6


class MadPlan:
    """Counts the calls of a run.

    Every reply is taken to be as long as it may be, every debate to go to its limit, and every form to need all its
    attempts, so a run takes no more.

    Args:
        config: The configuration.
        items: The items.
        prompts: Templates.
    """

    def __init__(self, config: MadConfig, items: Sequence[Item], prompts: Prompts) -> None:
        self._config = config
        self._items = items
        self._prompts = prompts
        self._counters: dict[str, TokenCounter] = {}
        self._calls: dict[str, Calls] = {}
        self._longest: dict[str, int] = {}

    def count(self) -> Plan:
        """Return the plan."""
        config, task = self._config, self._items[0].task
        methods = config.methods(task)
        self._add(config.base_model, 1, self._alone("mad_base"), config.max_tokens)
        for method in methods:
            self._count_method(method)
        held = len(config.levels) * len(config.order_names)
        for level in config.levels:
            self._count_debates(level)
        attempts, debates = len(methods) * len(self._items), held * len(self._items)
        return Plan(debates, 0, attempts, self._calls, {}, {}, tuple(self._notes()))

    def _count_method(self, method: Method) -> None:
        config, model, reply = self._config, self._config.base_model, self._config.max_tokens
        if method == "chain_of_thought":
            self._add(model, 1, self._alone("mad_think"), reply)
        elif method == "self_consistency":
            self._add(model, config.sample_count, self._alone("mad_think"), reply)
        elif method == "rerank":
            self._add(model, config.candidates, self._alone("mad_base"), reply)
        elif method == "self_reflection":  # its first step is the base answer, and the same call
            self._add(model, config.reflection_count, self._alone("mad_reflect", previous="") + reply, reply)
        elif method == "analyse_then_translate":
            self._add(model, 1, self._alone("mad_analyse"), reply)
            self._add(model, 1, self._alone("mad_translate", notes="") + reply, reply)

    def _count_debates(self, level: int) -> None:
        config, each = self._config, len(self._config.order_names)
        spoken = config.max_tokens + _LABEL
        for iteration in range(config.iterations):
            for place, speaker in enumerate(config.speakers):
                frame = self._mean(speaker.model, [self._speech(item, level, speaker.name) for item in self._items])
                # In the reversed order a speaker hears more or fewer before it; together both make up the same.
                heard = iteration * len(config.speakers) + place
                self._add(speaker.model, each, frame + heard * spoken, config.max_tokens)
            self._rule(each, (iteration + 1) * len(config.speakers) * spoken, undecided=True)
            if config.forced or iteration == config.iterations - 1:
                self._rule(each, (iteration + 1) * len(config.speakers) * spoken, undecided=False)

    def _rule(self, each: int, heard: int, *, undecided: bool) -> None:
        judge = self._config.judge
        frame = self._mean(judge.model, [self._ruling(item, undecided=undecided) for item in self._items])
        if judge.kind == "form":
            # Another attempt is shown the reply that could not be read.
            self._add(judge.model, each, frame + heard, judge.max_tokens)
            again = each * (judge.attempts - 1)
            if again:
                self._add(judge.model, again, frame + heard + judge.max_tokens, judge.max_tokens)
            return
        drawn = 1 if capabilities_of(judge.model).logprobs else CHOICE_DRAWS
        self._add(judge.model, 2 * each * drawn, frame + heard, 1)

    def _add(self, model: ModelConfig, each: int, prompt: int, reply: int) -> None:
        """Count calls on every item."""
        calls = each * len(self._items)
        if not calls:
            return
        out = reply + hidden_tokens(model)
        known = self._calls.get(model.label, Calls())
        self._calls[model.label] = known + Calls(calls, calls * prompt, calls * out)
        self._longest[model.label] = max(self._longest.get(model.label, 0), prompt + reply)

    def _alone(self, template: str, **values: str) -> int:
        form = {} if template == "mad_analyse" else {"form": show_form(self._items[0], self._prompts)}
        asked = [
            self._prompts.fill(template, task=show_task(item, self._prompts), **form, **values) for item in self._items
        ]
        return self._mean(self._config.base_model, asked)

    def _speech(self, item: Item, level: int, speaker: str) -> Messages:
        character = next(one.character for one in self._config.speakers if one.name == speaker)
        return speech_prompt(self._empty(item, level), speaker, character, self._prompts, self._config.max_words)

    def _ruling(self, item: Item, *, undecided: bool) -> Messages:
        debate = self._empty(item, self._config.levels[0])
        if self._config.judge.kind == "letter":
            return letter_prompt(debate, [item.text] * len(self._config.speakers), self._prompts, undecided=undecided)
        return form_prompt(debate, "discriminative" if undecided else "extractive", self._prompts)

    def _empty(self, item: Item, level: int) -> OpenDebate:
        # An answer of the item's own length stands for one that is not known yet.
        base = Speech(0, "", "", item.text if item.task == "translation" else "a few words")
        return OpenDebate(item, tuple(speaker.name for speaker in self._config.speakers), level, base)

    def _mean(self, model: ModelConfig, asked: Sequence[Messages]) -> int:
        counter = self._counter(model)
        return sum(map(counter, asked)) // len(asked)

    def _counter(self, model: ModelConfig) -> TokenCounter:
        key = model.model_dump_json()
        return self._counters.get(key) or self._counters.setdefault(key, TokenCounter(model))

    def _notes(self) -> list[str]:
        notes = ["Calls are the most there can be: debates end as soon as the judge finds an answer clear."]
        if self._config.forced:
            notes = ["The run is forced: every debate goes to its limit."]
        for model in self._config.models:
            room, longest = self._counter(model).context, self._longest.get(model.label, 0)
            if room is not None and longest > room:
                notes.append(
                    f"{model.label} has a context of {room} tokens and may be asked for {longest}: debates whose "
                    "speeches are that long fail. Lower max_tokens or iterations if there are many."
                )
        return list(dict.fromkeys(notes))
