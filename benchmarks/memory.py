"""Memory and time of a long run: ``python -m benchmarks.memory [debates ...]`` (100000).

Forty scripted players in a Swiss tournament of eight rounds, one speech a side of about 30 words, a letter judge; the
command runs as a user runs it, and its resident memory is sampled from outside, with the number of debates that its
store holds. Then the command is run again, killed once nine tenths of the debates are kept, and gone on with.

- "at a tenth", "most": resident memory once a tenth of the debates are kept (10,000 of 100,000), and the most from then
  until the last debate; the target is a growth within 20 %.
- "most in report": from the last debate on, while ratings, exports and report are made, and "report s" how long that
  takes; the target is 60 s.
- "resume s": from the start of ``--resume`` to the first debate that was not kept before; the target is 10 s.
"""

from __future__ import annotations

import argparse
import contextlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from debate.models.base import Draw, Messages
from debate.models.scripted import ScriptedModel
from debate.report import Column, Table, print_table
from debate.report.table import Cell

PLAYERS = 40
ROUNDS = 8
DEBATES_A_QUESTION = ROUNDS * PLAYERS // 2 * 2
EVERY_S = 0.2


def _speak(messages: Messages, draw: Draw) -> str:
    story = messages[-1].content.partition("<story>")[2].partition("</story>")[0]
    sentences = [part.strip() for part in story.replace("\n", " ").split(". ") if len(part) > 20]
    number = hash((messages[-1].content, draw)) % 10**6 if not sentences else sum(map(ord, draw.stream + sentences[0]))
    quote = sentences[number % len(sentences)] if sentences else ""
    return f"<argument>My answer is right, says {draw.stream}: <quote>{quote}</quote> and that settles it.</argument>"


def _lean(messages: Messages, choices: Sequence[str]) -> list[float]:
    share = 0.05 + 0.9 * (sum(map(ord, messages[-1].content[-400:])) % 997) / 997
    return [0.9 * share, 0.9 * (1 - share), *([0.0] * (len(choices) - 2))]


def debater() -> ScriptedModel:
    """A debater that says one sentence with a quote."""
    return ScriptedModel(_speak, name="scripted/benchmarks.memory:debater")


def judge() -> ScriptedModel:
    """A judge whose verdict depends on the last words that it reads."""
    return ScriptedModel(choose=_lean, name="scripted/benchmarks.memory:judge")


def config_for(debates: int) -> dict[str, object]:
    """The tournament that is held."""
    model = "scripted/benchmarks.memory:debater"
    return {
        "source": f"dossiers:{max(1, debates // DEBATES_A_QUESTION)}",
        "players": [{"name": f"player {number}", "model": model} for number in range(1, PLAYERS + 1)],
        "rounds": ROUNDS,
        "judge": {"model": "scripted/benchmarks.memory:judge"},
        "protocol": {"kind": "simultaneous", "rounds": 1},
        "speech": {"min_words": 10, "max_words": 60, "max_tokens": 200},
    }


class Sample(NamedTuple):
    """One look at the process: seconds since its start, debates that its store holds, resident memory in MiB."""

    seconds: float
    debates: int
    mib: float


def _count(store: Path) -> int:
    """Count the debates that a store holds; none while there is no store yet."""
    with contextlib.suppress(sqlite3.Error):
        connection = sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True, timeout=1)
        try:
            return int(connection.execute("SELECT coalesce(max(seq), 0) FROM debates").fetchone()[0])
        finally:
            connection.close()
    return 0


def _resident_mib(process: int) -> float:
    """Resident memory of a process of ours that was not waited for yet; 0 once it has ended."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:")), 0.0)


def watch(command: Sequence[str], folder: Path, until: Callable[[int], bool] = lambda _: False) -> list[Sample]:
    """Run a command and look at it until it ends, or kill it once it has kept so many debates."""
    start, samples = time.perf_counter(), []
    with (folder.parent / "output.txt").open("w", encoding="utf-8") as output:
        process = subprocess.Popen([sys.executable, "-m", *command], stdout=output, stderr=output)  # noqa: S603 - our own
        while process.poll() is None:
            count = _count(folder / "run.sqlite")
            samples.append(Sample(time.perf_counter() - start, count, _resident_mib(process.pid)))
            if until(count):
                process.kill()
                process.wait()
                return samples
            time.sleep(EVERY_S)
    samples.append(samples[-1]._replace(seconds=time.perf_counter() - start))
    if process.returncode:
        raise SystemExit((folder.parent / "output.txt").read_text(encoding="utf-8")[-2000:])
    return samples


class Measured(NamedTuple):
    """What one tournament took, as the table shows it."""

    debates: float
    debating_s: float
    tenth_mib: float
    most_mib: float
    report_mib: float
    report_s: float
    kept: float
    resume_s: float

    def row(self) -> list[Cell]:
        """Make a row of the table."""
        return [
            int(self.debates),
            f"{self.debating_s:.0f}",
            f"{self.debates / self.debating_s:.0f}",
            f"{self.tenth_mib:.0f}",
            f"{self.most_mib:.0f}",
            f"{self.most_mib / self.tenth_mib - 1:+.0%}",
            f"{self.report_mib:.0f}",
            f"{self.report_s:.1f}",
            int(self.kept),
            f"{self.resume_s:.1f}",
        ]


def measure(debates: int) -> Measured:
    """Hold a tournament of so many debates, hold it again and stop it, and go on with it."""
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        config = place / "config.yaml"
        config.write_text(yaml.safe_dump(config_for(debates)), encoding="utf-8")
        begin = ["tournaments.swiss", "--config", str(config), "--output"]
        whole = watch([*begin, str(place / "whole")], place / "whole")
        total = whole[-1].debates
        stopped = place / "stopped"
        watch([*begin, str(stopped)], stopped, lambda count: count >= 0.9 * total)
        kept = _count(stopped / "run.sqlite")
        resume = ["tournaments.swiss", "--config", str(config), "--resume", str(stopped)]
        resumed = watch(resume, stopped, lambda count: count > kept)
    debating = [sample for sample in whole if sample.debates < total]
    after = [sample for sample in whole if sample.debates == total]
    return Measured(
        debates=total,
        debating_s=after[0].seconds,
        tenth_mib=next(sample.mib for sample in whole if sample.debates >= total / 10),
        most_mib=max(sample.mib for sample in debating if sample.debates >= total / 10),
        report_mib=max(sample.mib for sample in after),
        report_s=whole[-1].seconds - after[0].seconds,
        kept=kept,
        resume_s=resumed[-1].seconds,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("debates", nargs="*", type=int, default=[100_000])
    parser.add_argument("--repeats", type=int, default=3)
    flags = parser.parse_args()
    rows = []
    for debates in flags.debates:
        done = [measure(debates) for _ in range(flags.repeats)]
        rows.append(Measured(*(statistics.median(values) for values in zip(*done, strict=True))).row())
    columns = [
        Column("debates", kind="count"),
        *(Column(title, align="right") for title in ("debating s", "a second", "MiB at a tenth", "most", "growth")),
        Column("most in report", align="right"),
        Column("report s", align="right"),
        Column("kept", kind="count"),
        Column("resume s", align="right"),
    ]
    print_table(Table(f"Memory and time of a long run, medians of {flags.repeats}", columns, rows))


if __name__ == "__main__":
    main()
