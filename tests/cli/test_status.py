"""`status` as people and monitors use it."""

import sqlite3

from campaignbridge import open_bridge
from cli.program import ACTOR, campaign

WIDTH = 80


def flagged(program, campaign_id, flag="possible_double", name=None):
    connection = sqlite3.connect(program.database)
    with open_bridge(str(program.database)) as bridge:
        connection.create_function("now_ms", 0, bridge.wiring.store.database.now_ms)
    try:
        connection.execute("UPDATE campaigns SET flag = ? WHERE id = ?", (flag, campaign_id))
        if name is not None:
            connection.execute("UPDATE campaigns SET name = ? WHERE id = ?", (name, campaign_id))
        connection.commit()
    finally:
        connection.close()


def test_a_fresh_store_says_that_nothing_is_needed_and_how_to_begin(program):
    done = program.run("status", "--check")
    assert done.code == 0
    assert done.out.startswith("Nothing needs a person.   checked ")
    assert "campaignbridge demo" in done.err


def test_what_needs_a_person_is_told_with_its_command_and_help_page(connected):
    campaign_id = campaign(connected, "sending")
    flagged(connected, campaign_id)
    done = connected.run("status")
    lines = done.out.splitlines()
    assert done.code == 0, "the reading worked, even if the news is bad"
    assert lines[0].startswith("1 thing needs a person.   checked ")
    assert f"! December news   {campaign_id}   news" in lines
    assert f"  Do     campaignbridge campaigns timeline {campaign_id}" in lines
    assert "  Help   campaignbridge help possible_double" in lines
    assert "news (Mailchimp, sandbox): key works, verified" in done.words
    assert "Campaigns    1 sending" in done.out
    assert done.err == ""


def test_the_headline_counts(connected):
    for number in range(2):
        flagged(connected, campaign(connected, name=f"Letter {number}"))
    assert connected.run("status").out.startswith("2 things need a person.")


def test_check_ends_with_five_when_a_person_is_needed_and_with_zero_otherwise(connected):
    campaign_id = campaign(connected, "sending")
    assert connected.run("status", "--check").code == 0
    flagged(connected, campaign_id)
    assert connected.run("status", "--check").code == 5
    assert connected.run("status", "--check", "--json").code == 5
    assert connected.run("status", "--json").code == 0


def test_every_command_that_status_names_is_understood(connected):
    campaign_id = campaign(connected, "sending")
    for flag in ("possible_double", "sent_zero", "send_refused", "no_reading"):
        flagged(connected, campaign_id, flag)
        (need,) = connected.run("status", "--json").document["needs"]
        assert connected.run(*need["command"].split()[1:]).code != 2, need["command"]
        assert connected.run("help", need["help"]).code == 0


def test_the_document_has_the_same_as_the_lines(connected):
    campaign_id = campaign(connected, "sending")
    flagged(connected, campaign_id, "sent_zero")
    found = connected.run("status", "--json").document
    (need,) = found["needs"]
    assert (found["needs_person"], found["exact"], found["next_cursor"]) == (1, True, None)
    assert need["command"] == f"campaignbridge campaigns reconcile {campaign_id}"
    assert (need["kind"], need["target"], need["reason"], need["help"]) == (
        "campaign", campaign_id, "sent_zero", "sent_zero",
    )  # fmt: skip
    assert isinstance(need["since"], int)
    assert found["campaigns"]["sending"] == 1
    assert found["connections"][0]["key"] == "works"


def test_no_line_is_wider_than_eighty_columns(connected):
    for number in range(3):
        campaign_id = campaign(
            connected, name=f"A very long name that goes on and on, number {number} of many"
        )
        flagged(connected, campaign_id, "connection_unusable")
    done = connected.run("status")
    assert max(map(len, done.out.splitlines())) <= WIDTH, done.out


def test_neither_an_address_nor_a_key_nor_a_subject_is_told(connected, server):
    campaign_id = campaign(connected, "sending", name="To ann@acme.example", subject="Canary subject")
    flagged(connected, campaign_id)
    for arguments in (("status",), ("status", "--json")):
        done = connected.run(*arguments)
        assert campaign_id in done.out
        for canary in ("acme.example", "example.com", server.sandbox.key, "Canary"):
            assert canary not in done.out + done.err


def test_controls_in_a_name_do_not_steer_the_terminal(connected):
    campaign_id = campaign(connected)
    flagged(connected, campaign_id, name="\x1b[2Jnews\r\nFAKE")
    assert "\x1b" not in connected.run("status").out
    assert "\nFAKE" not in connected.run("status").out


def test_a_store_that_is_gone_is_four_with_the_sentence(program):
    place = "postgresql://nobody@127.0.0.1:1/nothing"
    done = program.run("status", "--json", CAMPAIGNBRIDGE_DATABASE=place)
    assert (done.code, done.document["code"]) == (4, "persistence_failed")
    told = program.run("status", "--check", CAMPAIGNBRIDGE_DATABASE=place)
    assert (told.code, told.out) == (4, "")
    assert told.err


def test_where_no_worker_runs_that_stands_first(connected):
    campaign(connected, "sending")
    connected.run("tick")
    connection = sqlite3.connect(connected.database)
    connection.execute(
        "UPDATE workers SET ticked_at = ticked_at - 3600000, claimed_at = claimed_at - 3600000"
    )
    connection.commit()
    connection.close()
    done = connected.run("status", "--check")
    assert done.code == 5
    assert done.out.startswith("Nothing is running.   checked ")
    assert "  Do     campaignbridge worker" in done.out.splitlines()
    assert connected.run("status", "--json").document["standstill"] == "no_tick"


def test_status_asks_no_provider(connected, server):
    campaign_id = campaign(connected, "sending")
    flagged(connected, campaign_id)
    before = len(server.sandbox.truth.requests())
    connected.run("status")
    assert len(server.sandbox.truth.requests()) == before
    with open_bridge(str(connected.database)) as bridge:
        assert bridge.status(actor=ACTOR).total == 1
