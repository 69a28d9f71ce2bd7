"""`ramps` as an operator uses it: against a sandbox, at both providers where it matters."""

import inspect
import re
import shlex
import sqlite3

import pytest

from campaignbridge import open_bridge
from campaignbridge.cli import ramp_words
from campaignbridge.cli.pages import PAGES
from campaignbridge.cli.pages import ramps as ramp_pages
from campaignbridge.domain.gate import Verdict
from campaignbridge.domain.ramp import Closed, Step, decide
from campaignbridge.flows import ramp_tick, ramp_views, wave_delivery, wave_people
from campaignbridge.sandbox import Fault
from cli.program import AUDIENCE, campaign
from cli.test_terminal import converse

WHY = "the operator says so"
WIDTH = 80
NOT_BROKEN = re.compile(r"\S{40,}")


@pytest.fixture
def ready(connected):
    """A program with 300 people in `crowd`, and an approved campaign whose content is mailed."""
    rows = "".join(f"p{number}@example.com,P{number}\n" for number in range(300))
    (connected.folder / "crowd.csv").write_text(f"email,FNAME\n{rows}", "utf-8")
    assert connected.run("audiences", "import", "crowd.csv", "--audience", "crowd", "--yes").code == 0
    connected.content = campaign(connected, "approved")
    return connected


def initing(program, name="winter", **changes):
    """Return the arguments of an init, with some of them changed; None leaves one out."""
    options = {
        "tiers": "100,150",
        "content": program.content,
        "audience": "crowd",
        "connection": "news",
        "list": AUDIENCE,
        "confirm-wave": "wave-1",
        **{flag.replace("_", "-"): value for flag, value in changes.items()},
    }
    given = [part for flag, value in options.items() if value is not None for part in (f"--{flag}", value)]
    return ["ramps", "init", name, *given]


def init(program, **changes):
    done = program.run(*initing(program, **changes))
    assert done.code == 0, done.words
    return done


def started(program, **changes):
    """Set a ramp up and have its first wave begin, since without a cron it waits for somebody."""
    init(program, **changes)
    done = program.run("ramps", "run", "winter", "--confirm-wave", "wave-1")
    assert done.code == 0, done.words


def tick(program, times=1):
    """Run what is due, so often; return the waves."""
    with open_bridge(str(program.database)) as bridge:
        for _ in range(times):
            bridge.tick()
        with bridge.wiring.store.reading() as unit:
            return unit.waves.of_ramp(unit.ramps.get("winter").id)


def until(program, step):
    """Run what is due until the open wave has come to this step, or has gone."""
    for _ in range(40):
        waves = tick(program)
        if waves and (waves[-1].step.value == step or waves[-1].closed is not None):
            return waves[-1]
    raise AssertionError(waves)


def sent(program):
    for _ in range(40):
        waves = tick(program)
        if waves and waves[-1].closed is Closed.SENT:
            return waves[-1]
    raise AssertionError(waves)


def changed(program, text, *values):
    connection = sqlite3.connect(program.database)
    with open_bridge(str(program.database)) as bridge:
        connection.create_function("now_ms", 0, bridge.wiring.store.database.now_ms)
    try:
        connection.execute(text, values)
        connection.commit()
    finally:
        connection.close()


def failed(program, reason="strangers_in_segment"):
    changed(program, "UPDATE waves SET failed = ? WHERE closed IS NULL", reason)
    changed(program, "UPDATE ramps SET needs_operator = 'wave_failed', needs_operator_at = now_ms()")


def tripped(program):
    figures = '{"bounced": 9, "complained": 0, "delivered": 91, "wave": "wave-1"}'
    changed(
        program,
        "UPDATE ramps SET gate_tripped_at = now_ms(), gate_tripped = ?, paused_at = now_ms()",
        figures,
    )


def status(program, *flags):
    return program.run("ramps", "status", "winter", "--json", *flags).document


