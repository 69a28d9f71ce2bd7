"""`campaigns`: the group, in the order of a campaign's life."""

from collections.abc import Callable
from typing import Any

from campaignbridge.cli import (
    authoring,
    delivery,
    editing,
    handing,
    previewing,
    reducing,
    retiring,
    settling,
    testing,
    watching,
)
from campaignbridge.cli.command import Command, group

campaigns = group("Create, approve, hand off, send and stop campaigns, and see what became of them.")

_COMMANDS: dict[str, Callable[..., Any]] = {
    "create": authoring.create,
    "list": authoring.list_,
    "show": watching.show,
    "preview": previewing.preview,
    "content": editing.content,
    "audience": editing.audience,
    "preflight": authoring.preflight,
    "submit": authoring.submit,
    "approve": authoring.approve,
    "revoke": authoring.revoke,
    "draft": handing.draft,
    "withdraw": editing.withdraw,
    "retire": retiring.retire,
    "test": testing.send_test,
    "send": delivery.send,
    "schedule": delivery.schedule,
    "unschedule": reducing.unschedule,
    "cancel": reducing.cancel,
    "reconcile": handing.reconcile,
    "timeline": watching.timeline,
    "resolve": settling.resolve,
    "acknowledge": settling.acknowledge,
    "duplicate": editing.duplicate,
    "archive": editing.archive,
}
for _name, _command in _COMMANDS.items():
    campaigns.command(_name, cls=Command)(_command)
