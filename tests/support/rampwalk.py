"""Walking through a ramp as an operator does who runs what is advised. PYTEST_DONT_REWRITE, as other support."""

from campaignbridge.domain.ramp import Run
from campaignbridge.flows import ramp_views
from support.ramps import WHY
from support.world import DANA


def status(ramp, *, read=False, slug="winter"):
    return ramp_views.status(ramp.wiring, slug, actor=DANA, read=read)


def started(ramp, people=400, **changes):
    """Set a ramp up and claim its first wave; none of its steps has run."""
    ramp.people(people)
    ramp.init(**changes)
    assert ramp.tick() == "wave_claimed"


def steps(ramp, until: str) -> None:
    """Run the jobs of the open wave until it has come to this step."""
    for _ in range(60):
        if ramp.opened().step.value == until:
            return
        ramp.world.step()
    raise AssertionError(ramp.log())


def do(ramp, command: str) -> None:
    """Run an advised command as the operator would, by what it names."""
    bridge, facts = ramp.world.bridge, {"reason": WHY, "actor": DANA}
    noun, verb, target, *rest = command.split()
    if noun == "campaigns":
        assert verb == "reconcile"
        bridge.reconcile(target, actor=DANA)
    elif verb in ("resume", "abort"):
        getattr(bridge, f"{verb}_ramp")(target, **facts)
    elif verb == "clear-gate":
        bridge.clear_gate(target, **facts)
    elif verb == "waive":
        bridge.waive_wave(target, rest[0], **facts)
    elif verb == "run":
        bridge.run_ramp(target, actor=DANA)
    elif verb == "status":
        bridge.ramp_status(target, read=True, actor=DANA)
    elif verb == "resume-wave":
        bridge.resume_wave(target, ramp.aim(), accept_underfilled="--accept-underfilled" in rest, actor=DANA)
    elif "--discard-and-rotate" in rest:
        bridge.discard_wave(target, ramp.aim(), actor=DANA)
    else:
        assert "--manual-finished" in rest, command
        bridge.finish_wave(target, ramp.aim(), actor=DANA)


def follow(ramp, most=12) -> list[str]:
    """Do what is advised, and let time pass, until nothing has to be done or the ramp has ended; return what was done.

    No command is refused on the way, and nobody is mailed twice.
    """
    done = []
    for _ in range(most):
        view = status(ramp, read=bool(done) and done[-1].endswith("--read"))
        if view.advice.command is None:
            if view.state != "active" or view.known.opened is None:
                return done
        else:
            command = view.advice.command
            if view.advice.first is not None:
                assert view.advice.first.startswith("Delete the draft")
                if ramp.container:  # elsewhere it can be made unsendable from here
                    ramp.world.by_hand("DELETE", f"/campaigns/{view.advice.first.split()[3]}")
            again = command in done[-2:] and view.advice.first is None
            assert not again, f"it goes round in circles: {done}"
            do(ramp, command)
            done.append(command)
        ramp.work(hours=1)
    raise AssertionError(f"it never comes to rest: {done}, {ramp.log()}")


def failed(ramp, reason: str) -> None:
    """Fail the open wave as a step does."""
    wave = ramp.opened()
    with ramp.wiring.store.unit() as unit:
        assert unit.waves.fail(Run(wave.ramp_id, wave.id, wave.run_id, "", 0, ""), reason)
        assert unit.ramps.need_operator(wave.ramp_id, "wave_failed")
