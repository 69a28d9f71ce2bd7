"""What a provider can answer, in our own words: no provider's shape leaks past its adapter."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

T = TypeVar("T")


class Category(StrEnum):
    """Why a provider refused; decided by status and exception type, never by message text."""

    UNREACHABLE = "unreachable"  # no connection was ever established: nothing can have happened
    CREDENTIAL = "credential"  # 401, or 403 with the provider's own body on a read
    RATE_LIMITED = "rate_limited"  # 429, or a bare 403 at very high volume
    MISSING = "missing"  # 404: the object is not there
    REJECTED = "rejected"  # any other 4xx with the provider's own body


@dataclass(frozen=True, slots=True)
class Accepted(Generic[T]):
    """The documented success. It happened."""

    value: T


@dataclass(frozen=True, slots=True)
class Refused:
    """A definite no, by the provider's own answer or because no connection was established."""

    code: str  # stable and ours: "http_400", "http_429", "connect_refused", "dns", "tls"
    category: Category
    status: int | None = None
    retry_after_s: int | None = None
    detail: str = ""  # at most 300 characters of the provider's words, printable; for people only

    @property
    def retryable(self) -> bool:
        """Nothing happened and the same request may succeed later."""
        return self.category in (Category.UNREACHABLE, Category.RATE_LIMITED)

    @property
    def may_mean_already_done(self) -> bool:
        """A 4xx on send or schedule can mean "already went": it takes a read to tell."""
        return self.category in (Category.MISSING, Category.REJECTED)


NO_SUCH = Refused("no_such_id", Category.MISSING, 404)  # what a person typed is no id that the provider gives


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """The request may have left this host and its effect is unknown. Never repeat it blindly."""

    reason: str  # "timeout", "reset", "http_503", "foreign_answer", "unreadable", "unexpected_status"
    status: int | None = None
    bytes_out: int = 0  # request bytes handed to the network, evidence for people
    # Where the exchange broke off, by what had been written and read: "connecting", "sending" (the request
    # wasn't handed over whole), "waiting" (it was, no byte came back), "reading". Empty where an answer came
    # whole, or where nobody knows.
    phase: str = ""


Outcome = Accepted[T] | Refused | Ambiguous


