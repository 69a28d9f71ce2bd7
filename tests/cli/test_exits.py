"""Codes, exit codes and help pages agree with what the code raises, and the reference with the code."""

import ast

import typer

from campaignbridge.cli import chronicle, portrait
from campaignbridge.cli.app import app
from campaignbridge.cli.exits import ENDINGS, MEANINGS
from campaignbridge.cli.pages import PAGES
from campaignbridge.cli.reference import commands, lines
from campaignbridge.domain import errors
from campaignbridge.domain.campaign import State
from campaignbridge.domain.evidence import Absence
from cli.program import Program
from tidy import tree

ROOT = typer.main.get_command(app)
EXPECTED = {
    2: {"usage", "confirmation_required"},
    3: {"not_found", "forbidden", "invalid_input", "validation_failed", "conflict", "invalid_state"}
    | {"approval_not_allowed", "idempotency_conflict", "already_sent_elsewhere", "audience_drift"}
    | {"store_unusable"},
    4: {"locked", "in_progress", "lease_lost", "rate_limited", "persistence_failed", "address_in_use"},
    5: {"reconciliation_required"},
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
    reasons = {one.value for one in Absence} | set(portrait._STOPPED) | set(portrait._FLAGS)
    assert (set(ENDINGS) | reasons | {"send_unconfirmed", "draft_unconfirmed"}) - set(PAGES) == set()


def test_every_state_has_a_label():
    assert {state.value for state in State} == set(portrait.LABELS)


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
