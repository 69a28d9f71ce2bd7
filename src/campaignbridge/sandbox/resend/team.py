"""What belongs to one Resend account beside its contacts: segments by their ids, domains, properties, the rate."""

import hashlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from campaignbridge.sandbox.people import People, Person, address
from campaignbridge.sandbox.roster import Segment
from campaignbridge.sandbox.world import Account, Audience, World

PROVIDER = "resend"
GENERAL, PEOPLE = "General", 240
DOMAINS = ("sandbox.example", "acme.example")


def uuid_of(digest: str) -> str:
    """Write 32 hex digits as a UUID."""
    return "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]))


@dataclass(slots=True)
class Team:
    """One account. The world's lock guards it."""

    account: Account
    list_id: str
    domain_ids: tuple[str, ...]
    opened_ms: int
    segments: dict[str, int] = field(default_factory=dict)  # id -> the roster's number
    properties: dict[str, tuple[str, str, str, int]] = field(
        default_factory=dict
    )  # id -> key, type, fallback, when
    mails: dict[str, str] = field(default_factory=dict)  # idempotency key -> id of the mail
    window: tuple[int, int] = (0, 0)  # a second, and how many calls it has seen

    def counted(self, at_ms: int) -> int:
        """Count a call, and return how many this second has seen."""
        second, calls = self.window
        now = at_ms // 1000
        self.window = (now, calls + 1 if now == second else 1)
        return self.window[1]


class Teams:
    """All Resend accounts of a world."""

    def __init__(self, world: World, seed: int) -> None:
        """Start with none."""
        self._world = world
        self._seed = seed
        self._teams: dict[str, Team] = {}
        self._numbers = itertools.count(900_001)  # Mailchimp's segments have the small ones

    def open(self, key: str, name: str, *, people: int = PEOPLE) -> Team:
        """Open an account with one segment that holds everybody, and return it."""
        with self._world.lock:
            digest = hashlib.sha256(f"{self._seed}:resend:{name}".encode()).hexdigest()
            account = self._world.take_account(key, Account(digest[:25], name, PROVIDER))
            team = Team(
                account,
                f"contacts-{digest[:10]}",
                tuple(uuid_of(hashlib.sha256(f"{digest}{one}".encode()).hexdigest()) for one in DOMAINS),
                self._world.advance(),
            )
            self._teams[account.account_id] = team
            self._fill(team, people)
            return team

    def of(self, account: Account) -> Team:
        """Return an account's team."""
        return self._teams[account.account_id]

    def everyone(self) -> list[Team]:
        """Return all teams."""
        return list(self._teams.values())

    def reset(self) -> None:
        """Forget segments, properties and test mails; each account has its one segment again."""
        for team in self._teams.values():
            size = self._world.roster.people(team.list_id).subscribed
            team.segments.clear()
            team.properties.clear()
            team.mails.clear()
            self._fill(team, size)

    def _fill(self, team: Team, people: int) -> None:
        world = self._world
        audience = Audience(
            id=team.list_id,
            account_id=team.account.account_id,
            name=GENERAL,
            members=people,
            from_name="",
            from_email="",
            created_ms=team.opened_ms,
            web_id=0,
        )
        world.add_list(audience)
        members = {address(number): team.opened_ms for number in range(1, people + 1)}
        self.add_segment(team, GENERAL, team.opened_ms, members=members, ident=self.general_id(team))

    def general_id(self, team: Team) -> str:
        """Return the id of the segment that holds everybody in the beginning."""
        digest = hashlib.sha256(f"{self._seed}:general:{team.account.account_id}".encode()).hexdigest()
        return uuid_of(digest)

    def add_segment(
        self, team: Team, name: str, at_ms: int, *, members: dict[str, int] | None = None, ident: str = ""
    ) -> str:
        """Add a segment and return its id. Names aren't unique."""
        world = self._world
        found = ident or uuid_of(world.digest("segment", 32))
        number = next(self._numbers)
        world.roster.put(Segment(number, team.list_id, name, at_ms, at_ms, members or {}), at_ms)
        team.segments[found] = number
        return found

    def segment(self, team: Team, ident: str, as_of_ms: int | None = None) -> Segment | None:
        """Return a segment, now or as it was."""
        number = team.segments.get(ident)
        return None if number is None else self._world.roster.segment(team.list_id, number, as_of_ms)

    def ident_of(self, team: Team, number: int) -> str:
        """Return the id of a segment by its number; "" for one that is gone."""
        return next((ident for ident, known in team.segments.items() if known == number), "")

    def person(self, team: Team, key: str) -> Person | None:
        """Return a contact by id or address."""
        return found_in(self._world.roster.people(team.list_id), key)


def found_in(people: People, key: str) -> Person | None:
    """Return somebody by id or address."""
    found = people.get(key if "@" in key else key.replace("-", ""))
    return None if found is None or found.status == "archived" else found


def contact_id(person: Person) -> str:
    """Return a contact's id."""
    return uuid_of(person.hash)


def newest_first(people: Iterable[Person], members: dict[str, int] | None = None) -> Iterator[Person]:
    """Return contacts as Resend lists them; of a segment, by when they were put into it."""
    known = members or {}
    return reversed(sorted(people, key=lambda one: known.get(one.email.lower(), one.joined_ms)))  # noqa: C413  ties too
