"""One run: a world with a sandbox, a store and hosts, the invariants that hold in it, and how it ends."""

import random
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field

from campaignbridge.bootstrap import assemble
from campaignbridge.bridge import Bridge
from campaignbridge.domain.actor import with_all_rights
from campaignbridge.domain.connection import Connection
from campaignbridge.domain.job import Handler
from campaignbridge.flows.authoring import NewCampaign
from campaignbridge.flows.delivery import Confirmation
from campaignbridge.ports import Mark, Provider
from campaignbridge.providers.registry import open_provider
from campaignbridge.sandbox import Fault, Request, Sandbox
from campaignbridge.store.sql import Catalogue
from campaignbridge.store.unit import Store
from sim.invariants import Invariants, check_settled, check_truth
from sim.network import Backend
from sim.schedule import Actor, Schedule, Strike
from sim.store import ActorDatabase, Memory

START = 1_795_000_000_000
KEY = "0123456789abcdef0123456789abcdef-us1"
RECIPIENTS = 24_318
RESEND_KEY = "re_0123456789abcdef0123456789abcdef"
RESEND_RECIPIENTS = 240
RESEND_HTML = "<h1>News</h1><p>Read it.</p><a href='{{{RESEND_UNSUBSCRIBE_URL}}}'>Unsubscribe</a>"
HTML = "<h1>News</h1><p>Read it.</p><a href='*|UNSUB|*'>Unsubscribe</a>"
GREETING = HTML.replace(
    "Read it.", "Dear *|FNAME|*, read it."
)  # mentions a field, so sends look at the list's
OPERATOR = with_all_rights("cli:dana")
MINUTE = 60_000
HOUR = 60 * MINUTE


@dataclass(frozen=True, slots=True)
class SimClock:
    """A host's two local clocks, on virtual time."""

    actor: Actor

    def mark(self) -> Mark:
        self.actor.alive()
        now = self.actor.schedule.now - self.actor.stopped_ms
        return Mark(boot_ms=now, wall_ms=now + self.actor.skew_ms)

    def since_ms(self, mark: Mark) -> int:
        now = self.mark()
        return max(now.boot_ms - mark.boot_ms, now.wall_ms - mark.wall_ms)

    def wait_ms(self, ms: int) -> None:
        self.actor.sleep(ms)


@dataclass(frozen=True, slots=True)
class SimChance:
    """Ids and jitter from a seed."""

    random: random.Random

    def token(self, length: int) -> str:
        return "".join(self.random.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=length))

    def fraction(self) -> float:
        return self.random.random()


