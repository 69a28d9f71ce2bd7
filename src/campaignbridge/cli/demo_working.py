"""A ramp's worker in the demo: ticks until the ramp has nothing to do, on whatever clock its store has."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from campaignbridge import Bridge

PAUSE_S = 0.05


def work_off(
    bridge: "Bridge", slug: str, *, limit_s: float, between: Callable[[], None] = lambda: None
) -> bool:
    """Run what is due until nothing is, and no wave of an active ramp is open; False when it takes too long."""
    until = time.monotonic() + limit_s
    while True:
        ran = bridge.tick().ran
        between()
        with bridge.wiring.store.reading() as unit:
            ramp = unit.ramps.get(slug)
            busy = any(wave.closed is None for wave in unit.waves.of_ramp(ramp.id))
        if ran == 0 and not (busy and ramp.facts.active):
            return True
        if time.monotonic() > until:
            return False
        if ran == 0:
            time.sleep(PAUSE_S)
