"""What a provider may post: one path, a small form or JSON, and an answer that is a number and nothing else.

200 means that the event is committed, or that we have no use for it; anything else, and the provider comes again:
404 nobody's address, 400 no event, 408 too slow, 413 too large, 415 neither form nor JSON, 503 not stored.
The path holds a secret, so neither it nor anything posted is ever logged.
"""

import asyncio
from collections.abc import Mapping
from contextlib import closing

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from campaignbridge.bridge import Bridge
from campaignbridge.domain.errors import Refusal
from campaignbridge.flows.webhooks import Posted, Reception
from campaignbridge.observe import LOG

BODY_LIMIT = 65_536
BODY_WITHIN_S = 10.0  # Mailchimp itself waits that long for an answer
BATCH = 100  # in one commit
SHAPES = frozenset(
    {"application/x-www-form-urlencoded", "application/json"}
)  # which is whose, its reader knows
KEPT_HEADERS = 64
STATUS = {
    Reception.STORED: 200,
    Reception.KNOWN: 200,
    Reception.OF_NO_USE: 200,
    Reception.UNREADABLE: 400,
    Reception.UNKNOWN: 404,
    Reception.NO_KEY: 503,
    Reception.FULL: 503,
}


def webhook_routes(bridge: Bridge) -> APIRouter:
    """Return the routes that providers use."""
    intake = Intake(bridge)

    async def look(_request: Request) -> Response:
        """Answer as Mailchimp asks before it takes an address: any address looks the same."""
        return Response(status_code=200)

    async def post(request: Request) -> Response:
        """Take one event."""
        # Judged by its form alone before anything is looked up: that tells nobody which addresses there are.
        headers = {name.lower(): value for name, value in list(request.headers.items())[:KEPT_HEADERS]}
        body = await _read(request, headers)
        if isinstance(body, int):
            return Response(status_code=body)
        place = request.path_params
        return Response(
            status_code=await intake.take(Posted(place["connection"], place["secret"], headers, body))
        )

    router = APIRouter()
    # Plain routes: what FastAPI does beyond them for each request costs more than storing the event.
    router.add_route("/webhooks/{connection}/{secret}", look, methods=["GET"])
    router.add_route("/webhooks/{connection}/{secret}", post, methods=["POST"])
    return router


class Intake:
    """Gathers what comes in at the same time into one commit, so that a flood costs few of them."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._waiting: list[tuple[Posted, asyncio.Future[int]]] = []
        self._draining: asyncio.Task[None] | None = None

    async def take(self, posted: Posted) -> int:
        """Return the status for one request, once what it asks for is committed."""
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((posted, answer))
        if self._draining is None or self._draining.done():
            self._draining = asyncio.create_task(self._drain())
        return await answer

    async def _drain(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            statuses = await run_in_threadpool(_store, self._bridge, [posted for posted, _ in batch])
            for (_, answer), status in zip(batch, statuses, strict=True):
                if not answer.done():  # whoever asked may have left
                    answer.set_result(status)


async def _read(request: Request, headers: Mapping[str, str]) -> bytes | int:
    """Return the body, or the status for one that isn't read to its end."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() not in SHAPES:
        return 415
    announced = headers.get("content-length", "0")
    if len(announced) > 9 or (announced.isdigit() and int(announced) > BODY_LIMIT):
        return 413
    read = bytearray()
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            async for chunk in request.stream():
                read += chunk
                if len(read) > BODY_LIMIT:
                    return 413
    except TimeoutError:
        return 408
    except ClientDisconnect:
        return 400
    return bytes(read)


def _store(bridge: Bridge, posted: list[Posted]) -> list[int]:
    # The pool's threads come and go: none may keep a connection to the store.
    with closing(bridge):
        try:
            return [STATUS[reception] for reception in bridge.receive_webhooks(posted)]
        except Refusal as refusal:
            LOG.warning("%d webhooks could not be stored: %s", len(posted), refusal.code)
            return [503] * len(posted)
        except Exception as error:  # noqa: BLE001  whatever it was: it is repeated, and nothing of it is told
            LOG.error("a bug: %s; %d webhooks were not stored", type(error).__name__, len(posted))
            return [500] * len(posted)
