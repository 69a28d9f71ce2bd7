"""A request whose outcome isn't known."""

from campaignbridge.cli.pages.page import NOTHING, READS, Page

PAGES: dict[str, Page] = {
    "send_unconfirmed": Page(
        "The provider was asked to send this and no usable answer came. The mail may be going out.",
        READS + " Its own record settles it: as sent, or, after two readings well apart, as not sent.",
        (
            "campaigns reconcile ID reads it now.",
            "Of a wave, ramps status NAME says what its ramp does meanwhile, and what comes next.",
            "Don't press Send in the provider's own pages: that would be a second mailing.",
        ),
    ),
    "schedule_unconfirmed": Page(
        "The provider was asked to send this later and no usable answer came. It may go out at that time.",
        READS + " Its own record settles it: as scheduled, or, after two readings well apart, as not.",
        (
            "campaigns reconcile ID reads it now.",
            "campaigns cancel ID takes it off the schedule, if it turns out to be on it.",
        ),
    ),
    "unschedule_unconfirmed": Page(
        "The provider was asked to take this off its schedule and no usable answer came. It may still go out.",
        READS + " Its own record settles it.",
        (
            "campaigns reconcile ID reads it now.",
            "If its time comes soon, pause it in the provider's own pages: that can only mail fewer people.",
        ),
    ),
    "cancel_unconfirmed": Page(
        "The provider was asked to stop this and no usable answer came. It may still be going out.",
        READS + " Its own record says how many were mailed.",
        (
            "campaigns reconcile ID reads it now.",
            "Stopping it in the provider's own pages is safe: that can only mail fewer people.",
        ),
    ),
    "test_unconfirmed": Page(
        "The provider was asked for a test and no usable answer came. Nobody but its addresses could get it.",
        "Nothing. A test is settled by its answer alone and is never repeated.",
        ("Look into the inboxes.", "If nothing came, campaigns test ID sends another one."),
    ),
    "draft_unconfirmed": Page(
        "The provider was asked to make a draft and no usable answer came. The draft may exist there.",
        "It is searched for by the mark in its title, by itself while a worker runs.",
        ("campaigns reconcile ID searches now.",),
    ),
    "reconciliation_required": Page(
        "An earlier request of this campaign has no confirmed outcome, so nothing else may be asked for.",
        READS,
        ("campaigns show ID says which request it is.", "campaigns reconcile ID reads the provider now."),
    ),
    "in_progress": Page(
        "Something that we asked for may still be on its way, so a reading would prove nothing yet.",
        "The time it can still arrive runs out by itself; then it is read.",
        ("Wait as long as retry_after says, then repeat the command.",),
    ),
    "refresh_in_progress": Page(
        "Somebody is reading this list at the provider right now, and two readings at once tell no more than one.",
        "The fresh list is kept as soon as it is read.",
        ("Repeat the command in a moment.",),
    ),
    "lease_lost": Page(
        "The work took so long that its lock might have ended during the request. So it wasn't made.",
        NOTHING,
        ("Repeat the command: it begins with fresh facts.",),
    ),
    "locked": Page(
        "Another command or a background check works on this campaign right now.",
        "The lock is given back when that is done, and ends by itself after five minutes at most.",
        ("Repeat the command then.", "locks list shows who holds what."),
    ),
}
