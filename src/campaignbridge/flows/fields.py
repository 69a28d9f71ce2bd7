"""Merge fields: content that mentions one that its list doesn't have would greet everybody with a raw tag.

A listing older than 900 s is read anew first, and without a reading nothing is sent. Content that mentions no
field of a list needs no listing, so nobody is asked for one.
"""

from campaignbridge.domain.content import Problem, Snapshot
from campaignbridge.domain.discovery import Cached, Kind
from campaignbridge.domain.provider import MergeField
from campaignbridge.flows.discovery import refresh_listing
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Reader
from campaignbridge.store.campaigns import Dossier

SHOWN = 5


def field_problems(
    wiring: Wiring,
    provider: Reader,
    dossier: Dossier,
    snapshot: Snapshot,
    known: Cached[MergeField],
    *,
    actor: str,
) -> tuple[Problem, ...]:
    """Return what stands against the fields that the content mentions; raise when they can't be read."""
    envelope = snapshot.envelope
    mentioned = provider.mentioned_fields(
        f"{envelope.subject}\n{envelope.preview_text}\n{envelope.from_name}\n{snapshot.html}\n{snapshot.text}"
    )
    if not mentioned:
        return ()
    if known.stale:
        campaign = dossier.campaign
        refreshed = refresh_listing(
            wiring, provider, campaign.account, Kind.MERGE_FIELDS, audience=campaign.audience, actor=actor
        )
        if refreshed.refusal is not None:
            raise refreshed.refusal
        known = refreshed.cached
    unknown = sorted(mentioned - {field.tag.upper() for field in known.items})
    if not unknown:
        return ()
    named = ", ".join(unknown[:SHOWN]) + (f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else "")
    lacks = "the audience doesn't have" if known.complete else "isn't among the fields that could be read"
    return (
        Problem(
            "unknown_field",
            error=known.complete,
            what=f"The content mentions {named}, which {lacks}.",
            todo="Correct the tag, or add the field to the audience at the provider.",
        ),
    )
