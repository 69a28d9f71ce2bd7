"""Notice targets are configured by tables or variables; a mistake is one sentence, and no secret is repeated."""

import base64

import pytest

from campaignbridge.bootstrap import open_notice_target
from campaignbridge.domain.connection import Secret
from campaignbridge.domain.errors import InvalidInput
from campaignbridge.host import HostClock
from campaignbridge.notices.through_apprise import ThroughApprise
from campaignbridge.notices.webhook import SignedWebhook
from campaignbridge.settings import from_environment, secret_of, settings_text
from campaignbridge.targets import Target, decoded

CANARY = "whsec_" + base64.b64encode(b"canary" * 6).decode()


def settings(tmp_path, text="", **environment):
    file = tmp_path / "campaignbridge.toml"
    file.write_text(text)
    return from_environment({"CAMPAIGNBRIDGE_SETTINGS": str(file), **environment})


def test_tables_name_targets_and_where_their_secrets_are(tmp_path):
    text = """
    [notices.ops]
    webhook = "https://hooks.acme.example/x"
    secret_env = "OPS_SECRET"
    [notices.chat]
    apprise_file = "chat.url"
    """
    chat, ops = settings(tmp_path, text).notices
    assert (ops.name, ops.kind, ops.secret_env) == ("ops", "webhook", "OPS_SECRET")
    assert (chat.name, chat.kind, chat.secret_file) == ("chat", "apprise", str(tmp_path / "chat.url"))


def test_a_variable_is_the_twin_of_each_and_wins_over_the_file(tmp_path, monkeypatch):
    text = '[notices.ops]\nwebhook = "https://old.acme.example/x"\nsecret_env = "OPS_SECRET"\n'
    chat, ops = settings(
        tmp_path,
        text,
        CAMPAIGNBRIDGE_NOTICES_OPS_WEBHOOK="https://new.acme.example/x",
        CAMPAIGNBRIDGE_NOTICES_OPS_SECRET=CANARY,
        CAMPAIGNBRIDGE_NOTICES_CHAT_APPRISE="json://127.0.0.1:1/",
    ).notices
    assert ops.url.reveal() == "https://new.acme.example/x"
    monkeypatch.setenv("OPS_SECRET", "another")
    assert secret_of(ops).reveal() == CANARY
    assert isinstance(open_notice_target(ops, HostClock()), SignedWebhook)
    assert isinstance(open_notice_target(chat, HostClock()), ThroughApprise)


def test_a_secret_is_read_when_it_is_needed_from_a_file_that_only_we_can_read(tmp_path):
    file = tmp_path / "secret"
    file.write_text(CANARY + "\n")
    file.chmod(0o644)
    (ops,) = settings(
        tmp_path, '[notices.ops]\nwebhook = "https://a.example/"\nsecret_file = "secret"\n'
    ).notices
    with pytest.raises(InvalidInput) as refused:
        secret_of(ops)
    assert "chmod 600" in refused.value.todo
    file.chmod(0o600)
    assert isinstance(open_notice_target(ops, HostClock()), SignedWebhook)


@pytest.mark.parametrize(
    "text",
    [
        'notices = "ops"',
        "[notices]\nops = 1",
        '[notices.Ops]\nwebhook = "https://canary.example/"\nsecret_env = "X"',
        '[notices.ops]\nwebhook = "https://canary.example/"',
        '[notices.ops]\nwebhook = "https://canary.example/"\nsecret = "canary"',
        '[notices.ops]\nwebhook = "https://canary.example/"\nsecret_env = "whsec_canary/"',
        '[notices.ops]\nwebhook = "https://canary.example/"\nsecret_env = "X"\napprise_env = "Y"',
        '[notices.ops]\nsecret_env = "X"',
        "[notices.ops]\napprise_env = 5",
        "[notices.ops]",
        "".join(f'[notices.n{n}]\napprise_env = "X"\n' for n in range(21)),
    ],
)
def test_a_mistake_is_one_sentence_that_repeats_no_value(tmp_path, text):
    with pytest.raises(InvalidInput) as refused:
        settings(tmp_path, text)
    assert "canary" not in refused.value.what + refused.value.todo
    assert refused.value.todo


@pytest.mark.parametrize("text", ["", "whsec_", "canary", "whsec_canary", "whsec_" + "A" * 8, CANARY[6:]])
def test_a_secret_that_is_too_short_or_of_another_form_signs_nothing(text):
    with pytest.raises(InvalidInput) as refused:
        decoded(Secret(text), name="ops")
    assert "canary" not in refused.value.what


def test_a_secret_that_is_not_set_is_told_by_its_name(monkeypatch):
    monkeypatch.delenv("OPS_SECRET", raising=False)
    with pytest.raises(InvalidInput) as refused:
        open_notice_target(
            Target(name="ops", kind="webhook", url=Secret("https://a.example/"), secret_env="OPS_SECRET"),
            HostClock(),
        )
    assert "OPS_SECRET" in refused.value.what


def test_settings_and_targets_show_no_secret(tmp_path):
    found = settings(
        tmp_path,
        CAMPAIGNBRIDGE_NOTICES_OPS_WEBHOOK="https://acme.example/canary",
        CAMPAIGNBRIDGE_NOTICES_OPS_SECRET=CANARY,
    )
    told = repr(found) + repr(found.notices) + settings_text(found, secret_file="x")
    assert "canary" not in told
    assert CANARY not in told
