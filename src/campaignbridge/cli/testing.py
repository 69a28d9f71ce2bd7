"""`campaigns test`: the draft, mailed to a few people who look at it. Their addresses are told to nobody else."""

from typing import TYPE_CHECKING, Annotated

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.asking import key_of, telling
from campaignbridge.cli.params import Id, Key
from campaignbridge.cli.session import session

if TYPE_CHECKING:
    from campaignbridge import Refusal
    from campaignbridge.flows.testing import Tested


def send_test(
    campaign: Id,
    to: Annotated[
        list[str],
        typer.Option(
            "--to", metavar="ADDRESS", help="Who gets it; up to five times. Never stored or logged."
        ),
    ],
    key: Key = None,
) -> None:
    """Mail the draft to one to five addresses; ten tests of a campaign in 24 hours.

    The content is uploaded and read back first, as before a send. Without an answer it may have gone: look
    into the inboxes. The addresses stand in no log and no store; a shell may keep them in its history.

    \b
      campaignbridge campaigns test cmp_7k2f9x0q1z3m \\
        --to me@example.com --to you@example.com
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    from campaignbridge.cli.portrait import provider_label
    from campaignbridge.domain.errors import NotFound

    if "@" in campaign:
        raise NotFound("The first argument is no campaign.", todo="campaigns list shows what there is.")
    with session() as here:
        chosen = key_of(key)
        with telling(campaign, chosen):
            tested = here.bridge.send_test(campaign, actor=here.actor, key=chosen, addresses=tuple(to))
        view = here.bridge.show(campaign, actor=here.actor)
    provider = provider_label(view.dossier.connection)
    if not tested.confirmed:
        raise _unconfirmed(provider, tested, chosen)
    campaign_now, people = view.dossier.campaign, len(set(to))
    document = {
        "campaign": campaign,
        "state": campaign_now.state.value,
        "version": campaign_now.version,
        "attempt": tested.attempt_id,
        "addresses": people,
        "replay": tested.replay,
        "key": chosen,
    }
    again = " Nothing was asked for again." if tested.replay else ""
    terminal.answer(document, [])
    terminal.mark("ok", f"{provider} accepted a test to {_people(people)}. Nobody else was mailed.{again}")
    terminal.hint(f"      campaignbridge campaigns send {campaign}")


def _unconfirmed(provider: str, tested: "Tested", key: str) -> "Refusal":
    from campaignbridge import Refusal

    return Refusal(
        f"Not confirmed. {provider} gave no usable answer, so the test may have gone out.",
        code="test_unconfirmed",
        todo="Look into the inboxes. If nothing came, test again; nothing of it is repeated by itself.",
        attempt={"id": tested.attempt_id, "operation": "test", "status": "unknown"},
        key=key,
        replay=tested.replay,
    )


def _people(number: int) -> str:
    return "1 address" if number == 1 else f"{number} addresses"
