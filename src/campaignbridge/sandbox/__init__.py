"""A stateful fake email service provider that speaks Mailchimp's Marketing API 3.0 and Resend's API.

Lives here: the fake itself (`app.Sandbox`, synchronous and without a clock of its own), the truth log of
what it really accepted and mailed, the faults it can be told to play, and a loopback HTTP server.
May not live here: anything of the product. This package imports nothing else of `campaignbridge` and
nothing outside the standard library, so that a mistake can't be shared between the sender and its judge.
Read `app.py` first, then `routes.py` and `world.py`; `truth.py` is what safety tests compare with.
"""

from campaignbridge.sandbox.app import Sandbox
from campaignbridge.sandbox.behaviour import Behaviour
from campaignbridge.sandbox.faults import Fault, FaultPlan
from campaignbridge.sandbox.server import SandboxServer
from campaignbridge.sandbox.truth import Event, Seen, TruthLog
from campaignbridge.sandbox.wire import Delivery, Effect, Request, Response
from campaignbridge.sandbox.world import World

__all__ = [
    "Behaviour",
    "Delivery",
    "Effect",
    "Event",
    "Fault",
    "FaultPlan",
    "Request",
    "Response",
    "Sandbox",
    "SandboxServer",
    "Seen",
    "TruthLog",
    "World",
]
