"""What needs a person: one sentence for each reason, and the one command to run next.

Every surface and every notice tells a need in these words. A reason that needs a person has a row in the view
`needs` (which finds it), a sentence and a command here, and a help page of its name.
"""

import re
from dataclasses import dataclass

STOPPED = {
    "missing": "{provider} no longer has this campaign, so it can't be told whether the mail went out.",
    "untracked": "{provider} gives this campaign a state that we don't know.",
    "contradiction": "{provider} says something else than what we had recorded for certain.",
    "duplicate_drafts": "{provider} has two campaigns with our mark, and only one can be ours.",
    "credential_refused": "{provider} refuses the key of this connection.",
    "other_account": "The key of this connection opens another account than the campaign's.",
    "not_applied": "{provider}'s record shows that the request did not take effect.",
    "not_created": "The draft can't be found at {provider}.",
    "inconclusive": "What {provider} says doesn't tell whether the request took effect.",
}
FLAGS = {
    "sent_zero": "{provider} says that it was sent, and counts nobody. Don't send it again yet.",
    "possible_double": "An answer came after the request was settled: this may have been mailed twice.",
    "possible_double_content": "Another campaign with this content is on its way too, or went lately.",
    "retired_but_went": "{provider} deleted it as a draft, and its record names people who were mailed.",
    "send_refused": "{provider} refused the last send. Nothing was sent.",
    "schedule_differs": "{provider} accepted a send time and shows another one, or none. Look at it there.",
    "scheduled_late": "Its send time was more than half an hour ago, and {provider} has not begun.",
    "no_reading": "{provider} has given no usable reading for about an hour.",
    "connection_unusable": "A worker can't open the connection: its key is not set there.",
    "watch_failed": "Looking at {provider} failed again and again, for a reason of ours. It is tried hourly.",
    "sending_long": "{provider} has been sending it for more than a day.",
    "unconfirmed_long": "A request has had no confirmed outcome for more than an hour.",
}
RAMPS = {
    "gate_tripped": "The gate stopped it: more bounced or complained than the threshold allows.",
    "stats_missing": "{provider} has given too few figures for three days, and the next wave waits for them.",
    "send_unconfirmed": "{provider} was asked to send {wave} and gave no usable answer. It may be going out.",
    "pool_drained": "Far fewer people were found for {wave} than it should mail.",
    "wave_failed": "{wave} can't go on by itself.",
    "step_failed": "A step of {wave} failed again and again, for a reason of ours.",
    "force_released": "{wave} was taken from its run, and waits for a decision.",
    "campaign_stopped": "The campaign of {wave} was stopped, or {provider} says that nothing was sent.",
    "label_collides": "Its next wave would get a label that it has used already, so none was started.",
}
OTHERS = {
    "watch_stuck": "It should have been looked at more than two hours ago, and was not.",
    "webhook_silence": "Mail went out, and {provider}'s webhook, which was heard before, has told nothing since.",
}

# The one command to run next. A reason without a row here is read at the provider, which changes nothing there.
COMMANDS = {
    "possible_double": "campaigns timeline {target}",
    "possible_double_content": "campaigns timeline {target}",
    "send_refused": "campaigns show {target}",
    "schedule_differs": "campaigns show {target}",
    "no_reading": "connections verify {label}",
    "connection_unusable": "doctor",
    "credential_refused": "connections replace-key {label}",
    "other_account": "connections replace-key {label}",
    "webhook_silence": "help webhook_silence",
}
READ = "campaigns reconcile {target}"
LOOK = "ramps status {target}"  # of a ramp: it names the one command, with what that may do

_ADDRESS = re.compile(r"[^\s<>\"'(),;]+@[^\s<>\"'(),;]+")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_WORD = re.compile(r"[A-Za-z0-9._-]+")
MOST_NAME = 80


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that needs a person. It is the same need as long as kind, target and reason are."""

    kind: str  # campaign, connection, ramp or job
    target: str  # the id of the campaign or connection; a ramp's slug; the type of the dead jobs
    reason: str  # a stable code; of dead jobs the code that they ended with
    since: int
    count: int  # of the campaigns or jobs that it speaks of
    name: str  # what people call it, without addresses
    connection: str = ""  # its label
    provider: str = ""  # for people
    sandboxed: bool = False
    example: str = ""  # one of the dead jobs; the label of a ramp's open wave
    repeatable: bool = False  # the dead jobs may be queued again

    @property
    def help(self) -> str:
        """The name of its help page."""
        return "jobs_dead" if self.kind == "job" else self.reason

    @property
    def why(self) -> str:
        """What is the matter, in one or two sentences."""
        if self.kind == "job":
            each = "A job of this type was" if self.count == 1 else f"{self.count:,} jobs of this type were"
            return f"{each} given up, with the code {self.reason}."
        if self.kind == "ramp":
            told = RAMPS.get(self.reason, f"It needs an operator: {self.reason.replace('_', ' ')}.")
            return told.format(provider=self.provider, wave=self.example or "Its wave")
        known = STOPPED.get(self.reason) or FLAGS.get(self.reason) or OTHERS.get(self.reason)
        told = (known or self.reason.replace("_", " ") + ".").format(provider=self.provider)
        if self.kind == "connection" and self.count:
            waits = "1 campaign waits" if self.count == 1 else f"{self.count:,} campaigns wait"
            told += f" {waits}; none was lost."
        return told

    @property
    def command(self) -> str:
        """The one command to run next, without the program's name."""
        if self.kind == "job":
            if self.count > 1:
                return "jobs list --state dead"
            return f"jobs {'requeue' if self.repeatable else 'show'} {self.example}"
        if self.kind == "ramp":
            return LOOK.format(target=self.target)
        label = self.connection if _WORD.fullmatch(self.connection) else f"'{self.connection}'"
        return COMMANDS.get(self.reason, READ).format(target=self.target, label=label)


def plain_name(text: str) -> str:
    """Return a name from outside for people elsewhere: short, printable, and without addresses."""
    name = _ADDRESS.sub("(address)", _UNPRINTABLE.sub(" ", text[:1_000])).strip()
    return name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 1]}…"
