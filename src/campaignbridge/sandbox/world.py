"""The provider's memory: accounts, audiences, campaigns, and what is going to happen to them.

Guarantees: no thread, timer or clock inside; whatever is due is applied, in order of its own moment, when
somebody looks (`advance`). One re-entrant lock guards everything. Ids depend on the seed and the order of
calls only. Time never runs backwards here, even if the caller's clock does.
"""

import hashlib
import heapq
import itertools
import threading
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

from campaignbridge.sandbox.behaviour import Behaviour
from campaignbridge.sandbox.campaign import Campaign
from campaignbridge.sandbox.hooks import Hooks
from campaignbridge.sandbox.outcome import Mailed
from campaignbridge.sandbox.outcome_rules import MOST_RULES, OutcomeRule
from campaignbridge.sandbox.roster import Roster
from campaignbridge.sandbox.truth import Event, Kind, TruthLog

CAMPAIGN_LIMIT = 20_000  # ever created, until a reset
_HISTORY_KEPT = 64  # states per campaign


@dataclass(frozen=True, slots=True)
class Account:
    """Whom a key belongs to."""

    account_id: str
    name: str
    provider: str = "mailchimp"


@dataclass(frozen=True, slots=True)
class Audience:
    """A list. `members` is how many made-up people it was opened with; who is on it now, the roster knows."""

    id: str
    account_id: str
    name: str
    members: int
    from_name: str
    from_email: str
    created_ms: int
    web_id: int


@dataclass(order=True, slots=True)
class _Due:
    at_ms: int
    number: int
    action: Callable[[int], None] = field(compare=False)


