"""Ramps: setting them up, looking at them, stopping them, and recovering their waves. No rule lives here."""

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.gate import Thresholds
from campaignbridge.domain.ramp import Ramp
from campaignbridge.domain.recurring import Cron
from campaignbridge.engine.recurring import next_after
from campaignbridge.flows import ramp_recovery, ramp_setup, ramp_tick, ramp_views, ramping
from campaignbridge.flows.aiming import Aim
from campaignbridge.flows.leaving import Stopped
from campaignbridge.flows.wiring import Wiring
from campaignbridge.ports import Row


class Ramps:
    """Ramps, their waves, and their recovery."""

    wiring: Wiring

    def init_ramp(self, new: ramping.NewRamp, *, actor: Actor) -> Ramp:
        """Set a ramp up, in the name of who does it; its first wave starts at its first tick, which is now."""
        if new.cron is not None:
            next_after(Cron(new.cron, new.zone), now_ms=0)  # raises for what never comes
        return ramp_setup.set_up(self.wiring, new, actor=actor)

    def ramps(self, *, actor: Actor) -> list[ramp_views.Shown]:
        """Return ramps, those that run first."""
        return ramp_views.listed(self.wiring, actor=actor)

    def ramp_status(self, ramp: str, *, read: bool = False, actor: Actor) -> ramp_views.RampView:
        """Return all that is known of a ramp; with `read`, and what the provider has of its open wave now, too."""
        return ramp_views.status(self.wiring, ramp, read=read, actor=actor)

    def ramp_log(self, ramp: str, *, most: int = 50, actor: Actor) -> list[Row]:
        """Return the newest lines of a ramp's run log, newest first."""
        return ramp_views.log(self.wiring, ramp, most=most, actor=actor)

    def run_ramp(self, ramp: str, *, actor: Actor) -> str:
        """Tick a ramp now: judge the gate, then start the next wave if nothing stands against it."""
        return ramp_tick.run_now(self.wiring, ramp, actor=actor)

    def pause_ramp(self, ramp: str, *, reason: str, actor: Actor) -> Stopped:
        """Pause a ramp; return the delivery that could not be stopped any more."""
        return ramping.pause(self.wiring, ramp, actor=actor, reason=reason)

    def resume_ramp(self, ramp: str, *, reason: str, actor: Actor) -> None:
        """Let a paused ramp go on; refused while the gate is tripped or an operator is needed."""
        ramping.resume(self.wiring, ramp, actor=actor, reason=reason)

    def abort_ramp(self, ramp: str, *, reason: str, actor: Actor) -> Stopped:
        """End a ramp for good; return the delivery that could not be stopped any more."""
        return ramping.abort(self.wiring, ramp, actor=actor, reason=reason)

    def set_thresholds(self, ramp: str, thresholds: Thresholds, *, reason: str, actor: Actor) -> Ramp:
        """Change what trips the gate, from the next judgement on."""
        return ramping.set_thresholds(self.wiring, ramp, thresholds, actor=actor, reason=reason)

    def clear_gate(self, ramp: str, *, reason: str, actor: Actor) -> None:
        """Clear a tripped gate; the ramp stays paused."""
        ramping.clear_gate(self.wiring, ramp, actor=actor, reason=reason)

    def waive_wave(self, ramp: str, label: str, *, reason: str, actor: Actor) -> None:
        """Go on in spite of one wave's figures, or of their absence."""
        ramping.waive(self.wiring, ramp, label, actor=actor, reason=reason)

    def finish_wave(
        self,
        ramp: str,
        aim: Aim,
        *,
        broadcast_id: str | None = None,
        sent_at: int | None = None,
        mailed: int | None = None,
        actor: Actor,
    ) -> ramp_recovery.Finished:
        """Record that an open wave did go out."""
        return ramp_recovery.finish_by_hand(
            self.wiring, ramp, aim, actor=actor, broadcast_id=broadcast_id, sent_at=sent_at, mailed=mailed
        )

    def discard_wave(self, ramp: str, aim: Aim, *, return_contacts: bool = False, actor: Actor) -> int:
        """Write an unmailed wave off; return how many people went back to the pool."""
        return ramp_recovery.discard(self.wiring, ramp, aim, actor=actor, return_contacts=return_contacts)

    def clear_failure(self, ramp: str, aim: Aim, *, actor: Actor) -> None:
        """Begin a wave anew of which nothing exists anywhere else."""
        ramp_recovery.clear_failure(self.wiring, ramp, aim, actor=actor)

    def force_release(self, ramp: str, aim: Aim, *, actor: Actor) -> None:
        """Take an open wave from its run; an operator is needed then."""
        ramp_recovery.force_release(self.wiring, ramp, aim, actor=actor)

    def resume_wave(self, ramp: str, aim: Aim, *, accept_underfilled: bool = False, actor: Actor) -> None:
        """Go on with an unfinished wave under a new run."""
        ramp_recovery.resume_wave(self.wiring, ramp, aim, actor=actor, accept_underfilled=accept_underfilled)
