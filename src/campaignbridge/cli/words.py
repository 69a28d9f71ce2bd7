"""The words of the house: one label for a state, one sentence for a reason, a flag or an open request."""

LABELS = {
    "draft": "Draft",
    "ready_for_review": "In review",
    "approved": "Approved",
    "provider_draft": "Ready at {provider}",
    "scheduled": "Scheduled",
    "sending": "Sending",
    "sent": "Sent",
    "failed": "Failed, nothing sent",
    "cancelled": "Cancelled",
    "unknown": "Not confirmed",
    "archived": "Archived",
}
MARKS = {"sent": "ok ", "unknown": "? ", "failed": "! "}
ATTEMPTS = {"pending": "not answered yet", "succeeded": "took effect", "failed": "did nothing"}
STOPPED = {
    "missing": "{provider} no longer has this campaign, so it can't be told whether the mail went out.",
    "untracked": "{provider} gives this campaign a state that we don't know.",
    "contradiction": "{provider} says something else than what we had recorded for certain.",
    "duplicate_drafts": "{provider} has two campaigns with our mark, and only one can be ours.",
    "credential_refused": "{provider} refuses the key of this connection.",
    "other_account": "The key of this connection opens another account than the campaign's.",
    "not_applied": "{provider}'s record shows that the request did not take effect.",
    "not_created": "The draft can't be found at {provider}.",
    "inconclusive": "What {provider} says doesn't tell whether the request took effect.",
}
FLAGS = {
    "sent_zero": "{provider} says that it was sent, and counts nobody. Don't send it again yet.",
    "possible_double": "An answer came after the request was settled: this may have been mailed twice.",
    "possible_double_content": "Another campaign with this content is on its way too, or went lately.",
    "retired_but_went": "{provider} deleted it as a draft, and its record names people who were mailed.",
    "send_refused": "{provider} refused the last send. Nothing was sent.",
    "schedule_differs": "{provider} accepted a send time and shows another one, or none. Look at it there.",
    "scheduled_late": "Its send time was more than half an hour ago, and {provider} has not begun.",
    "no_reading": "{provider} has given no usable reading for about an hour.",
    "connection_unusable": "A worker can't open the connection: its key is not set there.",
    "sending_long": "{provider} has been sending it for more than a day.",
    "watch_failed": "Looking at {provider} failed again and again, for a reason of ours. It is tried hourly.",
    "unconfirmed_long": "A request has had no confirmed outcome for more than an hour.",
}

# An open request: what was asked for, what may be the case now, and the code of its help page.
OPEN = {
    "create": ("make a draft of this", "The draft may exist.", "draft_unconfirmed"),
    "send": ("send this", "It may be going out.", "send_unconfirmed"),
    "schedule": ("schedule this", "It may be sent at its time.", "schedule_unconfirmed"),
    "unschedule": (
        "take this off the schedule",
        "It may still be sent at its time.",
        "unschedule_unconfirmed",
    ),
    "cancel": ("stop this", "It may still be going out.", "cancel_unconfirmed"),
}
# Why a request has no answer that can be used, by its recorded code.
UNANSWERED = {
    "timeout": "did not answer within {seconds} s",
    "reset": "broke the connection off before an answer",
    "closed": "closed the connection before an answer",
    "no_answer": "gave no answer that we know of",
}