def test_a_ramp_is_set_up_runs_and_says_where_it_is(ready):
    done = init(ready)
    assert "winter is set up: 2 waves, 250 people." in done.words
    assert "This starts wave-1, 100 people: campaignbridge ramps run winter" in done.words
    shown = ready.run("ramps", "status", "winter")
    assert shown.code == 0
    assert "RUNNING   since" in shown.out
    assert (
        "Do campaignbridge ramps run winter If the gate passes, it starts wave-1: it may mail 100"
        in shown.words
    )
    assert ready.run("ramps", "run", "winter", "--confirm-wave", "wave-1").code == 0
    wave = sent(ready)
    assert wave.verified == 100
    after = ready.run("ramps", "status", "winter")
    assert re.search(r"wave-1 +100 +100 .* sent \d+ \w+ \d\d:\d\d", after.out), after.out
    assert "mailed 100 of 250 planned" in after.out
    assert re.search(r"wave-2 +150 +- +- +- +not started", after.out)


def test_nothing_of_a_status_is_wider_than_eighty_columns(ready):
    started(ready)
    until(ready, "looked")
    for line in ready.run("ramps", "status", "winter").out.splitlines():
        assert len(line) <= WIDTH or NOT_BROKEN.search(line), line


def test_init_without_a_terminal_asks_for_the_first_waves_label(ready):
    done = ready.run(*initing(ready, confirm_wave=None), "--json")
    assert done.code == 2
    assert (done.document["code"], done.document["wave"], done.document["people"]) == (
        "confirmation_required", "wave-1", 100,
    )  # fmt: skip
    assert ready.run(*initing(ready, confirm_wave="wave-2")).code == 3
    assert ready.run("ramps", "list", "--json").document["ramps"] == []


def test_typing_the_label_on_a_terminal_sets_a_ramp_up(ready):
    code, said = converse(ready, initing(ready, confirm_wave=None), "wave-1\n")
    assert code == 0, said
    assert "Set a ramp up. It mails people by itself." in said
    assert "wave-1, up to 100 people" in " ".join(said.split())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tiers": "100;150"}, "whole number of people"),
        ({"tiers": ""}, "whole number of people"),
        ({"tiers": "0,100"}, "more than 0"),
        ({"tiers": "50,100"}, "--allow-small-tiers"),
        ({"bounce": "4%"}, "share between 0 and 1"),
        ({"bounce": "4"}, "share between 0 and 1"),
        ({"complaints": "nan"}, "share between 0 and 1"),
        ({"complaints": "0.00000001"}, "six decimals"),
        ({"min_age_hours": "nan"}, "0 to 720 hours"),
        ({"min_fill": "2"}, "between 0 and 1"),
        ({"max_refused": "x"}, "share between 0 and 1"),
        ({"prefix": "Wave_1"}, "label prefix"),
        ({"offset": "-1"}, "0 to 100,000"),
        ({"offset": "2", "confirm_wave": "wave-3"}, "--previous-broadcast"),
        ({"previous_broadcast": "b1"}, "--offset"),
        ({"previous_sent_at": "yesterday"}, "can't be read"),
        ({"content": "cmp_none"}, "There is no campaign"),
        ({"audience": "nobody"}, "There is no audience"),
        ({"not_in": "nobody"}, "There is no audience"),
        ({"exclude_ramp": "none"}, "There is no ramp"),
        ({"connection": "other"}, "There is no connection"),
        ({"list": "zzzzzz"}, "has no list"),
        ({"list": None}, "none was named"),
        ({"cron": "at nine"}, "five fields"),
        ({"cron": "99 9 * * *"}, "no cron expression"),
        ({"cron": "0 9 31 2 *"}, "no cron expression"),
        ({"cron": "0 9 * * *", "zone": "Mars/Olympus"}, "no time zone"),
        ({"filter": "plan"}, "KEY=VALUE"),
        ({"locale": "de_DE"}, "A locale is a tag"),
    ],
)
def test_what_can_be_got_wrong_in_init_gets_one_sentence_and_what_to_do(ready, changes, said):
    done = ready.run(*initing(ready, **changes), "--json")
    assert done.code == 3, done
    told = f"{done.document['detail']} {done.document['todo']}"
    assert said in told, told
    assert done.document["todo"]
    assert ready.run("ramps", "list", "--json").document["ramps"] == []