class RemoteStatus(StrEnum):
    """A remote campaign's status, translated by its adapter."""

    DRAFT = "draft"
    SCHEDULED = "scheduled"
    SENDING = "sending"
    SENT = "sent"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    FAILED = "failed"
    UNTRACKED = "untracked"  # archived, and every value that we don't know


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a recipient sees around the content."""

    subject: str
    preview_text: str
    from_name: str
    from_email: str
    reply_to: str


@dataclass(frozen=True, slots=True)
class Draft:
    """Everything that a remote draft is made of. `title` carries the token that finds it again."""

    title: str
    audience: str
    envelope: Envelope
    html: str
    text: str


@dataclass(frozen=True, slots=True)
class Observation:
    """One reading of a remote campaign."""

    remote_id: str
    status: RemoteStatus
    raw_status: str  # the provider's own word, for people
    audience: str
    title: str
    subject: str
    from_name: str
    reply_to: str
    recipient_count: int | None
    emails_sent: int | None
    send_time_ms: int | None  # epoch milliseconds, UTC; None where there is none


@dataclass(frozen=True, slots=True)
class Found:
    """One remote campaign whose title carries a token of ours."""

    remote_id: str
    generation: int
    status: RemoteStatus
    created_ms: int  # epoch milliseconds, UTC
    part: str = ""  # what its token has between the stem that was searched for and the generation


@dataclass(frozen=True, slots=True)
class Search:
    """All remote campaigns found for one token stem, and whether every page was read."""

    found: tuple[Found, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Account:
    """The stable identity behind a credential."""

    id: str
    label: str


@dataclass(frozen=True, slots=True)
class RemoteAudience:
    """A list of contacts at the provider."""

    ref: str
    name: str
    contacts: (
        int | None
    )  # whom a campaign would reach; None where the provider tells none, or only by counting


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """What a provider lists of one kind, each entry checked. Incomplete never means that the rest is absent."""

    items: tuple[T, ...]
    complete: bool  # False past 1,000 entries, when one was left out as invalid, or when pages shifted


@dataclass(frozen=True, slots=True)
class RemoteSegment:
    """A part of an audience that can be mailed by itself."""

    ref: str  # an audience reference, as `Draft.audience` takes it
    id: str
    name: str
    members: int | None  # None where the provider doesn't tell
    kind: str  # "static": its members were put in one by one; "saved": by conditions


@dataclass(frozen=True, slots=True)
class MergeField:
    """A field of the contacts of an audience, which content can mention by its tag."""

    tag: str
    name: str
    type: str  # the provider's own word; an open set
    required: bool
    default: str


@dataclass(frozen=True, slots=True)
class Sender:
    """Who mail may come from: any address of a domain, or, with `email`, that one address."""

    domain: str
    email: str = ""
    name: str = ""
    verified: bool | None = None  # None: the provider doesn't say


@dataclass(frozen=True, slots=True)
class Report:
    """What a provider counts for one campaign. None is "not known", which is never zero."""

    emails_sent: int | None
    delivered: int | None  # sent without any bounce so far
    hard_bounces: int | None
    soft_bounces: int | None
    complaints: int | None
    unsubscribed: int | None
    opens: int | None  # people, not openings; mail programs that open by themselves are among them


@dataclass(frozen=True, slots=True)
class ContentRules:
    """What a provider asks of content, and how."""

    unsubscribe_tag: str  # a link to it must stand in the HTML
    separate_replies: bool  # replies may go to another address than From
    comments_hide: bool  # a tag within an HTML comment isn't read


class RecipientKind(StrEnum):
    """Which people of a campaign a provider's record names."""

    SENT = "sent"
    DELIVERED = "delivered"
    BOUNCED = "bounced"
    COMPLAINED = "complained"
    UNSUBSCRIBED = "unsubscribed"
    SUPPRESSED = "suppressed"


@dataclass(frozen=True, slots=True)
class Recipient:
    """One person in a provider's record of a campaign."""

    address: str = field(repr=False)
    permanent: bool | None = None  # of a bounce; None where the provider doesn't say, or it is none


@dataclass(frozen=True, slots=True)
class FoundSegment:
    """A segment that has exactly the name that was asked for. A provider may have several."""

    ref: str  # an audience reference, as `Draft.audience` takes it
    id: str
    created_ms: int | None


@dataclass(frozen=True, slots=True)
class NewContact:
    """Somebody to be put into a segment. No status: nobody is ever subscribed again by us."""

    address: str = field(repr=False)
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)


class Pushed(StrEnum):
    """What became of one contact of a push."""

    IN_SEGMENT = "in_segment"  # the provider said so; its member list has the last word
    OUT = "out"  # of a removal: the provider said that they aren't in it
    REFUSED = "refused"  # for good, by the provider's own code
    UNCLEAR = "unclear"  # counts as in the segment until it is verified; may be tried again
    UNTRIED = "untried"  # nothing was asked for this one


@dataclass(frozen=True, slots=True)
class ContactResult:
    """One contact's result, at the place that the contact had in the call."""

    address: str = field(repr=False)
    came_to: Pushed = Pushed.UNTRIED
    code: str = ""  # of a refusal: stable, ours or the provider's; never its words


@dataclass(frozen=True, slots=True)
class Push:
    """What became of a chunk: one result for each contact, and why it ended early, if it did."""

    results: tuple[ContactResult, ...]
    ended_by: "Refused | Ambiguous | None" = None


@dataclass(frozen=True, slots=True)
class Member:
    """One person in a segment, as the provider lists them."""

    address: str = field(repr=False)
    mailable: bool  # would get a campaign to the segment now
    left: bool = False  # unsubscribed, by the provider's own record
    given_up: bool = False  # the provider mails this address no more: it bounced for good
