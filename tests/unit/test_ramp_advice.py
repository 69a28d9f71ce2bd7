"""The one recommended command, over every combination of facts, wave and campaign."""

import re
from functools import cache
from itertools import product

import pytest

from campaignbridge.domain.campaign import State
from campaignbridge.domain.gate import Figures
from campaignbridge.domain.ledger import Operation
from campaignbridge.domain.ramp import IDLE_MS, Facts, Step, Wave
from campaignbridge.flows.ramp_advice import Delivery, Draft, Situation, advise

NOW = 1_000_000_000
HOUR = 3_600_000
NEEDS = (None, "send_unconfirmed", "pool_drained", "wave_failed", "step_failed", "stats_missing", "force_released",
         "campaign_stopped", "label_collides", "something_new")  # fmt: skip
FAILED = (
    None,
    "pool_drained",
    "too_many_refused",
    "strangers_in_segment",
    "send_refused",
    "campaign_failed",
    "http_400",
)
FACTS = [
    Facts(ended, paused, tripped, needs)
    for ended, paused, tripped, needs in product((None, "complete", "aborted"), (None, 5), (None, 6), NEEDS)
]
STATES = (State.APPROVED, State.PROVIDER_DRAFT, State.UNKNOWN, State.SCHEDULED, State.CANCELLED, State.FAILED)
KNOWN = re.compile(
    r"(?:ramps (?:clear-gate|resume|resume-wave|abort|run|recover|waive|status) winter\b|campaigns reconcile cmp_1"
    r"|connections replace-key news|worker)"
)


def wave(failed=None, step=Step.LOOKED, idle_ms=0) -> Wave:
    facts = {"segment_id": "a/1", "exported_at": 1, "verified": 4_982, "activity_at": NOW - idle_ms}
    unset = "underfilled_by pushing_until campaign_id broadcast_id sent_at verdict figures_at waived"
    nothing = dict.fromkeys(f"{unset} closed closed_at".split())
    return Wave(
        id="wav_1",
        ramp_id="rmp_1",
        tier=2,
        label="wave-3",
        run_id="run1",
        step=step,
        failed=failed,
        requested=5_000,
        picked=4_990,
        by_hand=False,
        figures=Figures(),
        opened_at=1,
        now=NOW,
        **facts,
        **nothing,
    )


def situation(facts=Facts(), **changes) -> Situation:  # noqa: B008  frozen
    usual = {"next_label": "wave-4", "next_count": 15_000, "last_sent": "wave-2"}
    return Situation(slug="winter", connection="news", facts=facts, now=NOW, **{**usual, **changes})


def delivery(state=State.PROVIDER_DRAFT, **changes) -> Delivery:
    return Delivery(id="cmp_1", state=state, remote_id="r1", **changes)


@cache
def advised():
    """Return each situation with its advice."""
    return [(one, advise(one)) for one in every_situation()]


def every_situation():
    """Yield every combination that the store allows, and more."""
    campaigns = [None]
    campaigns += [
        delivery(
            state, asked=asked, window_end=end, stopped=stopped, sendable=sendable, delivered=not sendable
        )
        for state, asked, end, stopped, sendable in product(
            STATES,
            (None, Operation.CREATE, Operation.SEND),
            (0, NOW + HOUR),
            (None, "missing", "credential_refused"),
            (True, False),
        )
    ]
    drafts = (None, *Draft)
    for facts in FACTS:
        for label, recurring, delegated in product((None, "wave-4"), (True, False), (True, False)):
            yield situation(facts, next_label=label, recurring=recurring, delegated=delegated)
    some = [facts for facts in FACTS if facts.ended != "complete"]
    for facts, failed, campaign, draft in product(some[::3], FAILED, campaigns[::5], drafts):
        for retires in (True, False):
            yield situation(facts, wave=wave(failed), delivery=campaign, draft=draft, retires=retires)


def test_every_state_has_a_way_out_that_is_a_known_command():
    seen, commands = 0, set()
    for one, advice in advised():
        seen += 1
        assert advice.effect.endswith("."), advice
        if advice.command is not None:
            assert KNOWN.match(advice.command), advice.command
            commands.add(" ".join(advice.command.split()[:2]))
            continue
        goes_on = one.facts.active and (one.wave is None or one.wave.failed is None)
        in_window = (
            one.delivery is not None and one.delivery.asked is not None and one.delivery.window_end > NOW
        )
        assert goes_on or in_window or one.facts.ended is not None, one
    assert seen > 10_000
    assert len(commands) >= 9


def test_nothing_is_advised_for_a_wave_in_doubt_but_reading():
    for one, advice in advised():
        if one.delivery is not None and one.delivery.asked is Operation.SEND:
            command = advice.command or ""
            assert not command.startswith("ramps"), command


def test_a_command_that_may_mail_says_how_many_in_numbers():
    for _, advice in advised():
        if advice.people:
            assert f"{advice.people:,} people" in advice.effect, advice
        elif advice.command is not None:
            assert not advice.command.startswith(("ramps resume-wave", "worker")), advice


