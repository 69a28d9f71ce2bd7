"""`ramps recover, clear-failure, force-release, resume-wave`: what only a person can decide about an open wave."""

import shlex
from typing import Annotated, Any

import typer

from campaignbridge.cli import terminal
from campaignbridge.cli.moments import dated
from campaignbridge.cli.ramp_confirming import ConfirmWave, Reason, RunOption, Slug, aimed, tell
from campaignbridge.cli.session import session

ManualFinished = Annotated[
    bool, typer.Option("--manual-finished", help="The wave did go out, whatever we know.")
]
Discard = Annotated[
    bool, typer.Option("--discard-and-rotate", help="Write it off; the next wave has a fresh label.")
]
BroadcastId = Annotated[
    str | None, typer.Option(metavar="ID", help="What went out, by the provider's id; else ours.")
]
SentAt = Annotated[
    str | None, typer.Option(metavar="TIME", help="When, such as 2026-12-01T09:00:00+01:00; else as read.")
]
Mailed = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="How many people it mailed; else as read.")
]
Return = Annotated[
    bool, typer.Option("--return-contacts", help="Let later waves mail its people, if no send was asked for.")
]


def recover(  # noqa: PLR0917  Typer hands them over by name
    ramp: Slug,
    reason: Reason,
    manual_finished: ManualFinished = False,
    discard_and_rotate: Discard = False,
    broadcast_id: BroadcastId = None,
    sent_at: SentAt = None,
    mailed: Mailed = None,
    return_contacts: Return = False,
    run: RunOption = None,
    confirm_wave_: ConfirmWave = None,
) -> None:
    """Settle an open wave by hand: as gone, or written off. It mails nobody.

    What isn't given with --manual-finished is filled in from our markers and the provider's record.

    \b
      campaignbridge ramps recover winter --manual-finished \\
        --reason "the activity log shows it at 09:02"
      campaignbridge ramps recover winter --discard-and-rotate \\
        --reason "wrong people were picked"
    """  # noqa: D301  the \b is meant: it keeps the lines of an example
    told = {"--broadcast-id": broadcast_id, "--sent-at": sent_at, "--mailed": mailed}
    given = {flag: value for flag, value in told.items() if value is not None}
    _require_one(manual_finished, discard_and_rotate, bool(given), return_contacts)
    if discard_and_rotate:
        _write_off(ramp, reason, confirm_wave_, run, return_contacts=return_contacts)
    else:
        _finish(ramp, reason, confirm_wave_, run, given)


def _require_one(went: bool, written_off: bool, told: bool, returned: bool) -> None:
    from campaignbridge import Refusal

    what, todo = "", ""
    if went == written_off:
        what = "Did the wave go out, or is it written off? That wasn't said."
        todo = "Add --manual-finished or --discard-and-rotate."
    elif written_off and told:
        what = "What was mailed belongs to --manual-finished."
        todo = "Leave --broadcast-id, --sent-at and --mailed out."
    elif went and returned:
        what, todo = "People whose wave went out are not returned.", "Leave --return-contacts out."
    if what:
        raise Refusal(what, code="usage", todo=todo)


def _finish(ramp: str, reason: str, label: str | None, run: str | None, given: dict[str, Any]) -> None:
    from campaignbridge.domain.when import instant_of

    at = given.get("--sent-at")
    at_ms = None if at is None else instant_of(at, None)
    flags = "".join(f" {flag} {shlex.quote(str(value))}" for flag, value in given.items())
    again = f"campaignbridge ramps recover {ramp} --manual-finished{flags}"
    with session() as here:
        aim = aimed(here, ramp, reason, label, run, "Record that a wave went out.", again)
        facts = here.bridge.finish_wave(
            ramp,
            aim,
            broadcast_id=given.get("--broadcast-id"),
            sent_at=at_ms,
            mailed=given.get("--mailed"),
            actor=here.actor,
        )
        view = here.bridge.ramp_status(ramp, actor=here.actor)
    went = f"{aim.label} went out at {dated(facts.sent_at)} to {facts.mailed:,} people"
    tell(view, terminal.clean(f"{went}, as {facts.broadcast_id}."))


def _write_off(ramp: str, reason: str, label: str | None, run: str | None, *, return_contacts: bool) -> None:
    again = f"campaignbridge ramps recover {ramp} --discard-and-rotate"
    again += " --return-contacts" if return_contacts else ""
    with session() as here:
        aim = aimed(here, ramp, reason, label, run, "Write a wave off.", again)
        returned = here.bridge.discard_wave(ramp, aim, return_contacts=return_contacts, actor=here.actor)
        view = here.bridge.ramp_status(ramp, actor=here.actor)
    more = f" {returned:,} people may be mailed by later waves." if return_contacts else ""
    tell(view, f"{aim.label} is written off.{more}")


def clear_failure(
    ramp: Slug,
    reason: Reason,
    confirm_no_export: Annotated[
        bool, typer.Option("--confirm-no-export", help="You have looked: nothing of it is at the provider.")
    ] = False,
    run: RunOption = None,
    confirm_wave_: ConfirmWave = None,
) -> None:
    """Begin an open wave anew, with the same label. Refused if anything of it may exist at the provider."""
    from campaignbridge import Refusal

    if not confirm_no_export:
        raise Refusal(
            "This is only right while nothing of the wave is at the provider.",
            code="usage",
            todo="Look there, then add --confirm-no-export.",
        )
    again = f"campaignbridge ramps clear-failure {ramp} --confirm-no-export"
    with session() as here:
        aim = aimed(here, ramp, reason, confirm_wave_, run, "Begin a wave anew.", again)
        here.bridge.clear_failure(ramp, aim, actor=here.actor)
        view = here.bridge.ramp_status(ramp, actor=here.actor)
    tell(view, f"{aim.label} begins anew.")


def force_release(
    ramp: Slug, reason: Reason, run: RunOption = None, confirm_wave_: ConfirmWave = None
) -> None:
    """Take an open wave from its run. Nobody is mailed by that; the wave then waits for your decision.

    A run whose worker died goes on by itself with another worker. This is for one that must not go on.
    """
    again = f"campaignbridge ramps force-release {ramp}"
    with session() as here:
        aim = aimed(here, ramp, reason, confirm_wave_, run, "Take a wave from its run.", again)
        here.bridge.force_release(ramp, aim, actor=here.actor)
        view = here.bridge.ramp_status(ramp, actor=here.actor)
    tell(view, f"{aim.label} is taken from its run. It waits for your decision.")


def resume_wave(
    ramp: Slug,
    reason: Reason,
    accept_underfilled: Annotated[
        bool, typer.Option("--accept-underfilled", help="Mail it though far fewer people were found.")
    ] = False,
    run: RunOption = None,
    confirm_wave_: ConfirmWave = None,
) -> None:
    """Go on with an unfinished wave where it was, under a new run. It may mail that wave, once."""
    again = f"campaignbridge ramps resume-wave {ramp}"
    again += " --accept-underfilled" if accept_underfilled else ""
    with session() as here:
        aim = aimed(here, ramp, reason, confirm_wave_, run, "Go on with a wave: it may mail people.", again)
        here.bridge.resume_wave(ramp, aim, accept_underfilled=accept_underfilled, actor=here.actor)
        view = here.bridge.ramp_status(ramp, actor=here.actor)
    paused = " It waits until the ramp is resumed." if view.ramp.facts.paused_at is not None else ""
    tell(view, f"{aim.label} goes on.{paused}")
