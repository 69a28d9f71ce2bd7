"""What the demo plays, step by step. Every figure it shows is read: from the store, the truth log, exit codes."""

import json
import time
from dataclasses import dataclass
from importlib import resources
from typing import Any

from campaignbridge import NewCampaign, Settings
from campaignbridge.cli import chronicle, terminal
from campaignbridge.cli.demo_stage import (
    AUDIENCE,
    KEY_ENV,
    LATER_MS,
    WAIT_S,
    Stage,
    note,
    staged,
    told_of_stage,
    wait,
    working,
)
from campaignbridge.cli.moments import clock_time
from campaignbridge.cli.session import new_key
from campaignbridge.sandbox import Fault

PEOPLE = 24_318


@dataclass(frozen=True, slots=True)
class Result:
    """What came of it. The first five are what scripts look at."""

    state: str
    sends_accepted: int
    duplicates: int
    crashes: int
    database: str
    campaign: str
    mailed: int
    refused_with: str
    refused_exit: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Played:
    """The result, and what people are shown of it."""

    result: Result
    lines: list[str]


def play(settings: Settings) -> Played:
    """Play the demo over an empty store; return what came of it."""
    began = time.monotonic()
    with staged(settings, seed=time.time_ns() % 1_000_000) as stage:
        campaign_id, code, status = _acts(stage)
        return _curtain(stage, campaign_id, code, status, began)


def _acts(stage: Stage) -> tuple[str, str, int]:
    told_of_stage(stage)
    campaign_id = _prepare(stage)
    _kill_the_sender(stage, campaign_id)
    code, status = _press_send_again(stage, campaign_id)
    wait(lambda: _settled(stage).mailed() > 0, "the sandbox did not finish its delivery")
    _settle_later(stage, campaign_id)
    return campaign_id, code, status


def _prepare(stage: Stage) -> str:
    """Take a bundled newsletter up to a draft at the provider."""
    bridge, actor = stage.bridge, stage.actor
    content = resources.files("campaignbridge.cli").joinpath("demo_letter.html").read_bytes()
    with working("Creating a campaign from an HTML file"):
        bridge.add_connection(
            "sandbox", provider="mailchimp", key_env=KEY_ENV, base_url=stage.server.url, actor=actor
        )
        new = NewCampaign(
            name="The autumn letter",
            connection="sandbox",
            audience=AUDIENCE,
            subject="Put the garden to bed 🧄 keep the kitchen awake",
            from_name="Jo at Fernhill Seeds",
            from_email="letter@fernhill.example",
            content=content,
        )
        campaign_id = bridge.create(new, actor=actor).campaign.id
        _, checked = bridge.submit(campaign_id, actor=actor)
    note("ok", "Campaign", f"{campaign_id}, {len(content):,} bytes of HTML, submitted")
    bridge.approve(campaign_id, actor=actor, approved=checked.fingerprint, max_recipients=PEOPLE)
    note("ok", "Approved", f"{chronicle.short(checked.fingerprint)}, for {PEOPLE:,} people at most")
    with working("Making the draft at the provider"):
        remote_id = bridge.hand_off(campaign_id, actor=actor, key=new_key()).remote_id
    note("ok", "Draft", f"{remote_id} stands at the provider, with its content")
    return campaign_id


def _kill_the_sender(stage: Stage, campaign_id: str) -> None:
    """Kill the process that sends after the provider accepted and before we could write that down."""
    stage.server.sandbox.faults.add(Fault("send", "accept_then_withhold"))
    with working("A first process sends; the provider accepts and never answers"):
        process = stage.start("campaigns", "send", campaign_id, *_confirmed())
        wait(
            lambda: _settled(stage).sends_accepted() > 0 or process.poll() is not None,
            "the sandbox saw no send",
        )
        process.kill()
        process.communicate()
    accepted = stage.truth.sends_accepted()
    note("!", "Process 1", f"sent; the provider accepted ({accepted}) and withheld its answer")
    note(
        "!",
        "Killed",
        f"process {process.pid} by SIGKILL (exit {process.returncode}); it never learned of that",
    )


def _press_send_again(stage: Stage, campaign_id: str) -> tuple[str, int]:
    """Press Send a second time, as somebody would; return the code of the refusal and its exit code."""
    seen = len(stage.truth.requests())
    with working("Somebody presses Send again"):
        process = stage.start("campaigns", "send", campaign_id, *_confirmed())
        said, _ = process.communicate(timeout=WAIT_S)
    told: dict[str, Any] = json.loads(said)
    asked = len(stage.truth.requests()) - seen
    code = str(told.get("code", "none"))
    note("ok", "Process 2", f"presses Send again and is refused ({code}, exit {process.returncode});")
    note("", "", f"the provider got {asked} requests from it")
    return code, process.returncode


def _settle_later(stage: Stage, campaign_id: str) -> None:
    """Let another worker find the campaign ten minutes later; nothing of the product is made shorter."""
    terminal.hint("", "      Ten minutes later (the second worker's store clock is 10 min ahead)", "")
    with working("A second worker looks at the provider"):
        process = stage.start(
            "demo-worker", campaign_id, "--clock-offset-ms", str(LATER_MS), "--for", str(WAIT_S)
        )
        process.communicate(timeout=WAIT_S + 10)
    state = stage.dossier(campaign_id).campaign.state.value
    note("ok" if state == "sent" else "FAIL", "Process 3", f"read the provider's record: {state}")


def _curtain(stage: Stage, campaign_id: str, code: str, status: int, began: float) -> Played:
    dossier, truth = stage.dossier(campaign_id), stage.truth
    result = Result(
        state=dossier.campaign.state.value,
        sends_accepted=truth.sends_accepted(),
        duplicates=truth.duplicates(),
        crashes=stage.crashes,
        database="postgresql" if stage.settings.on_postgres else "sqlite",
        campaign=campaign_id,
        mailed=truth.mailed(),
        refused_with=code,
        refused_exit=status,
        seconds=round(time.monotonic() - began, 1),
    )
    events = stage.bridge.timeline(campaign_id, actor=stage.actor)
    lines = ["", "Timeline, from the store"]
    lines += [
        f"  {line}" for line in chronicle.lines(events, provider="Mailchimp", now_ms=dossier.now, width=78)
    ]
    lines += ["", "Truth log, from the provider"]
    lines += [f"  {clock_time(one.at_ms, dossier.now):<10}{_truth(one)}" for one in truth.events()]
    return Played(result, [*lines, ""])


def _truth(event: Any) -> str:
    people = f", {event.recipients:,} people" if event.recipients else ""
    return f"{event.kind.replace('_', ' ')}{people}"


def _confirmed() -> tuple[str, ...]:
    return ("--confirm-recipients", str(PEOPLE), "--confirm-audience", AUDIENCE)


def _settled(stage: Stage) -> Any:
    stage.server.sandbox.settle()
    return stage.truth
