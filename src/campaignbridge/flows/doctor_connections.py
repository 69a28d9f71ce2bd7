"""What `doctor` asks each connection: one reading, with its key."""

from dataclasses import replace

from campaignbridge.domain.connection import Connection
from campaignbridge.domain.errors import Refusal
from campaignbridge.domain.provider import Accepted, Account, Ambiguous, Category, Outcome, Refused
from campaignbridge.flows.amounts import age
from campaignbridge.flows.checkup import Finding, Subject, of_refusal, only
from campaignbridge.store.unit import Unit

READ_MS = 4_500  # a check has 5 s


def check_connection(connection: Connection, subject: Subject) -> Finding:
    """Say whether a connection's key still opens its account."""
    if connection.disconnected_at is not None:
        return Finding("ok", "disconnected")
    assert subject.open_provider is not None
    try:
        provider = subject.open_provider(connection)
    except Refusal as refusal:
        return replace(of_refusal(refusal), help="connection_unusable")
    outcome = provider.verify(limit_ms=READ_MS)
    with subject.reading() as tx:
        waiting = only(tx.one("doctor.waiting", connection_id=connection.id))["n"]
        now = Unit(tx).now_ms()
    found = _answered(connection, provider.label, outcome, now)
    if found.status == "ok":
        return _with_seal(found, connection, subject)
    waits = "1 campaign waits" if waiting == 1 else f"{waiting} campaigns wait"
    return replace(found, effect=f"{waits}. None was lost.") if waiting else found


def _answered(connection: Connection, provider: str, outcome: Outcome[Account], now: int) -> Finding:
    replacing, verifying = (
        f"campaignbridge connections {do} {connection.id}" for do in ("replace-key", "verify")
    )
    match outcome:
        case Accepted(account) if connection.account not in (None, account.id):
            return Finding(
                "fail", f"{provider}, the key opens another account", "", replacing, "other_account"
            )
        case Accepted() if connection.refused_at is not None:
            told = f"{provider}, key accepted; it was refused {age(now - connection.refused_at)} ago"
            return Finding("warn", told, fix=verifying, help="credential_refused")
        case Accepted():
            return Finding("ok", f"{provider}, key accepted")
        case Refused(category=Category.CREDENTIAL):
            since = connection.refused_at
            how_long = f", noticed {age(now - since)} ago" if since is not None else ""
            told = f"{provider}, key refused ({outcome.code}){how_long}"
            return Finding("fail", told, "", replacing, "credential_refused")
        case Refused(category=Category.UNREACHABLE):
            told = f"{provider} can't be reached ({outcome.code})"
            return Finding("fail", told, "", verifying, "provider_failed")
        case Refused():
            return Finding(
                "warn", f"{provider} refuses to tell ({outcome.code})", "", verifying, "no_reading"
            )
        case Ambiguous():
            told = f"{provider} gave no usable answer ({outcome.reason})"
            return Finding("warn", told, "", verifying, "no_reading")


def _with_seal(found: Finding, connection: Connection, subject: Subject) -> Finding:
    sealed, vault = connection.sealed, subject.vault
    if sealed is None or vault is None or vault.is_newest(sealed):
        return found
    told = f"{found.summary}; sealed under {sealed.key_id}, an older key of the ring"
    return Finding("warn", told, fix=f"campaignbridge connections verify {connection.id}")
