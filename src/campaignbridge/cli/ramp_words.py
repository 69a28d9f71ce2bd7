"""A ramp's words: one label for a state, one sentence for a step, an outcome, a verdict, or why a wave failed."""

LABELS = {
    "complete": "Complete",
    "aborted": "Stopped for good",
    "gate_tripped": "Stopped by the gate",
    "needs_operator": "Needs a person",
    "paused": "Paused",
    "active": "Running",
}
MARKS = {"gate_tripped": "! ", "needs_operator": "! ", "complete": "ok "}
STEPS = {
    "picking": "picking people",
    "picked": "making its segment",
    "segment_created": "adding people to its segment",
    "pushed": "comparing the member list",
    "verified": "making its draft",
    "draft_ready": "looking over it once more",
    "looked": "asking for the send",
}
VERDICTS = {
    "passed": "passed",
    "waiting": "waiting for figures",
    "tripped": "over the limit",
    "waived": "waived",
}
FAILED = {
    "pool_drained": "far fewer people were found than it should mail",
    "too_many_refused": "the provider refused too many of its people",
    "nobody_in_segment": "the provider's member list has nobody of it whom it would mail",
    "nobody_left": "nobody of it is left whom it could mail",
    "went_to_unknown": "the provider shows that it went already, but not to whom",
    "forgotten_wave": "the provider shows another wave that went, and that the store has forgotten",
    "strangers_in_segment": "people are in its segment who don't belong to it",
    "send_refused": "the provider refused the send, and nothing was sent",
    "campaign_cancelled": "its campaign was cancelled",
    "campaign_failed": "the provider's record says that nothing was sent",
    "campaign_unscheduled": "its campaign was taken off the schedule",
    "count_differs": "the provider would mail another number of people than were compared",
    "no_draft": "its draft is gone, or is no draft any more",
}
HELP = {
    "campaign_cancelled": "campaign_stopped",
    "campaign_failed": "campaign_stopped",
    "campaign_unscheduled": "campaign_stopped",
}
# A tick's outcome in words, and the exit code of `ramps run`.
OUTCOMES = {
    "wave_claimed": ("{label} has begun: {people:,} people.", 0),
    "complete": ("Every wave has gone: the ramp is complete.", 0),
    "ended": ("The ramp has ended, so nothing was started.", 3),
    "paused": ("The ramp is paused, so nothing was started.", 3),
    "delegation_lost": ("Who set the ramp up may not deliver what they approved. Nothing was started.", 3),
    "awaiting_age": ("The last wave is not old enough yet. Nothing was started.", 4),
    "awaiting_stats": ("A wave has too few figures to be judged yet. Nothing was started.", 4),
    "wave_in_flight": ("{label} is still on its way. Nothing else was started.", 4),
    "stalled": ("{label} has not moved for 15 minutes. Nothing else was started.", 4),
    "claim_refused": ("Somebody else was faster, or something changed. Nothing was started here.", 4),
    "tier_moved": ("Another run was faster: that wave has gone already. Nothing was started here.", 4),
    "gate_tripped": ("The gate has stopped the ramp. Nothing was started.", 5),
    "needs_operator": ("The ramp needs a person. Nothing was started.", 5),
    "label_collides": ("The next label was used before. Nothing was started.", 5),
}
WAITS = {
    "awaiting_age": "The last wave is not old enough yet.",
    "awaiting_stats": "A wave has too few figures to be judged yet.",
    "delegation_lost": "Who set it up may not deliver what they approved.",
}


def failed_words(reason: str) -> str:
    """Return why a wave failed; a code that isn't ours is the provider's or a refusal's."""
    return FAILED.get(reason, f"it met {reason.replace('_', ' ')}, which does not pass by itself")
