"""`audiences`: what a provider offers, as people and programs are shown it."""

import json

import pytest

from campaignbridge import open_bridge
from campaignbridge.sandbox import Fault
from cli.program import ACTOR, AUDIENCE

LISTS = ["list", "senders"]
OF_ONE = ["segments", "fields"]


def ask(program, name, *flags, **more):
    where = {"list": ("--at", "news"), "senders": ("news",)}.get(name, (AUDIENCE, "--connection", "news"))
    return program.run("audiences", name, *where, *flags, **more)


@pytest.mark.parametrize("name", LISTS + OF_ONE)
def test_what_was_never_read_says_so_and_how_to_read_it(connected, server, name):
    before = len(server.sandbox.truth.requests())
    done = ask(connected, name)
    assert (done.code, done.out) == (0, "")
    assert "never read" in done.words
    assert "--refresh" in done.words
    assert len(server.sandbox.truth.requests()) == before


@pytest.mark.parametrize("name", LISTS + OF_ONE)
def test_a_refresh_shows_the_list_and_the_next_look_needs_no_provider(connected, server, name):
    fresh = ask(connected, name, "--refresh")
    assert fresh.code == 0
    before = len(server.sandbox.truth.requests())
    again = ask(connected, name)
    assert (again.code, again.out) == (0, fresh.out)
    assert len(server.sandbox.truth.requests()) == before


def test_the_lists_are_shown_by_name_with_their_sizes(connected):
    assert "a1b2c3" in ask(connected, "list", "--refresh").out
    assert "24,318" in ask(connected, "list").out
    fields = ask(connected, "fields", "--refresh").out
    assert "FNAME" in fields
    assert "LNAME" in fields


def test_as_json_it_is_one_document_that_says_how_old_it_is(connected):
    never = ask(connected, "list", "--json").document
    assert (never["audiences"], never["read_at"], never["stale"], never["complete"]) == (
        [],
        None,
        True,
        False,
    )
    fresh = ask(connected, "list", "--refresh", "--json").document
    assert fresh["audiences"][0]["ref"] == AUDIENCE
    assert (fresh["stale"], fresh["complete"], fresh["refresh_error"]) == (False, True, None)
    json.dumps(fresh)


def test_a_refresh_that_fails_shows_the_earlier_list_and_why(connected, server):
    earlier = ask(connected, "list", "--refresh").out
    server.sandbox.faults.add(Fault("lists", "refuse_5xx", status=503, times=2))
    done = ask(connected, "list", "--refresh")
    assert (done.code, done.out) == (0, earlier)
    assert "This is the earlier list." in done.words
    told = ask(connected, "list", "--refresh", "--json").document
    assert (told["stale"], told["refresh_error"]["code"]) == (True, "provider_failed")


def test_a_refresh_that_fails_without_an_earlier_list_is_refused(connected, server):
    server.sandbox.faults.add(Fault("lists", "refuse_5xx", status=503))
    done = ask(connected, "list", "--refresh")
    assert done.code == 6
    assert "Nothing was sent." in done.words


def test_while_somebody_else_reads_it_the_command_says_when_to_try_again(connected):
    with open_bridge(str(connected.database)) as bridge, bridge.wiring.store.unit() as unit:
        news = unit.accounts.find("news")
        unit.locks.acquire(
            f"discovery:{news.account}:audiences:", holder="else", operation="refresh", actor=ACTOR.name
        )
    done = ask(connected, "list", "--refresh")
    assert done.code == 4
    assert "Somebody is reading this list at the provider right now." in done.words


def test_an_unknown_connection_is_named_as_such(connected):
    assert connected.run("audiences", "list", "--at", "other").code == 3


def test_without_a_connection_our_own_are_listed_and_read_nowhere(connected):
    assert "No contacts yet." in connected.run("audiences", "list").words
    assert connected.run("audiences", "list", "--refresh").code == 2


def test_a_campaign_shows_the_name_of_its_audience_once_preflight_has_read_it(connected):
    made = connected.run(*connected.creating(), "--json").document["campaign"]
    assert AUDIENCE in connected.run("campaigns", "show", made).out
    connected.run("campaigns", "preflight", made)
    shown = connected.run("campaigns", "show", made)
    assert f" ({AUDIENCE})" in shown.out
