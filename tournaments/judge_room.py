"""``python -m tournaments.judge_room``: people judge debates in a browser, and their verdicts join those of models."""

from __future__ import annotations

import asyncio
import hashlib
import json
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from debate.command import Command, Invocation
from debate.errors import ConfigError, StoreError
from debate.models.load import Models
from debate.record import Recorded, read_records
from debate.report import Report, print_table
from debate.run_folder import RunFolder
from debate.sources import load_debates
from tournaments.cast import write_kept
from tournaments.exports import export_by_judge
from tournaments.field import check_lengths
from tournaments.plan import Field, Plan, plan_field
from tournaments.players import build_player
from tournaments.rejudge import Material, copy, read_material
from tournaments.room import LIVE, Room
from tournaments.room_config import RoomConfig, with_field
from tournaments.room_journal import JOURNAL, Given, Journal, read_journal
from tournaments.room_live import LiveDebates
from tournaments.room_tables import find
from tournaments.room_tags import judged_by_people
from tournaments.session import Session, write_debates


def read_debates(config: RoomConfig, resume: Path | None) -> Material:
    """Read the debates that are judged, as ``rejudge`` does; what a room held live itself is not among them.

    Raises:
        DissoiError: There is no source, or one cannot be read; or a room of live debates has no debate whose players
            are its own.
    """
    material = read_material(config.choice, resume)
    held = set()
    if resume is not None:
        given = (one for one in read_journal(resume / JOURNAL) if isinstance(one, Given))
        held = {one.debate for one in given if one.of is not None}
    return Material([item for item in material.recorded if item.debate.id not in held], material.kept)


def playable(config: RoomConfig, recorded: Sequence[Recorded]) -> list[Recorded]:
    """The debates that can be given to people.

    Raises:
        DissoiError: There are none.
    """
    if config.field is None:
        return list(recorded)
    names = {player.name for player in config.field.players}
    found = [
        item
        for item in recorded
        if LIVE not in item.debate.tags
        and any(name is not None for name in item.debate.players)
        and all(name in names for name in item.debate.players if name is not None)
    ]
    if not found:
        raise ConfigError(
            f"none of the {len(recorded)} debates is between players of the run ({', '.join(sorted(names))}); give the "
            "run that held them, or leave out live"
        )
    return found


def plan_live(config: RoomConfig, recorded: Sequence[Recorded]) -> Plan:
    """Plan what one person's live debates take, all of them; nothing where debates are recorded."""
    field = config.speaking
    if field is None:
        return Plan(len(recorded), 0, 0, {}, {}, {})
    questions = list(
        {item.debate.transcript.question.id: item.debate.transcript.question for item in recorded}.values()
    )
    each = len(recorded) * field.protocol.speakers / len(field.players)
    return plan_field(Field(field, questions, (), len(recorded), 0, speeches=each, sides=each))


