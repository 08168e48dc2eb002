"""Remote models behind a server of fixed latency: ``python -m benchmarks.throughput [questions ...]`` (40 and 400).

Two remote players hold a simultaneous debate of three rounds on every question, both assignments, and a judge reads
the letters' probabilities in both orders: 8 calls a debate, in 4 stages that wait for one another (three rounds and the
judging; within a stage a debate's two calls go at once). With a slot for every call of a stage, a run takes

    ideal seconds = (rounds + 1) x latency

however many questions there are. The very same requests, in the same order of dependence, are then made through a bare
``AsyncOpenAI``, one client with as many connections as it likes: what the SDK itself costs. The server tells that both
asked the same. CPU is that of the client's process alone, imports and the reading of questions left out on both sides;
"command" is the whole of the process, from its start to the report.

With ``--best-of N`` each speech is the best of N, sampled in one request and each scored by the judge in both orders: a
round then has two stages, and ideal seconds = (2 x rounds + 1) x latency.

Options: ``--latency S`` (1), ``--best-of N`` (1), ``--repeats N`` (3), ``--profile FILE`` (one of our runs
under cProfile, and no table).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import cProfile
import itertools
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.latency_server import letter_share, write_speech
from debate.agents.judge import build_judge
from debate.command import Invocation
from debate.config import parse
from debate.models.base import Choice, Completion, Draw, Messages, Sampling
from debate.models.remote import wire_messages
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from debate.protocols import build_protocol
from debate.report import Column, Report, Table, print_table
from debate.report.table import Cell
from debate.transcript import Transcript
from tournaments.config import SwissConfig
from tournaments.plan import plan_field, swiss_field
from tournaments.players import build_player
from tournaments.questions import read_questions
from tournaments.session import Session
from tournaments.setups import match_setups

ROUNDS = 3
#: The requests of one debate: stages that wait for one another, each of requests that go at once.
Chain = list[list[dict[str, Any]]]


class Spent(NamedTuple):
    """What one run took.

    Attributes:
        wall_s: Seconds from the first call to the last answer.
        cpu_s: CPU seconds of the client's process in that time.
        command_s: Seconds of the whole process.
    """

    wall_s: float
    cpu_s: float
    command_s: float


class Run(NamedTuple):
    """One run and what the server says of it."""

    spent: Spent
    server: Mapping[str, Any]


def stage_sizes(best_of: int) -> list[int]:
    """How many requests of a debate go at once, stage by stage."""
    scores = [2 * best_of * 2] if best_of > 1 else []
    return [2, *scores] * ROUNDS + [2]


def config_for(questions: int, base_url: str, best_of: int = 1) -> SwissConfig:
    """The tournament that is held: one match of two players."""
    flying = 2 * questions * max(stage_sizes(best_of))  # two debates a question
    optimizer = {"kind": "best_of_n", "n": best_of} if best_of > 1 else None

    def model(name: str) -> dict[str, Any]:
        return {"name": f"bench/{name}", "base_url": base_url, "concurrency": flying, "timeout_s": 600}

    tree = {
        "source": f"dossiers:{questions}",
        "players": [{"name": name, "model": model(name), "optimizer": optimizer} for name in ("first", "second")],
        "judge": {"model": model("judge")},
        "protocol": {"kind": "simultaneous", "rounds": ROUNDS},
        "concurrency": flying,
    }
    return parse(SwissConfig, tree, where="the benchmark")


class _Recorder(ScriptedModel):
    """Answers as the server does, and notes the request that a remote model would have made."""

    def __init__(self, name: str, taken: list[dict[str, Any]]) -> None:
        super().__init__(name=f"bench/{name}")
        self._wire = name
        self._taken = taken

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
        """Note the request, and answer as the server would."""
        how = {"max_tokens": sampling.max_tokens, "temperature": sampling.temperature, "top_p": sampling.top_p}
        sent = self._note(messages, {**how, **({"n": len(draws)} if len(draws) > 1 else {})})
        return [Completion(write_speech(self._wire, sent, index), "stop") for index in range(len(draws))]

    async def choose(self, messages: Messages, choices: Sequence[str]) -> Choice:
        """Note the request, and answer as the server would."""
        how = {"max_tokens": 1, "logprobs": True, "top_logprobs": 20, "temperature": 1.0}
        share = letter_share(self._wire, self._note(messages, how))
        return Choice((share / 0.9, 1 - share / 0.9, *([0.0] * (len(choices) - 2))), 0.9)

    def _note(self, messages: Messages, how: Mapping[str, object]) -> list[dict[str, str]]:
        sent = [{"role": role, "content": content} for role, content in wire_messages(messages, system_role=True)]
        self._taken.append({"model": self._wire, "messages": sent, **how})
        return sent


async def collect_chains(config: SwissConfig, best_of: int) -> list[Chain]:
    """Find out what every debate of the tournament asks, one debate after the other and without a server."""
    taken: list[dict[str, Any]] = []
    prompts, protocol = Prompts(), build_protocol(config.protocol)
    names = [player.name for player in config.players]

    class Recorders:
        def get(self, model: Any) -> _Recorder:
            return _Recorder(model.name.partition("/")[2], taken)

    players = {
        player.name: build_player(player, speech=config.speech, models=Recorders(), prompts=prompts, judge=config.judge)
        for player in config.players
    }
    judge = build_judge(config.judge, _Recorder("judge", taken), prompts)
    chains = []
    sizes = stage_sizes(best_of)
    ends = list(itertools.accumulate(sizes))
    for setup in match_setups(names[0], names[1], read_questions(config).cross_play, protocol):
        taken.clear()
        speakers = (players[str(setup.players[0])], players[str(setup.players[1])])
        spoken: Transcript = await protocol.hold(setup.question, speakers, setup.seats, Draw())
        for transcript in (spoken, spoken.swapped()):
            await judge.decide(transcript.view(), Draw())
        if len(taken) != ends[-1]:
            raise SystemExit(
                f"{setup.question.id}: {len(taken)} calls; a speech was not valid, so the stages are mixed"
            )
        chains.append([taken[end - size : end] for end, size in zip(ends, sizes, strict=True)])
    return chains


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def run_ours(questions: int, base_url: str, best_of: int, profile: str | None) -> tuple[float, float]:
    """Hold the tournament as ``tournaments.swiss`` does, run folder and store included; returns wall and CPU."""
    import openai.resources.chat  # noqa: F401 - imported beforehand on both sides

    from tournaments.exports import export_ratings
    from tournaments.ladder import sections
    from tournaments.metrics import metrics
    from tournaments.session import write_debates
    from tournaments.swiss import rate, tournament

    config = config_for(questions, base_url, best_of)
    with tempfile.TemporaryDirectory() as folder:
        session = Session("benchmarks.throughput", config, Invocation(output=Path(folder) / "run"))
        data = read_questions(config)
        plan = plan_field(swiss_field(config, data.cross_play, data.self_play))
        with session.open(data._asdict()) as run:
            profiler = cProfile.Profile()
            if profile:
                profiler.enable()
            start, cpu = time.perf_counter(), _cpu_s()
            played = session.ask(
                run, lambda models: tournament(config, data, plan, session=session, run=run, models=models)
            )
            spent = time.perf_counter() - start, _cpu_s() - cpu
            if profile:
                profiler.disable()
                profiler.dump_stats(profile)
            write_debates(run, played.recorded)
            standings = rate(config, played)
            export_ratings(run, standings)
            report = Report(title="Benchmark", sections=sections(standings, session.meter.by_model(), 0.0))
            with contextlib.redirect_stdout(sys.stderr):
                session.finish(run, report, metrics(standings), played.recorded)
    return spent


async def run_bare(chains: Sequence[Chain], base_url: str) -> tuple[float, float]:
    """Make the same calls through the SDK alone; returns wall and CPU."""
    import httpx2
    import openai.resources.chat

    most = max(len(stage) for chain in chains for stage in chain) * len(chains)
    client = openai.AsyncOpenAI(
        api_key="none",
        base_url=base_url,
        timeout=600,
        http_client=openai.DefaultAsyncHttpxClient(
            limits=httpx2.Limits(max_connections=most, max_keepalive_connections=most)
        ),
    )

    async def follow(chain: Chain) -> list[str | None]:
        replies: list[str | None] = []
        for stage in chain:
            done = await asyncio.gather(*(client.chat.completions.create(**request) for request in stage))
            replies.extend(reply.choices[0].message.content for reply in done)
        return replies

    start, cpu = time.perf_counter(), _cpu_s()
    await asyncio.gather(*(follow(chain) for chain in chains))
    spent = time.perf_counter() - start, _cpu_s() - cpu
    await client.close()
    return spent


@contextlib.contextmanager
def serving(latency: float) -> Iterator[str]:
    """Run a server; yields its base URL."""
    command = [sys.executable, "-m", "benchmarks.latency_server", "--latency", str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own
        try:
            assert process.stdout is not None  # noqa: S101 - for mypy
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.kill()


def measure(
    kind: str, questions: int, chains: Path, latency: float, *, best_of: int, profile: str | None = None
) -> Run:
    """Hold one run in a process of its own, against a server of its own."""
    with serving(latency) as base_url:
        command = [
            sys.executable,
            "-m",
            "benchmarks.throughput",
            str(questions),
            "--best-of",
            str(best_of),
            "--child",
            kind,
            base_url,
            str(chains),
        ]
        command += ["--profile", profile] if profile else []
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
        command_s = time.perf_counter() - start
        if done.returncode:
            raise SystemExit(done.stderr)
        wall_s, cpu_s = json.loads(done.stdout)
        with urllib.request.urlopen(f"{base_url.removesuffix('/v1')}/stats", timeout=600) as response:  # noqa: S310 - our own
            return Run(Spent(wall_s, cpu_s, command_s), json.load(response))


def child(kind: str, questions: int, base_url: str, chains: str, *, best_of: int, profile: str | None) -> None:
    """Be one run, and print what it took."""
    if kind == "ours":
        spent = run_ours(questions, base_url, best_of, profile)
    else:
        spent = asyncio.run(run_bare(json.loads(Path(chains).read_text(encoding="utf-8")), base_url))
    print(json.dumps(spent))


def compare(questions: int, latency: float, repeats: int, best_of: int) -> tuple[list[Cell], list[Cell]]:
    """Measure one size; returns a row for us and one for the bare loop, medians throughout."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chains.json"
        chains = asyncio.run(collect_chains(config_for(questions, "http://127.0.0.1:1/v1", best_of), best_of))
        path.write_text(json.dumps(chains), encoding="utf-8")
        runs: dict[str, list[Run]] = {"ours": [], "bare": []}
        for _ in range(repeats):
            for kind, done in runs.items():
                done.append(measure(kind, questions, path, latency, best_of=best_of))
    asked = {run.server["requests"] for done in runs.values() for run in done}
    if len(asked) > 1:
        raise SystemExit(f"{questions} questions: the runs did not ask the same: {runs}")
    medians = {kind: _medians(done) for kind, done in runs.items()}
    ours, bare = (
        _row(questions, name, runs[kind], latency * len(stage_sizes(best_of)), (medians[kind], medians["bare"]))
        for kind, name in (("ours", "dissoi"), ("bare", "bare AsyncOpenAI"))
    )
    return ours, bare


