"""The help pages: one for each error code and each reason. What it means, what happens, what you can do."""

from campaignbridge.cli.pages import commands, content, people, ramps, reasons, refusals, requests, work
from campaignbridge.cli.pages.page import Page

PAGES: dict[str, Page] = {
    **requests.PAGES,
    **reasons.PAGES,
    **content.PAGES,
    **refusals.PAGES,
    **work.PAGES,
    **people.PAGES,
    **ramps.PAGES,
    **commands.PAGES,
}
