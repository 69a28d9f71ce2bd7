"""Rows of campaigns, turned into what they stand for."""

from campaignbridge.domain.campaign import Approval, Campaign, State, WaveOf
from campaignbridge.domain.content import Snapshot
from campaignbridge.domain.ledger import Attempt, Operation, Status
from campaignbridge.domain.provider import Envelope
from campaignbridge.ports import Row


def campaign_of(row: Row) -> Campaign:
    """Return the campaign of a row."""
    approval = None
    if row["approved_fingerprint"] is not None:
        approval = Approval(
            by=row["approved_by"],
            at_ms=row["approved_at"],
            fingerprint=row["approved_fingerprint"],
            max_recipients=row["max_recipients"],
        )
    return Campaign(
        id=row["id"],
        name=row["name"],
        connection_id=row["connection_id"],
        account=row["account"] or "",
        audience=row["audience"],
        state=State(row["state"]),
        version=row["version"],
        revision=row["revision"],
        generation=row["generation"],
        approval=approval,
        owner=row["owner"],
        open_attempt=row["open_attempt"],
        look_at=row["look_at"],
        scheduled_for=row["scheduled_for"],
        stopped_reason=row["stopped_reason"],
        flag=row["flag"],
        state_changed_at=row["state_changed_at"],
        created_at=row["created_at"],
        wave=_wave_of(row),
    )


def _wave_of(row: Row) -> WaveOf | None:
    if not row["wave_id"]:
        return None
    return WaveOf(row["wave_id"], row["ramp_slug"], row["wave_label"], row["wave_since"])


def open_attempt_of(row: Row) -> Attempt | None:
    """Return the open attempt of a row, if there is one."""
    if row["attempt_operation"] is None:
        return None
    return Attempt(
        id=row["open_attempt"],
        campaign_id=row["id"],
        operation=Operation(row["attempt_operation"]),
        key=row["attempt_key"],
        request_hash=row["attempt_request_hash"],
        status=Status(row["attempt_status"]),
        retryable=False,
        account=row["account"] or "",
        generation=row["attempt_generation"],
        remote_id=row["attempt_remote_id"],
        from_state=State(row["attempt_from_state"]),
        deadline_at=row["attempt_deadline_at"],
        actor=row["attempt_actor"],
        created_at=row["attempt_created_at"],
        answered_at=row["attempt_answered_at"],
        settled_at=None,
        error_code=row["attempt_error_code"],
        schedule_at=row["attempt_schedule_at"],
    )


def snapshot_of(row: Row) -> Snapshot:
    """Return the frozen content that a row holds."""
    return Snapshot(
        campaign_id=row["campaign_id"],
        revision=row["revision"],
        envelope=Envelope(
            subject=row["subject"],
            preview_text=row["preview_text"],
            from_name=row["from_name"],
            from_email=row["from_email"],
            reply_to=row["reply_to"],
        ),
        html=row["html"],
        text=row["text"],
        fingerprint=row["fingerprint"],
        created_at=row["created_at"],
        created_by=row["created_by"],
    )
