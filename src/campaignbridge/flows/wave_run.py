"""One step's view of its wave: what it may write, and how it ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from campaignbridge.domain.cadence import after_misses
from campaignbridge.domain.connection import Connection
from campaignbridge.domain.errors import ProviderFailed
from campaignbridge.domain.job import Again, Done, JobOutcome
from campaignbridge.domain.ramp import Ramp, Run, Step, Wave
from campaignbridge.flows.wiring import Wiring
from campaignbridge.store.unit import Unit

MOST_TRIES = 12  # of one step, while the provider doesn't answer: most of a day, with the waits


class Halt(Exception):
    """The run was displaced, or its job taken over: nothing of it is written any more."""


@dataclass(frozen=True, slots=True)
class WaveRun:
    """One run of a wave in one claim of its step job."""

    wiring: Wiring
    ramp: Ramp
    wave: Wave
    run: Run
    tries: int  # of this step, that came to nothing

    @property
    def segment_name(self) -> str:
        """The deterministic name under which a lost segment is found."""
        with self.wiring.store.reading() as unit:
            installation = unit.installation()
        return (
            f"{installation}.{self.ramp.slug}.{self.wave.label}"  # no dots within: two waves never share it
        )

    @property
    def container(self) -> str:
        """The audience at the provider in which the segment is made; empty where segments stand alone."""
        return self.ramp.list

    def connection(self) -> Connection:
        """Return the ramp's connection."""
        with self.wiring.store.reading() as unit:
            found = unit.accounts.find(self.ramp.connection_id)
        assert found is not None, "a ramp has its connection"
        return found

    @contextmanager
    def writing(self, *, picks: bool = False) -> Iterator[Unit]:
        """Open a transaction that keeps job and ramp until it ends; raise `Halt` when job or wave isn't ours.

        `picks`: it keeps the ramps whose people are left out, too.
        """
        with self.wiring.store.unit() as unit:
            if not unit.waves.hold(self.run):
                raise Halt
            hold = unit.ramps.hold_with_excluded if picks else unit.ramps.hold
            hold(self.ramp.id)
            if not unit.waves.is_of(self.run):
                raise Halt
            yield unit

    def require(self, unit: Unit, *, need_ms: int) -> None:
        """Raise `Halt` unless the job is ours for a call's time."""
        if not unit.waves.hold(self.run, need_ms=need_ms):
            raise Halt

    def advance(self, unit: Unit, step: Step, **facts: Any) -> None:
        """Record that a step is done; raise `Halt` when the wave isn't this run's any more."""
        if not unit.waves.advance(self.run, self.wave.step, step, **facts):
            raise Halt
        shown = {name: value for name, value in facts.items() if value is not None}
        unit.ramps.log(self.ramp.id, step.value, wave_id=self.wave.id, **shown)

    def go_on(self) -> JobOutcome:
        """Run the next step at once."""
        return Again(after_ms=0, payload={"run": self.run.run_id})

    def later(self, ms: int) -> JobOutcome:
        """Run this step again after a while; waiting uses up no tries."""
        return Again(after_ms=ms, payload={"run": self.run.run_id, "tries": self.tries})

    def provider_failed(self, failed: ProviderFailed) -> JobOutcome:
        """Try again what may pass, with longer and longer waits; call for an operator when it doesn't."""
        told = failed.facts.get("provider") or {"retryable": True}  # say a listing that wasn't whole
        if told.get("retryable", False) and self.tries < MOST_TRIES:
            wait_ms = max(1000 * int(told.get("retry_after") or 0), after_misses(self.tries + 1))
            return Again(after_ms=wait_ms, payload={"run": self.run.run_id, "tries": self.tries + 1})
        return self.fail(str(told.get("code") or "provider_failed"))

    def once_more(self, ms: int) -> JobOutcome:
        """Run this step again after a while, as one more try of it."""
        return Again(after_ms=ms, payload={"run": self.run.run_id, "tries": self.tries + 1})

    def fail(self, reason: str) -> JobOutcome:
        """Mark the wave as failed, recoverably, and call for an operator."""
        with self.writing() as unit:
            unit.ramps.need_operator(self.ramp.id, "wave_failed")
            if not unit.waves.fail(self.run, reason):
                raise Halt
            unit.ramps.log(self.ramp.id, "wave_failed", wave_id=self.wave.id, reason=reason)
        return Done()
