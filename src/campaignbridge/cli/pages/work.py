"""How the background work fares."""

from campaignbridge.cli.pages.page import Page

PAGES: dict[str, Page] = {
    "no_tick": Page(
        "No worker has completed a tick for five minutes, or none ever has. It is measured by what ran.",
        "Nothing is sent, checked or watched until one runs. What is due waits, and nothing is lost.",
        (
            "Start campaignbridge worker, or see why it stopped.",
            "Where cron runs campaignbridge tick: see whether it does, and what it mails you.",
        ),
    ),
    "work_stalled": Page(
        "Jobs are overdue for more than five minutes, and no worker has asked for work for as long.",
        "A worker that has died is replaced by the next one that asks. Nothing is lost.",
        (
            "Read the workers' logs: a clock that is off, or a provider that hangs, is told there.",
            "Stop the worker (it finishes what runs), and start it again.",
        ),
    ),
    "work_late": Page(
        "Jobs are overdue for more than five minutes although workers ask for work.",
        "They are done in the order in which they were due.",
        (
            "Start more workers, or give one more --threads; with cron, a larger tick --batch.",
            "jobs list --state claimed shows what they are busy with.",
        ),
    ),
    "jobs_dead": Page(
        "Background jobs were given up: they failed too often, or their worker died in the middle of work that is "
        "never repeated.",
        "Nothing. They are kept for 90 days.",
        (
            "jobs show JOB says which campaign it looked after; campaigns show tells what that needs.",
            "jobs requeue JOB runs it again, if its kind is safe to repeat.",
        ),
    ),
}
