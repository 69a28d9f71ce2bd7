"""The real program as a subprocess, and what a store holds."""

import json
import os
import sqlite3
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from campaignbridge import Confirmation, NewCampaign, open_bridge, with_all_rights
from cli.nursery import nursery

KEY_ENV = "SANDBOX_KEY"
AUDIENCE, PEOPLE = "a1b2c3", 24_318
LETTER = "<!doctype html><html><body><h1>Hello</h1><p><a href='*|UNSUB|*'>Unsubscribe</a></p></body></html>"
ACTOR = with_all_rights("cli:test")

_PASSING = tuple(f'INSERT INTO "{name}"' for name in ("account_limits", "account_slots", "audience_readings"))


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def document(self):
        """The one JSON document; that it is one line and that stderr is empty is checked here."""
        lines = self.out.splitlines()
        assert len(lines) == 1, f"stdout has {len(lines)} lines: {self.out!r}"
        assert self.err == ""
        return json.loads(lines[0])

    @property
    def words(self):
        """Everything that was printed, in one line of single spaces."""
        return " ".join((self.out + self.err).split())


@dataclass
class Program:
    folder: Path
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def database(self) -> Path:
        return self.folder / "campaigns.db"

    def environment(self, **more: str) -> dict[str, str]:
        hidden = ("CAMPAIGNBRIDGE_", "NO_COLOR", "FORCE_COLOR", "CI", "TERM", "COLUMNS", "ACCESSIBLE")
        outside = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        return {**outside, "TZ": "UTC", **self.extra, **more}

    def run(self, *arguments: str, **more: str) -> Done:
        """Run it as a process of its own, forked from one that has imported everything already."""
        done = Done(*nursery().run(list(arguments), str(self.folder), self.environment(**more)))
        assert "Traceback" not in done.err
        return done

    def run_anew(self, *arguments: str, **more: str) -> Done:
        """Run it as people do: a fresh interpreter."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str, **streams):
        return subprocess.Popen(
            self.command(*arguments), cwd=self.folder, env=self.environment(), text=True, **streams
        )

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "campaignbridge", *arguments]

    def letter(self, text: str = LETTER, name: str = "letter.html") -> str:
        (self.folder / name).write_text(text, "utf-8")
        return name

    def creating(self, **changes: str) -> list[str]:
        """Return the arguments of a create, with some of them changed."""
        options = {
            "name": "December news",
            "connection": "news",
            "audience": AUDIENCE,
            "subject": "What is new",
            "from-name": "News",
            "from-email": "news@example.com",
            "content": "letter.html",
            **{name.replace("_", "-"): value for name, value in changes.items()},
        }
        return [
            "campaigns",
            "create",
            *(part for name, value in options.items() for part in (f"--{name}", value)),
        ]

    def dump(self) -> list[str]:
        """Return all that the store holds, but for an account's slots and what was last read of it."""
        connection = sqlite3.connect(self.database)
        try:
            return [line for line in connection.iterdump() if not line.startswith(_PASSING)]
        finally:
            connection.close()


def connect(program: Program, server) -> None:
    """Add the connection `news` to the sandbox, by the library."""
    os.environ[KEY_ENV] = server.sandbox.key
    with open_bridge(str(program.database)) as bridge:
        bridge.add_connection("news", provider="mailchimp", key_env=KEY_ENV, base_url=server.url, actor=ACTOR)


STEPS = ("draft", "ready_for_review", "approved", "provider_draft", "sending")


def campaign(program: Program, until: str = "draft", *, content: str = LETTER, **changes: str) -> str:
    """Take a fresh campaign up to a state, by the library; return its id."""
    steps = STEPS.index(until)
    with open_bridge(str(program.database)) as bridge:
        new = {
            "name": "December news",
            "connection": "news",
            "audience": AUDIENCE,
            "subject": "What is new",
            "from_name": "News",
            "from_email": "news@example.com",
            **changes,
        }
        campaign_id = bridge.create(NewCampaign(**new, content=content.encode()), actor=ACTOR).campaign.id
        if steps >= 1:
            _, checked = bridge.submit(campaign_id, actor=ACTOR)
        if steps >= 2:
            bridge.approve(campaign_id, actor=ACTOR, approved=checked.fingerprint, max_recipients=30_000)
        if steps >= 3:
            bridge.hand_off(campaign_id, actor=ACTOR, key="k_setup_draft")
        if steps >= 4:
            confirmed = Confirmation(recipients=PEOPLE, audience=AUDIENCE)
            bridge.send(campaign_id, actor=ACTOR, key="k_setup_send", confirmed=confirmed)
    return campaign_id
