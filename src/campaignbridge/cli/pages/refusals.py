"""Why a command was refused."""

from campaignbridge.cli.pages.page import NOTHING, Page

PAGES: dict[str, Page] = {
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
    "copy_paused": Page(
        "The store isn't where it was recorded, or came out of a backup, so it is a copy of another installation.",
        "Nothing. A copy sends nothing, reads nothing by itself and runs no jobs, until a person adopts it.",
        (
            "If the original is still in use, leave the copy paused: two that act mail people twice.",
            "If this is the only one (moved, restored), db adopt --reason TEXT makes it the real one.",
            "In a container, CAMPAIGNBRIDGE_MACHINE_ID names the machine, so that a restart isn't a move.",
        ),
    ),
    "persistence_failed": Page(
        "The store can't be reached, is busy, or is full.",
        "Workers keep trying. What the provider was asked for before goes on there and is read later.",
        ("Repeat the command in a little while.", "See that the database runs and the disk has room."),
    ),
    "source_unreachable": Page(
        "The database that contacts are imported from does not answer, refuses the login, is busy, or went away.",
        "Whoever came in before that stays in.",
        (
            "See that it runs and lets you in: host, name and user in --from, the password in PGPASSWORD.",
            "Then run the same command again: it reads the query from its first row, and nobody comes in twice.",
        ),
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
}