class Running:
    """A room that is open.

    Args:
        config: The room.
        run: Its open run.
        recorded: The debates that are given.
        plan: What live debates take.
        session: The session.
        models: The run's models.
    """

    def __init__(
        self,
        config: RoomConfig,
        *,
        run: RunFolder,
        recorded: Sequence[Recorded],
        plan: Plan,
        session: Session,
        models: Models,
    ) -> None:
        self._config = config
        self._run = run
        self._recorded = recorded
        self._plan = plan
        self._session = session
        self._models = models

    async def serve(self) -> None:
        """Serve until the process is asked to stop."""
        journal = Journal(self._run.path / JOURNAL)
        live: LiveDebates | None = None
        try:
            room = self._room(journal)
            live = self._live(room)
            await self._listen(room, live, journal)
        finally:
            if live is not None:
                await live.close()
            journal.close()

    def _room(self, journal: Journal) -> Room:
        return Room(self._config, self._recorded, store=self._run.store, journal=journal)

    def _live(self, room: Room) -> LiveDebates | None:
        field = self._config.speaking
        if field is None or self._config.mode != "judge":
            return None
        debaters = {
            player.name: build_player(
                player,
                speech=field.speech,
                models=self._models,
                prompts=self._session.prompts,
                judge=field.judge,
                story_tokens=self._plan.story_tokens.get(player.name) if player.name in self._plan.too_long else None,
            )
            for player in field.players
        }
        self._run.keep_models(self._models.facts)
        return LiveDebates(room, debaters=debaters, rounds=field.protocol.rounds, store=self._run.store)

    async def _listen(self, room: Room, live: LiveDebates | None, journal: Journal) -> None:
        from aiohttp import web

        from tournaments.room_guard import KEY, Guard, host_names, is_loopback, keep_secret
        from tournaments.room_pages import Pages
        from tournaments.room_server import Desk, JudgeDesk, make_app
        from tournaments.room_tagging import TagDesk

        config = self._config
        guard = Guard(
            # Where errors are tagged right answers are shown: the link by which people judge does not lead there.
            f"{config.mode} {keep_secret(self._run.path / KEY)}",
            hosts=host_names(config.host, config.names),
            open_=is_loopback(config.host),
        )
        pages = Pages(hashlib.sha256(str(self._run.path.resolve()).encode()).hexdigest()[:8])
        desk: Desk
        if config.mode == "tag":
            desk = TagDesk(judged_by_people(read_records(self._run.store)), journal, guard, pages)
        else:
            desk = JudgeDesk(room, live, guard, pages)

        def failed(error: StoreError) -> None:
            sys.stderr.write(f"tournaments.judge_room: {error}\n")

        runner = web.AppRunner(make_app(desk, failed=failed), access_log=None)
        await runner.setup()
        try:
            site = web.TCPSite(runner, config.host, config.port)
            try:
                await site.start()
            except OSError as error:
                raise ConfigError(
                    f"cannot listen at {config.host}, port {config.port}: {error.strerror or error}; choose another "
                    "--port or --host"
                ) from error
            self._announce(runner.addresses[0], None if is_loopback(config.host) else guard.token, room)
            await _stopped()
        finally:
            await runner.cleanup()

    def _announce(self, address: tuple[object, ...], token: str | None, room: Room) -> None:
        """Say where the room is. The link is printed here alone."""
        host = str(address[0])
        if host in {"0.0.0.0", "::"}:  # noqa: S104 - nothing is bound here: no browser can open these
            host = socket.gethostname()
        shown = self._config.names[0] if self._config.names else host
        place = f"http://{f'[{shown}]' if ':' in shown else shown}:{address[1]}"
        link = f"{place}/" if token is None else f"{place}/enter?token={token}"
        what = "errors are tagged" if self._config.mode == "tag" else f"{room.size} debates to judge"
        sys.stdout.write(f"Judge room, {what}: {link}\nStop it with Ctrl-C; it is kept in {self._run.path}\n")
        sys.stdout.flush()


async def _stopped() -> None:
    """Wait for Ctrl-C or a signal to end."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        await stop.wait()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def show_tables(config: RoomConfig, folder: Path | None) -> int:
    """Print what a room found, whether it is open or not."""
    if folder is None:
        raise ConfigError("mode table shows a room that there is; name it: --resume DIR --mode table")
    found = find(config, load_debates(str(folder)), read_journal(folder / JOURNAL))
    if config.format == "json":
        sys.stdout.write(json.dumps(found.metrics, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        return 0
    for table in found.tables:
        print_table(table)
    return 0


def run_room(config: RoomConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    if config.mode == "table":
        return show_tables(config, invocation.resume)
    if config.mode == "tag" and invocation.resume is None:
        raise ConfigError("errors are tagged in a room that people have judged in; name it: --resume DIR --mode tag")
    config = with_field(config)
    session = Session("tournaments.judge_room", config, invocation)
    material = read_debates(config, invocation.resume)
    recorded = playable(config, material.recorded)
    plan = plan_live(config, recorded)
    if config.speaking is not None:
        check_lengths(config.speaking, plan)
    if invocation.dry_run:
        note = "What one person takes who judges all of them." if config.live else "People judge; no model is asked."
        return session.show_plan(plan, [note, *material.notes], {"debates": material.questions})
    with session.open({"debates": material.questions}, material.recorded) as run:

        async def serve(models: Models) -> None:
            await copy(run.store, material.recorded)
            write_kept(run, material.kept)
            run.keep_models(models.facts)
            room = Running(config, run=run, recorded=recorded, plan=plan, session=session, models=models)
            await room.serve()

        session.ask(run, serve)
        return conclude(config, session, run, material)


def conclude(config: RoomConfig, session: Session, run: RunFolder, material: Material) -> int:
    """Leave what the room found so far in its folder."""
    every = read_records(run.store)
    write_debates(run, every)
    found = find(config, every, read_journal(run.path / JOURNAL))
    if not found.judges:
        sys.stdout.write("Nobody has judged yet; go on with --resume.\n")
        return 0
    export_by_judge(run, [judge.standings for judge in found.judges if judge.standings is not None])
    run.write_json("errors.json", found.metrics["errors"])
    report = Report(
        title="Debates judged by people",
        subtitle=f"{len(every)} debates, {len(material.questions)} questions",
        notes=material.notes,
        sections=found.sections,
    )
    return session.finish(run, report, found.metrics, every, by_judge={}, analyse=True)


COMMAND = Command(
    name="tournaments.judge_room",
    about="Have people judge debates of a run in their browsers, blind: without right answers, story, names of players "
    "and other verdicts. Judgements join the verdicts of models, in a new run of the same debates.",
    config=RoomConfig,
    run=run_room,
    positional="sources",
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
