"""The sandbox itself: one request in, one answer and its fate on the network out.

`handle`, step by step, under the world's lock:
1. apply what has become due until now;
2. name the operation and take the faults that were ordered for it;
3. apply the request, or not, as the fault says; the fault decides also what the network does;
4. write the request into the truth log.
It never sleeps and starts no thread: delays are data, so a simulation can call it in virtual time.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256

from campaignbridge.sandbox import courier, faults, wire
from campaignbridge.sandbox.call import Quirks
from campaignbridge.sandbox.faults import Fault, FaultPlan
from campaignbridge.sandbox.mailchimp import PREFIX, Mailchimp
from campaignbridge.sandbox.resend.api import Resend
from campaignbridge.sandbox.resend.team import Teams
from campaignbridge.sandbox.truth import Seen, TruthLog
from campaignbridge.sandbox.wire import Delivery, Effect, Request, Response
from campaignbridge.sandbox.world import Account, Audience, World

Post = Callable[[str, bytes, str, int], int | None]  # url, body, signing key, now: status of the answer
DEFAULT_LIST = ("a1b2c3", "Customers EU", 24_318)


class Sandbox:
    """A fake provider with one account and one list to begin with. Safe to share between threads."""

    def __init__(self, now_ms: Callable[[], int], seed: int = 0, *, keys: Sequence[str] = ()) -> None:
        """Open an account for each key, or one whose key follows from the seed. `key` is the first one."""
        self.world = World(now_ms, seed)
        self.faults = FaultPlan()
        self.world.hooks.faults = lambda: {one.kind: one.ms for one in self.faults.take(faults.WEBHOOK)[1]}
        self.teams = Teams(self.world, seed)
        self._mailchimp = Mailchimp(self.world)
        self._resend = Resend(self.world, self.teams)
        given = tuple(keys)
        plain = [key for key in given if not key.startswith("re_")]
        chosen = given if plain else (*given, sha256(f"{seed}:key".encode()).hexdigest()[:32] + "-us1")
        self.key = next(key for key in chosen if not key.startswith("re_"))
        for number, key in enumerate((one for one in chosen if not one.startswith("re_")), start=1):
            self.add_account(key, "Sandbox account" if number == 1 else f"Sandbox account {number}")
        list_id, name, members = DEFAULT_LIST
        self.add_list(list_id, name, members)
        resend = next((key for key in chosen if key.startswith("re_")), None)
        self.resend_key = resend or f"re_{sha256(f'{seed}:resend key'.encode()).hexdigest()[:32]}"
        self.team = self.teams.open(self.resend_key, "Sandbox team")

    @property
    def segment(self) -> str:
        """The id of the Resend account's segment that holds everybody in the beginning."""
        return self.teams.general_id(self.team)

    @property
    def truth(self) -> TruthLog:
        """What really happened since the start or the last reset."""
        return self.world.truth

    def add_account(self, key: str, name: str) -> Account:
        """Add an account. An account that the key opens already stays as it is."""
        return self.world.add_account(key, name)

    def add_list(self, list_id: str, name: str, members: int, *, key: str | None = None) -> Audience:
        """Add a list to an account, by default the first, or replace it. Raises KeyError on an unknown key."""
        account = self.world.account(self.key if key is None else key)
        if account is None:
            raise KeyError("no account has this key")
        with self.world.lock:
            audience = Audience(
                id=list_id,
                account_id=account.account_id,
                name=name,
                members=members,
                from_name="Sandbox",
                from_email="news@sandbox.example",
                created_ms=self.world.advance(),
                web_id=self.world.next_number(),
            )
            self.world.add_list(audience)
        return audience

    def settle(self) -> int:
        """Apply what has become due until now and return the present moment."""
        return self.world.advance()

    def carry(self, post: Post = courier.post) -> int:
        """Post the webhooks that are due; return how many. Whoever runs the sandbox calls this now and then."""
        with self.world.lock:
            now = self.world.advance()
            due = self.world.hooks.take(now)
        for one in due:
            status = post(one.url, one.body, one.signing_key, now)  # without the lock: it may call us
            with self.world.lock:
                answered_ms = self.world.advance()
                self.world.hooks.answered(one, status, answered_ms, self.world.behaviour.webhook_retry_ms)
        return len(due)

    def reset(self) -> None:
        """Forget campaigns, faults, behaviour and the truth log; keep accounts and lists."""
        with self.world.lock:
            self.faults.clear()
            self.world.reset()
            self.teams.reset()

    def caller(self, request: Request) -> str | None:
        """Return the account that a request is counted for, None when its key opens nothing."""
        return self._api(request).caller(request)

    def owns(self, request: Request) -> bool:
        """Say whether a request is for a provider's API, and not for the control API beside it."""
        path = request.path
        return path == PREFIX or path.startswith(f"{PREFIX}/") or self._resend.owns(request)

    def _api(self, request: Request) -> Mailchimp | Resend:
        return self._resend if self._resend.owns(request) else self._mailchimp

    def turn_away(self, request: Request) -> tuple[Response, Effect]:
        """Refuse a request beyond the number that is answered at once. No fault is used up by it."""
        with self.world.lock:
            now = self.world.advance()
            api = self._api(request)
            operation = api.operation(request)
            self.world.truth.see(Seen(now, request.method, request.path, operation, 429, "connection_limit"))
            return api.throttled(None), wire.DELIVERED

    def handle(self, request: Request) -> tuple[Response, Effect]:
        """Apply a request and say what is answered and what becomes of the answer."""
        with self.world.lock:
            now = self.world.advance()
            operation = self._api(request).operation(request)
            broken, quirky = self.faults.take(operation)
            response, effect = self._play(broken, request, now, _quirks(quirky))
            arrives = effect.delivery is Delivery.DELIVER
            self.world.truth.see(
                Seen(
                    now,
                    request.method,
                    request.path,
                    operation,
                    response.status if arrives else None,
                    faults.names((broken, *quirky)),
                )
            )
            return (response if arrives else wire.NO_ANSWER), effect

    def _play(
        self, fault: Fault | None, request: Request, now: int, quirks: Quirks
    ) -> tuple[Response, Effect]:
        if fault is None:
            return self._api(request).answer(request, now, quirks), wire.DELIVERED
        if fault.kind == "apply_late":
            return self._apply_late(fault, request, now, quirks)
        api = self._api(request)
        answer = api.answer(request, now, quirks) if fault.applies else wire.NO_ANSWER
        return self._tell(api, fault, answer)

    def _tell(self, api: Mailchimp | Resend, fault: Fault, answer: Response) -> tuple[Response, Effect]:
        match fault.kind:
            case "drop_before" | "accept_then_drop":
                return wire.NO_ANSWER, wire.DROPPED
            case "hang" | "accept_then_withhold":
                return wire.NO_ANSWER, wire.WITHHELD
            case "refuse_5xx" | "accept_then_5xx":
                return api.broken(fault.status or 500), wire.DELIVERED
            case "status_429":
                return self._throttled(api, fault), wire.DELIVERED
            case "bare_403":
                return Response(403), wire.DELIVERED
            case "proxy_page":
                return _proxy_page(fault.status or 502), wire.DELIVERED
            case "garbled":
                return _garbled(fault.status or 200), wire.DELIVERED
            case "slow":
                return answer, Effect(delay_ms=fault.ms)
            case "truncated":
                return _truncated(answer, fault.keep)
            case _:
                raise AssertionError(fault.kind)

    def _throttled(self, api: Mailchimp | Resend, fault: Fault) -> Response:
        if not fault.bare:
            return api.throttled(fault.retry_after)
        return Response(429, {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)})

    def _apply_late(
        self, fault: Fault, request: Request, now: int, quirks: Quirks
    ) -> tuple[Response, Effect]:
        def apply(at_ms: int) -> None:
            self._api(request).answer(request, at_ms, quirks, by="late")

        self.world.later(now + fault.ms, apply)
        match fault.answer:
            case "drop":
                return wire.NO_ANSWER, wire.DROPPED
            case "504":
                return _proxy_page(504), wire.DELIVERED
            case _:
                return wire.NO_ANSWER, wire.WITHHELD


def _proxy_page(status: int) -> Response:
    page = f"<html><head><title>{status}</title></head><body><h1>{status}</h1><hr>edge proxy</body></html>"
    return Response(status, {"Content-Type": "text/html"}, page.encode())


def _garbled(status: int) -> Response:
    return Response(status, {"Content-Type": "application/json; charset=utf-8"}, b'{"id": "\xff')


def _truncated(answer: Response, keep: int | None) -> tuple[Response, Effect]:
    # An empty answer has nothing to cut: one with a body stands in for it.
    whole = answer if answer.body else replace(answer, status=200, body=b'{"truncated": true}')
    first = len(whole.body) // 2 if keep is None else min(keep, len(whole.body) - 1)
    return whole, Effect(first_bytes=first)


def _quirks(played: Sequence[Fault]) -> Quirks:
    by_kind = {fault.kind: fault for fault in played}
    return Quirks(
        stale_ms=by_kind["stale_read"].ms if "stale_read" in by_kind else 0,
        count_lag_ms=by_kind["count_lag"].ms if "count_lag" in by_kind else 0,
        sent_zero="sent_zero" in by_kind,
        vanish="vanish" in by_kind,
        archive="archive" in by_kind,
    )