def test_a_name_that_is_taken_or_no_name_is_refused(ready):
    assert "1 to 40 of a-z" in ready.run(*initing(ready, name="Winter!")).words
    init(ready)
    again = ready.run(*initing(ready))
    assert again.code == 3
    assert "winter runs on this audience" in again.words


def test_a_second_ramp_must_say_whether_people_may_be_mailed_again(ready):
    started(ready)
    sent(ready)
    assert ready.run("ramps", "abort", "winter", "--reason", WHY, "--yes").code == 0
    done = ready.run(*initing(ready, name="spring"))
    assert done.code == 3
    assert "--exclude-ramp winter, or --mail-again" in done.words
    assert ready.run(*initing(ready, name="spring", exclude_ramp="winter")).code == 0


def test_a_script_runs_the_next_wave_by_its_label(ready):
    started(ready)
    sent(ready)
    asked = ready.run("ramps", "run", "winter", "--json")
    assert (asked.code, asked.document["wave"], asked.document["people"]) == (2, "wave-2", 150)
    assert ready.run("ramps", "run", "winter", "--confirm-wave", "wave-3").code == 3
    early = ready.run("ramps", "run", "winter", "--confirm-wave", "wave-2", "--json")
    assert (early.code, early.document["outcome"], early.document["started"]) == (4, "awaiting_age", False)


def test_run_ends_with_what_stands_against_it(ready):
    init(ready)
    assert (
        ready.run("ramps", "run", "winter", "--confirm-wave", "wave-1", "--json").document["started"] is True
    )
    busy = ready.run("ramps", "run", "winter", "--json")
    assert (busy.code, busy.document["outcome"]) == (4, "wave_in_flight")
    tripped(ready)
    assert ready.run("ramps", "run", "winter").code in (3, 5)
    assert ready.run("ramps", "abort", "winter", "--reason", WHY, "--yes").code == 0
    assert ready.run("ramps", "run", "winter", "--json").document["outcome"] == "ended"


def test_pause_names_nothing_when_nothing_leaves_and_resume_asks_for_the_open_wave(ready):
    started(ready)
    until(ready, "verified")
    done = ready.run("ramps", "pause", "winter", "--reason", WHY)
    assert done.code == 0
    assert "could not be stopped" not in done.words
    shown = ready.run("ramps", "status", "winter")
    assert "PAUSED   since" in shown.out
    assert f"paused it: {WHY}" in shown.words
    assert 'Do campaignbridge ramps resume winter --reason "..."' in shown.words
    assert "100 people" in shown.words
    asked = ready.run("ramps", "resume", "winter", "--reason", WHY, "--yes", "--json")
    assert (asked.code, asked.document["wave"], asked.document["people"]) == (2, "wave-1", 100)
    assert ready.run("ramps", "resume", "winter", "--reason", WHY, "--confirm-wave", "wave-1").code == 0
    sent(ready)


def test_pause_names_the_send_that_it_could_not_stop(ready, server):
    started(ready)
    until(ready, "looked")
    server.sandbox.faults.add(Fault("send", "accept_then_drop"))
    tick(ready)
    done = ready.run("ramps", "pause", "winter", "--reason", WHY, "--json")
    assert (done.document["leaving_wave"], done.document["leaving_people"]) == ("wave-1", 100)
    assert done.document["leaving_until"] is not None
    shown = status(ready)
    assert shown["facts"]["needs_operator"] == "send_unconfirmed"
    assert shown["help"] == "send_unconfirmed"


@pytest.mark.parametrize(
    "command", ["pause", "abort", "resume", "clear-gate", "force-release", "resume-wave"]
)
def test_a_reason_is_needed_and_has_ten_characters(ready, command):
    started(ready)
    until(ready, "picked")
    assert ready.run("ramps", command, "winter").code == 2
    assert (
        "A reason is 10 to 300 characters." in ready.run("ramps", command, "winter", "--reason", "so").words
    )


