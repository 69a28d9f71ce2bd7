"""What the ramp demo plays: five waves over virtual days, a killed worker, a lost answer, a gate that trips.

Every figure it shows is read: from the store, from the provider's truth, from exit codes.
"""

import subprocess
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from campaignbridge import NewCampaign, Settings
from campaignbridge.cli.demo_board import Board, board, read
from campaignbridge.cli.demo_people import Crowd, write_crowd
from campaignbridge.cli.demo_ramp_end import Played, curtain
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
from campaignbridge.cli.demo_working import work_off
from campaignbridge.cli.moments import DAY_MS, HOUR_MS
from campaignbridge.domain.audience import Suppressed
from campaignbridge.domain.ramp import Plan
from campaignbridge.sandbox import Fault
from campaignbridge.sandbox.outcome_rules import OutcomeRule

if TYPE_CHECKING:
    from campaignbridge.flows.importing import Imported

SLUG, CROWD = "autumn", "customers"
SEED = 20_261
SHARES = (500, 1_500, 5_000, 15_000, 23_000)
SMALLEST = 100
CHUNK = 500
WORK_S = 120.0
REFRESH_S = 0.2
# Low enough that chance doesn't trip the gate of a wave of 100: four of them would.
USUAL = {"hard_bounces": 1, "soft_bounces": 1, "unsubscribes": 2, "complaints": 0}
BAD = {"hard_bounces": 90, "soft_bounces": 30, "unsubscribes": 10, "complaints": 3}
SPREAD = {"bounces_over_ms": 6 * HOUR_MS, "replies_over_ms": 12 * HOUR_MS}
WHY = "An old address book was in this wave; the rest of the list is clean."


def tiers_of(people: int) -> tuple[int, ...]:
    """Return five growing tiers that make up so many people."""
    tiers = [max(SMALLEST, people * share // sum(SHARES)) for share in SHARES[:-1]]
    return (*tiers, people - sum(tiers))


def play(settings: Settings, people: int) -> Played:
    """Play the demo over an empty store; return what came of it."""
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="campaignbridge-demo-") as folder,
        staged(settings, seed=SEED) as stage,
    ):
        told_of_stage(stage)
        crowd = write_crowd(Path(folder), people)
        imported = _import(stage, crowd)
        _set_up(stage, tiers_of(people))
        with board(stage, SLUG) as shown:
            same_run = _Story(stage, shown).play()
        return curtain(stage, SLUG, crowd, imported, began, same_run=same_run)


def _import(stage: Stage, crowd: Crowd) -> "Imported":
    """Bring the file in by the real importer, and suppress who asked for it."""
    from campaignbridge.flows.rejects import RejectsFile
    from campaignbridge.flows.tables import Choices, look_at

    with working("Importing a file of contacts"):
        stage.bridge.make_audience(CROWD, actor=stage.actor)
        table = look_at(str(crowd.path), Choices())
        done = stage.bridge.import_contacts(
            table, CROWD, rejects=RejectsFile(str(crowd.path)), actor=stage.actor
        )
        stage.bridge.suppress(crowd.suppressed, reason=Suppressed.UNSUBSCRIBE, actor=stage.actor)
    counts = done.counts
    note(
        "ok", "Imported", f"{counts['added']:,} people from {counts['rows_read']:,} rows ({table.encoding}):"
    )
    note(
        "",
        "",
        f"{counts['repeated']:,} came twice, {counts['repaired']:,} had invisible characters at their ends",
    )
    note(
        "warn",
        "Not taken",
        f"{counts['rejected']:,} rows, for {len(done.reasons)} reasons, kept beside the file",
    )
    note("ok", "Suppressed", f"{len(crowd.suppressed):,} of them asked never to be mailed")
    return done


def _set_up(stage: Stage, tiers: tuple[int, ...]) -> None:
    """Approve a content, and set a ramp up over it that runs by itself each morning."""
    from campaignbridge.flows import ramping

    bridge, actor = stage.bridge, stage.actor
    world = stage.server.sandbox.world
    world.behave(**USUAL, **SPREAD)
    world.rule_outcomes(OutcomeRule.of({"segment": "*wave-3*", **BAD, **SPREAD}))
    content = resources.files("campaignbridge.cli").joinpath("demo_letter.html").read_bytes()
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
    bridge.approve(campaign_id, actor=actor, approved=checked.fingerprint, max_recipients=sum(tiers))
    ramp = ramping.NewRamp(
        slug=SLUG,
        connection="sandbox",
        audience=CROWD,
        content=campaign_id,
        plan=Plan(tiers=tiers, prefix="wave"),
        list=AUDIENCE,
        cron=_an_hour_before(stage.clock.now_ms()),
    )
    ramping.init(bridge.wiring, ramp, actor=actor)
    sizes = ", ".join(f"{size:,}" for size in tiers)
    note("ok", "Ramp", f"{SLUG}: {sizes}; one wave a day, {sum(tiers):,} people")


def _an_hour_before(now_ms: int) -> str:
    """Return the cron line of a daily time that the story meets only when it goes on to the next day.

    Its other steps take minutes: whatever the time of the day, none of them gets there.
    """
    at = datetime.fromtimestamp((now_ms - HOUR_MS) / 1000, UTC)
    return f"{at.minute} {at.hour} * * *"


