"""How the provider behaves where its documentation is silent or its plans differ: switches of the world."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

_LONGEST_MS = 366 * 24 * 3_600_000
_MOST_CONNECTIONS = 128
MILLION = 1_000_000
RATES = ("hard_bounces", "soft_bounces", "unsubscribes", "complaints", "delays")
OUTCOMES = (*RATES, "delay_ms", "bounces_over_ms", "replies_over_ms")
VARIANTS: Mapping[str, tuple[str, ...]] = {
    "repeated_send": ("refused", "accepted_again", "silent_204"),
    "repeated_schedule": ("refused", "silent_204", "moved"),
    "repeated_unschedule": ("refused", "silent_204"),
    "repeated_cancel": ("refused", "silent_204"),
    "send_scheduled": ("refused", "accepted"),
    "delete_started": ("accepted", "refused"),
    "unscheduled_status": ("save", "paused"),
    "segment_swap": ("keeps_old", "recounts"),
    "segment_match": ("optional", "required"),
    "schedule_gate": ("allowed", "refused_403"),
    "cancel_gate": ("allowed", "refused_403"),
    "create_resend": ("refused", "new_draft"),
    "unverified_sender": ("accepted", "refused"),
    "delete_undraft": ("refused", "accepted"),
    "delete_missing": ("refused", "accepted"),
    "repeated_contact": ("silent", "refused", "resubscribes"),
    "webhook_signing": ("off", "on"),
}


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One setting of all switches; each default is the likeliest, not a documented, behaviour."""

    repeated_send: str = "refused"  # accepted_again: 204 and mails again; silent_204: 204, nothing happens
    repeated_schedule: str = "refused"  # of a scheduled campaign; moved: 204 and the new moment counts
    repeated_unschedule: str = "refused"  # of a draft
    repeated_cancel: str = "refused"  # of one that is being or has been cancelled
    send_scheduled: str = "refused"  # accepted: 204 and it is mailed now
    delete_started: str = "accepted"  # of a scheduled, sending or sent campaign; what is under way goes on
    unscheduled_status: str = "save"
    segment_swap: str = "keeps_old"  # one segment for another on a draft: count and recipients of the old one
    segment_match: str = "optional"  # required: a saved segment without `match` is refused
    schedule_gate: str = "allowed"  # refused_403: the plan has no scheduling
    cancel_gate: str = "allowed"  # refused_403: the plan has no cancelling
    create_resend: str = "refused"  # new_draft: one more campaign that can be sent
    unverified_sender: str = "accepted"  # refused: reply_to needs one of the verified domains
    webhook_signing: str = "off"  # on: webhooks made from now on are signed, with a key that is told once
    webhook_lag_ms: int = 0  # so long after what happened its webhook goes out
    webhook_retry_ms: int = 900_000  # so long after an answer that isn't 2xx it goes out again
    delete_undraft: str = (
        "refused"  # at Resend, of a scheduled, queued or sent one; what is under way goes on
    )
    delete_missing: str = "refused"  # at Resend, of a broadcast that isn't there; contacts always are deleted
    repeated_contact: str = "silent"  # at Resend; resubscribes: whoever had left is back
    sending_ms: int = 500
    cancelling_ms: int = 200
    report_lag_ms: int = 0  # a report answers 404 until so long after the last mail
    connection_limit: int = 10  # requests of one account at once over HTTP; 0: no limit
    calls_per_s: int = 0  # of one Resend account; 0: no limit
    abandoned_ms: int = 0  # so long a request still counts whose client left before its answer
    hard_bounces: float = 0  # per 1,000 recipients, as are the next four; 0.4 is four in ten thousand
    soft_bounces: float = 0
    unsubscribes: float = 0
    complaints: float = 0
    delays: float = 0  # of mails that arrive late, by up to `delay_ms`
    delay_ms: int = 3_600_000
    bounces_over_ms: int = 0  # a bounce is heard of up to so long after its mail left
    replies_over_ms: int = 0  # and so are departures and complaints

    def __post_init__(self) -> None:
        """Refuse unknown variants and impossible figures with a ValueError."""
        for name, allowed in VARIANTS.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is one of {', '.join(allowed)}")
        for item in fields(self):
            if item.name in VARIANTS:
                continue
            value = getattr(self, item.name)
            number = type(value) is int or (item.name in RATES and type(value) is float)
            if not number or not 0 <= value <= _most(item.name):
                kind = "number" if item.name in RATES else "whole number"
                raise ValueError(f"{item.name} is a {kind} from 0 to {_most(item.name)}")
        if sum(self.fate_rates) > MILLION:
            raise ValueError("bounces, unsubscribes and complaints are more than 1,000 per 1,000")

    @property
    def fate_rates(self) -> tuple[int, ...]:
        """Hard bounces, soft bounces, unsubscribes and complaints, per million recipients."""
        return tuple(round(getattr(self, name) * 1_000) for name in RATES[:4])

    @property
    def delay_rate(self) -> int:
        """Mails that arrive late, per million."""
        return round(self.delays * 1_000)

    @property
    def rates(self) -> tuple[int, ...]:
        """All five rates, per million recipients."""
        return (*self.fate_rates, self.delay_rate)


def described() -> dict[str, str]:
    """Say what each switch can be set to."""
    return {
        item.name: " | ".join(VARIANTS[item.name])
        if item.name in VARIANTS
        else f"0 to {_most(item.name)}, default {item.default}"
        for item in fields(Behaviour)
    }


def _most(name: str) -> int:
    if name.endswith("_ms"):
        return _LONGEST_MS
    return _MOST_CONNECTIONS if name == "connection_limit" else 1_000
