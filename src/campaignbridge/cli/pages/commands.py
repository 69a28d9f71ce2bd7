"""What only the command line says."""

from campaignbridge.cli.pages.page import NOTHING, Page

PAGES: dict[str, Page] = {
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
