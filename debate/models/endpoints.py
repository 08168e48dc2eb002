"""The servers behind a model: how much each takes, which one a request goes to, and the one layer of retries."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import random
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, NamedTuple, TypeVar

from debate.errors import DissoiError, ModelAccessError
from debate.models.base import Messages

T = TypeVar("T")
Kind = Literal["refused", "limited", "overloaded", "broken", "stray"]

#: A server that asks to be left alone for longer than this is not waited for, in seconds.
LONGEST_WAIT_S = 120.0

_FIRST_DELAY_S = 0.5
_LONGEST_DELAY_S = 8.0
_LONGEST_LIMIT_S = 30.0
_LONGEST_OUTAGE_S = 15.0
_LONGEST_DOUBT_S = 1.0  # while the prompts may be to blame
# A server is taken out when so many different requests in a row failed there, and given up after so many: of a few, the
# prompts may be the cause.
_SUSPECT = 5
_SURE = 10
# A request goes to the server that its prompt's beginning prefers unless another is less busy by this share.
_SLACK = 0.25
_PREFIX = 2000  # characters: past the system message and into the story


class Setback(Exception):  # noqa: N818 - not an error yet: it is retried
    """A request failed in a way that another try may mend.

    Attributes:
        kind: "refused": the server is not there; "limited": it asks for fewer requests; "overloaded": it cannot keep
            up, or it is broken; "broken": the reply did not come whole; "stray": it was another request's.
        error: What to raise if no other try is left.
        wait_s: How long the server asks to be left alone, in seconds, where it says.
    """

    def __init__(self, kind: Kind, error: DissoiError, wait_s: float | None = None) -> None:
        super().__init__(str(error))
        self.kind = kind
        self.error = error
        self.wait_s = wait_s


class Place(NamedTuple):
    """A request's place at a server, with what the server was when it was taken: later news supersede earlier.

    Attributes:
        endpoint: The server.
        cuts: How often its concurrency had been cut.
        outages: How often it had been taken out, or had failed a try since.
        trying: Whether this is the one request that tries a server that seems dead.
    """

    endpoint: Endpoint
    cuts: int
    outages: int
    trying: bool


class Endpoint:
    """One server, shared by all models behind it.

    The requests that it gets at a time are at most ``limit``, halved when it says that they are too many, and grow back
    by one each time that so many were answered (additive increase, multiplicative decrease). A server at which several
    requests in a row failed is left alone for a second at a time; one that is not there, or fails so often that no
    prompt can be to blame, is tried again by one request after half a second, a second, two and so on up to fifteen.

    Args:
        url: Its address.
        limit: Most requests at a time.
    """

    def __init__(self, url: str, limit: int) -> None:
        self.url = url
        self.busy = 0
        self.tries = 0
        self._limit = limit
        self._allowed = float(limit)
        self._cuts = 0
        self._outages = 0
        self._trying = False
        self._absent = False
        self._back_at = 0.0
        self._failed: set[object] = set()
        self._users: deque[Balancer] = deque()

    @property
    def allowed(self) -> int:
        """How many requests at a time it gets now."""
        return max(1, int(self._allowed))

    @property
    def out(self) -> bool:
        """Whether it is taken out; ``tries`` is how often it was found dead since it last answered."""
        return self.tries > 0

    @property
    def dead(self) -> bool:
        """Whether it is out and no prompt can be the cause."""
        return self.out and (self._absent or len(self._failed) >= _SURE)

    @property
    def outages(self) -> int:
        """Counts how often it was found dead: a server that was may have been started anew since."""
        return self._outages

    def lower(self, limit: int) -> None:
        """Give it no more than ``limit`` requests at a time from now on; requests in flight are finished."""
        self._limit = min(self._limit, limit)
        self._allowed = min(self._allowed, self._limit)

    def join(self, user: Balancer) -> None:
        """Tell a balancer from now on when there is room."""
        self._users.append(user)

    def ready_at(self) -> float | None:
        """When it may be asked, on the monotonic clock in seconds; None while another request tries it."""
        if not self.out:
            return 0.0
        return None if self._trying and self.dead else self._back_at

    def has_room(self) -> bool:
        """Whether it takes another request now, provided that it is ready."""
        return self.dead or self.busy < self.allowed

    def take(self) -> Place:
        """Take a place."""
        self.busy += 1
        trying = self.dead
        self._trying |= trying
        return Place(self, self._cuts, self._outages, trying)

    def leave(self, place: Place) -> None:
        """Give a place back."""
        self.busy -= 1
        if place.trying:
            self._trying = False
        self._users.rotate()  # the first to be told would always be the first to get room
        for user in list(self._users):
            user.serve()

    def answered(self) -> None:
        """Take note of an answer, whatever it says: the server is there."""
        self._failed.clear()
        self.tries = 0

    def served(self) -> None:
        """Take note of a reply: a little more may be asked of it."""
        self.answered()
        self._allowed = min(self._limit, self._allowed + 1 / self._allowed)

    def failed(self, place: Place, setback: Setback, request: object) -> None:
        """Take note of a failure.

        Args:
            place: Where.
            setback: What happened.
            request: Tells requests apart.
        """
        # Of all requests in flight when it was too much, only the first to hear of it halves what is allowed.
        if setback.kind in {"limited", "overloaded"} and place.cuts == self._cuts:
            self._allowed = max(1.0, self._allowed / 2)
            self._cuts += 1
        if setback.kind in {"limited", "stray"}:
            self.answered()
            return
        self._absent = setback.kind == "refused"
        if len(self._failed) < _SURE:
            self._failed.add(request)
        out = place.trying or self._absent or len(self._failed) >= _SUSPECT
        if out and place.outages == self._outages:
            self.tries += 1  # so it is out
            self._outages += 1
            longest = _LONGEST_OUTAGE_S if self.dead else _LONGEST_DOUBT_S
            self._back_at = time.monotonic() + _delay(self.tries - 1, longest)


class Balancer:
    """Sends one model's requests to its servers, in the order in which they come, and again where that may help.

    A request goes to a server that is in and has room: to the one that the beginning of its prompt prefers (rendezvous
    hashing), so that prompts about one story find it in a server's prefix cache, unless others are clearly less busy.
    After a failure it goes elsewhere if there is an elsewhere, and else waits, as the server asks or as ``backoff``
    says. A request that waits holds no place.

    Args:
        endpoints: The servers, at least one.
        max_retries: Tries of a request after the first; and of a server that is out, before all is given up.
    """

    def __init__(self, endpoints: Sequence[Endpoint], max_retries: int) -> None:
        self.max_retries = max_retries
        self._endpoints = tuple(endpoints)
        self._resting: dict[Endpoint, float] = {}
        # By the server that they avoid: where one of them finds no place, none of them does.
        self._waiting: defaultdict[Endpoint | None, deque[_Waiter]] = defaultdict(deque)
        self._turns = itertools.count(1)
        self._timer: asyncio.TimerHandle | None = None
        self._stopped: DissoiError | None = None
        self._last: DissoiError | None = None
        for endpoint in self._endpoints:
            endpoint.join(self)

    async def ask(self, messages: Messages, send: Callable[[Endpoint], Awaitable[T]]) -> T:
        """Have a request answered.

        Args:
            messages: Its prompt.
            send: Makes the request at a server. Raises Setback for what may be tried again.

        Returns:
            What ``send`` returns.

        Raises:
            ModelAccessError: No server is left that could answer.
            DissoiError: As ``send`` raises, or says in its last Setback.
        """
        key = _prefix(messages) if len(self._endpoints) > 1 else b""
        request = object()
        avoid: Endpoint | None = None
        again, retries = False, 0
        while True:
            place = await self._take(key, avoid, again=again)
            endpoint = place.endpoint
            try:
                reply = await send(endpoint)
            except Setback as setback:
                self._last = setback.error
                endpoint.failed(place, setback, request)
                # A server that is not there took no request: that it is tried again is its own affair.
                retries += setback.kind != "refused"
                delay = self._rest(endpoint, setback, retries)
                if retries > self.max_retries:
                    raise self._last_words(setback.error) from None
            except DissoiError:
                endpoint.answered()
                raise
            else:
                endpoint.served()
                return reply
            finally:
                endpoint.leave(place)
            # What was tried has waited before; but whether a server is back is for others to try first.
            again, avoid = not endpoint.out, endpoint
            if delay and not self._elsewhere(endpoint):
                await asyncio.sleep(delay)

    def serve(self) -> None:
        """Give waiting requests the room that there is, in order; one that avoids all of it lets others pass."""
        now = time.monotonic()
        queues = [queue for queue in self._waiting.values() if queue]
        while queues:
            queue = min(queues, key=lambda queue: queue[0].turn)
            waiter = queue[0]
            if not waiter.place.done():
                hopeless = self._hopeless()
                if hopeless is not None:
                    waiter.place.set_exception(hopeless)
                else:
                    place = self._choose(waiter.key, waiter.avoid, now)
                    if place is None:
                        queues.remove(queue)
                        continue
                    waiter.place.set_result(place)
            queue.popleft()
            if not queue:
                queues.remove(queue)
        self._set_timer(now)

    def stop(self, error: DissoiError) -> None:
        """Send nothing more: what waits for a place, or is to be tried again, fails with this error."""
        self._stopped = error
        self.serve()

    async def _take(self, key: bytes, avoid: Endpoint | None, *, again: bool) -> Place:
        hopeless = self._hopeless()
        if hopeless is not None:
            raise hopeless
        if again or not any(self._waiting.values()):
            place = self._choose(key, avoid, time.monotonic())
            if place is not None:
                return place
        turn = next(self._turns)
        waiter = _Waiter(-turn if again else turn, asyncio.get_running_loop().create_future(), key, avoid)
        (self._waiting[avoid].appendleft if again else self._waiting[avoid].append)(waiter)
        self.serve()
        try:
            return await waiter.place
        except asyncio.CancelledError:
            if waiter.place.done() and not waiter.place.cancelled() and waiter.place.exception() is None:
                given = waiter.place.result()
                given.endpoint.leave(given)
            raise

    def _choose(self, key: bytes, avoid: Endpoint | None, now: float) -> Place | None:
        """Take a place at the best server that has room now, or at none."""
        open_now = [endpoint for endpoint in self._endpoints if self._is_open(endpoint, now)]
        if avoid is not None and len(open_now) > 1:
            open_now = [endpoint for endpoint in open_now if endpoint is not avoid]
        roomy = [endpoint for endpoint in open_now if endpoint.has_room()]
        if len(roomy) > 1:
            least = min(endpoint.busy / endpoint.allowed for endpoint in roomy)
            near = [endpoint for endpoint in roomy if endpoint.busy / endpoint.allowed <= least + _SLACK]
            return max(near, key=lambda endpoint: _hash(key, endpoint.url.encode())).take()
        return roomy[0].take() if roomy else None

    def _is_open(self, endpoint: Endpoint, now: float) -> bool:
        ready = endpoint.ready_at()
        return ready is not None and max(ready, self._resting.get(endpoint, 0.0)) <= now

    def _elsewhere(self, endpoint: Endpoint) -> bool:
        """Whether another server is there to be asked, with room or without."""
        now = time.monotonic()
        return any(other is not endpoint and self._is_open(other, now) for other in self._endpoints)

    def _rest(self, endpoint: Endpoint, setback: Setback, retries: int) -> float:
        """Leave a server alone that asks for it; return for how long one request alone should wait, in seconds."""
        if setback.kind in {"refused", "stray"}:
            return 0.0  # the whole server is out, or another connection will do
        delay = setback.wait_s or backoff(setback.kind, retries - 1)
        if setback.kind != "limited" and setback.wait_s is None:
            return delay
        # Limits are for a model, so others of this server are not kept waiting.
        self._resting[endpoint] = max(self._resting.get(endpoint, 0.0), time.monotonic() + delay)
        return 0.0

    def _hopeless(self) -> DissoiError | None:
        """Say why no server will answer, where that is so."""
        if self._stopped is not None:
            return type(self._stopped)(str(self._stopped))
        if self._last is None:
            return None
        if all(endpoint.dead and endpoint.tries > self.max_retries for endpoint in self._endpoints):
            return self._last_words(self._last)
        now = time.monotonic()
        if self._resting and all(
            self._resting.get(endpoint, 0.0) - now > LONGEST_WAIT_S
            or (endpoint.dead and endpoint.tries > self.max_retries)
            for endpoint in self._endpoints
        ):
            left = min(at for at in self._resting.values() if at > now) - now
            return ModelAccessError(f"{self._last}; it asks to wait for {left:.0f} s; resume the run after that")
        return None

    def _last_words(self, error: DissoiError) -> DissoiError:
        """Return what to raise when tries are used up: where every server is dead, no other call can succeed."""
        if not all(endpoint.dead for endpoint in self._endpoints):
            return error
        if isinstance(error, ModelAccessError):
            return ModelAccessError(str(error))
        servers = "the server is" if len(self._endpoints) == 1 else f"all {len(self._endpoints)} servers are"
        return ModelAccessError(f"{error}; {servers} down; see to it, then resume the run")

    def _set_timer(self, now: float) -> None:
        """Look again when the next server that was not ready ``now`` will be, if anything waits for it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not any(self._waiting.values()):
            return
        later = []
        for endpoint in self._endpoints:
            ready = endpoint.ready_at()
            at = None if ready is None else max(ready, self._resting.get(endpoint, 0.0))
            if at is not None and at > now:
                later.append(at)
        if later:
            self._timer = asyncio.get_running_loop().call_later(
                max(0.0, min(later) - time.monotonic()) + 0.001, self.serve
            )


