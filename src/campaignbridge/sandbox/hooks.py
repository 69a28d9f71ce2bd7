"""Webhooks as Mailchimp sends them: which there are, and what waits to be posted, as data.

Guarantees: no thread, socket or clock in here; what is due is handed out by `take`, whoever carries it says how
it was answered, and what wasn't answered with 2xx comes again. The queue is bounded: beyond, events are lost and
counted. Nobody's address stands in the log. The world's lock guards it.
"""

import heapq
import itertools
import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode, urlsplit

from campaignbridge.sandbox import courier

EVENTS = ("subscribe", "unsubscribe", "profile", "cleaned", "upemail", "campaign")
SOURCES = ("user", "admin", "api")
MOST_PER_LIST = 20
MOST_WAITING = 10_000
MOST_TRIES = 6
_LOGGED = 1_000
_HELD_BACK_MS = 60_000  # a reordered event whose successor never comes


@dataclass(frozen=True, slots=True)
class Hook:
    """One webhook of a list."""

    id: str
    list_id: str
    url: str = field(repr=False)
    events: Mapping[str, bool]
    sources: Mapping[str, bool]
    signing_key: str = field(default="", repr=False)  # empty: unsigned

    @property
    def tells_json(self) -> bool:
        """Resend's way, signed as svix does; else Mailchimp's forms."""
        return self.signing_key.startswith("whsec_")

    @property
    def place(self) -> str:
        """The address without its query: two of one list must differ in it."""
        return self.url.partition("?")[0]


@dataclass(frozen=True, slots=True)
class Post:
    """One request that is to be made."""

    hook_id: str
    kind: str
    url: str = field(repr=False)
    body: bytes = field(repr=False)
    signing_key: str = field(default="", repr=False)
    fault: str = ""
    tries: int = 0


@dataclass(order=True, slots=True)
class _Waiting:
    at_ms: int
    number: int
    post: Post = field(compare=False)


