"""How mail fares where: rates for the deliveries whose list, segment or title fits a pattern."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase

from campaignbridge.sandbox.behaviour import OUTCOMES, Behaviour

MOST_RULES = 100
PLACES = ("list", "segment", "title")
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class OutcomeRule:
    """One rule: patterns with `*`, `?` and `[...]`, and the figures that count where all of them fit."""

    list: str = "*"  # a list's id; of a Resend account, which has one, `contacts-...`
    segment: str = "*"  # a segment's name; empty for a delivery to a whole list
    title: str = "*"  # a campaign's title, or a broadcast's name
    figures: Behaviour = field(default_factory=Behaviour)  # of it only `OUTCOMES` count

    @classmethod
    def of(cls, order: object) -> "OutcomeRule":
        """Read a rule from plain JSON values. Raises ValueError."""
        if not isinstance(order, Mapping) or not set(order) <= {*PLACES, *OUTCOMES}:
            raise ValueError(f"a rule has only {', '.join((*PLACES, *OUTCOMES))}")
        patterns = {name: order[name] for name in PLACES if name in order}
        if not all(isinstance(text, str) and len(text) <= _LONGEST for text in patterns.values()):
            raise ValueError(f"{', '.join(PLACES)} are patterns of at most {_LONGEST} characters")
        changes = {name: order[name] for name in OUTCOMES if name in order}
        return cls(**patterns, figures=replace(Behaviour(), **changes))

    def fits(self, *, list_id: str, segment: str, title: str) -> bool:
        """Say whether a delivery is meant."""
        return (
            fnmatchcase(list_id, self.list)
            and fnmatchcase(segment, self.segment)
            and fnmatchcase(title, self.title)
        )

    def changes(self) -> dict[str, object]:
        """Return the figures that aren't the usual ones."""
        figures, usual = asdict(self.figures), asdict(Behaviour())
        return {name: figures[name] for name in OUTCOMES if figures[name] != usual[name]}

    def listing(self) -> dict[str, object]:
        """Return the rule as it is ordered."""
        return {"list": self.list, "segment": self.segment, "title": self.title, **self.changes()}
