"""The web server of a judge room: each request checked, each answer a page, nothing acknowledged before it is kept."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from pathlib import Path

from aiohttp import web
from aiohttp.http import HttpProcessingError

import debate.report
from debate.errors import ConfigError, StoreError
from tournaments.room import JudgedAlreadyError, Room, judge_of
from tournaments.room_forms import Form, FormError, read_ballot, read_question
from tournaments.room_guard import CSRF, ENTER, MAX_BODY, Guard, add_headers
from tournaments.room_journal import Given
from tournaments.room_live import LiveDebates
from tournaments.room_pages import Pages
from tournaments.room_stage import stage_of

PERSON = "person"
_ASSETS = {"report.css": "text/css", "room.css": "text/css", "room.js": "text/javascript"}
_TEMPLATES = Path(debate.report.__file__).parent / "templates"


class Desk:
    """What the rooms for judging and for tagging share: who somebody is, and the way in.

    Args:
        guard: Checks requests.
        pages: Renders pages.
        room: The room, where it is for judging.
    """

    def __init__(self, guard: Guard, pages: Pages, room: Room | None = None) -> None:
        self.guard = guard
        self.pages = pages
        self._room = room

    def add_to(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get(ENTER, self.enter)
        app.router.add_get("/assets/{name}", self.asset)
        app.router.add_post("/name", self.name)
        app.router.add_post("/leave", self.leave)

    def person(self, request: web.Request) -> str:
        """The judge that somebody is, by its cookie; empty where it has not said."""
        kept = request.cookies.get(self.guard.cookie(request, PERSON), "")
        try:
            return judge_of(base64.urlsafe_b64decode(kept.encode("ascii")).decode("utf-8")) if kept else ""
        except (ConfigError, ValueError, binascii.Error):
            return ""

    def page(self, text: str, status: int = 200) -> web.Response:
        """Answer with a page."""
        return web.Response(text=text, status=status, content_type="text/html", charset="utf-8")

    def ask_name(self, *, typed: str = "", message: str = "", known: str = "") -> web.Response:
        """Ask who somebody is; ``known`` is a name that somebody has judged under."""
        text = self.pages.name(self.guard.csrf(""), self._room, typed=typed, message=message, known=known)
        return self.page(text, 422 if message else 200)

    async def form(self, request: web.Request, person: str) -> Form:
        """Read a form that one of our pages sent.

        Raises:
            web.HTTPForbidden: Another one did.
            web.HTTPBadRequest: It is no form.
        """
        try:
            form = Form.of((await request.post()).items())
        except (
            ValueError,
            LookupError,
            HttpProcessingError,
        ) as error:  # no such encoding, not in it, or parts that are none
            raise web.HTTPBadRequest(text="This is no form of this room. Load the page anew.\n") from error
        self.guard.check_form(person, form[CSRF])
        return form

    async def enter(self, request: web.Request) -> web.Response:
        """Let somebody in who has the link."""
        if not self.guard.is_token(request.query.get("token", "")):
            raise web.HTTPForbidden(text="This link is not that of the room; ask whoever sent it for a new one.\n")
        response = self.page(self.pages.welcome())
        self.guard.let_in(request, response)
        return response

    async def asset(self, request: web.Request) -> web.Response:
        """Send a style sheet or a script."""
        name = request.match_info["name"]
        if name not in _ASSETS:
            raise web.HTTPNotFound
        text = (_TEMPLATES / name).read_text(encoding="utf-8")
        return web.Response(text=text, content_type=_ASSETS[name], charset="utf-8")

    async def name(self, request: web.Request) -> web.Response:
        """Take somebody's name."""
        form = await self.form(request, "")
        try:
            judge = judge_of(form["name"])
        except ConfigError as error:
            return self.ask_name(typed=form["name"], message=_sentence(error))
        if self._room is not None and self._room.knows(judge) and form["known"] != judge:
            message = "Somebody has been here under this name. If that was you, go on; else choose another name."
            return self.ask_name(typed=form["name"], message=message, known=judge)
        response = web.HTTPSeeOther("/")
        kept = base64.urlsafe_b64encode(judge.partition("/")[2].encode()).decode("ascii")
        self.guard.set_cookie(request, response, PERSON, kept)
        raise response

    async def leave(self, request: web.Request) -> web.Response:
        """Forget who somebody is."""
        await self.form(request, self.person(request))
        response = web.HTTPSeeOther("/")
        response.del_cookie(self.guard.cookie(request, PERSON), path="/")
        raise response


