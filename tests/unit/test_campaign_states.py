"""The state table, pair by pair."""

from dataclasses import replace
from itertools import product

import pytest

from campaignbridge.domain.actor import Actor, with_all_rights
from campaignbridge.domain.campaign import (
    ADOPTIONS,
    MOVES,
    TERMINAL,
    WATCHED,
    Approval,
    Campaign,
    State,
    may_move,
    require_separation,
)
from campaignbridge.domain.errors import Conflict, Forbidden, InvalidState, Unconfirmed

# Written out on its own, so that the table in the code is compared with something.
ALLOWED = {
    "draft": "ready_for_review cancelled archived",
    "ready_for_review": "approved draft cancelled archived",
    "approved": "provider_draft ready_for_review draft cancelled archived",
    "provider_draft": "scheduled sending sent approved cancelled failed unknown",
    "scheduled": "sending sent provider_draft cancelled failed unknown",
    "sending": "sent failed cancelled unknown",
    "sent": "",
    "failed": "draft archived",
    "cancelled": "",
    "unknown": "provider_draft scheduled sending sent failed cancelled",
    "archived": "",
}
CAMPAIGN = Campaign(
    id="cmp_1",
    name="n",
    connection_id="con_1",
    account="acc",
    audience="a1",
    state=State.APPROVED,
    version=5,
    revision=1,
    generation=1,
    approval=Approval("dana", 0, "sha256:x", 10),
    owner="dana",
    open_attempt=None,
    look_at=None,
    scheduled_for=None,
    stopped_reason=None,
    flag=None,
    state_changed_at=0,
    created_at=0,
)


@pytest.mark.parametrize(("source", "target"), list(product(State, State)))
def test_a_campaign_moves_only_along_the_table(source: State, target: State) -> None:
    assert may_move(source, target) == (target.value in ALLOWED[source.value].split())


@pytest.mark.parametrize("target", list(State))
def test_only_an_approved_campaign_may_become_what_was_found_at_the_provider(target: State) -> None:
    assert may_move(State.APPROVED, target, adopted=True) == (target in ADOPTIONS)
    assert may_move(State.SENT, target, adopted=True) is False


def test_terminal_states_lead_nowhere_but_an_unfinished_one_always_leads_somewhere() -> None:
    assert {state for state in State if not MOVES[state]} == TERMINAL
    assert not WATCHED & TERMINAL


def test_another_version_than_the_caller_looked_at_is_a_conflict_that_names_the_current_one() -> None:
    CAMPAIGN.require_version(5)
    CAMPAIGN.require_version(None)
    with pytest.raises(Conflict) as caught:
        CAMPAIGN.require_version(4)
    assert caught.value.facts["version"] == 5


def test_an_open_request_keeps_everything_else_out_and_is_named() -> None:
    CAMPAIGN.require_settled()
    with pytest.raises(Unconfirmed) as caught:
        replace(CAMPAIGN, open_attempt="att_9").require_settled()
    assert caught.value.facts["attempt"] == "att_9"
    assert "reconcile cmp_1" in caught.value.todo


def test_a_state_that_does_not_allow_something_is_named_with_those_that_do() -> None:
    with pytest.raises(InvalidState, match="is approved; to be sent, it must be provider_draft"):
        CAMPAIGN.require_state(State.PROVIDER_DRAFT, doing="be sent")


def test_with_separated_duties_the_approver_may_not_send_and_an_unknown_approver_fails_closed() -> None:
    require_separation(CAMPAIGN.approval, "sam", separated=True)
    require_separation(None, "sam", separated=False)
    for approval, actor in ((CAMPAIGN.approval, "dana"), (None, "sam")):
        with pytest.raises(Forbidden):
            require_separation(approval, actor, separated=True)


def test_a_right_is_required_by_name_and_an_administrator_has_every_one() -> None:
    Actor("dana", frozenset({"deliver"})).require("deliver")
    Actor("root", frozenset({"admin"})).require("deliver")
    with_all_rights("cli:dana").require("operate")
    with pytest.raises(Forbidden) as caught:
        Actor("dana", frozenset({"read"})).require("deliver")
    assert caught.value.facts["right"] == "deliver"
