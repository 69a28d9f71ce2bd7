"""Why checks stopped, and what is flagged."""

from campaignbridge.cli.pages.page import NOTHING, READS, Page

PAGES: dict[str, Page] = {
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
    "retired_but_went": Page(
        "The provider deleted this as a draft, and its own record names people who were mailed. It had gone.",
        "Nothing is made anew, and checks stop: what was deleted can't be read any more.",
        (
            "Look at its record in the provider's own pages.",
            "Then campaigns resolve ID --as sent, or --as stopped, with what you found.",
        ),
    ),
    "webhook_silence": Page(
        "Mail of this connection went out between two hours and a day ago. Its webhook was heard before, and since "
        "then nothing has come. Who unsubscribed, bounced or complained is known later than it could be.",
        "Everything else goes on: campaigns are read at their times, and a ramp's figures come from the reports. "
        "This ends with the next event, or a day after the last mail.",
        (
            "Look whether campaignbridge serve runs, and is reached from outside through its proxy.",
            "Look at the webhook in the provider's own pages: it may be switched off after failures, or lack events.",
            "Where the provider signs, the key may have changed: connections webhook LABEL --signing-key-stdin.",
            "connections webhook LABEL --replace makes another address, to be registered in place of the old one.",
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
    "watch_stuck": Page(
        "The campaign should have been looked at more than two hours ago. Its own record was not read since.",
        "A worker looks as soon as it gets there. Nothing is sent by that.",
        ("campaignbridge doctor says whether workers run.", "campaigns reconcile ID looks once by hand."),
    ),
    "notice_undelivered": Page(
        "A notice could not be handed to one of its targets. Nothing else is touched by that.",
        "It is tried again for about two hours, then given up as a dead job. No notice tells of it: status does.",
        (
            "notices test tries every target now, and says what each answered.",
            "Correct the target in the settings, then jobs requeue JOB tells it, if it is still needed.",
        ),
    ),
}
