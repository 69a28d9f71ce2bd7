"""Scenarios: who does what, under which fault of the provider, and where each of them may be struck."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from campaignbridge.bridge import Bridge
from campaignbridge.sandbox import Fault
from campaignbridge.store.sql import Catalogue, catalogue, parse
from sim.invariants import Violation
from sim.machine import GREETING, HTML, MINUTE, RESEND_HTML, Machine
from sim.people import (
    cancels,
    does_all,
    hands_off,
    reconciles,
    renews,
    schedules,
    schedules_once,
    sends,
    sends_once,
    ticks,
    unschedules,
    waits,
)
from sim.schedule import Actor, Strike

Work = Callable[[Machine, Bridge], None]
Strikes = dict[str, dict[int | str, Strike]]


@dataclass(frozen=True, slots=True)
class Part:
    """One process of a scenario."""

    name: str
    work: Work
    at: int = 0


@dataclass(frozen=True, slots=True)
class Scenario:
    """A world to run, again and again, with strikes at every point of its processes."""

    name: str
    parts: tuple[Part, ...]
    struck: tuple[str, ...]  # the processes that are struck at each of their points
    drafted: bool = True
    before: tuple[Fault, ...] = ()  # while the first process alone asks once, answer lost or not
    first: Work = sends_once
    sending_ms: int = 60_000
    faults: tuple[Fault, ...] = ()
    most_drafts: int | None = 1  # remote campaigns that may be created
    strict: bool = True
    html: str = HTML
    provider: str = "mailchimp"

    def unguarded(self) -> "Scenario":
        """Return it for a strike that no client can prevent: a request that leaves after its window."""
        return replace(self, most_drafts=None, strict=False)

    def run(
        self,
        seed: int,
        strikes: Strikes | None = None,
        *,
        statements: Catalogue | None = None,
        repeated_send: str = "accepted_again",
        locks: bool = True,
    ) -> tuple[Machine, dict[str, Actor]]:
        """Run it once, from the first click to the end of the calm, and check everything."""
        machine = Machine(
            seed,
            statements=statements if locks else edited(statements or catalogue("sqlite"), NO_LOCK),
            repeated_send=repeated_send,
            sending_ms=self.sending_ms,
            locks=locks,
            strict=self.strict,
            html=self.html,
            provider=self.provider,
        )
        machine.author(drafted=self.drafted)
        if self.before:
            machine.faults(*self.before)
            machine.spawn("first", self.first)
            machine.run()
            machine.sandbox.faults.clear()
        machine.faults(*self.faults)
        actors = {
            part.name: machine.spawn(part.name, part.work, strikes=(strikes or {}).get(part.name), at=part.at)
            for part in self.parts
        }
        machine.run()
        created = len(machine.sandbox.truth.events("created"))
        if self.most_drafts is not None and created > self.most_drafts:
            raise Violation(f"I1: {created} drafts were created for one campaign")
        machine.calm()
        return machine, actors


WORKERS = (Part("w1", ticks), Part("w2", ticks, at=7_000))
LOST = "accept_then_drop"

HANDOFFS = [
    Scenario(
        f"handoff {label}",
        (Part("a", does_all), Part("b", hands_off, at=120), *WORKERS),
        ("a",),
        drafted=False,
        faults=faults,
    )
    for label, faults in (
        ("plain", ()),
        ("answer lost", (Fault("create", LOST),)),
        ("never applied", (Fault("create", "refuse_5xx", status=503),)),
        ("applied late", (Fault("create", "apply_late", ms=150_000, answer="withhold"),)),
        ("upload lost", (Fault("content", LOST),)),
    )
]
SENDS = [
    Scenario(f"send {label}", (Part("a", sends), Part("b", sends, at=50), *WORKERS), ("a",), faults=faults)
    for label, faults in (
        ("plain", ()),
        ("answer lost", (Fault("send", LOST),)),
        ("answer withheld", (Fault("send", "accept_then_withhold"),)),
        ("answered 502 by a proxy", (Fault("send", "proxy_page", status=502, applied=True),)),
        ("never applied", (Fault("send", "refuse_5xx", status=503),)),
        ("dropped before", (Fault("send", "drop_before"),)),
        ("applied late", (Fault("send", "apply_late", ms=200_000, answer="withhold"),)),
        ("throttled", (Fault("send", "status_429", retry_after=7),)),
    )
]
FIELDS = [
    Scenario(
        f"send after reading the fields, {label}",
        (
            Part("a", sends, at=16 * MINUTE),
            Part("b", sends, at=16 * MINUTE + 50),
            *(Part(f"w{n}", ticks, at=16 * MINUTE + 7_000 * n) for n in (1, 2)),
        ),
        ("a",),
        html=GREETING,
        faults=faults,
    )
    for label, faults in (("plain", ()), ("answer lost", (Fault("merge_fields", LOST), Fault("send", LOST))))
]
RECONCILES = [
    Scenario(
        f"reconcile after {label}",
        (Part("a", reconciles), Part("b", sends, at=5_000), Part("w1", ticks)),
        ("a", "w1"),
        before=faults,
        faults=during,
    )
    for label, faults, during in (
        ("an answer lost", (Fault("send", LOST),), ()),
        ("a send never applied", (Fault("send", "refuse_5xx", status=503),), ()),
        ("a send applied late", (Fault("send", "apply_late", ms=250_000, answer="drop"),), ()),
        (
            "an answer lost, reads stale",
            (Fault("send", LOST),),
            (Fault("inspect", "stale_read", ms=400_000, times=1),),
        ),
        (
            "an answer lost, reads failing",
            (Fault("send", LOST),),
            (Fault("inspect", "refuse_5xx", status=500, times=3),),
        ),
    )
]
WATCHES = [
    Scenario(f"watch after {label}", (Part("w1", ticks), Part("w2", ticks, at=3_000)), ("w1",), before=faults)
    for label, faults in (
        ("a plain send", (Fault("send", "slow", ms=10),)),
        ("an answer lost", (Fault("send", LOST),)),
        ("a send never applied", (Fault("send", "refuse_5xx", status=503),)),
    )
]
SCHEDULES = [
    Scenario(
        f"schedule {label}",
        (Part("a", schedules), Part("b", schedules, at=50), *WORKERS),
        ("a",),
        faults=faults,
    )
    for label, faults in (
        ("plain", ()),
        ("answer lost", (Fault("schedule", LOST),)),
        ("never applied", (Fault("schedule", "refuse_5xx", status=503),)),
        ("applied late", (Fault("schedule", "apply_late", ms=200_000, answer="withhold"),)),
    )
]
UNSCHEDULES = [
    Scenario(
        f"unschedule {label}",
        (Part("a", unschedules), Part("b", sends, at=5_000), *WORKERS),
        ("a",),
        before=(Fault("schedule", "slow", ms=1),),
        first=schedules_once,
        faults=faults,
    )
    for label, faults in (
        ("plain", ()),
        ("answer lost", (Fault("unschedule", LOST),)),
        ("never applied", (Fault("unschedule", "refuse_5xx", status=503),)),
        ("applied late", (Fault("unschedule", "apply_late", ms=200_000, answer="withhold"),)),
    )
]
CANCELS = [
    Scenario(
        f"cancel {label}",
        (Part("a", cancels, at=at), *WORKERS),
        ("a",),
        before=before,
        first=first,
        faults=faults,
        sending_ms=2_000_000,
    )
    for label, first, before, faults, at in (
        ("what is being sent", sends_once, (Fault("send", "slow", ms=1),), (), 0),
        ("an unconfirmed send", sends_once, (Fault("send", LOST),), (), 0),
        ("a send that never applied", sends_once, (Fault("send", "refuse_5xx", status=503),), (), 0),
        ("what is scheduled", schedules_once, (Fault("schedule", LOST),), (), 0),
        ("with its answer lost", sends_once, (Fault("send", "slow", ms=1),), (Fault("cancel", LOST),), 0),
        (
            "that is never applied",
            sends_once,
            (Fault("send", "slow", ms=1),),
            (Fault("cancel", "refuse_5xx", status=503),),
            0,
        ),
    )
]
AT_RESEND = [
    Scenario(
        f"resend {label}",
        (Part("a", work), Part("b", other, at=120), *WORKERS),
        ("a",),
        drafted=label.startswith(("send", "cancel", "retire")),
        faults=faults,
        most_drafts=2 if label.startswith("retire") else 1,
        strict=not label.startswith("retire"),
        html=RESEND_HTML,
        provider="resend",
    )
    for label, work, other, faults in (
        ("handoff plain", does_all, hands_off, ()),
        ("handoff answer lost", does_all, hands_off, (Fault("create", LOST),)),
        ("handoff applied late", does_all, hands_off, (Fault("create", "apply_late", ms=150_000),)),
        ("send plain", sends, sends, ()),
        ("send answer lost", sends, sends, (Fault("send", LOST),)),
        ("send applied late", sends, sends, (Fault("send", "apply_late", ms=200_000),)),
        ("cancel of a send", sends_once, cancels, ()),
        ("cancel of a lost send", sends_once, cancels, (Fault("send", LOST),)),
        ("cancel of a send never applied", sends_once, cancels, (Fault("send", "refuse_5xx", status=503),)),
        ("cancel of a send applied late", sends_once, cancels, (Fault("send", "apply_late", ms=90_000),)),
        ("retire after a send never applied", renews, waits, (Fault("send", "refuse_5xx", status=503),)),
        (
            "retire with its answer lost",
            renews,
            waits,
            (Fault("send", "refuse_5xx", status=503), Fault("delete", LOST)),
        ),
        ("retire before a send applies", renews, waits, (Fault("send", "apply_late", ms=900_000),)),
    )
]
ALL = [*AT_RESEND, *HANDOFFS, *SENDS, *FIELDS, *RECONCILES, *WATCHES, *SCHEDULES, *UNSCHEDULES, *CANCELS]

NO_LOCK = {
    "locks.acquire": """INSERT INTO locks (key, fence, holder, operation, actor, interrupted, acquired_at, held_until)
        VALUES (:key, 1, :holder, :operation, :actor, NULL, now_ms(), now_ms() + :ttl_ms)
        ON CONFLICT (key) DO UPDATE SET fence = locks.fence + 1, holder = :holder,
            operation = :operation, held_until = now_ms() + :ttl_ms
        RETURNING fence, NULL AS interrupted""",
    "locks.hold": "UPDATE locks SET operation = operation WHERE key = :key",
    "locks.renew": "UPDATE locks SET operation = operation WHERE key = :key",
    "locks.release": "UPDATE locks SET operation = operation WHERE key = :key AND 1 = 0",
    "remotes.start_retiring": """UPDATE remote_campaigns SET writing_until = now_ms() + :limit_ms,
        retiring_at = coalesce(retiring_at, now_ms())
        WHERE campaign_id = :campaign_id AND generation = :generation RETURNING writing_until""",
    "remotes.start_writing": """UPDATE remote_campaigns SET writing_until = now_ms() + :limit_ms
        WHERE campaign_id = :campaign_id AND generation = :generation RETURNING writing_until""",
}


def edited(base: Catalogue, texts: dict[str, str]) -> Catalogue:
    """Return the statements with some texts replaced."""
    return {**base, **{name: parse(text, "sqlite") for name, text in texts.items()}}


@dataclass(slots=True)
class Tally:
    """What was run."""

    runs: int = 0
    crash_points: int = 0
    pairs: int = 0
    strikes: int = 0
    swarm: int = 0
    restores: int = 0
    violations: list[str] = field(default_factory=list)
    mutants: int = 0
    caught: int = 0

    def add(self, other: "Tally") -> None:
        """Add another part's figures."""
        for name in ("runs", "crash_points", "pairs", "strikes", "swarm", "restores", "mutants", "caught"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.violations += other.violations
