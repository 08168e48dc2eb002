"""The judge room as browsers meet it: what is sent out, what is taken, and who is kept out."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from debate.record import read_records
from debate.store import Store
from debate.store_file import Table
from tests.rooms import (
    HIDDEN,
    OTHER_JUDGE,
    PLAYERS,
    QUOTED,
    WHY,
    Opened,
    Visitor,
    connect,
    csrf,
    debate,
    debates,
    guard,
    judge_desk,
)
from tournaments.room import Ballot
from tournaments.room_guard import Guard, host_names, keep_secret
from tournaments.room_journal import Tagged, read_journal
from tournaments.room_pages import Pages
from tournaments.room_tagging import TagDesk
from tournaments.room_tags import judged_by_people

ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)> [x](javascript:alert(3)) {{ 7 * 7 }}"


@dataclasses.dataclass
class House:
    """A room that is served, and a way to visit it."""

    opened: Opened
    folder: Path
    closers: list[Any]

    async def visitor(self, name: str | None = None, **changes: Any) -> Visitor:
        client = await connect(judge_desk(self.opened, **changes))
        self.closers.append(client)
        found = Visitor(client)
        if name is not None:
            await found.enter(name)
        return found


@pytest.fixture
async def house(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[House]:
    """A room of four debates; a parameter changes its configuration, and may give other debates."""
    changes = dict(getattr(request, "param", {}))
    recorded = changes.pop("recorded", debates())
    opened = await Opened.begin(tmp_path, recorded, **changes)
    found = House(opened, tmp_path, [])
    yield found
    for client in found.closers:
        await client.close()
    opened.close()


def with_(**changes: Any) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("house", [changes], indirect=True)


# --- judging ---------------------------------------------------------------------------------------------------------


async def test_a_person_names_itself_judges_and_comes_to_an_end(house: House) -> None:
    person = await house.visitor("Ann")
    for number in range(1, 5):
        page = await person.next()
        assert person.url == f"/debate/{number}"
        assert page.count('type="radio"') == 18
        assert "50%" not in page
        status, page = await person.judge(page, share=30)
        assert (status, person.url) == (200, f"/debate/{number}")
        assert "Your judgement is kept" in page
        assert "B, 70% sure" in page
    page = await person.next()
    assert "nothing left" in page
    assert page.count("B, 70% sure") == 4
    verdicts = [verdict for item in read_records(house.opened.store) for verdict in item.verdicts]
    assert {verdict.judge for verdict in verdicts} == {"human/ann"}
    for verdict in verdicts:
        assert verdict.probabilities is not None
        assert verdict.probabilities[verdict.order[0]] == pytest.approx(0.3)


async def test_the_page_shows_the_order_that_the_verdict_holds(house: House) -> None:
    for name in ("Ann", "Bob", "Cy"):
        person = await house.visitor(name)
        page = await person.next()
        answers = re.findall(r'<p class="answer">(.*?)</p>', page)
        await person.judge(page, share=95)
        given = house.opened.room.given(f"human/{name.lower()}", 1)
        assert given is not None
        verdict = house.opened.room.final(f"human/{name.lower()}", given.debate)
        held = house.opened.room.debate(given.debate)
        assert verdict is not None
        assert held is not None
        assert answers == [held.transcript.question.answers[answer] for answer in verdict.order]
        # The speeches sit under the answer they defend, and name themselves by the letter that is shown.
        first = re.search(r'<article class="speech side-A">.*?</article>', page, re.DOTALL)
        assert first is not None
        assert f"speaker{verdict.order[0]}" in first[0]
        assert '<bdi class="name">Debater A</bdi>' in first[0]


@with_(feedback=False, beliefs=True, recorded=[debate(n, asked=True) for n in range(3)])
async def test_nothing_that_is_sent_tells_gold_names_story_or_other_verdicts(house: House) -> None:
    person = await house.visitor("Ann")
    for _ in range(3):
        page = await person.next()
        for _ in range(2):
            _, page = await person.send(page, share="80", explanation=WHY)
        assert "Your judgement is kept" in page
    await person.get("/")
    sent = "\n".join(person.pages)
    assert QUOTED in sent
    for hidden in (
        HIDDEN,
        "was closed",
        *PLAYERS,
        OTHER_JUDGE,
        "model reasoning",
        "secret thinking",
        "s0",
        "q0",
        "0.9",
    ):
        assert hidden not in sent, hidden
    assert "gold" not in sent
    assert "right answer" not in sent
    # Gold makes no difference: with another right answer, or none, the same pages come.
    shown = [re.sub(r"[0-9a-f]{64}", "", page) for page in person.pages]
    for gold in (1, None):
        folder = house.folder / f"gold{gold}"
        folder.mkdir()
        recorded = [debate(n, asked=True, gold=gold) for n in range(3)]
        opened = await Opened.begin(folder, recorded, beliefs=True)
        client = await connect(judge_desk(opened))
        other = Visitor(client)
        await other.enter("Ann")
        for _ in range(3):
            page = await other.next()
            for _ in range(2):
                _, page = await other.send(page, share="80", explanation=WHY)
        await other.get("/")
        assert [re.sub(r"[0-9a-f]{64}", "", page) for page in other.pages] == shown
        await client.close()
        opened.close()


@with_(feedback=True)
async def test_feedback_comes_after_the_judgement_and_not_before(house: House) -> None:
    person = await house.visitor("Ann")
    page = await person.next()
    assert "right answer" not in page
    _, page = await person.judge(page)
    given = house.opened.room.given("human/ann", 1)
    assert given is not None
    order = house.opened.room.order("human/ann", given.debate)
    sides = re.findall(r'<div class="side side-[AB].*?</div>', page, re.DOTALL)
    assert ["✓ the right answer" in side for side in sides] == [answer == 0 for answer in order]


@with_(recorded=[debate(0, extra=ATTACK)])
async def test_what_debaters_and_people_write_stays_text(house: House) -> None:
    person = await house.visitor("Ann")
    page = await person.next()
    _, refused = await person.judge(page, why=f'"><script>{ATTACK}')
    assert 'role="alert"' in refused
    _, kept = await person.judge(page, why=f"{WHY} {ATTACK} </div>")
    _, home = await person.get("/")
    for text in (page, refused, kept, home):
        assert "<script>alert" not in text
        assert "<img" not in text
        assert "49" not in re.sub(r"[0-9a-f]{64}", "", text)
        assert re.findall(r"<script[^>]*>", text) == ['<script defer src="/assets/room.js">']
        assert " style=" not in text
    assert "&lt;script&gt;alert(1)" in page


async def test_a_form_that_lacks_something_comes_back_as_it_was(house: House) -> None:
    person = await house.visitor("Ann")
    page = await person.next()
    cases = [
        ({"share": "80", "explanation": "too short"}, "at least 10 words"),
        ({"share": "80"}, "at least 10 words"),
        ({"explanation": WHY}, "how sure"),
        ({"share": "50", "explanation": WHY}, "how sure"),
        ({"share": "100", "explanation": WHY}, "how sure"),
        ({"share": "A", "explanation": WHY}, "how sure"),
        ({"share": "80", "explanation": "word " * 1200}, "5000"),
    ]
    for fields, words in cases:
        status, back = await person.send(page, "/debate/1", **fields)
        assert status == 422
        assert words in re.findall(r'role="alert">(.*?)</p>', back)[0]
        assert fields.get("explanation", "").strip()[:50] in back
        if fields.get("share") == "80":
            assert re.search(r'value="80" required checked', back)
    assert house.opened.room.final("human/ann", "d0 | alpha-player-9") is None
    assert list(house.opened.store.rows("verdicts")) == []


async def test_the_same_sent_twice_is_kept_once_and_something_else_is_refused(house: House) -> None:
    person = await house.visitor("Ann")
    page = await person.next()
    assert (await person.judge(page))[0] == 200
    status, again = await person.send(page, "/debate/1", share="80", explanation=WHY)
    assert status == 200
    assert "Your judgement is kept" in again
    status, other = await person.send(page, "/debate/1", share="20", explanation=WHY)
    assert status == 409
    assert "already" in other
    assert len(list(house.opened.store.rows("verdicts"))) == 1


@with_(beliefs=True)
async def test_a_debate_is_revealed_round_by_round(house: House) -> None:
    person = await house.visitor("Ann")
    page = await person.next()
    assert "In round 1 I" in page
    assert "In round 2 I" not in page
    # The judgement, or the belief of another round, is not taken before its time.
    assert (await person.send(page, "/debate/1", action="judge", share="80", explanation=WHY))[0] in {409, 422}
    hidden = {"csrf": csrf(page), "share": "80", "explanation": WHY}
    assert (await person.post("/debate/1", {**hidden, "action": "judge"}))[0] == 409
    assert (await person.post("/debate/1", {**hidden, "action": "belief", "round": "2"}))[0] == 409
    assert (await person.post("/debate/1", {**hidden, "action": "question", "round": "2"}))[0] == 409
    status, page = await person.post("/debate/1", {**hidden, "action": "belief", "round": "1", "explanation": ""})
    assert status == 200
    assert "In round 2 I" in page
    # Sent twice, it is one.
    assert (await person.post("/debate/1", {**hidden, "action": "belief", "round": "1", "explanation": ""}))[0] == 200
    await person.judge(page)
    rounds = [verdict.round for item in read_records(house.opened.store) for verdict in item.verdicts]
    assert rounds == [1, None]


async def test_people_of_different_names_do_not_meet_and_a_name_can_be_left(house: House) -> None:
    ann, bob = await house.visitor("Ann"), await house.visitor("Bob")
    await ann.judge(await ann.next())
    page = await bob.next()
    assert WHY not in page
    assert (await bob.get("/debate/2"))[1].count("First debate") == 1  # not given: back home
    _, page = await ann.get("/")
    _, page = await ann.post("/leave", {"csrf": csrf(page)})
    assert 'id="name"' in page
    page = await ann.enter(" ANN ")
    assert "Somebody has been here" in page
    _, page = await ann.post("/name", {"csrf": csrf(page), "name": " ANN ", "known": "human/ann"})
    assert "You have judged 1 debate." in page


async def test_who_takes_a_name_that_is_taken_is_told_so(house: House) -> None:
    ann = await house.visitor("Ann")
    await ann.judge(await ann.next())
    other = await house.visitor()
    page = await other.enter("ann")
    assert "Somebody has been here" in page
    assert "You have judged" not in page
    known = {"csrf": csrf(page), "known": "human/ann"}
    assert "First debate" in (await other.post("/name", {**known, "name": "Bea"}))[1]
    assert "Somebody has been here" in (await other.post("/name", {**known, "name": "ann", "known": "human/bea"}))[1]


async def test_what_was_sent_leads_to_what_is_new(house: House) -> None:
    person = await house.visitor("Ann")
    page = await person.next()
    fields = {"csrf": csrf(page), "action": "judge", "share": "80", "explanation": WHY}
    async with person.client.post("/debate/1", data=fields, allow_redirects=False) as response:
        assert response.headers["Location"] == "/debate/1#now"
    _, page = await person.get("/debate/1")
    assert re.findall(r'<(\w+)[^>]* id="now"', page) == ["section"]


@with_(beliefs=True)
async def test_a_belief_leads_to_the_round_that_is_new(house: House) -> None:
    person = await house.visitor("Ann")
    page = await person.next()
    _, page = await person.send(page, share="80", explanation="")
    assert re.findall(r'id="now">(.*?)<', page) == ["Round 2"]


async def test_without_a_name_nothing_is_shown(house: House) -> None:
    person = await house.visitor()
    for path in ("/", "/next", "/debate/1"):
        assert 'id="name"' in (await person.get(path))[1]
    status, page = await person.post("/name", {"csrf": csrf(person.pages[-1]), "name": "<b>"})
    assert status == 422
    assert 'value="&lt;b&gt;"' in page
    assert re.search(r'action="/name#(\w+)" class="name" id="\1"', page)  # a small screen shows why at once
    for path in ("/debate/0", "/debate/x", "/assets/room.html.j2", "/assets/..%2Froom.py", "/judgement/1", "/.git"):
        assert (await person.get(path))[0] == 404


class Slow(Store):
    """A store that keeps nothing before it may."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.may = asyncio.Event()
        self.may.set()

    async def put(self, table: Table, key: str, payload: str) -> None:
        """Wait, then keep."""
        await self.may.wait()
        await super().put(table, key, payload)