class JudgeDesk(Desk):
    """The pages on which people judge.

    Args:
        room: The room.
        live: Its live debates, or None where it has none.
        guard: Checks requests.
        pages: Renders pages.
    """

    def __init__(self, room: Room, live: LiveDebates | None, guard: Guard, pages: Pages) -> None:
        super().__init__(guard, pages, room)
        self._judging = room
        self._live = live

    def add_to(self, app: web.Application) -> None:
        """Add the routes."""
        super().add_to(app)
        app.router.add_get("/", self.home)
        app.router.add_get("/next", self.next)
        app.router.add_get(r"/debate/{number:[1-9]\d{0,8}}", self.show)
        app.router.add_post(r"/debate/{number:[1-9]\d{0,8}}", self.take)

    async def _next(self, judge: str) -> Given | None:
        failed = frozenset() if self._live is None else frozenset(self._live.failed)
        return await self._judging.next_for(judge, skip=failed)

    async def home(self, request: web.Request) -> web.Response:
        """Show where somebody is."""
        judge = self.person(request)
        if not judge:
            return self.ask_name()
        more = await self._next(judge) is not None
        return self.page(self.pages.home(judge, self.guard.csrf(judge), self._judging, more=more))

    async def next(self, request: web.Request) -> web.Response:
        """Go to the debate that is open, or to a new one."""
        judge = self.person(request)
        given = await self._next(judge) if judge else None
        raise web.HTTPSeeOther("/" if given is None else f"/debate/{given.number}")

    def _given(self, request: web.Request, judge: str) -> Given:
        given = self._judging.given(judge, int(request.match_info["number"])) if judge else None
        if given is None:
            raise web.HTTPSeeOther("/")
        return given

    async def show(self, request: web.Request) -> web.Response:
        """Show a debate."""
        judge = self.person(request)
        given = self._given(request, judge)
        stage = stage_of(self._judging, given, self._live)
        return self.page(self.pages.debate(judge, self.guard.csrf(judge), self._judging, given, stage))

    async def take(self, request: web.Request) -> web.Response:
        """Take a judgement, a belief or a question; it is kept before the answer goes out."""
        judge = self.person(request)
        form = await self.form(request, judge)
        given = self._given(request, judge)
        try:
            await self._take(judge, given, form)
        except FormError as error:
            stage = stage_of(self._judging, given, self._live)
            more = {"form": form, "message": str(error)}
            text = self.pages.debate(judge, self.guard.csrf(judge), self._judging, given, stage, **more)
            return self.page(text, 422)
        except ConfigError as error:
            title = "Not taken" if isinstance(error, JudgedAlreadyError) else "Not now"
            text = self.pages.message(
                judge, self.guard.csrf(judge), title=title, message=_sentence(error), back=f"/debate/{given.number}"
            )
            return self.page(text, 409)
        raise web.HTTPSeeOther(f"/debate/{given.number}#now")

    async def _take(self, judge: str, given: Given, form: Form) -> None:
        """Keep what was sent.

        Raises:
            ConfigError: It cannot be taken, or not now.
        """
        config = self._judging.config
        action = form["action"]
        stage = stage_of(self._judging, given, self._live)
        round_ = int(form["round"]) if form["round"].isdecimal() and len(form["round"]) < 5 else None
        if action == "question" and self._live is not None and round_ is not None:
            limit = config.field.protocol.questioner.max_words if config.field is not None else 0
            await self._live.ask(given, round_, read_question(form, max_words=limit))
        elif action == "belief" and round_ is not None:
            ballot = read_ballot(form, min_words=0)
            known = round_ in self._judging.beliefs(judge, given.debate)
            if not known and (stage.kind, stage.round) != ("belief", round_):
                raise ConfigError("this round is not what you were asked about; go on with the debate as it is now")
            await self._judging.judge(judge, given.debate, ballot, round_=round_)
        elif action == "judge" and stage.kind in {"judge", "done"}:
            await self._judging.judge(judge, given.debate, read_ballot(form, min_words=config.min_words))
        else:
            raise ConfigError("this is not what the debate waits for; go on with it as it is now")


def _sentence(error: ConfigError) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def make_app(desk: Desk, *, failed: Callable[[StoreError], None] | None = None) -> web.Application:
    """Make the application of a desk.

    Args:
        desk: The desk.
        failed: Told when something could not be kept.

    Returns:
        The application; it logs no requests, for links hold a token.
    """

    @web.middleware
    async def keep(request: web.Request, handler: Callable[[web.Request], object]) -> web.StreamResponse:
        try:
            return await handler(request)  # type: ignore[misc,no-any-return]
        except StoreError as error:
            if failed is not None:
                failed(error)
            text = "The room cannot keep anything now. Nothing was taken; try again later, your draft is kept here.\n"
            raise web.HTTPServiceUnavailable(text=text) from error

    app = web.Application(middlewares=[desk.guard.check, keep], client_max_size=MAX_BODY)
    app.on_response_prepare.append(add_headers)
    desk.add_to(app)
    return app
