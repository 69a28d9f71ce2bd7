"""What a provider may post: one path, a small form, and an answer that is a number and nothing else.

200 means that the event is committed, or that we have no use for it; anything else, and the provider comes again:
404 nobody's address, 400 no event, 408 too slow, 413 too large, 415 no form, 429 too many at once, 503 not stored.
The path holds a secret, so neither it nor anything posted is ever logged.
"""

import asyncio
from contextlib import closing

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from campaignbridge.bridge import Bridge
from campaignbridge.domain.errors import Refusal
from campaignbridge.flows.webhooks import Reception
from campaignbridge.observe import LOG

BODY_LIMIT = 65_536
BODY_WITHIN_S = 10.0  # Mailchimp itself waits that long for an answer
AT_ONCE = 16
FORM = "application/x-www-form-urlencoded"
KEPT_HEADERS = 64
STATUS = {
    Reception.STORED: 200,
    Reception.KNOWN: 200,
    Reception.OF_NO_USE: 200,
    Reception.UNREADABLE: 400,
    Reception.UNKNOWN: 404,
    Reception.FULL: 503,
}


def webhook_routes(bridge: Bridge) -> APIRouter:
    """Return the routes that providers use."""
    router = APIRouter()
    busy = asyncio.Semaphore(AT_ONCE)

    @router.get("/webhooks/{connection}/{secret}")
    async def look(connection: str, secret: str) -> Response:  # noqa: ARG001  any address looks the same
        """Answer as Mailchimp asks before it takes an address."""
        return Response(status_code=200)

    @router.post("/webhooks/{connection}/{secret}")
    async def post(connection: str, secret: str, request: Request) -> Response:
        """Take one event."""
        if busy.locked():
            return Response(status_code=429)
        async with busy:
            return Response(status_code=await _take(bridge, connection, secret, request))

    return router


async def _take(bridge: Bridge, connection: str, secret: str, request: Request) -> int:
    # Judged by its form alone before anything is looked up: that tells nobody which addresses there are.
    headers = {name.lower(): value for name, value in list(request.headers.items())[:KEPT_HEADERS]}
    if headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        return 415
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            body = await _body(request, headers.get("content-length", "0"))
    except TimeoutError:
        return 408
    except ClientDisconnect:
        return 400
    if body is None:
        return 413
    return await run_in_threadpool(_store, bridge, connection, secret, headers, body)


async def _body(request: Request, announced: str) -> bytes | None:
    """Return the body; None for one that is too large, of which no more is read."""
    if len(announced) > 9 or (announced.isdigit() and int(announced) > BODY_LIMIT):
        return None
    read = bytearray()
    async for chunk in request.stream():
        read += chunk
        if len(read) > BODY_LIMIT:
            return None
    return bytes(read)


def _store(bridge: Bridge, connection: str, secret: str, headers: dict[str, str], body: bytes) -> int:
    # The pool's threads come and go: none may keep a connection to the store.
    with closing(bridge):
        try:
            return STATUS[bridge.receive_webhook(connection, secret, headers, body)]
        except Refusal as refusal:  # the store is gone, or the ring with the signing key isn't here
            LOG.warning("a webhook could not be stored: %s", refusal.code)
            return 503
        except Exception as error:  # noqa: BLE001  whatever it was: it is repeated, and nothing of it is told
            LOG.error("a bug: %s; a webhook was not stored", type(error).__name__)
            return 500
