"""The words of the house: one label for a state, one sentence for a reason, a flag or an open request."""

from campaignbridge.domain import need

STOPPED = need.STOPPED  # notices tell them, too
FLAGS = need.FLAGS

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
