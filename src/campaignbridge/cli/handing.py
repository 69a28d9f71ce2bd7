"""`campaigns draft, reconcile`: handing over to the provider, and reading what became of it."""

from campaignbridge.cli import terminal
from campaignbridge.cli.asking import key_of, telling
from campaignbridge.cli.params import Id, Key, Version
from campaignbridge.cli.session import session


def draft(campaign: Id, key: Key = None, expected_version: Version = None) -> None:
    """Make the campaign's draft at the provider, or finish making it. Repeating finds the same draft."""
    from campaignbridge.cli.portrait import provider_label

    with session() as here:
        chosen = key_of(key)
        with telling(campaign, chosen):
            made = here.bridge.hand_off(
                campaign, actor=here.actor, key=chosen, expected_version=expected_version
            )
        view = here.bridge.show(campaign, actor=here.actor)
    provider = provider_label(view.dossier.connection)
    ready = made.state.value == "provider_draft"
    command = f"campaignbridge campaigns {'send' if ready else 'show'} {campaign}"
    document = {
        "campaign": campaign,
        "state": made.state.value,
        "version": view.dossier.campaign.version,
        "remote_id": made.remote_id,
        "adopted": made.adopted,
        "replay": made.replay,
        "key": chosen,
        "command": command,
    }
    how = "was found at" if made.adopted else "stands at"
    terminal.answer(document, [])
    terminal.mark("ok", f"Its draft {how} {provider} ({terminal.clean(made.remote_id)}). Nobody was mailed.")
    if not ready:
        terminal.mark("warn", f"{provider} says: {made.state.value}. We follow it from here.", stderr=True)
    terminal.hint(f"      {command}")


def reconcile(campaign: Id) -> None:
    """Read the campaign at the provider now, and settle what that proves. It never sends."""
    from campaignbridge.cli.portrait import label, next_step, provider_label

    with session() as here:
        seen = here.bridge.reconcile(campaign, actor=here.actor)
        view = here.bridge.show(campaign, actor=here.actor)
    provider = provider_label(view.dossier.connection)
    document = {
        "campaign": campaign,
        "news": seen.news,
        "state": seen.state.value,
        "version": view.dossier.campaign.version,
        "reason": seen.reason,
        "look_at": seen.look_at,
        "retry_after": seen.retry_after,
    }
    words = {
        "settled": f"{provider}'s record settles it.",
        "followed": f"{provider} is further than we knew; we followed.",
        "same": f"{provider} says the same as before.",
        "waiting": "That proves nothing yet; it takes another reading.",
        "stopped": "Checks have stopped: only a person can go on.",
        "no_reading": f"{provider} could not be read ({terminal.clean(seen.reason or 'no answer')}).",
    }
    terminal.answer(document, [])
    word = {"settled": "ok", "followed": "ok", "same": "ok", "stopped": "?"}.get(seen.news, "warn")
    terminal.mark(word, f"{words.get(seen.news, seen.news)} It is: {label(view)}.")
    terminal.hint(f"      {next_step(view)}", f"      campaignbridge campaigns timeline {campaign}")
