"""What people and machines do in a simulated world, each for as long as it takes."""

from collections.abc import Callable

from campaignbridge.bridge import Bridge
from campaignbridge.domain.errors import Refusal
from sim.machine import MINUTE, OPERATOR, START, Machine

PATIENCE_MS = 40 * MINUTE
HASTY, SLOWER = 20, 4  # so many clicks in a row, until after the settle window, and then fewer


def persist(
    machine: Machine,
    ask: Callable[[str], object],
    *,
    enough: Callable[[], bool],
    patience_ms: int = PATIENCE_MS,
) -> None:
    """Press the button again and again, each time as a new request, until it worked or patience ends.

    This is the worst that a person can do: every refusal is answered by another click, if more slowly in the end.
    """
    actor = machine.schedule.running
    until = machine.schedule.now + patience_ms
    clicks = 0
    while machine.schedule.now < until and not enough():
        clicks += 1
        try:
            ask(f"{actor.name}-{clicks}")
        except Refusal as refusal:
            machine.refusals.append(refusal.code)
            wait_s = int(refusal.facts.get("retry_after") or 20)
            actor.sleep((1000 * wait_s + 500) * (1 if clicks < HASTY else SLOWER))
        else:
            return


def hands_off(machine: Machine, bridge: Bridge, campaign_id: str = "") -> None:
    """Make the draft at the provider."""
    target = campaign_id or machine.campaign_id
    persist(
        machine,
        lambda key: bridge.hand_off(target, actor=OPERATOR, key=key),
        enough=lambda: state_of(machine, target) not in ("approved", "provider_draft"),
    )


def sends(machine: Machine, bridge: Bridge, campaign_id: str = "") -> None:
    """Send the draft."""
    target = campaign_id or machine.campaign_id
    persist(
        machine,
        lambda key: bridge.send(target, actor=OPERATOR, key=key, confirmed=machine.confirmation()),
        enough=lambda: state_of(machine, target) in ("sending", "sent"),
    )


def renews(machine: Machine, bridge: Bridge, campaign_id: str = "") -> None:
    """Send the draft; one that can't be sent any more is retired, and a new one made and sent."""
    target = campaign_id or machine.campaign_id

    def ask(key: str) -> None:
        if state_of(machine, target) == "approved":
            bridge.hand_off(target, actor=OPERATOR, key=key)
        try:
            bridge.send(target, actor=OPERATOR, key=key, confirmed=machine.confirmation())
        except Refusal as refusal:
            if refusal.code != "invalid_state":
                raise
            bridge.retire(target, actor=OPERATOR)
            bridge.hand_off(target, actor=OPERATOR, key=f"{key}-anew")
            bridge.send(target, actor=OPERATOR, key=f"{key}-anew", confirmed=machine.confirmation())

    persist(machine, ask, enough=lambda: state_of(machine, target) in ("sending", "sent"))


def does_all(machine: Machine, bridge: Bridge, campaign_id: str = "") -> None:
    """Make the draft, then send it."""
    hands_off(machine, bridge, campaign_id)
    sends(machine, bridge, campaign_id)


def sends_once(machine: Machine, bridge: Bridge) -> None:
    """Press Send a single time, and believe the answer."""
    try:
        bridge.send(machine.campaign_id, actor=OPERATOR, key="only", confirmed=machine.confirmation())
    except Refusal as refusal:
        machine.refusals.append(refusal.code)


SLOT_MS = START - START % 900_000 + 2 * 3_600_000  # on the provider's grid, two hours ahead


def schedules(machine: Machine, bridge: Bridge) -> None:
    """Have the draft sent in two hours."""
    persist(
        machine,
        lambda key: bridge.schedule(
            machine.campaign_id, actor=OPERATOR, key=key, confirmed=machine.confirmation(), at_ms=SLOT_MS
        ),
        enough=lambda: state_of(machine) in ("scheduled", "sending", "sent"),
    )


def schedules_all(machine: Machine, bridge: Bridge) -> None:
    """Make the draft, then have it sent in two hours."""
    hands_off(machine, bridge)
    schedules(machine, bridge)


def unschedules(machine: Machine, bridge: Bridge) -> None:
    """Take it off the schedule."""
    persist(
        machine,
        lambda key: bridge.unschedule(machine.campaign_id, actor=OPERATOR, key=key),
        enough=lambda: state_of(machine) in ("provider_draft", "sending", "sent", "cancelled"),
    )


def cancels(machine: Machine, bridge: Bridge) -> None:
    """Stop it, wherever it is."""
    persist(
        machine,
        lambda key: bridge.cancel(machine.campaign_id, actor=OPERATOR, key=key),
        enough=lambda: state_of(machine) in ("sent", "cancelled"),
        patience_ms=12 * MINUTE,
    )


def schedules_once(machine: Machine, bridge: Bridge) -> None:
    """Press Schedule a single time, and believe the answer."""
    try:
        bridge.schedule(
            machine.campaign_id, actor=OPERATOR, key="first", confirmed=machine.confirmation(), at_ms=SLOT_MS
        )
    except Refusal as refusal:
        machine.refusals.append(refusal.code)


def reconciles(machine: Machine, bridge: Bridge) -> None:
    """Press "Check now" every now and then."""
    actor = machine.schedule.running
    until, clicks = machine.schedule.now + 12 * MINUTE, 0
    while machine.schedule.now < until:
        clicks += 1
        try:
            bridge.reconcile(machine.campaign_id, actor=OPERATOR)
        except Refusal as refusal:
            machine.refusals.append(refusal.code)
        actor.sleep(25_000 * (1 if clicks < HASTY else SLOWER))


def waits(machine: Machine, _bridge: Bridge) -> None:
    """Do nothing for twenty minutes."""
    machine.schedule.running.sleep(20 * MINUTE)


def ticks(machine: Machine, bridge: Bridge) -> None:
    """Tick whenever a job is due, and every two minutes, until everybody has gone home and nothing is due."""
    actor = machine.schedule.running
    until = machine.schedule.now + PATIENCE_MS + 5 * MINUTE
    while machine.schedule.now < until:
        try:
            bridge.tick()
        except Refusal as refusal:
            machine.refusals.append(refusal.code)
        due = machine.next_job()
        if (due is None or due > until) and machine.only_workers_left():
            return
        wait_ms = 2 * MINUTE if due is None else due - machine.schedule.now
        actor.sleep(min(max(wait_ms, 5_000), 2 * MINUTE))


def state_of(machine: Machine, campaign_id: str = "") -> str:
    """Return the state of a campaign, by default of the world's first."""
    row = machine.memory.connection.execute(
        "SELECT state FROM campaigns WHERE id = ?", (campaign_id or machine.campaign_id,)
    ).fetchone()
    return str(row["state"])
