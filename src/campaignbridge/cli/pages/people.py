"""Bringing people in."""

from campaignbridge.cli.pages.page import NOTHING, Page

PAGES: dict[str, Page] = {
    "encoding_unclear": Page(
        "The file has bytes that are no text in its encoding. Guessing would garble names, so nothing was imported.",
        NOTHING,
        (
            "Save the file as UTF-8; spreadsheets call it CSV UTF-8.",
            "Or say which it is, such as --encoding cp1252, and look at the names in the preview.",
        ),
    ),
    "nothing_imported": Page(
        "No row of the file names a person: another delimiter, another column, or not a list of people at all.",
        NOTHING,
        (
            "Look at the preview and at the rejects file, which has every row with its reason.",
            "Say it with --delimiter and --email.",
        ),
    ),
    "import_in_progress": Page(
        "Another process imports the same file into the same audience. Nobody comes in twice.",
        "The other one goes on.",
        ("Wait for it.", "If it was stopped meanwhile, run the same command again: it goes on from there."),
    ),
}