@dataclass(slots=True)
class Machine:
    """One world."""

    seed: int
    statements: Catalogue | None = None
    repeated_send: str = "accepted_again"
    sending_ms: int = 60_000
    html: str = HTML
    key: str = KEY  # that the processes have for the provider
    provider: str = "mailchimp"
    locks: bool = True  # the campaign lock is on
    strict: bool = True  # nobody sends by hand, nothing is applied past its window, nothing is forgotten
    push_chunk: int = 0  # people in one push; 0: as many as the adapter says
    schedule: Schedule = field(init=False)
    memory: Memory = field(init=False)
    sandbox: Sandbox = field(init=False)
    chance: SimChance = field(init=False)
    campaign_id: str = ""
    refusals: list[str] = field(default_factory=list)
    handlers: list[Handler] = field(default_factory=list)
    invariants: Invariants = field(init=False)
    _starts: int = 0

    def __post_init__(self) -> None:
        self.schedule = Schedule(self.seed, now=START)
        self.schedule.world = self
        self.memory = Memory(self.schedule, statements=self.statements)
        self.invariants = Invariants(locks_on=self.locks)
        self.memory.after_commit.append(self.invariants.after_commit)
        self.sandbox = Sandbox(lambda: self.schedule.now, self.seed, keys=(KEY, RESEND_KEY))
        if self.on_resend:
            self.key = RESEND_KEY
        self.sandbox.world.behave(repeated_send=self.repeated_send, sending_ms=self.sending_ms)
        self.chance = SimChance(random.Random(self.seed))

    @property
    def on_resend(self) -> bool:
        """Say whether the processes speak with Resend."""
        return self.provider == "resend"

    @property
    def audience(self) -> str:
        """Return whom the campaigns go to."""
        return self.sandbox.segment if self.on_resend else "a1b2c3"

    # processes
    def bridge(self, actor: Actor) -> Bridge:
        """Start a process: its own handles, and an identity that no other start has."""
        self._starts += 1
        clock = SimClock(actor)

        def opener(_connection: Connection) -> Provider:
            provider = open_provider(
                self.provider,
                key=self.key,
                base_url="http://127.0.0.1:9" if self.on_resend else "http://127.0.0.1:9/3.0",
                clock=clock,
                backend=Backend(actor, self.sandbox),
            )
            if self.push_chunk:
                vars(provider)["push_chunk"] = self.push_chunk
            return provider

        store = Store(ActorDatabase(actor, self.memory))
        actor.identity = f"{actor.name}:{self._starts}"
        bridge = assemble(store, opener, clock, self.chance, actor.identity)
        for handler in self.handlers:
            bridge.handlers[handler.type] = handler
        return bridge

    def spawn(
        self,
        name: str,
        work: Callable[["Machine", Bridge], None],
        *,
        strikes: dict[int | str, Strike] | None = None,
        at: int = 0,
        skew_ms: int = 0,
    ) -> Actor:
        """Start a process that does some work."""
        return self.schedule.spawn(
            name, lambda actor: work(self, self.bridge(actor)), strikes=strikes, at=at, skew_ms=skew_ms
        )

    def run(self) -> None:
        """Run every process to its end."""
        self.schedule.run()
        self.schedule.actors.clear()

    def faults(self, *faults: Fault) -> None:
        """Order faults of the provider."""
        self.sandbox.faults.add(*faults)

    # what people do
    def author(self, *, drafted: bool) -> None:
        """Bring a campaign to approved, or to a draft at the provider, without any fault."""
        self.spawn("author", lambda machine, bridge: machine._author(bridge, drafted))
        self.run()

    def _author(self, bridge: Bridge, drafted: bool) -> None:
        bridge.add_connection("sim", provider=self.provider, key_env="SIM_KEY", base_url=None, actor=OPERATOR)
        self.campaign_id = self.new_campaign(bridge)
        if drafted:
            bridge.hand_off(self.campaign_id, actor=OPERATOR, key="draft-0")

    def new_campaign(self, bridge: Bridge) -> str:
        """Create and approve a campaign with the world's one content."""
        new = NewCampaign(
            name="November letter",
            connection="sim",
            audience=self.audience,
            subject="What we shipped \N{PARTY POPPER}",
            from_name="Dana",
            from_email="news@acme.example",
            content=self.html.encode(),
        )
        campaign_id = bridge.create(new, actor=OPERATOR).campaign.id
        _, checked = bridge.submit(campaign_id, actor=OPERATOR)
        bridge.approve(campaign_id, actor=OPERATOR, approved=checked.fingerprint, max_recipients=30_000)
        return campaign_id

    def confirmation(self) -> Confirmation:
        """Return the facts of the world's audience."""
        recipients = RESEND_RECIPIENTS if self.on_resend else RECIPIENTS
        return Confirmation(recipients=recipients, audience=self.audience)

    def by_hand(self, method: str, path: str, body: bytes = b"") -> None:
        """Do something in the provider's own pages, as the account's owner."""
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        self.sandbox.handle(Request.parse(method, f"/3.0/{path}", headers, body))

    # the end
    def calm(self, *, hours: int = 30, told: bool = False) -> None:
        """End all faults and let one worker tick until everything has settled; or complain.

        `told`: it may also have been given to a person, with a reason.
        """
        self.sandbox.faults.clear()

        def work(machine: Machine, bridge: Bridge) -> None:
            actor = machine.schedule.actors[-1]
            until = machine.schedule.now + hours * HOUR
            while machine.schedule.now < until:
                bridge.tick()
                due = machine.next_job()
                if due is None and machine.schedule.now > machine.invariants.sweeping_until:
                    return
                actor.sleep(max((due or machine.schedule.now + MINUTE) - machine.schedule.now, 1000))

        self.spawn("calm", work)
        self.run()
        self.check(told=told)

    def next_job(self) -> int | None:
        """Return when the next unfinished job is due, or None when there is none."""
        row = self.memory.connection.execute(
            "SELECT min(coalesce(lease_until, run_at)) AS due FROM jobs WHERE state IN ('queued', 'claimed')"
        ).fetchone()
        return row["due"]

    def only_workers_left(self) -> bool:
        """Say whether every process but the workers has ended."""
        return all(actor.ended or actor.name.startswith("w") for actor in self.schedule.actors)

    def rows(self, sql: str) -> list[sqlite3.Row]:
        """Read the store from outside."""
        return self.memory.connection.execute(sql).fetchall()

    def check(self, *, told: bool = False) -> None:
        """Compare what we say at the end with what the provider really did."""
        check_truth(self.memory.connection, self.sandbox, self.html.encode(), strict=self.strict)
        check_settled(self.memory.connection, told=told)

    def restored(self, data: bytes) -> None:
        """Put an earlier state of the store in place of this one; every process that ran is dead."""
        self.memory.restore(data)
        self.strict = False
        self.invariants = Invariants(locks_on=self.locks)
        self.memory.after_commit[:] = [self.invariants.after_commit]

    def sends_asked(self) -> int:
        """Return how many send requests reached the provider."""
        return sum(1 for seen in self.sandbox.truth.requests() if seen.operation == "send")