class World:
    """All state of one sandbox. Callers that read and then write hold `lock` in between."""

    def __init__(self, now_ms: Callable[[], int], seed: int) -> None:
        """Start with nothing in it. `now_ms` gives epoch milliseconds UTC."""
        self.lock = threading.RLock()
        self.truth = TruthLog()
        self.behaviour = Behaviour()
        self.roster = Roster()
        self.hooks = Hooks()
        self.deliveries: dict[str, Mailed] = {}  # the last one of each campaign
        self.outcome_rules: list[OutcomeRule] = []
        self._now_ms = now_ms
        self._seed = seed
        self._last_ms = 0
        self._counter = itertools.count(1)
        self._due_counter = itertools.count(1)  # of its own: what is due when must not move ids
        self._due: list[_Due] = []
        self._accounts: dict[str, Account] = {}
        self._lists: dict[str, Audience] = {}
        self._campaigns: dict[str, Campaign] = {}
        self._history: dict[str, list[tuple[int, Campaign | None]]] = {}

    def advance(self) -> int:
        """Apply everything that is due, each at its own moment, and return the present one."""
        with self.lock:
            now = max(self._last_ms, self._now_ms())
            while self._due and self._due[0].at_ms <= now:
                due = heapq.heappop(self._due)
                self._last_ms = max(self._last_ms, due.at_ms)
                due.action(self._last_ms)
            self._last_ms = now
            return now

    def later(self, at_ms: int, action: Callable[[int], None]) -> None:
        """Have `action` called with its moment once that has come; ties keep their order."""
        with self.lock:
            heapq.heappush(self._due, _Due(at_ms, next(self._due_counter), action))

    def digest(self, purpose: str, length: int) -> str:
        """Return the next deterministic hex id."""
        with self.lock:
            text = f"{self._seed}:{purpose}:{next(self._counter)}"
        return hashlib.sha256(text.encode()).hexdigest()[:length]

    def next_number(self) -> int:
        """Return the next number in order of creation."""
        with self.lock:
            return next(self._counter)

    def behave(self, **changes: object) -> Behaviour:
        """Switch variants. Raises ValueError on an unknown name or value and then changes nothing."""
        unknown = set(changes) - {item.name for item in fields(Behaviour)}
        if unknown:
            raise ValueError(f"no such behaviour: {', '.join(sorted(unknown))}")
        with self.lock:
            self.behaviour = replace(self.behaviour, **changes)  # type: ignore[arg-type]  # checked by itself
            return self.behaviour

    def rule_outcomes(self, *rules: OutcomeRule) -> None:
        """Add rules for deliveries that begin from now on. Raises ValueError beyond 100 and then adds none."""
        with self.lock:
            if len(self.outcome_rules) + len(rules) > MOST_RULES:
                raise ValueError(f"at most {MOST_RULES} rules")
            self.outcome_rules += rules

    def outcomes_of(self, campaign: Campaign) -> Behaviour:
        """Return the figures by which this campaign's mail fares: of the last rule that fits, else the switches."""
        number = (campaign.mailed_opts or {}).get("saved_segment_id")
        segment = self.roster.segment(campaign.list_id, number) if type(number) is int else None
        name = segment.name if segment is not None else ""
        for rule in reversed(self.outcome_rules):
            if rule.fits(list_id=campaign.list_id, segment=name, title=campaign.text("title")):
                return rule.figures
        return self.behaviour

    def add_account(self, key: str, name: str) -> Account:
        """Add an account that `key` opens, or return the one that it opens already."""
        with self.lock:
            if key not in self._accounts:
                self._accounts[key] = Account(self.digest("account", 25), name)
            return self._accounts[key]

    def take_account(self, key: str, account: Account) -> Account:
        """Let a key open this account, or return the one that it opens already."""
        with self.lock:
            return self._accounts.setdefault(key, account)

    def account(self, key: str) -> Account | None:
        """Return the account that a key opens."""
        return self._accounts.get(key)

    def add_list(self, audience: Audience) -> None:
        """Add a list or replace the one of the same id."""
        with self.lock:
            self._lists[audience.id] = audience
            self.roster.size(audience.id, audience.members, audience.created_ms)

    def audience(self, account_id: str, list_id: str) -> Audience | None:
        """Return one of an account's lists."""
        found = self._lists.get(list_id)
        return found if found is not None and found.account_id == account_id else None

    def audiences(self, account_id: str) -> list[Audience]:
        """Return an account's lists in the order in which they were added."""
        with self.lock:
            return [item for item in self._lists.values() if item.account_id == account_id]

    def put(self, campaign: Campaign, at_ms: int) -> Campaign:
        """Store a new state of a campaign and remember since when it holds."""
        with self.lock:
            self._campaigns[campaign.id] = campaign
            self._remember(campaign.id, at_ms, campaign)
            return campaign

    def remove(self, campaign_id: str, at_ms: int) -> None:
        """Forget a campaign. A delivery under way isn't stopped by it."""
        with self.lock:
            self._campaigns.pop(campaign_id, None)
            self._remember(campaign_id, at_ms, None)

    def current(self, campaign_id: str) -> Campaign | None:
        """Return a campaign as it is, hidden or not."""
        return self._campaigns.get(campaign_id)

    def campaigns(self, account_id: str | None = None, as_of_ms: int | None = None) -> list[Campaign]:
        """Return the visible campaigns in order of creation, now or as they were at an earlier moment."""
        with self.lock:
            states = (
                list(self._campaigns.values())
                if as_of_ms is None
                else [self._as_of(campaign_id, as_of_ms) for campaign_id in self._history]
            )
            found = [state for state in states if state is not None and self._visible(state, account_id)]
            return sorted(found, key=lambda campaign: campaign.number)

    def find(self, account_id: str, campaign_id: str, as_of_ms: int | None = None) -> Campaign | None:
        """Return one visible campaign of an account, now or as it was at an earlier moment."""
        with self.lock:
            state = (
                self._campaigns.get(campaign_id) if as_of_ms is None else self._as_of(campaign_id, as_of_ms)
            )
            return state if state is not None and self._visible(state, account_id) else None

    def full(self) -> bool:
        """Say whether there is no room for another campaign."""
        return len(self._history) >= CAMPAIGN_LIMIT

    def hide(self, campaign_id: str) -> None:
        """Let a campaign answer 404 from now on, in past states too."""
        with self.lock:
            state = self._campaigns.get(campaign_id)
            if state is not None:
                self._campaigns[campaign_id] = replace(state, hidden=True)

    def recipient_count(self, campaign: Campaign, at_ms: int) -> int:
        """Return the size of a campaign's audience as the provider knows it at that moment."""
        if campaign.recipients is not None:
            return campaign.recipients
        found = self.audience(campaign.account_id, campaign.list_id)
        if found is None or at_ms < campaign.counted_ms:
            return 0
        return self.roster.count(campaign.list_id, campaign.mailed_opts, at_ms)

    def subscribed(self, audience: Audience) -> int:
        """Return how many people a campaign to the whole list would reach."""
        return self.roster.people(audience.id).subscribed

    def note(  # one argument for each thing that a reader of the log asks for
        self,
        kind: Kind,
        campaign: Campaign,
        at_ms: int,
        *,
        recipients: int = 0,
        sha256: str = "",
        by: str = "request",
    ) -> None:
        """Write a mutation of this campaign to the truth log."""
        title = campaign.text("title")
        self.truth.note(
            Event(
                at_ms, kind, campaign.account_id, campaign.id, title, campaign.list_id, recipients, sha256, by
            )
        )

    def note_list(
        self, kind: Kind, audience: Audience, at_ms: int, *, title: str = "", people: int = 0, by: str
    ) -> None:
        """Write a change of a list's people or segments to the truth log: how many, never who."""
        self.truth.note(Event(at_ms, kind, audience.account_id, "", title, audience.id, people, by=by))

    def reset(self) -> None:
        """Forget campaigns, segments, webhooks, what is due, truth log and behaviour; keep accounts and lists."""
        with self.lock:
            self._campaigns.clear()
            self._history.clear()
            self._due.clear()
            self.deliveries.clear()
            self.hooks.reset()
            self.roster.reset({item.id: (item.members, item.created_ms) for item in self._lists.values()})
            self.truth = TruthLog()
            self.behaviour = Behaviour()
            self.outcome_rules.clear()

    def _visible(self, state: Campaign, account_id: str | None) -> bool:
        present = self._campaigns.get(state.id)
        hidden = state.hidden or (present is not None and present.hidden)
        return not hidden and account_id in (None, state.account_id)

    def _remember(self, campaign_id: str, at_ms: int, state: Campaign | None) -> None:
        states = self._history.setdefault(campaign_id, [])
        states.append((at_ms, state))
        del states[:-_HISTORY_KEPT]

    def _as_of(self, campaign_id: str, at_ms: int) -> Campaign | None:
        states = self._history.get(campaign_id, [])
        at = bisect_right(states, at_ms, key=lambda pair: pair[0])
        return states[at - 1][1] if at else None
