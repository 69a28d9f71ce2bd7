"""What can't be stopped any more: a delivery that was asked for already."""

from dataclasses import dataclass

from campaignbridge.domain.campaign import State
from campaignbridge.domain.ledger import Operation
from campaignbridge.domain.ramp import Ramp
from campaignbridge.store.unit import Unit


@dataclass(frozen=True, slots=True)
class Stopped:
    """What a pause, an abort or a trip could not stop any more."""

    wave: str | None = None  # the label of a wave whose delivery was asked for
    people: int = 0
    until: int | None = None  # from then on nothing of it can leave any more, by our reckoning
    left: tuple[str, ...] = ()  # drafts of written-off waves that a person could still send at the provider


def unstoppable(unit: Unit, ramp: Ramp) -> Stopped:
    """Return the delivery that was asked for already, and until when it may still leave."""
    for wave in reversed(unit.waves.of_ramp(ramp.id)):
        if wave.campaign_id is None:
            continue
        dossier = unit.campaigns.get(wave.campaign_id)
        attempt, campaign = dossier.attempt, dossier.campaign
        people = wave.verified or wave.picked
        if attempt is not None and attempt.operation in (Operation.SEND, Operation.SCHEDULE):
            return Stopped(wave.label, people, attempt.window_end)
        if campaign.state in (State.SENDING, State.SCHEDULED):
            return Stopped(wave.label, people, campaign.scheduled_for)
    return Stopped()


def hold_deliveries(unit: Unit, ramp: Ramp) -> None:
    """Keep the ramp and its open wave's campaign until the transaction ends: no request is settled meanwhile."""
    for wave in unit.waves.of_ramp(ramp.id):
        if wave.closed is None and wave.campaign_id is not None:
            unit.campaigns.hold(wave.campaign_id)
    unit.ramps.hold(ramp.id)
