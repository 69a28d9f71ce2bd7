"""A ramp for programs. Times are epoch milliseconds UTC, shares parts per million; keys are only ever added."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from campaignbridge.cli.ramp_portrait import help_code, next_step, why

if TYPE_CHECKING:
    from campaignbridge.domain.ramp import Ramp, Wave
    from campaignbridge.flows.ramp_views import RampView, Shown


def document(view: "RampView") -> dict[str, Any]:
    """Return all that is known of one ramp."""
    ramp, known, following, there = view.ramp, view.known, view.next_wave, view.there
    return {
        "ramp": ramp.slug,
        "id": ramp.id,
        "name": ramp.name,
        "state": view.state,
        "since": view.since,
        "why": why(view),
        "next": next_step(view),
        "facts": _facts(ramp),
        "connection": {
            "label": known.connection.label,
            "provider": known.connection.provider,
            "sandbox": known.connection.sandboxed,
        },
        "audience": known.about["audience"],
        "content": ramp.source_campaign,
        "approved_by": ramp.approved_by,
        "delegated_by": ramp.delegated_by,
        "delegated": view.delegated,
        "tiers": list(ramp.plan.tiers),
        "thresholds": asdict(ramp.plan.thresholds),
        "cron": ramp.cron,
        "zone": ramp.zone,
        "next_tick": known.tick["run_at"] if known.tick else None,
        "next_wave": {"label": following[0], "people": following[1]} if following else None,
        "mailed": view.mailed,
        "planned": sum(ramp.plan.tiers),
        "open_wave": known.opened.label if known.opened else None,
        "held_by": known.step["holder"] if known.step and known.step["state"] == "claimed" else None,
        "lease_until": known.step["lease_until"] if known.step else None,
        "idle_ms": view.idle_ms,
        "people": known.counts,
        "campaign": _campaign(view),
        "there": None if there is None else {**asdict(there), "draft": there.draft.value},
        "waves": [wave_document(wave) for wave in known.waves],
        "advice": _advice(view),
        "help": help_code(view),
        "now": ramp.now,
    }


def _facts(ramp: "Ramp") -> dict[str, Any]:
    facts = ramp.facts
    return {
        "ended": facts.ended,
        "ended_at": ramp.ended_at,
        "paused_at": facts.paused_at,
        "gate_tripped_at": facts.gate_tripped_at,
        "gate_tripped": dict(ramp.gate_tripped) if ramp.gate_tripped else None,
        "needs_operator": facts.needs_operator,
        "needs_operator_at": ramp.needs_operator_at,
    }


def _advice(view: "RampView") -> dict[str, Any]:
    told = asdict(view.advice)
    command = view.advice.command
    return {**told, "command": None if command is None else f"campaignbridge {command}"}


def _campaign(view: "RampView") -> dict[str, Any] | None:
    dossier = view.known.delivery
    if dossier is None:
        return None
    campaign, remote = dossier.campaign, dossier.remote
    return {
        "id": campaign.id,
        "state": campaign.state.value,
        "open_attempt": campaign.open_attempt,
        "stopped_reason": campaign.stopped_reason,
        "look_at": campaign.look_at,
        "remote_id": remote.remote_id if remote else None,
        "remote_status": remote.raw_status if remote else None,
        "read_at": remote.observed_at if remote else None,
    }


def wave_document(wave: "Wave") -> dict[str, Any]:
    """Return one wave."""
    plain = (
        "label tier run_id requested picked verified segment_id exported_at pushing_until campaign_id by_hand"
    )
    more = "broadcast_id sent_at failed underfilled_by opened_at activity_at closed_at figures_at"
    return {
        **{name: getattr(wave, name) for name in f"{plain} {more}".split()},
        "step": wave.step.value,
        "closed": wave.closed.value if wave.closed else None,
        "verdict": wave.verdict.value if wave.verdict else None,
        "figures": asdict(wave.figures),
        "waived": asdict(wave.waived) if wave.waived else None,
    }


def row_document(one: "Shown") -> dict[str, Any]:
    """Return one ramp of a list."""
    ramp, last = one.ramp, one.waves[-1] if one.waves else None
    return {
        "ramp": ramp.slug,
        "name": ramp.name,
        "state": one.state,
        "needs_operator": ramp.facts.needs_operator,
        "connection": one.connection,
        "last_wave": last.label if last else None,
        "mailed": one.mailed,
        "planned": sum(ramp.plan.tiers),
        "next_tick": one.tick_at,
        "created_at": ramp.created_at,
    }
