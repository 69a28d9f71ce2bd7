"""The tree of commands, and the one place that every command's end passes through."""

import os
import sys

import typer

from campaignbridge.cli import (
    backup,
    demo,
    doctor,
    helping,
    init,
    people,
    reference,
    retiring,
    sandbox,
    schema,
    serve,
    status,
    webhook,
    working,
)
from campaignbridge.cli.audiences import audiences
from campaignbridge.cli.campaigns import campaigns
from campaignbridge.cli.choices import CHOICES
from campaignbridge.cli.command import Command, group
from campaignbridge.cli.connections import connections
from campaignbridge.cli.events import events
from campaignbridge.cli.exits import DONE, INTERRUPTED, MEANINGS
from campaignbridge.cli.jobs import jobs
from campaignbridge.cli.locks import locks
from campaignbridge.cli.notices import notices
from campaignbridge.cli.ramps import ramps

EXAMPLES = """Send email campaigns so that a crash or a second click can't mail people twice.

\b
  campaignbridge demo
  campaignbridge campaigns show cmp_7k2f9x0q1z3m
  campaignbridge campaigns list --json
"""
ENDS = "\b\nExit codes\n" + "\n".join(f"  {code:<4}{meaning}" for code, meaning in MEANINGS.items())
EPILOG = f"{ENDS}\n\n`campaignbridge help CODE` explains an error code or a reason."

app = group(EXAMPLES, epilog=EPILOG, completion=True)
app.command("demo", cls=Command)(demo.demo)
app.command("demo-worker", cls=Command, hidden=True)(demo.demo_worker)
app.command("demo-ramp-worker", cls=Command, hidden=True)(demo.demo_ramp_worker)
app.command("init", cls=Command)(init.init)
app.command("doctor", cls=Command)(doctor.doctor)
app.command("status", cls=Command)(status.status)
app.command("sandbox", cls=Command)(sandbox.sandbox)
app.command("serve", cls=Command)(serve.serve)
app.command("worker", cls=Command)(working.worker)
app.command("tick", cls=Command)(working.tick)
app.command("why", cls=Command)(people.why)
app.command("help", cls=Command)(helping.help_page)
app.command("version", cls=Command)(helping.show_version)
app.command("reference", cls=Command, hidden=True)(reference.reference)
for name, command in (("backup", backup.backup), ("restore", backup.restore), ("adopt", backup.adopt)):
    schema.db.command(name, cls=Command)(command)
connections.command("webhook", cls=Command)(webhook.webhook)
connections.command("rate", cls=Command)(retiring.rate)
app.add_typer(schema.db, name="db")
app.add_typer(connections, name="connections")
app.add_typer(audiences, name="audiences")
app.add_typer(campaigns, name="campaigns")
app.add_typer(ramps, name="ramps")
app.add_typer(events, name="events")
app.add_typer(jobs, name="jobs")
app.add_typer(locks, name="locks")
app.add_typer(notices, name="notices")


def run(arguments: list[str]) -> int:
    """Run one command; return its exit code. Only here is an error turned into words."""
    from campaignbridge.cli import failure
    from campaignbridge.domain.errors import Refusal

    CHOICES.start(arguments)
    for stream in (sys.stdout, sys.stderr):
        getattr(stream, "reconfigure", lambda **_: None)(errors="replace")
    try:
        return _invoke(arguments)
    except Refusal as refusal:
        return failure.refused(refusal)
    except (KeyboardInterrupt, EOFError, typer.Abort):
        return failure.interrupted()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever read went away
        return DONE
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        return _misused(error, context.command_path if context else "campaignbridge")
    except Exception as error:  # noqa: BLE001  whatever it was: one line, and a report
        return failure.bug(error)


def _invoke(arguments: list[str]) -> int:
    ended = typer.main.get_command(app)(
        args=arguments, prog_name="campaignbridge", standalone_mode=False, windows_expand_args=False
    )
    if ended == INTERRUPTED:
        raise KeyboardInterrupt
    return ended if isinstance(ended, int) else DONE


def _misused(error: typer.TyperException, command: str) -> int:
    from campaignbridge.cli import failure

    if type(error).__name__ == "NoArgsIsHelpError":
        if CHOICES.json:
            return failure.usage("A command is missing.", command)
        print(error.format_message(), file=sys.stderr)
        return 2
    said = failure.masked(error.format_message().strip())  # it quotes what was typed, addresses and all
    return failure.usage(said or "The command is not complete.", command)