async def test_a_judgement_is_in_the_store_before_the_browser_is_told(tmp_path: Path) -> None:
    opened = await Opened.begin(tmp_path, debates(), Slow)
    assert isinstance(opened.store, Slow)
    client = await connect(judge_desk(opened))
    person = Visitor(client)
    await person.enter("Ann")
    page = await person.next()
    opened.store.may.clear()
    told = asyncio.create_task(person.judge(page))
    await asyncio.sleep(0.2)
    assert not told.done()
    assert list(opened.store.rows("verdicts")) == []
    opened.store.may.set()
    assert (await told)[0] == 200
    assert len(list(opened.store.rows("verdicts"))) == 1
    await client.close()
    opened.close()


async def test_two_at_once_keep_one_judgement(tmp_path: Path) -> None:
    opened = await Opened.begin(tmp_path, debates(), Slow)
    assert isinstance(opened.store, Slow)
    client = await connect(judge_desk(opened))
    person = Visitor(client)
    await person.enter("Ann")
    page = await person.next()
    opened.store.may.clear()
    sent = [person.send(page, "/debate/1", share=share, explanation=WHY) for share in ("80", "80", "20")]
    told = asyncio.gather(*sent)
    await asyncio.sleep(0.2)
    opened.store.may.set()
    statuses = sorted(status for status, _ in await told)
    assert statuses in ([200, 200, 409], [200, 409, 409])  # whichever came first
    assert len(list(opened.store.rows("verdicts"))) == 1
    await client.close()
    opened.close()