class _Story:
    """The days, one after the other."""

    def __init__(self, stage: Stage, shown: Board) -> None:
        self.stage, self.shown = stage, shown
        self.faults = stage.server.sandbox.faults
        self.day = 1
        self.shown_at = 0.0

    def play(self) -> bool:
        """Play all days; say whether the killed worker's run was continued, and not begun anew."""
        self._a_good_day()
        self._a_lost_answer()
        self._a_bad_wave()
        self._the_gate()
        same_run = self._a_killed_worker()
        self._next_day()
        self._work_elsewhere()
        self._tell_mailed()
        self._next_day()
        self._work()
        ramp, _ = read(self.stage, SLUG)
        self._note("ok" if ramp.facts.ended == "complete" else "FAIL", f"the ramp is {_standing(ramp)}")
        return same_run

    def _a_good_day(self) -> None:
        """Start the first wave by hand; from then on the mornings come by themselves."""
        self._run_now()
        self._work()
        self._tell_mailed()

    def _a_lost_answer(self) -> None:
        self._next_day()
        self.faults.add(Fault("send", "accept_then_drop"))
        self._work()
        ramp, _ = read(self.stage, SLUG)
        self._note(
            "!",
            f"{self._last().label} was accepted and the answer lost: {_standing(ramp)}, nothing is repeated",
        )
        self.stage.later(LATER_MS)
        self._work()
        ramp, _ = read(self.stage, SLUG)
        self._note("ok", f"ten minutes later the provider's record proves it; the ramp is {_standing(ramp)}")
        self._tell_mailed()

    def _a_bad_wave(self) -> None:
        self._next_day()
        self._work()
        self._tell_mailed()

    def _the_gate(self) -> None:
        """Let the gate trip in the morning; an operator waives what was measured, and goes on."""
        from campaignbridge.flows import ramping

        self._next_day()
        self._work()
        ramp, _ = read(self.stage, SLUG)
        told = ramp.gate_tripped or {}
        figures = ", ".join(
            f"{told.get(name, 0):,} {name}" for name in ("delivered", "bounced", "complained")
        )
        self._note("FAIL" if not told else "!", f"the gate stopped the ramp: {told.get('wave')}, {figures}")
        wiring, actor = self.stage.bridge.wiring, self.stage.actor
        ramping.clear_gate(wiring, SLUG, actor=actor, reason=WHY)
        ramping.resume(wiring, SLUG, actor=actor, reason=WHY)
        outcome = self._run_now()
        self._note("ok", f"an operator waives it and resumes: {outcome.replace('_', ' ')}")

    def _a_killed_worker(self) -> bool:
        """Kill the worker in mid-push, with a chunk applied and unanswered; another one goes on with its run."""
        wave = self._last()
        chunks = -(-wave.requested // CHUNK)
        self.faults.add(Fault("change_segment_members", "accept_then_withhold", after=chunks // 2))
        process = self._worker()
        self._follow(process, until=self._withheld)
        process.kill()
        process.communicate()
        with self.stage.bridge.wiring.store.reading() as unit:
            pushed = unit.assignments.counts(wave.id).get("in_segment", 0)
        self._note(
            "!",
            f"worker {process.pid} killed in mid-push (exit {process.returncode}), "
            f"{pushed:,} of {wave.requested:,} recorded",
        )
        self.stage.later(LATER_MS)
        self._work_elsewhere()
        same_run: bool = self._last().run_id == wave.run_id
        word = "the same run" if same_run else "another run"
        self._note("ok" if same_run else "FAIL", f"ten minutes later another worker goes on with {word}")
        self._tell_mailed()
        return same_run

    def _run_now(self) -> str:
        from campaignbridge.flows.ramp_tick import run_now

        return run_now(self.stage.bridge.wiring, SLUG, actor=self.stage.actor)

    def _withheld(self) -> bool:
        return any(
            one["operation"] == "change_segment_members" and one["used"] for one in self.faults.listing()
        )

    def _next_day(self) -> None:
        """Go to the next morning, as far from the beginning as the day's number says."""
        passed = self.stage.clock.offset_ms
        self.stage.later(self.day * DAY_MS - passed)
        self.day += 1

    def _worker(self) -> "subprocess.Popen[str]":
        offset = str(self.stage.clock.offset_ms)
        return self.stage.start("demo-ramp-worker", SLUG, "--clock-offset-ms", offset, "--for", str(WORK_S))

    def _work(self) -> None:
        """Do what is due in this process, as any worker would."""
        if not work_off(self.stage.bridge, SLUG, limit_s=WORK_S, between=self._refresh):
            raise TimeoutError("the ramp did not come to rest")

    def _work_elsewhere(self) -> None:
        """Let another process do what is due, beside the provider, which lives in this one."""
        process = self._worker()
        self._follow(process, until=lambda: False)
        process.communicate()

    def _follow(self, process: "subprocess.Popen[str]", *, until: Callable[[], bool]) -> None:
        """Show what a worker does, until it has ended or something else happened."""

        def done() -> bool:
            self._refresh()
            return until() or process.poll() is not None

        wait(done, "a worker did not come to an end", limit_s=WORK_S + WAIT_S)

    def _refresh(self) -> None:
        if time.monotonic() - self.shown_at > REFRESH_S:
            self.shown.refresh()
            self.shown_at = time.monotonic()

    def _last(self) -> Any:
        return read(self.stage, SLUG)[1][-1]

    def _tell_mailed(self) -> None:
        wave = self._last()
        good = wave.closed is not None and wave.closed.value == "sent"
        self._note("ok" if good else "FAIL", f"{wave.label}: {wave.verified or 0:,} people mailed")

    def _note(self, word: str, text: str) -> None:
        note(word, f"Day {self.day}", text)


def _standing(ramp: Any) -> str:
    facts = ramp.facts
    if facts.ended is not None:
        return str(facts.ended)
    if facts.needs_operator is not None:
        return str(facts.needs_operator).replace("_", " ")
    return "active" if facts.active else "stopped"
