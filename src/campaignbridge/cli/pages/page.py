"""What a help page has."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """One help page."""

    means: str
    itself: str
    you: tuple[str, ...]


NOTHING = "Nothing."
READS = "The provider is read again by itself while a worker runs. Reading never sends."


def about_content(means: str, todo: str) -> Page:
    """Return a page whose way out is other content."""
    return Page(means, NOTHING, (todo, "campaigns content ID --content FILE freezes another content."))
