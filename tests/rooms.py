"""Judge rooms for tests: debates with planted names and stories, a room over them, a browser without a screen."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp.test_utils import TestClient, TestServer
from multidict import MultiDict

from debate.question import Question
from debate.quotes import parse_argument, parse_plain
from debate.record import Debate, Recorded, to_json
from debate.store import Store
from debate.transcript import Transcript, Turn
from debate.verdict import Verdict
from tournaments.room import Room
from tournaments.room_config import RoomConfig
from tournaments.room_guard import Guard, host_names
from tournaments.room_journal import JOURNAL, Journal
from tournaments.room_pages import Pages
from tournaments.room_server import Desk, JudgeDesk, make_app

PLAYERS = ("alpha-player-9", "omega-player-7")
HIDDEN = "Nobody ever saw the heron that stood behind the mill."
QUOTED = "The ledger lay under the third stair."
OTHER_JUDGE = "other-judge-3"
WHY = "The quoted ledger under the stair decides it for me, since nobody answered that line."


def debate(
    number: int,
    *,
    question: int | None = None,
    gold: int | None = 0,
    rounds: int = 2,
    extra: str = "",
    asked: bool = False,
) -> Recorded:
    """A debate with a verdict of a model; the story holds a sentence that nobody quotes."""
    asks = number if question is None else question
    story = f"{QUOTED} {HIDDEN} Case {asks} was closed."
    about = Question(
        f"q{asks}", f"Who hid ledger {asks}?", (f"Ana{asks}.", f"Tom{asks}."), gold, story, f"s{asks}", "test"
    )
    turns = []
    for round_ in range(1, rounds + 1):
        if asked and round_ > 1:
            turns.append(Turn(round_, "judge", None, parse_plain("Debater A, which stair?", seat="A"), first=0))
        for answer in (0, 1):
            said = (
                f"In round {round_} I, Debater {'AB'[answer]}, say <quote>{QUOTED}</quote> and "
                f"<quote>the moon was green that night</quote> as speaker{answer}."
            )
            argument = parse_argument(said, story, seat="AB"[answer])  # type: ignore[arg-type]
            # As no parser would leave it: pages must not lean on the parser.
            argument = dataclasses.replace(argument, spans=(*argument.spans, extra))
            turns.append(Turn(round_, "debater", answer, argument, thinking="secret thinking"))
    held = Debate(f"d{number} | {PLAYERS[0]}", "simultaneous", Transcript(about, (0, 1), tuple(turns)), PLAYERS)
    return Recorded(held, (Verdict(OTHER_JUDGE, (0, 1), (0.9, 0.1), reasoning="model reasoning"),))


def debates(count: int = 4) -> list[Recorded]:
    """So many debates, each on a question of its own."""
    return [debate(number) for number in range(count)]


def room_config(**changes: Any) -> RoomConfig:
    """A room's configuration."""
    return RoomConfig.model_validate({"sources": ("run",), **changes})


@dataclass
class Opened:
    """A room over a folder.

    Attributes:
        folder: Where its store and journal are.
        room: The room.
        store: Its store.
        journal: Its journal.
    """

    folder: Path
    room: Room
    store: Store
    journal: Journal

    @staticmethod
    def of(folder: Path, recorded: Iterable[Recorded], **changes: Any) -> Opened:
        """Open a room, or open it again; in a test that is asynchronous use ``begin``."""
        return asyncio.run(Opened.begin(folder, recorded, **changes))

    @staticmethod
    async def begin(folder: Path, recorded: Iterable[Recorded], kind: type[Store] = Store, **changes: Any) -> Opened:
        """Open a room, or open it again."""
        store = kind(folder / "run.sqlite")
        items = list(recorded)
        for item in items:
            await store.put("debates", item.debate.id, to_json(item.debate))
        journal = Journal(folder / JOURNAL)
        room = Room(room_config(**changes), items, store=store, journal=journal)
        return Opened(folder, room, store, journal)

    def close(self) -> None:
        """Close it."""
        self.journal.close()
        self.store.close()


class Visitor:
    """A person at a room, with a browser that keeps cookies.

    Args:
        client: The connection.
    """

    def __init__(self, client: TestClient[Any, Any]) -> None:
        self.client = client
        self.pages: list[str] = []

    async def get(self, path: str, **options: Any) -> tuple[int, str]:
        """Load a page, following redirects."""
        async with self.client.get(path, **options) as response:
            return await self._read(response)

    async def post(self, path: str, fields: Any, **options: Any) -> tuple[int, str]:
        """Send fields, following redirects."""
        async with self.client.post(path, data=fields, **options) as response:
            return await self._read(response)

    async def _read(self, response: Any) -> tuple[int, str]:
        text = await response.text()
        self.pages.append(text)
        self.url = response.url.path
        return response.status, text

    async def enter(self, name: str) -> str:
        """Say a name; returns the page that comes."""
        _, page = await self.get("/")
        _, page = await self.post("/name", {"csrf": csrf(page), "name": name})
        return page

    async def next(self) -> str:
        """Go to the next debate."""
        return (await self.get("/next"))[1]

    async def send(self, page: str, path: str | None = None, **fields: str) -> tuple[int, str]:
        """Fill in the form of a debate's page and send it."""
        hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page.partition('id="form"')[2]))
        return await self.post(path or self.url, MultiDict({**hidden, **fields}))

    async def judge(self, page: str, share: int = 80, why: str = WHY) -> tuple[int, str]:
        """Send a judgement."""
        return await self.send(page, share=str(share), explanation=why)


def csrf(page: str) -> str:
    """The key of a page's last form."""
    return str(re.findall(r'name="csrf" value="(\w+)"', page)[-1])


async def connect(desk: Desk) -> TestClient[Any, Any]:
    """Serve a desk, and connect to it; close what is returned."""
    client = TestClient(TestServer(make_app(desk)))
    await client.start_server()
    return client


def guard(*, hosts: frozenset[str] | None = None, open_: bool = True) -> Guard:
    """A guard on loopback."""
    return Guard("0" * 43, hosts=host_names("127.0.0.1", ()) if hosts is None else hosts, open_=open_)


def judge_desk(opened: Opened, live: Any = None, **changes: Any) -> JudgeDesk:
    """The desk of a room."""
    return JudgeDesk(opened.room, live, guard(**changes), Pages("test"))
