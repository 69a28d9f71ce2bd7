"""What preflight finds in content."""

from campaignbridge.cli.pages.page import NOTHING, Page, about_content

PAGES: dict[str, Page] = {
    "subject_missing": about_content("There is no subject.", "Give one with --subject."),
    "sender_missing": about_content(
        "There is no usable sender.", "Give --from-name and --from-email when you create it."
    ),
    "reply_to_differs": about_content(
        "Replies would go to another address than From, which Mailchimp can't do.", "Leave --reply-to out."
    ),
    "control_character": about_content(
        "Subject, sender or content holds a control character, such as a line break or NUL.",
        "Remove it, or save the file as UTF-8 text.",
    ),
    "content_missing": about_content("The content is empty.", "Give an HTML or Markdown file."),
    "content_too_big": about_content(
        "The HTML is bigger than a million bytes.", "Put images on a web server."
    ),
    "content_clipped": about_content(
        "Gmail cuts a message of this size off. This is a warning and keeps nothing from being sent.",
        "Shorten it, so that the unsubscribe link is still seen.",
    ),
    "unsubscribe_missing": about_content(
        "Nobody could unsubscribe: the tag isn't in the content, or only in a comment.",
        "Put a link to *|UNSUB|* into it.",
    ),
    "unknown_field": about_content(
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
}
