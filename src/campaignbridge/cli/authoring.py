"""`campaigns create, list, preflight, submit, approve, revoke`: from a file to approved content."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.params import Audience, Content, Id, Version, text
from campaignbridge.cli.session import session

if TYPE_CHECKING:
    from campaignbridge.flows.authoring import Checked
    from campaignbridge.store.campaigns import Dossier

Name = Annotated[str, text("NAME", "For you; recipients never see it.")]
Connection = Annotated[str, text("CONNECTION", "Its label or id.", metavar="LABEL")]
Subject = Annotated[str, text("SUBJECT", "One line; emoji are kept.")]
FromName = Annotated[str, text("FROM_NAME", "Whom it comes from.")]
FromEmail = Annotated[str, text("FROM_EMAIL", "The From address.", metavar="ADDRESS")]
Preview = Annotated[str, text("PREVIEW_TEXT", "Shown beside the subject in many inboxes.")]


def create(  # noqa: PLR0917  Typer hands them over by name
    name: Name,
    connection: Connection,
    audience: Annotated[str, Audience],
    subject: Subject,
    from_name: FromName,
    from_email: FromEmail,
    content: Annotated[str, Content],
    preview_text: Preview = "",
) -> None:
    """Create a draft with frozen content.

    \b
      campaignbridge campaigns create --name "December news" --connection news \\
        --audience a1b2c3 --subject "What is new" --from-name News \\
        --from-email news@example.com --content newsletter.html
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    from campaignbridge import NewCampaign
    from campaignbridge.cli.content_file import is_markdown, read_content

    new = NewCampaign(
        name=name,
        connection=connection,
        audience=audience,
        subject=subject,
        from_name=from_name,
        from_email=from_email,
        content=read_content(content),
        markdown=is_markdown(content),
        preview_text=preview_text,
    )
    with session() as here:
        created = here.bridge.create(new, actor=here.actor)
        view = here.bridge.show(created.campaign.id, actor=here.actor)
    campaign = created.campaign
    command = f"campaignbridge campaigns submit {campaign.id}"
    document = {**changed(created), "fingerprint": view.snapshot.fingerprint, "command": command}
    terminal.answer(document, [])
    terminal.mark("ok", f"Created {campaign.id}, version {campaign.version}.")
    terminal.mark("", view.snapshot.fingerprint)
    terminal.hint(f"      {command}")


def list_(
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=500, help="How many at most, newest first.")
    ] = 50,
) -> None:
    """List the newest campaigns."""
    with session() as here:
        rows = here.bridge.newest(actor=here.actor, most=limit)
    items = [dict(row) for row in rows]
    if not items:
        terminal.answer({"campaigns": [], "next_cursor": None}, [])
        terminal.hint("No campaigns yet. A campaign is one newsletter to one audience.")
        terminal.hint("campaignbridge campaigns create --help")
        return
    table = [("campaign", "state", "audience", "name"), *(_listed(row) for row in items)]
    terminal.answer({"campaigns": items, "next_cursor": None}, terminal.columns(table))


def _listed(row: dict[str, Any]) -> tuple[str, ...]:
    from campaignbridge.cli.portrait import label_of

    return (
        row["id"],
        label_of(row["state"], stopped=bool(row["stopped_reason"]), open_attempt=bool(row["open_attempt"])),
        terminal.shortened(row["audience"], 12),
        terminal.shortened(row["name"], 26),
    )


def preflight(campaign: Id) -> int:
    """Check the content, and whether the audience exists at the provider.

    It reads and changes nothing. Bad news is exit code 0, too: the reading worked.
    """
    with session() as here:
        checked = here.bridge.preflight(campaign, actor=here.actor)
    terminal.answer(findings(checked), list(_found(checked)))
    return 0


def submit(campaign: Id, expected_version: Version = None) -> None:
    """Hand a draft in for review; prints the fingerprint of the exact bytes."""
    with session() as here:
        dossier, checked = here.bridge.submit(campaign, actor=here.actor, expected_version=expected_version)
    people = (checked.audience.contacts or 0) if checked.audience else 0
    command = f"campaignbridge campaigns approve {campaign} --max-recipients {people}"
    whole = f"{command} --fingerprint {checked.fingerprint}"
    terminal.answer({**changed(dossier), **findings(checked), "command": whole}, [])
    terminal.mark("ok", f"{campaign} is in review, version {dossier.campaign.version}.")
    terminal.mark("", checked.fingerprint)
    for problem in checked.problems:
        terminal.mark("warn", f"{problem.what} {problem.todo}", stderr=True)
    if checked.audience is not None:
        name = terminal.clean(checked.audience.name)
        terminal.hint(f"      Audience {name} ({checked.audience.ref}) has {people:,} people now.")
    terminal.hint(*(f"      {line}" for line in terminal.pasteable(whole)))


def approve(
    campaign: Id,
    fingerprint: Annotated[
        str, typer.Option(metavar="SHA256", help="Of the content that was looked at, in full.")
    ],
    max_recipients: Annotated[int, typer.Option(metavar="N", help="No more people than this may get it.")],
    expected_version: Version = None,
) -> None:
    """Approve exactly the content with this fingerprint, for so many people at most."""
    with session() as here:
        dossier = here.bridge.approve(
            campaign,
            actor=here.actor,
            approved=fingerprint,
            max_recipients=max_recipients,
            expected_version=expected_version,
        )
    command = f"campaignbridge campaigns draft {campaign}"
    terminal.answer({**changed(dossier), "command": command}, [])
    terminal.mark("ok", f"{campaign} is approved for {max_recipients:,} people at most.")
    terminal.hint(f"      {command}")


def revoke(campaign: Id, expected_version: Version = None) -> None:
    """Take an approval back, before anything stands at the provider."""
    with session() as here:
        dossier = here.bridge.revoke(campaign, actor=here.actor, expected_version=expected_version)
    terminal.answer(changed(dossier), [])
    terminal.mark("ok", f"{campaign} is in review again, version {dossier.campaign.version}.")


def changed(dossier: "Dossier") -> dict[str, Any]:
    """Return what every change tells programs."""
    campaign = dossier.campaign
    return {"campaign": campaign.id, "state": campaign.state.value, "version": campaign.version}


def findings(checked: "Checked") -> dict[str, Any]:
    """Return what preflight found, for programs."""
    audience = checked.audience
    return {
        "ok": not checked.errors,
        "fingerprint": checked.fingerprint,
        "audience": {"ref": audience.ref, "name": audience.name, "contacts": audience.contacts}
        if audience
        else None,
        "problems": [
            {"code": one.code, "error": one.error, "what": one.what, "todo": one.todo}
            for one in checked.problems
        ],
    }


def _found(checked: "Checked") -> list[str]:
    lines = []
    for one in checked.problems:
        word = "FAIL" if one.error else "warn"
        first, *rest = terminal.wrapped(f"{one.what} {one.todo}", width=terminal.WIDTH - 6)
        lines += [f"{word:<6}{first}", *(f"      {more}" for more in rest)]
    if checked.audience is not None:
        audience = checked.audience
        people = "of unknown size" if audience.contacts is None else f"{audience.contacts:,} people"
        lines.append(f"ok    audience {terminal.clean(audience.name)} ({audience.ref}), {people}")
    lines.append(
        f"ok    {checked.fingerprint}" if not checked.errors else "      It can't be submitted like this."
    )
    return lines