async def test_what_cannot_be_kept_is_not_acknowledged(house: House) -> None:
    person = await house.visitor("Ann")
    page = await person.next()
    house.opened.store.close()
    status, text = await person.judge(page)
    assert status == 503
    assert "kept" in text
    assert house.opened.room.final("human/ann", "d0 | alpha-player-9") is None


# --- who is kept out -------------------------------------------------------------------------------------------------


async def test_every_answer_says_what_browsers_may_do(house: House) -> None:
    person = await house.visitor("Ann")
    for name in ("report.css", "room.css", "room.js"):
        assert (await person.get(f"/assets/{name}"))[0] == 200
    for path in ("/", "/next", "/assets/room.css", "/nowhere"):
        async with person.client.get(path) as response:
            policy = response.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert response.headers["Referrer-Policy"] == "no-referrer"
            assert response.headers["X-Content-Type-Options"] == "nosniff"
            assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil", "", "127.0.0.1:x",
        "127.0.0.1:99999",
    ],
)  # fmt: skip
async def test_other_host_names_are_refused(house: House, host: str) -> None:
    person = await house.visitor()
    assert (await person.get("/", headers={"Host": host}))[0] in {400, 421}


async def test_host_names_that_are_named_are_served(house: House) -> None:
    hosts = host_names("127.0.0.1", ("Judges.example",))
    person = await house.visitor(hosts=hosts)
    for host in ("judges.example", "JUDGES.EXAMPLE:8443", "localhost:1", "[::1]:80"):
        assert (await person.get("/", headers={"Host": host}))[0] == 200


