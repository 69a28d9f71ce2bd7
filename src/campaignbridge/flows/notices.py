"""Telling people elsewhere that something needs a person: each need once, for as long as it lasts.

1. `collect_notices`, every minute: what needs nobody any more is forgotten; what needs a person and was not
   told becomes a row and one job for each target, in one transaction. Past a number of them the rest is only
   counted, in one notice. At most six statements, however much there is.
2. `send_notice`: the text is built from the need as it is then. A need that was settled meanwhile is not told.
3. A target that fails is tried again with backoff, and then given up as a dead job. Other targets have jobs of
   their own. A dead `send_notice` job is never a reason for a notice: nothing is told about telling.
"""

from dataclasses import dataclass

from campaignbridge.domain.actor import Actor
from campaignbridge.domain.errors import Refusal
from campaignbridge.domain.job import Done, Handler, Job, JobOutcome, Request, Retry, job_id
from campaignbridge.domain.notice import Message, of_many, of_need, of_test
from campaignbridge.domain.recurring import Every, Recurring
from campaignbridge.flows.amounts import count
from campaignbridge.flows.status import need_of
from campaignbridge.flows.wiring import Wiring
from campaignbridge.settings import Settings, secret_of

COLLECTING = Recurring("collect_notices", "collect_notices", "notices", Every(60))
ONE_BY_ONE = 20  # in one minute; the rest is counted
TRIES = 8  # about two hours
LIMIT_MS = 10_000


@dataclass(frozen=True, slots=True)
class Told:
    """What became of a notice at one target: `code` is None when it was taken."""

    target: str
    code: str | None


def collect_handler(wiring: Wiring) -> Handler:
    """Return the handler of `collect_notices` jobs.

    It may run twice after a crash: the second run finds what the first one wrote down, and tells nothing again.
    """
    return Handler(type="collect_notices", run=lambda _job: collect(wiring), retry_safe=True)


def send_handler(wiring: Wiring) -> Handler:
    """Return the handler of `send_notice` jobs.

    It may run twice: when its worker died after the target had taken the notice, or the answer was lost, people
    are told twice. A webhook carries the same id then, so that its receiver can drop the second one.
    """
    return Handler(type="send_notice", run=lambda job: send(wiring, job), retry_safe=True)


def collect(wiring: Wiring) -> JobOutcome:
    """Queue one job for each target and each thing that needs a person and was not told. Returns `Done`."""
    if not wiring.notice_targets:
        return Done()
    with wiring.store.unit() as unit:
        unit.notices.clear()
        untold = unit.notices.untold(most=ONE_BY_ONE + 1)
        if not untold:
            return Done()
        told = [(wiring.new_id("ntc"), row) for row in untold[:ONE_BY_ONE]]
        unit.notices.make(told)
        ids = [notice_id for notice_id, _ in told]
        others = unit.notices.cover() if len(untold) > ONE_BY_ONE else 0
        if others:
            ids.append(wiring.new_id("ntc"))
            unit.notices.make_summary(ids[-1], others=others)
        requests = [send_request(notice_id, name) for notice_id in ids for name in wiring.notice_targets]
        at = wiring.clock.mark().wall_ms
        unit.jobs.enqueue_many([(job_id(at, wiring.chance.token(8)), request) for request in requests])
    return Done()


def send_request(notice_id: str, target: str) -> Request:
    """Return the job that tells one notice to one target. It holds ids only."""
    return Request(type="send_notice", target=f"{notice_id}:{target}", max_attempts=TRIES)


def send(wiring: Wiring, job: Job) -> JobOutcome:
    """Tell one notice to one target, unless its need is settled."""
    notice_id, _, name = job.target.partition(":")
    message = _message(wiring, notice_id)
    if message is None:
        return Done()
    code = _tell(wiring, name, message)
    return Done() if code is None else Retry(code)


def try_targets(wiring: Wiring, *, actor: Actor) -> list[Told]:
    """Send a test notice to every target, once; return what each answered. Nothing is stored."""
    actor.require("operate")
    with wiring.store.reading() as unit:
        now = unit.now_ms()
    message = of_test(notice_id=wiring.new_id("ntc"), now=now)
    return [Told(name, _tell(wiring, name, message)) for name in sorted(wiring.notice_targets)]


def configured(settings: Settings) -> tuple[str, str]:
    """Return which targets there are, and what is wrong with the first that can't be opened. Nobody is contacted."""
    if not settings.notices:
        return "no target: only status tells that something needs a person", ""
    wrong = ""
    for target in settings.notices:
        try:
            secret_of(target)
        except Refusal as refusal:
            wrong = wrong or refusal.what
    named = ", ".join(f"{target.name} ({target.kind})" for target in settings.notices)
    return f"{count(len(settings.notices), 'target')}: {named}; not tried", wrong


def _message(wiring: Wiring, notice_id: str) -> Message | None:
    with wiring.store.reading() as unit:
        row = unit.notices.of_id(notice_id)
    if row is None:
        return None  # somebody else tells it, or it was cleared
    if row["kind"] == "more":
        return of_many(row["others"], notice_id=notice_id, now=row["now"])
    return None if row["reason"] is None else of_need(need_of(row), notice_id=notice_id, now=row["now"])


def _tell(wiring: Wiring, name: str, message: Message) -> str | None:
    opener = wiring.notice_targets.get(name)
    if opener is None:
        return "target_unknown"  # to this worker; another one may know it
    try:
        target = opener()
    except Refusal:
        return "target_unusable"  # its secret or the extra is missing here
    return target.tell(message, limit_ms=LIMIT_MS)
