"""The pages on which errors are tagged in what people judged; they show right answers and stories."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from tournaments.room_forms import FormError, read_errors
from tournaments.room_guard import Guard
from tournaments.room_journal import Journal, Tagged, last_tags
from tournaments.room_pages import Pages
from tournaments.room_server import Desk
from tournaments.room_tags import Judged, errors_table


class TagDesk(Desk):
    """The pages on which errors are tagged.

    Args:
        judged: The judgements, in the order of the list.
        journal: The open journal.
        guard: Checks requests.
        pages: Renders pages.
    """

    def __init__(self, judged: Sequence[Judged], journal: Journal, guard: Guard, pages: Pages) -> None:
        super().__init__(guard, pages)
        self._judged = judged
        self._journal = journal

    def add_to(self, app: web.Application) -> None:
        """Add the routes."""
        super().add_to(app)
        app.router.add_get("/", self.list)
        app.router.add_get(r"/judgement/{number:[1-9]\d{0,8}}", self.show)
        app.router.add_post(r"/judgement/{number:[1-9]\d{0,8}}", self.take)

    def _tag(self, tagger: str, one: Judged) -> Tagged | None:
        return last_tags(self._journal.events).get((tagger, one.verdict.judge, one.debate.id))

    async def list(self, request: web.Request) -> web.Response:
        """List the judgements."""
        tagger = self.person(request)
        if not tagger:
            return self.ask_name()
        own = {str(place): tag for place, one in enumerate(self._judged) if (tag := self._tag(tagger, one)) is not None}
        counts = errors_table(self._judged, list(last_tags(self._journal.events).values()))
        return self.page(self.pages.tag_list(tagger, self.guard.csrf(tagger), self._judged, own, counts))

    async def show(self, request: web.Request) -> web.Response:
        """Show a judgement."""
        tagger = self.person(request)
        number = int(request.match_info["number"])
        if not tagger or number > len(self._judged):
            raise web.HTTPSeeOther("/")
        return self._page(tagger, number, self._judged[number - 1])

    def _page(self, tagger: str, number: int, one: Judged, status: int = 200, **more: object) -> web.Response:
        last = number == len(self._judged)
        tag = self._tag(tagger, one)
        return self.page(
            self.pages.tag(tagger, self.guard.csrf(tagger), one, tag, number=number, last=last, **more), status
        )

    async def take(self, request: web.Request) -> web.Response:
        """Keep tags; the last ones of a person on a judgement count."""
        tagger = self.person(request)
        form = await self.form(request, tagger)
        if not tagger:
            raise web.HTTPSeeOther("/")
        places = {one.key: place for place, one in enumerate(self._judged)}
        place = places.get(form["of"])
        if place is None:
            raise web.HTTPConflict(text="Nothing was kept: this room has no such judgement. Load the page anew.\n")
        number, one = place + 1, self._judged[place]
        try:
            errors, note = read_errors(form)
        except FormError as error:
            more = {"message": str(error), "ticked": form.errors, "note": form["note"]}
            return self._page(tagger, number, one, 422, **more)
        tagged = Tagged(tagger, one.verdict.judge, one.debate.id, errors, note)
        if self._tag(tagger, one) != tagged:
            await self._journal.add(tagged)
        return self._page(tagger, number, one, message="Kept.", kept=True)