class _Waiter(NamedTuple):
    """A request that waits for a place; those of a lower turn come first."""

    turn: int
    place: asyncio.Future[Place]
    key: bytes
    avoid: Endpoint | None


def _prefix(messages: Messages) -> bytes:
    """Hash how a prompt begins; prompts that share their first ``_PREFIX`` characters are alike."""
    beginning, left = [], _PREFIX
    for message in messages:
        beginning.append(message.content[:left])
        left -= len(beginning[-1])
        if left <= 0:
            break
    return hashlib.blake2b("\0".join(beginning).encode(errors="surrogatepass"), digest_size=8).digest()


def _hash(key: bytes, url: bytes) -> bytes:
    return hashlib.blake2b(url, digest_size=8, key=key).digest()


def backoff(kind: Kind, failures: int) -> float:
    """Say how long a request waits that failed, where the server does not say.

    Args:
        kind: How it failed; see ``Setback``.
        failures: How often it had failed before.

    Returns:
        Seconds: half a second, one, two, up to eight. After a limit, which is often one by the minute, three times as
        long each time and up to thirty, so that with six retries the minute is over before the tries are.
    """
    if kind == "limited":
        return _delay(failures, _LONGEST_LIMIT_S, 3)
    return _delay(failures, _LONGEST_DELAY_S)


def _delay(failures: int, longest: float, factor: int = 2) -> float:
    """Prolong the delay with each failure; a quarter of it is drawn, so that not all come back at once."""
    return float(min(_FIRST_DELAY_S * factor ** min(failures, 30), longest)) * random.uniform(0.75, 1)