async def test_posts_of_other_sites_are_refused(house: House) -> None:
    person = await house.visitor("Ann")
    page = await person.next()
    fields = {"csrf": csrf(page), "action": "judge", "share": "80", "explanation": WHY}
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert (await person.post("/debate/1", fields, headers=headers))[0] == 403
    assert (await person.post("/debate/1", {**fields, "csrf": ""}))[0] == 403
    assert (await person.post("/debate/1", {**fields, "csrf": guard().csrf("human/bob")}))[0] == 403
    assert list(house.opened.store.rows("verdicts")) == []
    origin = f"http://{person.client.host}:{person.client.port}"
    assert (await person.post("/debate/1", fields, headers={"Origin": origin, "Sec-Fetch-Site": "same-origin"}))[
        0
    ] == 200


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-www-form-urlencoded; charset=nope", b"csrf=1"),
        ("application/x-www-form-urlencoded", b"\xff\xfe"),
        ("multipart/form-data; boundary=x", b"--x\r\nbroken"),
        ("multipart/form-data", b"broken"),
    ],
)
async def test_what_is_no_form_is_refused(house: House, kind: str, body: bytes) -> None:
    person = await house.visitor("Ann")
    assert (await person.post("/name", body, headers={"Content-Type": kind}))[0] == 400


async def test_large_bodies_and_other_methods_are_refused(house: House) -> None:
    person = await house.visitor("Ann")
    page = await person.next()
    assert (await person.post("/debate/1", {"csrf": csrf(page), "explanation": "x" * 100_000}))[0] == 413
    async with person.client.put("/debate/1") as response:
        assert response.status == 405
    async with person.client.options("/") as response:
        assert response.status == 405