def _medians(runs: Sequence[Run]) -> Spent:
    return Spent(*(statistics.median(values) for values in zip(*(run.spent for run in runs), strict=True)))


def _row(questions: int, name: str, runs: Sequence[Run], ideal: float, spent: tuple[Spent, Spent]) -> list[Cell]:
    """Make a row of the medians of some runs and those of the bare loop."""
    own, bare = spent
    server = statistics.median(run.server["cpu_s"] for run in runs)
    calls = runs[0].server["calls"]
    return [
        questions,
        name,
        calls,
        f"{ideal:.1f}",
        f"{own.wall_s:.2f}",
        f"{own.wall_s / ideal:.2f}",
        f"{own.wall_s / bare.wall_s:.2f}",
        f"{1000 * own.cpu_s / calls:.2f}",
        f"{own.cpu_s / bare.cpu_s:.2f}",
        f"{1000 * server / calls:.2f}",
        max(run.server["most_running"] for run in runs),
        max(run.server["connections"] for run in runs),
        f"{own.command_s:.1f}",
    ]


def main() -> None:
    """Print the table, or be one of its runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="*", type=int, default=[40, 400])
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--best-of", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--profile")
    parser.add_argument("--child", nargs=3, metavar=("KIND", "BASE_URL", "CHAINS"), help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.child:
        kind, base_url, chains = flags.child
        child(kind, flags.questions[0], base_url, chains, best_of=flags.best_of, profile=flags.profile)
        return
    if flags.profile:
        measure("ours", flags.questions[0], Path(), flags.latency, best_of=flags.best_of, profile=flags.profile)
        return
    rows = [
        row for questions in flags.questions for row in compare(questions, flags.latency, flags.repeats, flags.best_of)
    ]
    titles = "calls,ideal s,wall s,wall / ideal,wall / bare,CPU ms a call,CPU / bare,server CPU ms a call"
    columns = [
        Column("questions", kind="count"),
        Column("client"),
        *(Column(title, align="right") for title in titles.split(",")),
        Column("most at a time", kind="count"),
        Column("connections", kind="count"),
        Column("command s", align="right"),
    ]
    best = f", best of {flags.best_of}" if flags.best_of > 1 else ""
    print_table(Table(f"Latency {flags.latency:g} s, medians of {flags.repeats}{best}", columns, rows))


if __name__ == "__main__":
    main()
