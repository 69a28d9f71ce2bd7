"""The help pages: one for each error code and each reason. What it means, what happens, what you can do."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """One help page."""

    means: str
    itself: str
    you: tuple[str, ...]


NOTHING = "Nothing."
READS = "The provider is read again by itself while a worker runs. Reading never sends."


def _content(means: str, todo: str) -> Page:
    return Page(means, NOTHING, (todo, "campaigns content ID --content FILE freezes another content."))


PAGES: dict[str, Page] = {
    # a request whose outcome isn't known
    "send_unconfirmed": Page(
        "The provider was asked to send this and no usable answer came. The mail may be going out.",
        READS + " Its own record settles it: as sent, or, after two readings well apart, as not sent.",
        (
            "campaigns reconcile ID reads it now.",
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
    # why checks stopped, and what is flagged
    "missing": Page(
        "The provider doesn't know this campaign any more. Deleted after sending or before it: both look alike.",
        "Nothing. Checks have stopped.",
        (
            "Look in the provider's own activity log, or for a mail that arrived.",
            "If it is there again, campaigns reconcile ID starts the checks anew.",
            "Else campaigns resolve ID --as sent or not_sent settles it, with your evidence.",
        ),
    ),
    "untracked": Page(
        "The provider gives the campaign a state that this program doesn't know, such as archived.",
        "Nothing. Checks have stopped.",
        ("Put it back there if that is possible, then campaigns reconcile ID.",),
    ),
    "contradiction": Page(
        "The provider says something that what we recorded for certain rules out, such as a draft after a send.",
        "Nothing. Checks have stopped, and nothing is sent from here.",
        ("Find out what was done there by hand.", "campaigns timeline ID tells what we know."),
    ),
    "duplicate_drafts": Page(
        "Two campaigns at the provider carry our mark; somebody may have copied one.",
        "Nothing. Checks have stopped.",
        ("Delete the copy at the provider, then campaigns reconcile ID.",),
    ),
    "inconclusive": Page(
        "What the provider says fits both: that the request took effect, and that it didn't.",
        READS,
        ("Wait. A later reading tells more.",),
    ),
    "not_applied": Page(
        "The provider's record shows, twice, that a request did not take effect.",
        "It is read again after an hour and after a day, in case it comes late.",
        ("Send again, with a new confirmation.",),
    ),
    "not_created": Page(
        "The draft that was asked for can't be found at the provider, in two searches.",
        NOTHING,
        ("campaigns draft ID asks for it again.",),
    ),
    "credential_refused": Page(
        "The provider refuses the key of this connection. What was in its hands goes on there.",
        "Nothing. Checks wait until the key works.",
        (
            "Put a key that works into its variable, then connections verify LABEL.",
            "Or connections replace-key LABEL.",
        ),
    ),
    "possible_double": Page(
        "An answer said yes to a request that had been settled as not done. Two mailings are possible.",
        "It is read again, and the flag stays until a person has looked.",
        (
            "Look in the provider's own activity log before you do anything else.",
            "campaigns acknowledge ID --reason TEXT clears the flag, with what you found.",
        ),
    ),
    "possible_double_content": Page(
        "Two campaigns with the same content went, or are going, to the same audience.",
        "Both are followed. No other one with this content can be sent for 30 days.",
        (
            "campaigns timeline ID tells what made each of them go.",
            "campaigns acknowledge ID --reason TEXT clears the flag, with what you found.",
        ),
    ),
    "other_account": Page(
        "The connection's key opens another account than the one it was added for.",
        "Nothing. Another account's silence proves nothing, so checks have stopped.",
        (
            "Put the right key into its variable, then connections verify LABEL.",
            "Or connections replace-key LABEL.",
        ),
    ),
    "watch_failed": Page(
        "The background check of this campaign failed again and again, for a reason of ours.",
        "It is tried again once an hour. Nothing is sent.",
        (
            "campaigns reconcile ID looks once by hand.",
            "If that fails too, it is a bug: look at the worker's log, and report it.",
            "campaigns resolve ID settles by hand what the provider's own pages show.",
        ),
    ),
    "retired_but_went": Page(
        "The provider deleted this as a draft, and its own record names people who were mailed. It had gone.",
        "Nothing is made anew, and checks stop: what was deleted can't be read any more.",
        (
            "Look at its record in the provider's own pages.",
            "Then campaigns resolve ID --as sent, or --as stopped, with what you found.",
        ),
    ),
    "send_refused": Page(
        "The provider refused the last request to send. It still shows a draft, so nothing was sent.",
        "It is read again after an hour and after a day, in case the refusal was an answer to a second request.",
        ("Fix what it complained of, then send again with a new confirmation.",),
    ),
    "schedule_differs": Page(
        "The provider accepted a send time, and right after that showed another one, or none.",
        READS + " What it shows is what counts.",
        (
            "campaigns show ID says which time it has. Look at the campaign at the provider, too.",
            "campaigns unschedule ID takes it off the schedule; then schedule it anew.",
        ),
    ),
    "scheduled_late": Page(
        "The provider should have begun sending half an hour ago, and has not.",
        READS,
        ("Look at the campaign at the provider.",),
    ),
    "no_reading": Page(
        "The provider has given no usable answer to our readings for about an hour.",
        "They are repeated, at last once an hour. An outage uses up nothing.",
        ("See whether the provider is down, and whether this host reaches it.",),
    ),
    "connection_unusable": Page(
        "A worker has no key for the connection: neither its variable, nor the secret that opens a stored key.",
        "The check comes back; a worker that has the key will do it.",
        (
            "Set it in the worker's environment, and restart it.",
            "campaignbridge doctor says what is missing.",
        ),
    ),
    "sent_zero": Page(
        "The provider says sent, and counts nobody who got it.",
        READS,
        ("Don't send it again yet: counts come late.", "Look at the audience at the provider."),
    ),
    "sending_long": Page(
        "The provider has been sending this for more than a day.",
        READS,
        ("Ask the provider; big audiences and reviews by their staff take time.",),
    ),
    "unconfirmed_long": Page(
        "A request has been without a confirmed outcome for more than an hour.",
        READS,
        ("campaigns show ID says what is known.", "See that a worker runs."),
    ),
    # what preflight finds
    "subject_missing": _content("There is no subject.", "Give one with --subject."),
    "sender_missing": _content(
        "There is no usable sender.", "Give --from-name and --from-email when you create it."
    ),
    "reply_to_differs": _content(
        "Replies would go to another address than From, which Mailchimp can't do.", "Leave --reply-to out."
    ),
    "control_character": _content(
        "Subject, sender or content holds a control character, such as a line break or NUL.",
        "Remove it, or save the file as UTF-8 text.",
    ),
    "content_missing": _content("The content is empty.", "Give an HTML or Markdown file."),
    "content_too_big": _content("The HTML is bigger than a million bytes.", "Put images on a web server."),
    "content_clipped": _content(
        "Gmail cuts a message of this size off. This is a warning and keeps nothing from being sent.",
        "Shorten it, so that the unsubscribe link is still seen.",
    ),
    "unsubscribe_missing": _content(
        "Nobody could unsubscribe: the tag isn't in the content, or only in a comment.",
        "Put a link to *|UNSUB|* into it.",
    ),
    "unknown_field": _content(
        "The content mentions a field that the audience doesn't have: everybody would be mailed the bare tag.",
        "audiences fields AUDIENCE --connection LABEL lists the fields there are; correct the tag.",
    ),
    "audience_uncounted": Page(
        "The provider tells no number, and listing everybody took longer than a minute.",
        "Nothing. What can't be counted is not sent.",
        (
            "connections rate LABEL --per-second N lets it be asked faster, if the provider allows that.",
            "Or mail smaller segments.",
        ),
    ),
    "audience_unknown": Page(
        "The provider knows no list with the campaign's audience reference.",
        NOTHING,
        ("campaigns audience ID --audience REF chooses another, while no draft stands at the provider.",),
    ),
    # refusals
    "not_found": Page(
        "There is nothing with this id in this store.",
        NOTHING,
        ("campaigns list, connections list and jobs list show what there is.", "Check --database."),
    ),
    "forbidden": Page("You lack the right to do this.", NOTHING, ("Ask somebody who has it.",)),
    "invalid_input": Page(
        "A value or file that was given can't be used. Nothing was changed.",
        NOTHING,
        ("Correct it; the sentence says what is wrong.",),
    ),
    "validation_failed": Page(
        "The content, a confirmed fact or a bound keeps this from being sent. Nothing was sent.",
        NOTHING,
        ("campaigns preflight ID lists everything that is in the way.",),
    ),
    "conflict": Page(
        "Somebody changed this after you looked, or the name is taken.",
        NOTHING,
        ("Look at it again, then repeat the command with what is true now.",),
    ),
    "invalid_state": Page(
        "The campaign is not where this can be done.",
        NOTHING,
        ("campaigns show ID lists what can be done now, and why the rest can't.",),
    ),
    "approval_not_allowed": Page(
        "The fingerprint that was given is not that of the stored content.",
        NOTHING,
        ("campaigns show ID prints the right one. Look at the content before you approve it.",),
    ),
    "idempotency_conflict": Page(
        "This key has already named a request with other words in it.",
        NOTHING,
        ("Leave --key out, and a fresh one is made.",),
    ),
    "already_sent_elsewhere": Page(
        "Another campaign sends exactly this content to this audience, or did in the last 30 days.",
        "The claim ends by itself when that one turns out not sent, or after its time.",
        ("Look at the other campaign first: it may be the same newsletter.",),
    ),
    "audience_drift": Page(
        "The draft at the provider points at another audience than was approved. Nothing was written there.",
        NOTHING,
        (
            "campaigns retire ID makes the draft unsendable; campaigns draft ID makes a new one, for the right people.",
            "Or set its audience back at the provider, then repeat the command.",
        ),
    ),
    "store_unusable": Page(
        "The store is damaged, is no store of ours, or has a schema that this program can't work with.",
        NOTHING,
        ("db current shows its version; db upgrade brings an older one up.", "Check --database."),
    ),
    "persistence_failed": Page(
        "The store can't be reached, is busy, or is full.",
        "Workers keep trying. What the provider was asked for before goes on there and is read later.",
        ("Repeat the command in a little while.", "See that the database runs and the disk has room."),
    ),
    "rate_limited": Page(
        "Too many requests in a short time.",
        NOTHING,
        ("Wait as long as retry_after says, then repeat the command.",),
    ),
    "provider_failed": Page(
        "The provider said no, or no connection to it was made. Nothing happened there.",
        NOTHING,
        ("Correct what it names and repeat the command.", "connections verify LABEL tests key and network."),
    ),
    "address_in_use": Page(
        "Another program listens on this port of this machine.",
        NOTHING,
        ("Stop that one, or give another --port.",),
    ),
    # the command line's own
    "usage": Page(
        "The command, an option or a value isn't one that there is.",
        NOTHING,
        ("Put --help behind the command.",),
    ),
    "confirmation_required": Page(
        "This needs facts or a yes that could not be asked for, because there is no terminal.",
        NOTHING,
        ("Run it in a terminal, or pass the flags that were printed after looking at them.",),
    ),
    "interrupted": Page(
        "The command was stopped, or its question was declined.",
        "What the provider was already asked for is watched and settled by itself.",
        ("Run it again.", "campaigns show ID tells whether anything is open."),
    ),
    "internal_error": Page(
        "The program did something that it never should. That is a bug of ours.",
        "An open request, if there is one, is watched and settled by itself.",
        ("Send us the report that was written; --debug shows the traceback.",),
    ),
}