async def test_elsewhere_the_link_with_the_token_is_needed(house: House) -> None:
    closed = guard(open_=False)
    person = await house.visitor(open_=False)
    for path in ("/", "/next", "/debate/1"):
        status, page = await person.get(path)
        assert status == 403
        assert "csrf" not in page
    for wrong in ("", "?token=", "?token=x", f"?token={closed.token[:-1]}", "?token=%ff%ed%a0%80"):
        assert (await person.get(f"/enter{wrong}"))[0] == 403
    async with person.client.get(f"/enter?token={closed.token}") as response:
        assert response.status == 200
        (cookie,) = response.headers.getall("Set-Cookie")
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert closed.token not in cookie
        text = await response.text()
        assert closed.token not in text
        assert 'content="0; url=/"' in text
    assert 'id="name"' in (await person.get("/"))[1]
    page = await person.enter("Ann")
    assert "First debate" in page
    cookies = [str(value) for value in person.client.session.cookie_jar]
    assert len(cookies) == 2
    assert all("SameSite=Strict" in value and "HttpOnly" in value for value in cookies)


def test_the_secret_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "room.key"
    first = keep_secret(path)
    assert keep_secret(path) == first
    assert path.stat().st_mode & 0o077 == 0
    assert len(first) >= 43
    path.write_text("cut", encoding="ascii")
    assert keep_secret(path) != "cut"
    one, other = (Guard(text, hosts=frozenset(), open_=False) for text in (first, keep_secret(path)))
    assert one.token != other.token
    assert one.csrf("a") != one.csrf("b")


# --- tagging ---------------------------------------------------------------------------------------------------------


async def test_errors_are_tagged_and_counted(house: House) -> None:
    room = house.opened.room
    for person, share in (("human/ann", 95), ("human/bob", 95)):
        for _ in range(4):
            given = await room.next_for(person)
            assert given is not None
            await room.judge(person, given.debate, Ballot(share, f"{WHY} {ATTACK}"))
    judged = judged_by_people(read_records(house.opened.store))
    wrong = sum(one.right is False for one in judged)
    assert 0 < wrong < 8
    client = await connect(TagDesk(judged, house.opened.journal, guard(), Pages("test")))
    house.closers.append(client)
    tagger = Visitor(client)
    page = await tagger.enter("Tess")
    assert page.count('href="/judgement/') == 8
    assert [one.right for one in judged] == [False] * wrong + [True] * (8 - wrong)
    _, page = await tagger.get("/judgement/1")
    assert HIDDEN in page
    assert "✓ the right answer" in page
    assert "<script>alert" not in page
    key = csrf(page)
    one, two = ([("csrf", key), ("of", item.key)] for item in judged[:2])
    _, page = await tagger.post("/judgement/1", [*one, ("error", "missed_quote"), ("error", "attribution")])
    assert "Kept." in page
    status, page = await tagger.post("/judgement/1", [*one, ("error", "nonsense")])
    assert status == 422
    await tagger.post("/judgement/1", [*one, ("error", "missed_quote"), ("note", "It was there.")])
    await tagger.post("/judgement/2", two)
    _, page = await tagger.get("/")
    row = re.search(r"missed decisive quote</bdi>.*?</tr>", page, re.DOTALL)
    assert row is not None
    assert f"{1 / min(2, wrong):.1%}" in row[0]
    tags = [event for event in read_journal(house.folder / "room.jsonl") if isinstance(event, Tagged)]
    assert [(tag.errors, tag.note) for tag in tags] == [
        (("missed_quote", "attribution"), ""),
        (("missed_quote",), "It was there."),
        ((), ""),
    ]
    # A form that was open while people judged is of the same judgement, wherever that stands in the list by now.
    client = await connect(TagDesk(judged[::-1], house.opened.journal, guard(), Pages("test")))
    house.closers.append(client)
    again = Visitor(client)
    await again.enter("Tess")
    page = (await again.post("/judgement/1", [*one, ("error", "other")]))[1]
    assert page.count("checked") == 1
    assert (await again.post("/judgement/1", [("csrf", key), ("of", "x"), ("error", "other")]))[0] == 409
    tagged = house.opened.journal.events[-1]
    assert isinstance(tagged, Tagged)
    assert (tagged.judge, tagged.debate, tagged.errors) == (judged[0].verdict.judge, judged[0].debate.id, ("other",))
    # Who has seen the right answer is given that question no more.
    first = judged[0].debate.id
    got = []
    while (given := await room.next_for("human/tess")) is not None:
        got.append(given.debate)
        await room.judge("human/tess", given.debate, Ballot(80, WHY))
    assert first not in got
