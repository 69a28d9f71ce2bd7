"""Faults that a test or a person orders: which call goes wrong, how, how often, and after how many."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from campaignbridge.sandbox import routes
from campaignbridge.sandbox.resend import api

WEBHOOK = "webhook"  # no call: an event on its way to a webhook
OPERATIONS = routes.OPERATIONS | api.OPERATIONS | {"*", WEBHOOK}
HOOK_FAULTS = frozenset({"lost", "doubled", "late", "reordered", "foreign_list", "wrong_path"})
QUIRKS = frozenset({"stale_read", "count_lag", "sent_zero", "vanish", "archive"})
_APPLYING = frozenset("accept_then_drop accept_then_withhold accept_then_5xx slow truncated".split())
_REFUSING = frozenset("drop_before refuse_5xx hang status_429 bare_403".split())
BREAKS = _APPLYING | _REFUSING | {"apply_late", "proxy_page", "garbled"}
_ANSWERS = ("withhold", "drop", "504")
_LIMIT = 1_000  # faults in a plan
_LONGEST_MS = 366 * 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Fault:
    """One order. `times` None means always; the first `after` matching calls go well.

    Breaks concern the answer: `drop_before`, `hang`, `refuse_5xx`, `status_429`, `bare_403` apply nothing;
    `accept_then_drop`, `accept_then_withhold`, `accept_then_5xx`, `slow`, `truncated` apply the call;
    `apply_late` applies it `ms` later if it is then legal; `proxy_page` and `garbled` do as `applied` says.
    Quirks concern what is told: `stale_read` (reads of campaigns, segments and reports answer the state of
    `ms` ago), `count_lag` (of create: recipient_count is 0 for `ms`; of a change to a segment: campaigns
    see its former size for `ms`), `sent_zero` (on a mutation the audience turns out empty, on a read only
    the figure is 0), `vanish` (a campaign answers 404 from now on) and `archive` (it has the status
    archived from now on); what was under way goes on.
    With the operation `webhook` it is an event that goes wrong on its way: `lost`, `doubled`, `late` by `ms`,
    `reordered` (behind the next one); or a forged one goes with it: `foreign_list` (another list and campaign),
    `wrong_path` (another address).
    """

    operation: str
    kind: str
    times: int | None = 1
    after: int = 0
    ms: int = 0
    status: int = 0  # 0: the kind's own default
    answer: str = "withhold"  # of apply_late: "withhold", "drop" or "504"
    applied: bool | None = None  # None: False for a proxy_page, True for a garbled answer
    retry_after: int | None = None
    bare: bool = False  # a 429 without body
    keep: int | None = None  # bytes of a truncated body that arrive; None: half

    def __post_init__(self) -> None:
        """Refuse an order that can't be played with a ValueError."""
        wrong = (
            (self.operation not in OPERATIONS, "operation"),
            (self.kind not in (HOOK_FAULTS if self.operation == WEBHOOK else BREAKS | QUIRKS), "kind"),
            (self.times is not None and not _whole(self.times, 1), "times"),
            (not _whole(self.after, 0), "after"),
            (not _whole(self.ms, 0), "ms"),
            (not _whole(self.status, 0) or not (self.status == 0 or 200 <= self.status <= 599), "status"),
            (self.answer not in _ANSWERS, "answer"),
            (self.applied not in (None, True, False), "applied"),
            (self.retry_after is not None and not _whole(self.retry_after, 0), "retry_after"),
            (not isinstance(self.bare, bool), "bare"),
            (self.keep is not None and not _whole(self.keep, 0), "keep"),
        )
        names = [name for is_wrong, name in wrong if is_wrong]
        if names:
            raise ValueError(f"not a fault that the sandbox can play: {', '.join(names)}")

    @property
    def applies(self) -> bool:
        """Say whether the call takes effect at once, whatever is answered. Not asked of quirks."""
        if self.applied is not None and self.kind in ("proxy_page", "garbled"):
            return self.applied
        return self.kind in _APPLYING or self.kind == "garbled"

    @classmethod
    def of(cls, order: object) -> "Fault":
        """Read a fault from plain JSON values. Raises ValueError."""
        if not isinstance(order, Mapping) or not {"operation", "kind"} <= set(order):
            raise ValueError("a fault is an object with operation and kind")
        known = {item.name for item in fields(cls)}
        if not set(order) <= known:
            raise ValueError(f"a fault has no {', '.join(sorted(map(str, set(order) - known)))}")
        if not isinstance(order["operation"], str) or not isinstance(order["kind"], str):
            raise ValueError("operation and kind are text")  # noqa: TRY004  # one kind of error for a caller to catch
        return cls(**order)


@dataclass(slots=True)
class _Order:
    fault: Fault
    calls: int = 0
    used: int = 0


class FaultPlan:
    """The orders, in order. Safe to share between threads."""

    def __init__(self) -> None:
        """Start without faults."""
        self._lock = threading.Lock()
        self._orders: list[_Order] = []

    def add(self, *faults: Fault) -> None:
        """Append orders. Raises ValueError beyond 1,000 and then adds none."""
        with self._lock:
            if len(self._orders) + len(faults) > _LIMIT:
                raise ValueError(f"at most {_LIMIT} faults")
            self._orders.extend(_Order(fault) for fault in faults)

    def clear(self) -> None:
        """Forget all orders."""
        with self._lock:
            self._orders.clear()

    def listing(self) -> list[dict[str, Any]]:
        """Return the orders as plain values, each with how often it was used."""
        with self._lock:
            return [{**asdict(order.fault), "used": order.used} for order in self._orders]

    def take(self, operation: str) -> tuple[Fault | None, tuple[Fault, ...]]:
        """Return what happens to this call: at most one break, and one quirk of each kind.

        Every matching order counts the call, also those that have to wait; of several the first wins.
        """
        taken: dict[str, Fault] = {}
        with self._lock:
            for order in self._orders:
                anything = "*" if operation != WEBHOOK else operation
                if order.fault.operation not in (anything, operation):
                    continue
                order.calls += 1
                slot = order.fault.kind if order.fault.kind in QUIRKS | HOOK_FAULTS else "break"
                spent = order.fault.times is not None and order.used >= order.fault.times
                if slot not in taken and not spent and order.calls > order.fault.after:
                    order.used += 1
                    taken[slot] = order.fault
        return taken.pop("break", None), tuple(taken.values())


def names(faults: Iterable[Fault | None]) -> str:
    """Return the kinds that were played, for the truth log."""
    return "+".join(fault.kind for fault in faults if fault is not None)


def _whole(value: object, least: int) -> bool:
    return type(value) is int and least <= value <= _LONGEST_MS