def test_a_tripped_gate_has_its_figures_in_the_headline_and_is_cleared_with_a_reason(ready):
    started(ready)
    sent(ready)
    tripped(ready)
    shown = ready.run("ramps", "status", "winter", "--check")
    assert shown.code == 5
    assert "! STOPPED BY THE GATE   since" in shown.out
    assert "wave-1: 9 bounced, 91 delivered = 9.9 %, limit 4 %." in shown.words
    assert "Then campaignbridge ramps resume winter" in shown.words
    assert "campaignbridge help gate_tripped" in shown.out
    refused = ready.run("ramps", "resume", "winter", "--reason", WHY, "--yes")
    assert refused.code == 3
    assert "campaignbridge ramps clear-gate winter" in refused.words
    assert ready.run("ramps", "clear-gate", "winter", "--reason", WHY).code == 2
    cleared = ready.run("ramps", "clear-gate", "winter", "--reason", WHY, "--yes")
    assert cleared.code == 0
    assert "campaignbridge ramps resume winter" in cleared.words
    assert ready.run("ramps", "resume", "winter", "--reason", WHY, "--yes").code == 0
    assert status(ready)["state"] == "active"


def test_thresholds_are_changed_with_a_reason(ready):
    init(ready)
    assert ready.run("ramps", "thresholds", "winter", "--reason", WHY, "--yes").code == 2
    assert ready.run("ramps", "thresholds", "winter", "--bounce", "7", "--reason", WHY, "--yes").code == 3
    done = ready.run("ramps", "thresholds", "winter", "--bounce", "0.05", "--reason", WHY, "--yes")
    assert "bounces above 5 %, complaints above 0.08 %" in done.words
    assert status(ready)["thresholds"] == {"bounce_ppm": 50_000, "complaint_ppm": 800}


def test_a_wave_is_waived_by_its_label(ready):
    started(ready)
    sent(ready)
    changed(ready, "UPDATE ramps SET needs_operator = 'stats_missing', needs_operator_at = now_ms()")
    shown = status(ready)
    assert shown["advice"]["command"] == 'campaignbridge ramps waive winter wave-1 --reason "..."'
    assert ready.run("ramps", "waive", "winter", "wave-9", "--reason", WHY, "--yes").code == 3
    assert ready.run("ramps", "waive", "winter", "wave-1", "--reason", WHY, "--yes").code == 0
    assert status(ready)["waves"][0]["verdict"] == "waived"
    assert status(ready)["state"] == "active"


def test_what_a_ramp_needs_is_told_by_status_and_doctor(ready):
    started(ready)
    until(ready, "verified")
    failed(ready)
    done = ready.run("status", "--check")
    assert done.code == 5
    assert "! winter   ramp winter   news" in done.out
    assert "Do     campaignbridge ramps status winter" in done.out
    checks = {one["id"]: one for one in ready.run("doctor", "--json").document["checks"]}
    assert "1 thing (1 ramp), ramp winter" in checks["needs_you"]["summary"]
    assert checks["needs_you"]["help"] == "wave_failed"


def test_a_failed_wave_goes_on_by_the_command_that_is_advised(ready):
    started(ready)
    wave = until(ready, "verified")
    failed(ready)
    advice = status(ready)["advice"]
    assert advice["command"] == 'campaignbridge ramps resume-wave winter --reason "..."'
    assert advice["people"] == 100
    arguments = [WHY if one == "..." else one for one in shlex.split(advice["command"])[1:]]
    asked = ready.run(*arguments, "--json")
    assert (asked.code, asked.document["wave"]) == (2, "wave-1")
    given = shlex.split(asked.document["command"])[1:]
    assert given[given.index("--run") + 1] == wave.run_id
    assert ready.run(*given).code == 0
    assert ready.run(*given).code == 3, "the same run is no longer there"
    sent(ready)


