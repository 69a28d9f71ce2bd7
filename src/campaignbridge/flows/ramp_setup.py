"""Setting a ramp up from what a person gave: the list is read once, since a wrong one would fail in the first wave."""

from typing import assert_never

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.connection import Connection
from campaignbridge.domain.errors import InvalidInput
from campaignbridge.domain.ledger import READ_LIMIT_MS
from campaignbridge.domain.provider import Accepted, Ambiguous, Category, Refused
from campaignbridge.domain.ramp import Ramp
from campaignbridge.flows import ramping
from campaignbridge.flows.connecting import find_connection
from campaignbridge.flows.ramping import NewRamp
from campaignbridge.flows.reading import open_reader
from campaignbridge.flows.refusals import refused, unreadable
from campaignbridge.flows.wiring import Wiring

WITH_LISTS = frozenset({"mailchimp"})  # whose segments belong to a list


def set_up(wiring: Wiring, new: NewRamp, *, actor: Actor) -> Ramp:
    """Set a ramp up, once the list for its segments is known to be there; `ramping.init` says the rest."""
    actor.require("deliver")
    _require_list(wiring, find_connection(wiring, new.connection), new.list)
    return ramping.init(wiring, new, actor=actor)


def _require_list(wiring: Wiring, connection: Connection, ref: str) -> None:
    name = connection.provider.capitalize()
    if connection.provider not in WITH_LISTS:
        if ref:
            raise InvalidInput(f"At {name} a segment belongs to no list.", todo="Leave --list out.")
        return
    if not ref:
        raise InvalidInput(
            f"At {name} a wave's segment is made in a list, and none was named.",
            todo=f"Add --list REF; audiences list --at {connection.label} shows them.",
        )
    reader = open_reader(wiring, connection)
    outcome = reader.audience(ref, limit_ms=READ_LIMIT_MS)
    match outcome:
        case Accepted():
            return
        case Refused(category=Category.MISSING):
            raise InvalidInput(
                f"{name} has no list {ref[:40]!a}.",
                todo=f"audiences list --at {connection.label} --refresh shows what there is.",
            )
        case Refused():
            raise refused(reader, outcome, None)
        case Ambiguous():
            raise unreadable(reader, outcome)
        case _:
            assert_never(outcome)
