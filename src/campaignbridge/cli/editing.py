"""`campaigns content, audience, withdraw, archive, duplicate`: edits of our own record; nobody is mailed by them."""

from typing import TYPE_CHECKING, Annotated

from campaignbridge.cli import terminal
from campaignbridge.cli.asking import key_of, telling
from campaignbridge.cli.authoring import changed
from campaignbridge.cli.params import Audience, Content, Id, Key, Version, text
from campaignbridge.cli.session import session

if TYPE_CHECKING:
    from campaignbridge.flows.views import CampaignView


def content(
    campaign: Id,
    content: Annotated[str, Content],
    subject: Annotated[str | None, text("SUBJECT", "Another subject.")] = None,
    preview_text: Annotated[str | None, text("PREVIEW_TEXT", "Another preview text.")] = None,
    expected_version: Version = None,
) -> None:
    """Freeze another content; an approval is dropped, and the campaign is a draft again.

    \b
      campaignbridge campaigns content cmp_7k2f9x0q1z3m --content newsletter.html
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    from campaignbridge.cli.content_file import is_markdown, read_content

    data = read_content(content)
    with session() as here:
        edited = here.bridge.set_content(
            campaign,
            actor=here.actor,
            content=data,
            markdown=is_markdown(content),
            subject=subject,
            preview_text=preview_text,
            expected_version=expected_version,
        )
        view = here.bridge.show(campaign, actor=here.actor)
    revision = edited.campaign.revision
    command = f"campaignbridge campaigns submit {campaign}"
    document = {
        **changed(edited),
        "revision": revision,
        "fingerprint": view.snapshot.fingerprint,
        "command": command,
    }
    terminal.answer(document, [])
    terminal.mark("ok", f"{campaign} has content revision {revision}, and is a draft.")
    terminal.mark("", view.snapshot.fingerprint)
    terminal.hint(f"      {command}")


def audience(campaign: Id, audience: Annotated[str, Audience], expected_version: Version = None) -> None:
    """Choose another audience, while no draft stands at the provider; an approval is dropped."""
    with session() as here:
        edited = here.bridge.set_audience(
            campaign, actor=here.actor, audience=audience, expected_version=expected_version
        )
        view = here.bridge.show(campaign, actor=here.actor)
    terminal.answer({**changed(edited), "audience": edited.campaign.audience}, [])
    terminal.mark("ok", f"{campaign} goes to {terminal.clean(audience)}. It is: {_label(view)}.")
    terminal.hint(f"      campaignbridge campaigns preflight {campaign}")


def withdraw(campaign: Id, expected_version: Version = None) -> None:
    """Take a draft back from the provider's side, so that it can be edited; it is approved again.

    The draft stays at the provider, unsent: nothing is deleted there. The next `campaigns draft` finds it
    again; `campaigns retire` makes it unsendable, for a new one.
    """
    with session() as here:
        edited = here.bridge.withdraw(campaign, actor=here.actor, expected_version=expected_version)
    terminal.answer(changed(edited), [])
    terminal.mark("ok", f"{campaign} is approved and may be edited. Its draft stays at the provider, unsent.")
    terminal.hint(f"      campaignbridge campaigns content {campaign} --content FILE")


def archive(campaign: Id, expected_version: Version = None) -> None:
    """Put a campaign away that was never sent. Nothing is asked of the provider."""
    with session() as here:
        edited = here.bridge.archive(campaign, actor=here.actor, expected_version=expected_version)
    terminal.answer(changed(edited), [])
    terminal.mark("ok", f"{campaign} is archived.")
    terminal.hint(f"      campaignbridge campaigns duplicate {campaign}")


def duplicate(
    campaign: Id,
    name: Annotated[str | None, text("NAME", 'Of the copy. [default: its own and "(copy)"]')] = None,
    key: Key = None,
) -> None:
    """Make a draft with the same content and audience. Nothing of the delivery's history is copied."""
    with session() as here:
        chosen = key_of(key)
        with telling(campaign, chosen):
            copy = here.bridge.duplicate(campaign, actor=here.actor, key=chosen, name=name)
    copy_id = copy.campaign.id
    command = f"campaignbridge campaigns submit {copy_id}"
    document = {
        **changed(copy),
        "source": campaign,
        "name": copy.campaign.name,
        "key": chosen,
        "command": command,
    }
    terminal.answer(document, [])
    terminal.mark("ok", f"{copy_id} is a copy of {campaign}, version {copy.campaign.version}.")
    terminal.hint(f"      {command}")


def _label(view: "CampaignView") -> str:
    from campaignbridge.cli.portrait import label

    return label(view)