class Hooks:
    """All webhooks of a world, and what waits to be posted to them."""

    def __init__(self) -> None:
        """Start without any."""
        self.visit: Callable[[str], bool] = courier.visit
        self.faults: Callable[[], Mapping[str, int]] = (
            dict  # kinds that befall the next event, each with its ms
        )
        self.lost = 0  # for want of room
        self.log: deque[dict[str, Any]] = deque(maxlen=_LOGGED)
        self._hooks: dict[str, Hook] = {}
        self._waiting: list[_Waiting] = []
        self._held: list[Post] = []
        self._numbers = itertools.count(1)

    @property
    def waiting(self) -> int:
        """How many posts wait, due or not."""
        return len(self._waiting)

    def put(self, hook: Hook) -> Hook:
        """Add a webhook or change it."""
        self._hooks[hook.id] = hook
        return hook

    def remove(self, hook: Hook) -> None:
        """Forget a webhook; what waits for it is still posted."""
        self._hooks.pop(hook.id, None)

    def get(self, list_id: str, hook_id: str) -> Hook | None:
        """Return one of a list's webhooks."""
        found = self._hooks.get(hook_id)
        return found if found is not None and found.list_id == list_id else None

    def of_list(self, list_id: str) -> list[Hook]:
        """Return a list's webhooks, oldest first."""
        return [hook for hook in self._hooks.values() if hook.list_id == list_id]

    def everywhere(self) -> list[Hook]:
        """Return all webhooks, oldest first."""
        return list(self._hooks.values())

    def announce(
        self, kind: str, list_id: str, data: Mapping[str, Any], at_ms: int, *, source: str, lag_ms: int = 0
    ) -> None:
        """Queue an event for each webhook that wants it. A campaign's counts from any source."""
        for hook in self.of_list(list_id):
            anywhere = kind == "campaign" or hook.tells_json
            wanted = hook.events.get(kind) and (anywhere or hook.sources.get(source))
            if wanted:
                self._announce(hook, kind, {"list_id": list_id, **data}, at_ms, lag_ms)

    def _announce(self, hook: Hook, kind: str, data: Mapping[str, Any], at_ms: int, lag_ms: int) -> None:
        played = self.faults()
        names = "+".join(played)
        post = Post(hook.id, kind, hook.url, _body(hook, kind, data, at_ms), hook.signing_key, names)
        due_ms = at_ms + lag_ms + played.get("late", 0)
        if "foreign_list" in played:
            foreign = {**data, "list_id": "f0e1d2c3b4", **({"id": "f0e1d2c3b4"} if "id" in data else {})}
            if "broadcast_id" in data:
                foreign["broadcast_id"] = "f0e1d2c3-0000-4000-8000-f0e1d2c3b4a5"
            self._queue(replace(post, body=_body(hook, kind, foreign, at_ms)), due_ms)
        if "wrong_path" in played:
            self._queue(replace(post, url=_elsewhere(hook.url)), due_ms)
        if "lost" in played:
            self.log.append(_told(post, at_ms, None))
            return
        if "reordered" in played:
            self._held.append(post)
            self._queue(post, due_ms + _HELD_BACK_MS)
        else:
            self._queue(post, due_ms)
            self._release(due_ms)
        if "doubled" in played:
            self._queue(post, due_ms)

    def take(self, now_ms: int) -> list[Post]:
        """Hand out what is due, in order."""
        found = []
        while self._waiting and self._waiting[0].at_ms <= now_ms:
            found.append(heapq.heappop(self._waiting).post)
        return found

    def answered(self, post: Post, status: int | None, now_ms: int, retry_ms: int) -> None:
        """Say how a post was answered, None for not at all. It comes again unless that was 2xx."""
        self.log.append(_told(post, now_ms, status))
        if (status is None or not 200 <= status < 300) and post.tries + 1 < MOST_TRIES:
            self._queue(replace(post, tries=post.tries + 1), now_ms + retry_ms)

    def reset(self) -> None:
        """Forget all webhooks and what waits."""
        self._hooks.clear()
        self._waiting.clear()
        self._held.clear()
        self.log.clear()
        self.lost = 0

    def _queue(self, post: Post, at_ms: int) -> None:
        if len(self._waiting) >= MOST_WAITING:
            self.lost += 1
            return
        heapq.heappush(self._waiting, _Waiting(at_ms, next(self._numbers), post))

    def _release(self, at_ms: int) -> None:
        """Let what was held back go now that something later has gone before it."""
        held, self._held = self._held, []
        for post in held:
            mine = [item for item in self._waiting if item.post is post]
            for item in mine:
                self._waiting.remove(item)
                heapq.heapify(self._waiting)
                self._queue(post, at_ms)


def _body(hook: Hook, kind: str, data: Mapping[str, Any], at_ms: int) -> bytes:
    if not hook.tells_json:
        return _form(kind, data, at_ms)
    stamp = datetime.fromtimestamp(at_ms / 1000, tz=UTC).isoformat(timespec="milliseconds")
    told = {name: value for name, value in data.items() if name != "list_id"}
    return json.dumps({"type": kind, "created_at": stamp.replace("+00:00", "Z"), "data": told}).encode()


def _form(kind: str, data: Mapping[str, str], at_ms: int) -> bytes:
    fired = f"{datetime.fromtimestamp(at_ms // 1000, tz=UTC):%Y-%m-%d %H:%M:%S}"
    fields = {"type": kind, "fired_at": fired}
    for name, value in data.items():
        first, *rest = name.split(".")
        fields[f"data[{first}]" + "".join(f"[{part}]" for part in rest)] = value
    return urlencode(fields).encode()


def _elsewhere(url: str) -> str:
    """Return an address that differs in the last letter of its path."""
    parts = urlsplit(url)
    last = parts.path[-1:] or "/"
    return parts._replace(path=parts.path[:-1] + ("y" if last == "x" else "x")).geturl()


def _told(post: Post, at_ms: int, status: int | None) -> dict[str, Any]:
    return {
        "at_ms": at_ms,
        "webhook": post.hook_id,
        "type": post.kind,
        "status": status,
        "tries": post.tries + 1,
        "fault": post.fault,
    }
