"""One request of a command: its key, told before anybody is asked, and the questions that come before it."""

from campaignbridge.cli import terminal
from campaignbridge.cli.session import new_key


def key_of(given: str | None) -> str:
    """Return the key, and print it before anything is asked of the provider."""
    chosen = new_key() if given is None else given
    terminal.hint(f"key   {terminal.clean(chosen)}")
    return chosen


class telling:  # noqa: N801  reads as a verb where it is used
    """Put the key into the facts of a refusal, so that every outcome has it."""

    def __init__(self, campaign: str, key: str) -> None:
        self.campaign = campaign
        self.key = key

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from campaignbridge import Refusal

        if isinstance(error, Refusal):
            error.facts.setdefault("key", self.key)
        if isinstance(error, KeyboardInterrupt):
            terminal.hint(
                "", "      The provider may have been asked already. If so, it is watched and settled."
            )
            terminal.hint(f"      campaignbridge campaigns show {terminal.clean(self.campaign)} --watch")


def typed_fact(question: str, *, command: str, todo: str = "To do it from a script:", **facts: object) -> str:
    """Return what was typed. Without a terminal refuse, with the command that holds the facts valid now."""
    from campaignbridge import Refusal

    if not terminal.interactive():
        raise Refusal(
            "Can't ask here (no terminal).",
            code="confirmation_required",
            todo=todo,
            command=command,
            **facts,
        )
    typed = terminal.ask(question).strip()
    if not typed:
        raise KeyboardInterrupt
    return typed


def require_yes(question: str, *, command: str) -> None:
    """Go on only after a yes; without a terminal refuse, with the command that says it."""
    typed = typed_fact(f"{question} [y/N] ", command=command)
    if typed.lower() not in ("y", "yes"):
        raise KeyboardInterrupt
