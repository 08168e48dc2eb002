"""Watching a debate as it goes: speeches as they are made, and on demand every prompt and reply."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from debate.agents.debater import Debater, Speech
from debate.agents.questioner import Questioner
from debate.models.base import Capabilities, Choice, Completion, Draw, Messages, Model, Sampling, Scores
from debate.quotes import Argument, Quote, Seat
from debate.transcript import Candidate, Transcript
from debate.view import View


class Watcher:
    """Prints what happens, one block at a time; colours only on a terminal, and text is never markup.

    Args:
        file: Where to; standard output by default.
    """

    def __init__(self, file: TextIO | None = None) -> None:
        from rich.console import Console

        out = sys.stdout if file is None else file
        self._encoding = getattr(out, "encoding", None) or "utf-8"
        self._console = Console(file=out, highlight=False, emoji=False, markup=False, soft_wrap=not out.isatty())

    def heading(self, text: str) -> None:
        """Print a line that begins something."""
        self._print(f"\n{text}", "bold")

    def line(self, text: str, style: str = "") -> None:
        """Print some text."""
        self._print(text, style)

    def argument(self, argument: Argument, seat: Seat) -> None:
        """Print an argument: verified quotes in green, others in red, with the marks that the judge sees."""
        from rich.text import Text

        text = Text()
        for span in argument.spans:
            style = ("green" if span.verified else "red") if isinstance(span, Quote) else ""
            # On one line, so that no speech can imitate a heading.
            shown = Argument((span,)).render(seat).replace("\r", " ").replace("\n", " ")
            text.append(self._plain(shown), style)
        self._console.print(text)

    def flaws(self, candidate: Candidate) -> None:
        """Print why what is spoken is not valid, if it is not."""
        for flaw in candidate.flaws:
            self.line(f"(not valid: {flaw})", "yellow")

    def transcript(self, transcript: Transcript) -> None:
        """Print a debate that was held before, as its judge sees it."""
        for turn in transcript.view().turns:
            if turn.seat is None and not turn.text.strip():  # a judge that had nothing to ask is not shown
                continue
            self.heading(f"Round {turn.round}, {turn.speaker}")
            self.argument(turn.argument, turn.frame)

    def messages(self, title: str, messages: Messages) -> None:
        """Print a prompt."""
        self._print(f"\n>>> {title}", "bold cyan")
        for message in messages:
            self._print(f"[{message.role}]", "cyan")
            self._print(message.content, "dim")

    def _print(self, text: str, style: str) -> None:
        from rich.text import Text

        self._console.print(Text(self._plain(text), style=style))

    def _plain(self, text: str) -> str:
        """Drop control characters, which could drive a terminal, and put a mark for what the file cannot encode."""
        spaced = (" " if character.isspace() and character not in "\n\t" else character for character in text)
        printable = "".join(character for character in spaced if character in "\n\t" or character.isprintable())
        return printable.encode(self._encoding, "replace").decode(self._encoding)


class WatchedDebater:
    """A debater whose speeches are printed as it makes them.

    Args:
        debater: The debater.
        watcher: Prints.
    """

    def __init__(self, debater: Debater, watcher: Watcher) -> None:
        self.name = debater.name
        self._debater = debater
        self._watcher = watcher

    async def candidates(self, view: View, draw: Draw, n: int) -> tuple[Candidate, ...]:
        """Sample candidates; see Debater."""
        return await self._debater.candidates(view, draw, n)

    async def argue(self, view: View, draw: Draw) -> Speech:
        """Make the next speech, and print it."""
        speech = await self._debater.argue(view, draw)
        own = sum(turn.seat == view.seat for turn in view.turns)
        chosen = speech.candidates[speech.chosen]
        self._watcher.heading(f"Round {own + 1}, {view.speaker} ({self.name}) for: {view.own_answer}")
        self._watcher.argument(chosen.argument, view.seat or "A")
        self._watcher.flaws(chosen)
        return speech


class WatchedQuestioner:
    """A judge whose questions are printed as it asks them.

    Args:
        questioner: The judge that asks.
        watcher: Prints.
    """

    def __init__(self, questioner: Questioner, watcher: Watcher) -> None:
        self.name = questioner.name
        self._questioner = questioner
        self._watcher = watcher

    async def ask(self, view: View, draw: Draw) -> Speech:
        """Ask, and print it."""
        speech = await self._questioner.ask(view, draw)
        chosen = speech.candidates[speech.chosen]
        consultants = sorted({turn.speaker for turn in view.turns if turn.role == "consultant"})
        self._watcher.heading(f"The judge asks{' ' if consultants else ''}{', '.join(consultants)}")
        self._watcher.argument(chosen.argument, "A")
        self._watcher.flaws(chosen)
        return speech


class WatchedModel:
    """A model whose every prompt and reply is printed.

    Args:
        model: The model.
        watcher: Prints.
    """

    def __init__(self, model: Model, watcher: Watcher) -> None:
        self._model = model
        self._watcher = watcher

    @property
    def name(self) -> str:
        """The name that users give it."""
        return self._model.name

    @property
    def digest(self) -> str:
        """What else decides its replies."""
        return self._model.digest

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        return self._model.capabilities

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
        """Sample, and print prompt and replies."""
        completions = await self._model.sample(messages, draws=draws, sampling=sampling)
        self._watcher.messages(f"{self.name}: {len(draws)} replies of at most {sampling.max_tokens} tokens", messages)
        for completion in completions:
            self._watcher.line(f"<<< ({completion.finish}) {completion.text}")
        return completions

    async def choose(self, messages: Messages, choices: Sequence[str]) -> Choice:
        """Choose, and print prompt and probabilities."""
        choice = await self._model.choose(messages, choices)
        self._watcher.messages(f"{self.name}: one of {', '.join(choices)}", messages)
        shares = ", ".join(f"{name} {share:.3f}" for name, share in zip(choices, choice.probabilities, strict=True))
        self._watcher.line(f"<<< {shares}; mass {choice.mass:.3f}")
        return choice

    async def score(self, messages: Messages, continuations: Sequence[str]) -> Scores:
        """Score; prompts of scoring are many and say little, so only the values are printed."""
        scores = await self._model.score(messages, continuations)
        pairs = zip(continuations, scores.values, strict=True)
        self._watcher.line(
            f"{self.name} scores {'; '.join(f'{text!r}: {value:.2f}' for text, value in pairs)} after "
            f"...{messages[-1].content[-80:]!r}",
            "dim",
        )
        return scores

    def count_tokens(self, messages: Messages) -> int:
        """Count the prompt's tokens."""
        return self._model.count_tokens(messages)

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()