def test_a_recovery_of_another_wave_or_run_is_refused(ready):
    started(ready)
    until(ready, "verified")
    told = ("--reason", WHY)
    other = ready.run("ramps", "force-release", "winter", *told, "--confirm-wave", "wave-2")
    assert other.code == 3
    assert "wave-2 is not the wave's label (wave-1). Nothing was done." in other.words
    gone = ready.run(
        "ramps", "force-release", "winter", *told, "--confirm-wave", "wave-1", "--run", "another"
    )
    assert gone.code == 3
    assert "Somebody changed this wave" in gone.words
    done = ready.run("ramps", "force-release", "winter", *told, "--confirm-wave", "wave-1")
    assert done.code == 0
    assert "ramps resume-wave winter" in done.words


def test_typing_the_label_on_a_terminal_releases_and_anything_else_does_not(ready):
    started(ready)
    until(ready, "verified")
    arguments = ["ramps", "force-release", "winter", "--reason", WHY]
    code, said = converse(ready, arguments, "wave-9\n")
    assert code == 3
    assert "Nothing was done." in said
    code, said = converse(ready, arguments, "WAVE-1\n")
    assert code == 0
    assert "100" in said


def test_recover_needs_one_of_its_two_ways(ready):
    started(ready)
    until(ready, "verified")
    told = ("ramps", "recover", "winter", "--reason", WHY, "--confirm-wave", "wave-1")
    assert ready.run(*told).code == 2
    assert ready.run(*told, "--manual-finished", "--discard-and-rotate").code == 2
    assert ready.run(*told, "--discard-and-rotate", "--mailed", "5").code == 2
    assert ready.run(*told, "--manual-finished", "--return-contacts").code == 2
    assert "ramps force-release winter" in ready.run(*told, "--manual-finished").words
    failed(ready)
    missing = ready.run(*told, "--manual-finished")
    assert missing.code == 3
    assert "--broadcast-id, --sent-at is missing" in missing.words


def test_a_wave_is_written_off_and_its_people_returned(ready):
    started(ready)
    until(ready, "verified")
    failed(ready, "nobody_in_segment")
    told = ("ramps", "recover", "winter", "--reason", WHY, "--confirm-wave", "wave-1")
    done = ready.run(*told, "--discard-and-rotate", "--return-contacts")
    assert "wave-1 is written off. 100 people may be mailed by later waves." in done.words
    shown = status(ready)
    assert (shown["next_wave"], shown["state"]) == ({"label": "wave-2", "people": 100}, "active")
    assert "written off" in ready.run("ramps", "status", "winter").out


def test_a_wave_that_went_by_other_means_is_recorded(ready):
    started(ready)
    until(ready, "verified")
    failed(ready)
    told = ("ramps", "recover", "winter", "--reason", WHY, "--confirm-wave", "wave-1", "--manual-finished")
    done = ready.run(*told, "--broadcast-id", "b77", "--sent-at", "2026-01-01T09:00:00Z", "--mailed", "98")
    assert done.code == 0, done.words
    assert "to 98 people, as b77" in done.words
    assert status(ready)["waves"][0]["closed"] == "sent"


TOLD = ("ramps", "clear-failure", "winter", "--reason", WHY, "--confirm-wave", "wave-1")


def test_a_wave_of_which_nothing_exists_elsewhere_begins_anew(ready):
    started(ready)
    wave = until(ready, "picked")
    failed(ready, "http_400")
    assert ready.run(*TOLD).code == 2
    done = ready.run(*TOLD, "--confirm-no-export")
    assert "wave-1 begins anew." in done.words
    shown = status(ready)
    assert (shown["state"], shown["waves"][0]["step"]) == ("active", "picking")
    assert shown["waves"][0]["run_id"] != wave.run_id


def test_clear_failure_fails_closed_and_names_the_right_command(ready):
    started(ready)
    until(ready, "verified")
    failed(ready, "http_400")
    refused = ready.run(*TOLD, "--confirm-no-export")
    assert refused.code == 3
    assert "campaignbridge ramps resume-wave winter" in refused.words


