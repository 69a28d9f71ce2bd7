"""Every expected "no": a stable code, one sentence, and what to do next."""

from typing import Any


class Refusal(Exception):
    """An expected refusal. Nothing was changed unless `facts` name an attempt.

    `code` is a documented contract and is never renamed; `what` is one sentence for people; `todo` says
    what to do next. `facts` carry what a program needs: version, retry_after (s), attempt, provider.
    """

    code = "invalid_state"

    def __init__(self, what: str, *, code: str | None = None, todo: str = "", **facts: Any) -> None:
        super().__init__(what)
        self.what = what
        self.todo = todo
        self.facts: dict[str, Any] = {name: value for name, value in facts.items() if value is not None}
        if code is not None:
            self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.code, self.what, self.todo, self.facts))


def _rebuild(kind: type[Refusal], code: str, what: str, todo: str, facts: dict[str, Any]) -> Refusal:
    return kind(what, code=code, todo=todo, **facts)


class NotFound(Refusal):
    """No object has this id."""

    code = "not_found"


class Forbidden(Refusal):
    """The actor lacks the right."""

    code = "forbidden"


class InvalidInput(Refusal):
    """The request itself is malformed."""

    code = "invalid_input"


class ValidationFailed(Refusal):
    """The content can't be sent as it is."""

    code = "validation_failed"


class Conflict(Refusal):
    """Somebody changed the campaign meanwhile; `facts["version"]` is the current version."""

    code = "conflict"


class InvalidState(Refusal):
    """The state doesn't allow this."""

    code = "invalid_state"


class Locked(Refusal):
    """Somebody is working on it now; `facts["retry_after"]` is the longest wait in seconds."""

    code = "locked"


class LeaseLost(Refusal):
    """The lease was too short for the call, so nobody was contacted."""

    code = "lease_lost"


class Unconfirmed(Refusal):
    """An earlier request may have taken effect: nothing may be sent until that is settled."""

    code = "reconciliation_required"


class InProgress(Refusal):
    """Something of ours may still be under way; `facts["retry_after"]` says when to look."""

    code = "in_progress"


class ProviderFailed(Refusal):
    """The provider refused or couldn't be reached. Nothing happened there."""

    code = "provider_failed"


class CopyPaused(Refusal):
    """The store is a copy of another installation, and nobody has made it the real one."""

    code = "copy_paused"


class StoreGone(Refusal):
    """The store is gone, busy or full. Try again."""

    code = "persistence_failed"


class CommitUnknown(StoreGone):
    """The answer to a COMMIT was lost: the change may or may not have happened."""


class StoreUnusable(Refusal):
    """The store is corrupt, or made by a newer version."""

    code = "store_unusable"
