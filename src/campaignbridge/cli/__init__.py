"""The command line: a thin surface over `Bridge`.

Lives here: commands, what they print, and which exit code a refusal has. May not live here: a rule about
campaigns, SQL, HTTP. Read `app` first (the tree of commands), then `terminal` (where everything is printed)
and `failure` (how a refusal or a bug is told). Heavy parts are imported by the command that needs them, so
that help is quick.
"""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    from campaignbridge.cli.app import run

    return run(list(sys.argv[1:] if arguments is None else arguments))
