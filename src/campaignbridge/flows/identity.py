"""Installation identity: a store that isn't where it was recorded is a copy, and a copy is paused.

1. The first open of a fresh store records where it lives.
2. Each later open compares. Another place pauses the store: that is written down in it, so that every process
   on it sees it. Only a person lifts a pause, even where the place is the recorded one again.
3. A paused copy asks nothing of a provider by itself and changes nothing there: no job is claimed, and the
   intent of every mutation restates that the installation isn't paused.
4. Adopting it records the new place and keeps the id, by which drafts are found at the provider. What moves, or
   has an open request, is looked at anew: the copy may have forgotten what the original did.

Not noticed: a copy with the same machine, path and inode (a cloned disk or machine), and a physical copy of a
PostgreSQL server, which can't be told from a failover. There the search before each create and the readings
before each send are what is left.
"""

from collections.abc import Callable
from dataclasses import dataclass

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.content import require_one_line
from campaignbridge.domain.errors import Conflict, InvalidInput, InvalidState, ValidationFailed
from campaignbridge.domain.installation import Place, Standing, reason_in_words
from campaignbridge.flows.wiring import Wiring, watch_request
from campaignbridge.store.unit import Store

SHORTEST_REASON, LONGEST_REASON = 10, 300
Whereabouts = Callable[[], Place | None]  # finds out where the store lives
IDLE = "It sends nothing, and nothing is checked or watched."
ADOPTING = 'campaignbridge db adopt --reason "..."'


@dataclass(frozen=True, slots=True)
class Adopted:
    """A copy that is the real one now, and how many campaigns are looked at for that."""

    installation: str
    looked_at: int


def keep_watch(store: Store, place: Place | None, *, fresh_id: str) -> None:
    """Name a fresh installation and record where it lives; pause one that lives somewhere else."""
    with store.reading() as unit:
        standing = unit.identity.standing()
    if standing is not None and not _concerns(standing, place):
        return
    with store.unit() as unit:
        unit.name_installation(fresh_id)
        if place is None or unit.identity.settle(place):
            return
        standing = unit.identity.standing()
        assert standing is not None
        recorded = standing.place
        assert recorded is not None
        differing = place.differs_from(recorded)
        if differing and unit.identity.pause(recorded, ",".join(differing)):
            unit.events.add(
                "copy_paused", campaign_id=None, actor=None, differs=",".join(differing), path=place.path
            )


def _concerns(standing: Standing, place: Place | None) -> bool:
    """Say whether something is to be written down about where the store lives."""
    return place is not None and standing.place != place and not standing.paused


def standing(wiring: Wiring, *, actor: Actor) -> Standing | None:
    """Return what the store says of its installation."""
    actor.require("read")
    with wiring.store.reading() as unit:
        return unit.identity.standing()


def as_copy(standing: Standing, place: Whereabouts | None) -> str | None:
    """Return why the store counts as a copy, for people; None for an original. Writes nothing down."""
    if standing.paused_reason is not None:
        kind = standing.place.kind if standing.place else "sqlite"
        return f"a copy of {standing.id}, paused: {reason_in_words(standing.paused_reason, kind)}"
    here = place() if place is not None else None
    if here is None or standing.place is None or standing.place == here:
        return None
    why = reason_in_words(",".join(here.differs_from(standing.place)), here.kind)
    return f"a copy of {standing.id}, which the next command pauses: {why}"


def adopt(wiring: Wiring, *, reason: str, confirmed: str, actor: Actor) -> Adopted:
    """Make a paused copy the real one. `confirmed` is its installation's id, typed by who has looked.

    Everything that moves by itself or has an open request is looked at soon, also where looking had stopped.
    """
    actor.require("admin")
    require_one_line(reason, field="reason", limit=LONGEST_REASON)
    if len(reason.strip()) < SHORTEST_REASON:
        raise InvalidInput(
            f"The reason is shorter than {SHORTEST_REASON} characters.",
            todo="Say why this one is the real one now, for whoever reads the audit trail.",
        )
    with wiring.store.unit() as unit:
        found = unit.identity.standing()
        if found is None or not found.paused:
            raise InvalidState("This installation is not paused: there is nothing to adopt.")
        if confirmed.strip().lower() != found.id:
            raise ValidationFailed(
                f"{confirmed.strip()[:40]!a} is not the installation's id ({found.id}). Nothing was changed.",
                todo="Look at it again, and name it if it is the right one.",
                installation=found.id,
            )
        if not unit.identity.adopt(found, wiring.place):
            raise Conflict("Somebody adopted it just now.", todo="campaignbridge doctor says how it stands.")
        moving = unit.campaigns.look_again()
        unit.jobs.enqueue_many((wiring.new_id("job"), watch_request(one)) for one in moving)
        unit.events.add(
            "installation_adopted",
            campaign_id=None,
            actor=actor.name,
            reason=reason.strip(),
            paused_since=found.paused_since,
            paused_reason=found.paused_reason,
            looked_at=len(moving),
        )
    return Adopted(found.id, len(moving))