def test_read_shows_what_the_provider_has(ready, server):
    started(ready)
    until(ready, "looked")
    shown = ready.run("ramps", "status", "winter", "--read")
    assert (
        "Mailchimp has: segment with 100 people; draft called save, 100 recipients; read just now"
        in shown.words
    )
    failed(ready, "http_400")
    assert status(ready)["advice"]["command"] == "campaignbridge ramps status winter --read"
    assert status(ready, "--read")["advice"]["command"].startswith("campaignbridge ramps resume-wave")
    server.sandbox.faults.add(Fault("inspect", "drop_before"))
    without = status(ready, "--read")
    assert (without["advice"]["withheld"], without["there"]["draft"]) == (True, "unread")


def test_a_waves_campaign_names_its_ramp_and_is_not_sent_by_hand(ready):
    started(ready)
    wave = until(ready, "looked")
    shown = ready.run("campaigns", "show", wave.campaign_id)
    assert "Ramp        wave-1 of winter (ramps status winter)" in shown.out
    document = ready.run("campaigns", "show", wave.campaign_id, "--json").document
    assert (document["ramp"], document["wave"]) == ("winter", "wave-1")
    facts = ("--confirm-recipients", "100", "--confirm-audience", document["audience"])
    refused = ready.run("campaigns", "send", wave.campaign_id, *facts)
    assert refused.code == 3
    assert "campaignbridge ramps status winter" in refused.words


def test_why_names_the_waves_of_a_person(ready):
    started(ready, tiers="300")
    sent(ready)
    found = ready.run("why", "p7@example.com")
    assert re.search(r"Waves +winter wave-1: mailed \d+ \w+", found.out), found.out
    (wave,) = ready.run("why", "p7@example.com", "--json").document["waves"]
    assert (wave["ramp"], wave["label"], wave["closed"]) == ("winter", "wave-1", "sent")


def test_the_log_has_every_outcome(ready):
    started(ready)
    until(ready, "picked")
    entries = ready.run("ramps", "log", "winter", "--json").document["log"]
    assert [one["outcome"] for one in entries] == ["picked", "wave_claimed", "set_up"]
    assert "wave claimed" in ready.run("ramps", "log", "winter").out


def test_lists_and_an_unknown_name_are_told_plainly(ready):
    empty = ready.run("ramps", "list")
    assert "No ramps yet." in empty.words
    init(ready)
    assert "winter   Running   none" in ready.run("ramps", "list").out
    missing = ready.run("ramps", "status", "summer")
    assert missing.code == 3
    assert "There is no ramp 'summer'." in missing.words
    assert ready.run("ramps", "resume-wave", "winter", "--reason", WHY).code == 3


def test_every_outcome_of_a_tick_and_every_failure_has_its_words_and_its_page():
    assert outcomes_in(decide, ramp_tick._claim, ramp_tick._claim_refused) == set(ramp_words.OUTCOMES)
    told = {reason for module in (wave_people, wave_delivery) for reason in failures_in(module)}
    assert len(told) >= 6
    assert told <= set(ramp_words.FAILED)
    assert {ramp_words.HELP.get(one, one) for one in ramp_words.FAILED} <= set(PAGES)
    assert set(ramp_words.STEPS) == {one.value for one in Step}
    assert set(ramp_words.VERDICTS) == {one.value for one in Verdict}
    assert set(ramp_words.LABELS) == set(ramp_views.STATES)


def outcomes_in(*functions):
    source = "".join(inspect.getsource(one) for one in functions)
    return set(re.findall(r'(?:\("|return "|outcome = ")([a-z_]+)"', source)) - {"start", "wav"}


def failures_in(module):
    """Return the reasons that a module fails a wave for, as far as they are written in it."""
    calls = re.findall(r"\.fail\(([^\n]+)", inspect.getsource(module))
    return {reason for call in calls for reason in re.findall(r'"([a-z_]+)"', call)} - {"recipients"}


def test_every_command_of_a_ramps_help_pages_is_one_that_there_is(program):
    for name, page in ramp_pages.PAGES.items():
        for command in re.findall(r"ramps ([a-z-]+) NAME", " ".join(page.you)):
            assert program.run("ramps", command, "--help").code == 0, (name, command)