def test_no_recovery_is_named_after_a_reading_that_failed():
    for one, advice in advised():
        known = one.delivery is not None and one.delivery.remote_id is not None
        if one.draft is Draft.UNREAD and one.wave is not None and known and one.facts.gate_tripped_at is None:
            command = advice.command or ""
            assert not command.startswith(("ramps recover", "ramps resume-wave")), command


def test_no_precondition_of_the_domain_refuses_what_is_advised():
    for one, advice in advised():
        command, facts = advice.command or "", one.facts
        if command.startswith("ramps resume winter"):
            assert (facts.ended, facts.gate_tripped_at, facts.needs_operator) == (None, None, None)
            assert facts.paused_at is not None
        if command.startswith("ramps clear-gate"):
            assert facts.gate_tripped_at is not None
        if command.startswith("ramps abort"):
            assert facts.ended is None
        if command.startswith("ramps waive"):
            assert one.last_sent is not None
        if command.startswith(("ramps recover", "ramps resume-wave")):
            assert one.wave is not None
            if one.delivery is not None and one.delivery.state in (State.CANCELLED, State.FAILED):
                assert not command.startswith("ramps resume-wave"), one
        if command.startswith("campaigns reconcile"):
            assert one.delivery is not None
            assert one.delivery.state is not State.CANCELLED or one.delivery.asked is not None


@pytest.mark.parametrize(
    ("facts", "changes", "command", "people"),
    [
        (Facts(), {}, None, 0),
        (Facts(), {"recurring": False}, "ramps run winter", 15_000),
        (Facts(), {"recurring": False, "too_young_until": NOW + 1}, None, 0),
        (Facts(), {"delegated": False}, 'ramps abort winter --reason "..."', 0),
        (Facts(paused_at=5), {}, 'ramps resume winter --reason "..."', 15_000),
        (Facts(paused_at=5), {"wave": wave()}, 'ramps resume winter --reason "..."', 4_982),
        (Facts(paused_at=5, gate_tripped_at=6), {}, 'ramps clear-gate winter --reason "..."', 0),
        (Facts(needs_operator="stats_missing"), {"unjudged": "wave-1"}, 'ramps waive winter wave-1 --reason "..."', 0),
        (Facts(needs_operator="label_collides"), {}, 'ramps abort winter --reason "..."', 0),
        (
            Facts(needs_operator="pool_drained"),
            {"wave": wave("pool_drained", Step.PICKED), "underfilled": True},
            'ramps resume-wave winter --accept-underfilled --reason "..."',
            4_990,
        ),
        (Facts(needs_operator="step_failed"), {"wave": wave()}, 'ramps resume-wave winter --reason "..."', 4_982),
        (
            Facts(needs_operator="wave_failed"),
            {"wave": wave("http_400"), "delivery": delivery()},
            "ramps status winter --read",
            0,
        ),
        (
            Facts(needs_operator="wave_failed"),
            {"wave": wave("http_400"), "delivery": delivery(), "draft": Draft.DRAFT},
            'ramps resume-wave winter --reason "..."',
            4_982,
        ),
        (
            Facts(needs_operator="wave_failed"),
            {"wave": wave("too_many_refused")},
            'ramps recover winter --discard-and-rotate --reason "..."',
            0,
        ),
        (
            Facts(needs_operator="send_unconfirmed"),
            {"wave": wave(), "delivery": delivery(State.UNKNOWN, asked=Operation.SEND)},
            "campaigns reconcile cmp_1",
            0,
        ),
        (
            Facts(needs_operator="send_unconfirmed"),
            {"wave": wave(), "delivery": delivery(sendable=False, delivered=True), "draft": Draft.DRAFT},
            'ramps recover winter --discard-and-rotate --reason "..."',
            0,
        ),
        (Facts(), {"wave": wave(idle_ms=IDLE_MS)}, "worker", 4_982),
        (Facts(), {"wave": wave(idle_ms=IDLE_MS), "job_at": NOW + HOUR}, None, 0),
        (Facts(ended="complete"), {}, None, 0),
    ],
)  # fmt: skip
def test_what_is_recommended_in_each_situation(facts, changes, command, people):
    advice = advise(situation(facts, **changes))
    assert (advice.command, advice.people) == (command, people)


def test_a_draft_that_cannot_be_made_unsendable_is_to_be_deleted_there_first():
    given = {
        "wave": wave("nobody_in_segment"),
        "delivery": delivery(),
        "draft": Draft.DRAFT,
        "retires": False,
    }
    advice = advise(situation(Facts(needs_operator="wave_failed"), **given))
    assert advice.first is not None
    assert advice.first.startswith("Delete the draft r1")
    assert advice.command == "ramps status winter --read"
    assert advice.then == 'ramps recover winter --discard-and-rotate --reason "..."'


def test_what_went_at_the_provider_is_recorded_and_never_written_off():
    given = {"wave": wave("http_400"), "delivery": delivery(), "draft": Draft.WENT}
    assert (
        advise(situation(Facts(needs_operator="wave_failed"), **given)).command == "campaigns reconcile cmp_1"
    )
    closed = {**given, "delivery": delivery(State.CANCELLED)}
    found = advise(situation(Facts(needs_operator="wave_failed"), **closed))
    assert found.command == 'ramps recover winter --manual-finished --reason "..."'
