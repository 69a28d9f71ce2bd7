"""`notices`: where it is told that something needs a person."""

from campaignbridge.cli import terminal
from campaignbridge.cli.command import Command, group
from campaignbridge.cli.exits import DONE, PROVIDER
from campaignbridge.cli.session import session

notices = group("Try where it is told that something needs a person.")


@notices.command("test", cls=Command)
def test() -> int:
    """Send a test notice to every target, once, and say what each answered.

    Ends with 6 when one of them did not take it. Nothing is stored, and nothing is tried again.
    """
    with session() as here:
        found = here.bridge.try_notices(actor=here.actor)
    told = [{"target": one.target, "taken": one.code is None, "code": one.code} for one in found]
    terminal.answer({"targets": told, "next_cursor": None}, [])
    for one in found:
        if one.code is None:
            terminal.mark("ok", f"{one.target} took it.")
        else:
            terminal.mark("FAIL", f"{one.target} did not take it ({one.code}).")
    if not found:
        terminal.hint("No notice target is configured: add a table [notices.NAME] to the settings file.")
    failed = [one for one in found if one.code is not None]
    if failed:
        terminal.hint("      campaignbridge help notice_undelivered")
    return PROVIDER if failed else DONE
