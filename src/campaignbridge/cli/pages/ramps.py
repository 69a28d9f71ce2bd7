"""What a ramp needs an operator for, and why its waves fail."""

from campaignbridge.cli.pages.page import NOTHING, Page

HELD = "Nothing. No other wave starts while this one is open, however old it is: so nobody is mailed twice."
STATUS = "ramps status NAME --read says what the provider has now, and the one command to run."
WRITE_OFF = (
    "ramps recover NAME --discard-and-rotate writes the wave off: its people are not mailed again by this ramp, "
    "and the next wave has a fresh label."
)
RESUME = "ramps resume-wave NAME goes on with the same wave where it was. It may mail that wave, once."

PAGES: dict[str, Page] = {
    "gate_tripped": Page(
        "More bounced or complained than the threshold allows, in one wave or in the ramp as a whole.",
        "Nothing. Figures are still read; better ones later don't reopen the gate.",
        (
            "Find out why: the worst domain (events list --ramp NAME), the last import, the content.",
            "ramps clear-gate NAME --reason TEXT goes on in spite of these figures. It mails nobody.",
            "Then ramps resume NAME --reason TEXT; or ramps abort NAME --reason TEXT ends it for good.",
        ),
    ),
    "stats_missing": Page(
        "Three days after a wave went, there are fewer than 100 results to judge it by. No figures are not good news.",
        "They are read at every tick, and the ramp goes on when they come. The next wave waits.",
        (
            "See that reports are on for the account, that the key may read them, and that webhooks arrive.",
            "If the provider's own pages look fine: ramps waive NAME WAVE --reason TEXT.",
        ),
    ),
    "pool_drained": Page(
        "Far fewer people were left than the wave should mail: the audience is nearly used up, or a filter is strict.",
        HELD,
        (
            "Import more people, or look at the filters with ramps status NAME.",
            "ramps resume-wave NAME --accept-underfilled mails those who were found.",
            "ramps abort NAME ends the ramp without mailing them.",
        ),
    ),
    "wave_failed": Page(
        "The wave's work met something that doesn't pass by itself. The reason stands in ramps status NAME.",
        HELD,
        (STATUS, RESUME, WRITE_OFF),
    ),
    "step_failed": Page(
        "A step of the wave failed again and again, for a reason of ours. What it did at the provider is recorded.",
        HELD,
        (
            "Look at the worker's log: it is a bug of ours, or a store that was gone for long.",
            RESUME,
            WRITE_OFF,
        ),
    ),
    "force_released": Page(
        "Somebody took the wave from its run. What that run still does is written nowhere; its markers stay.",
        HELD,
        (STATUS, RESUME, WRITE_OFF),
    ),
    "campaign_stopped": Page(
        "The wave's campaign was cancelled or unscheduled, or the provider's record says that nothing was sent.",
        HELD,
        (STATUS, WRITE_OFF),
    ),
    "label_collides": Page(
        "The next wave's label was used before in this ramp. Two waves of one name could be taken for each other.",
        NOTHING,
        (
            "ramps abort NAME --reason TEXT ends it; nobody is mailed.",
            "Then ramps init with another --prefix, and --exclude-ramp NAME so that nobody is mailed twice.",
        ),
    ),
    "too_many_refused": Page(
        "The provider refused so many of the wave's people that something is wrong with them, or with the account.",
        HELD,
        (
            "Look at who was refused, and at the account's limits.",
            "ramps resume-wave NAME counts them again, so it fails again.",
            WRITE_OFF,
        ),
    ),
    "nobody_in_segment": Page(
        "The provider's member list has nobody of this wave whom it would mail.",
        HELD,
        ("See whether these people have unsubscribed or were cleaned there.", STATUS, WRITE_OFF),
    ),
    "nobody_left": Page(
        "Everybody who was picked for the wave was suppressed or erased since, or given back. Nothing was made there.",
        HELD,
        (STATUS, WRITE_OFF),
    ),
    "went_to_unknown": Page(
        "The provider has a campaign of this very wave that went, and doesn't show the segment that it went to. So the "
        "store was put back to an earlier day, or somebody changed it there.",
        HELD,
        (
            "Find out at the provider to whom it went, and how many.",
            "ramps recover NAME --manual-finished --broadcast-id ID records that it went: its people count as mailed.",
            "If it went to others, suppress them or abort the ramp before anybody is mailed twice.",
        ),
    ),
    "forgotten_wave": Page(
        "The provider has a wave of this ramp that went and that the store doesn't know: it was put back to an earlier "
        "day. People of the wave that is open may have been mailed by that one.",
        HELD,
        (
            WRITE_OFF,
            "The next wave finds the forgotten one, counts its people as mailed, and picks among the others.",
            "If the provider no longer shows to whom it went, that one stops, too: ramps abort NAME ends the ramp.",
        ),
    ),
    "strangers_in_segment": Page(
        "People are in the wave's segment who don't belong to it: they were there when it was found, or taking them "
        "out didn't help.",
        HELD,
        (
            "Look for what adds them there: an automation, a person, or an older wave of this name.",
            "ramps resume-wave NAME compares the lists again, and takes them out again.",
            WRITE_OFF,
        ),
    ),
    "count_differs": Page(
        "The provider would mail another number of people than the wave's compared list has, and goes on saying so.",
        HELD,
        (
            "See in the provider's own pages what the draft's segment is, and whether something else was added to it.",
            "ramps resume-wave NAME compares the lists again, and then asks once more.",
            WRITE_OFF,
        ),
    ),
    "no_draft": Page(
        "The wave's draft is gone at the provider, or is no draft any more: a person may have sent or deleted it.",
        HELD,
        (STATUS, "campaigns reconcile ID reads what became of it, and records that.", WRITE_OFF),
    ),
    "delegation_lost": Page(
        "Duties are separated, and who set the ramp up approved its content, too. So nothing is sent in their name.",
        NOTHING,
        (
            "ramps abort NAME --reason TEXT ends it; nobody is mailed.",
            "Somebody else sets it up anew, with --exclude-ramp NAME.",
        ),
    ),
    "belongs_to_ramp": Page(
        "This campaign delivers a wave, so its ramp decides when it goes and what it holds.",
        "The ramp goes on as ramps status NAME says.",
        (
            "ramps status NAME lists what can be done.",
            "campaigns unschedule ID and campaigns cancel ID may be asked for: they only make fewer people get it.",
        ),
    ),
}
