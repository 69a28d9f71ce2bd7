"""Codes, exit codes and help pages agree with what the code raises, and the reference with the code."""

import ast
from typing import get_args

import typer

from campaignbridge.cli import chronicle, settling, words
from campaignbridge.cli.app import app
from campaignbridge.cli.exits import ENDINGS, MEANINGS
from campaignbridge.cli.pages import PAGES
from campaignbridge.cli.reference import commands, lines
from campaignbridge.domain import errors
from campaignbridge.domain.campaign import State
from campaignbridge.domain.evidence import VERDICTS, Absence
from campaignbridge.domain.ledger import Operation
from campaignbridge.flows.resolving import Verdict
from cli.program import Program
from tidy import tree

ROOT = typer.main.get_command(app)
EXPECTED = {
    2: {"usage", "confirmation_required"},
    3: {"not_found", "forbidden", "invalid_input", "validation_failed", "conflict", "invalid_state"}
    | {"approval_not_allowed", "idempotency_conflict", "already_sent_elsewhere", "audience_drift"}
    | {"store_unusable", "encoding_unclear", "nothing_imported", "belongs_to_ramp"},
    4: {"locked", "in_progress", "refresh_in_progress", "import_in_progress"}
    | {"lease_lost", "rate_limited", "persistence_failed", "address_in_use", "source_unreachable"},
    5: {"copy_paused", "reconciliation_required", "test_unconfirmed"},
    6: {"provider_failed"},
    1: {"internal_error"},
    130: {"interrupted"},
}


def raised():
    """Yield every code that a refusal in the package can have."""
    kinds = {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.Refusal)
    }
    yield from (kind.code for kind in kinds.values())
    for source in tree.package():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in kinds:
                yield from (
                    word.value.value
                    for word in node.keywords
                    if word.arg == "code" and isinstance(word.value, ast.Constant)
                )


def test_every_code_that_is_raised_has_its_exit_code():
    codes = set(raised())
    assert len(codes) > 15
    assert codes - set(ENDINGS) == set()


def test_the_exit_codes_are_the_documented_ones():
    assert {code: end.exit for code, end in ENDINGS.items()} == {
        code: exit_code for exit_code, codes in EXPECTED.items() for code in codes
    }
    assert {end.exit for end in ENDINGS.values()} <= set(MEANINGS)


def test_every_code_and_every_reason_has_a_help_page():
    reasons = {one.value for one in Absence} | set(words.STOPPED) | set(words.FLAGS)
    open_requests = {page for _, _, page in words.OPEN.values()}
    assert (set(ENDINGS) | reasons | open_requests) - set(PAGES) == set()
    assert set(words.OPEN) == {one.value for one in VERDICTS}


FLAGGING = {"flag", "alarm", "_after_miss", "follow_content"}
STOPPING = {"Stop", "give_up", "stop_connection", "_stopped"}
FLAG_NAMES, STOP_NAMES = {"flag"}, {"stopped", "stopped_reason"}


def texts(*nodes):
    """Yield the plain texts in these expressions that look like a code."""
    for node in nodes:
        for part in ast.walk(node) if isinstance(node, ast.BoolOp | ast.IfExp | ast.Constant) else ():
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.isidentifier():
                yield part.value


def codes(calls, names):
    """Yield what is given to these calls, given or assigned under these names, or returned by such functions."""
    for source in tree.package():
        if source.part not in ("flows", "domain", "engine", "store"):
            continue
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call):
                if ast.unparse(node.func).split(".")[-1] in calls:
                    yield from texts(*node.args)
                yield from texts(*(word.value for word in node.keywords if word.arg in names))
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in names:
                yield from texts(node.value)
            elif (
                isinstance(node, ast.FunctionDef) and source.part == "flows" and node.name in (calls | names)
            ):
                returned = (part.value for part in ast.walk(node) if isinstance(part, ast.Return))
                yield from texts(*(value for value in returned if value is not None))


def test_every_flag_that_is_raised_has_a_sentence_and_a_help_page():
    flags = set(codes(FLAGGING, FLAG_NAMES))
    assert {"schedule_differs", "scheduled_late", "sent_zero", "possible_double", "no_reading"} <= flags
    assert flags - set(words.FLAGS) == set()
    assert flags - set(PAGES) == set()


def test_every_reason_why_checks_stop_has_a_sentence_and_a_help_page():
    reasons = set(codes(STOPPING, STOP_NAMES)) | {one.value for one in Absence}
    assert {"duplicate_drafts", "credential_refused", "other_account"} <= reasons
    assert reasons - set(words.STOPPED) == set()
    assert reasons - set(PAGES) == set()


def test_every_problem_that_preflight_finds_has_a_help_page():
    problems = set()
    for source in tree.package():
        for node in ast.walk(source.tree):
            if source.part in ("domain", "flows") and isinstance(node, ast.Call):
                named = ast.unparse(node.func) in ("error", "Problem") and node.args
                problems |= set(texts(node.args[0])) if named else set()
    assert {"unsubscribe_missing", "audience_unknown", "content_clipped"} <= problems
    assert problems - set(PAGES) == set()


def event_kinds():
    """Yield every kind of event that is written of a campaign."""
    for source in tree.package():
        if source.part != "flows":
            continue
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("events.add", ".event")):
                whole = any(ast.unparse(word) == "campaign_id=None" for word in node.keywords)
                yield from () if whole else texts(node.args[0])
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("_event", "_edit"):
                yield from texts(*node.args)
    for operation in Operation:
        yield from (f"{operation.value}_{outcome}" for outcome in chronicle._OF_REQUESTS)
    yield from ("draft_not_made", "cancelled", "late_outcome")


def test_every_event_is_told_in_words_of_its_own():
    kinds = set(event_kinds())
    assert {"content_changed", "audience_changed", "withdrawn", "archived", "resolved", "created"} <= kinds
    for kind in kinds:
        if kind.endswith("_requested"):  # its own words are the plain ones
            continue
        event = {
            "kind": kind,
            "data": {},
            "automatic": False,
            "actor": "cli:ann",
            "at": 0,
            "attempt_id": None,
        }
        assert chronicle.in_words(event, "Mailchimp") != kind.replace("_", " ").capitalize(), kind


def test_outcomes_settled_by_hand_are_those_of_the_flow():
    assert set(get_args(settling.Outcome)) == {one.value for one in Verdict}


def test_every_state_has_a_label():
    assert {state.value for state in State} == set(words.LABELS)


def test_the_reference_is_what_the_code_says(project_root):
    stored = (project_root / "docs" / "cli.md").read_text("utf-8")
    assert stored == "\n".join(lines(ROOT)) + "\n", "run: campaignbridge reference > docs/cli.md"


def test_every_command_says_what_it_does(tmp_path):
    for path, command in commands(ROOT):
        assert command.help, path
        assert all(param.help for param in command.params), path
    helped = Program(tmp_path).run("campaigns", "send", "--help")
    assert helped.code == 0
    assert "--confirm-recipients" in helped.out


def test_the_words_of_a_report_hold_for_events_that_nobody_foresaw():
    event = {"kind": "brand_new_kind", "data": {}, "automatic": True, "actor": None, "at": 0}
    assert chronicle.in_words(event, "Mailchimp") == "Brand new kind"
