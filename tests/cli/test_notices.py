"""`notices test` and the doctor's look at the targets."""

import base64
from dataclasses import replace

from campaignbridge import open_bridge
from campaignbridge.settings import from_environment
from cli.program import campaign
from cli.test_status import flagged
from contract.faultserver import FaultServer, answering, http

SECRET = "whsec_" + base64.b64encode(b"canary" * 6).decode()


def configured(program, **ports: int) -> None:
    for name, port in ports.items():
        program.extra[f"CAMPAIGNBRIDGE_NOTICES_{name.upper()}_WEBHOOK"] = f"http://127.0.0.1:{port}/canary"
        program.extra[f"CAMPAIGNBRIDGE_NOTICES_{name.upper()}_SECRET"] = SECRET


def test_a_test_notice_says_what_each_target_answered_and_ends_with_six_if_one_failed(program):
    with FaultServer(answering(http(200))) as good, FaultServer(answering(http(503))) as bad:
        configured(program, ops=good.port)
        fine = program.run("notices", "test")
        configured(program, pager=bad.port)
        done = program.run("notices", "test")
        told = program.run("notices", "test", "--json")
    assert (fine.code, fine.words) == (0, "ok ops took it.")
    assert done.code == 6
    assert "ok ops took it. FAIL pager did not take it (http_503)." in done.words
    assert "help notice_undelivered" in done.words
    assert told.code == 6
    assert told.document["targets"] == [
        {"target": "ops", "taken": True, "code": None},
        {"target": "pager", "taken": False, "code": "http_503"},
    ]
    assert "canary" not in done.words + told.out
    assert SECRET not in done.words


def test_without_a_target_a_test_says_how_to_configure_one(program):
    done = program.run("notices", "test")
    assert (done.code, done.out) == (0, "")
    assert "[notices.NAME]" in done.err


def test_doctor_names_the_targets_and_tries_none(connected):
    (check,) = [one for one in connected.run("doctor", "--json").document["checks"] if one["id"] == "notices"]
    assert check["status"] == "ok"
    with FaultServer(answering(http(200))) as server:
        configured(connected, ops=server.port)
        (check,) = [
            one for one in connected.run("doctor", "--json").document["checks"] if one["id"] == "notices"
        ]
        assert (check["status"], check["summary"]) == ("ok", "1 target: ops (webhook); not tried")
        assert server.requests == []


def test_doctor_warns_of_a_target_whose_secret_is_not_there(connected, tmp_path):
    file = tmp_path / "more.toml"
    file.write_text(
        '[notices.ops]\nwebhook = "https://hooks.acme.example/"\nsecret_env = "NOT_SET_ANYWHERE"\n'
    )
    done = connected.run("doctor", "--json", CAMPAIGNBRIDGE_SETTINGS=str(file))
    (check,) = [one for one in done.document["checks"] if one["id"] == "notices"]
    assert (check["status"], check["help"]) == ("warn", "notice_undelivered")
    assert "NOT_SET_ANYWHERE" in check["effect"]


def test_a_worker_tells_by_itself_what_needs_a_person(connected, monkeypatch):
    """The whole way, as a process is put together: settings, a minute, two ticks, a notice at a real receiver."""
    campaign_id = campaign(connected)
    with FaultServer(answering(http(204))) as server:
        configured(connected, ops=server.port)
        for name, text in connected.extra.items():
            monkeypatch.setenv(name, text)
        ahead = replace(from_environment(database=str(connected.database)), clock_offset_ms=61_000)
        assert connected.run("tick").code == 0
        flagged(connected, campaign_id)
        with open_bridge(settings=ahead) as bridge:
            bridge.tick()
            bridge.tick()
    (got,) = server.requests
    assert (got.json["data"]["target"], got.json["data"]["reason"]) == (campaign_id, "possible_double")
