"""A process that is killed between storing an event and answering for it: the provider repeats it without harm."""

import http.client
import os
import signal

import pytest

from campaignbridge.bridge import Bridge
from server.conftest import serving
from support.posting import FORM, Address
from support.stores import Child
from support.world import SENDING_MS, process_bridge, waiting_until

pytest_plugins = ["support.stores", "support.world"]


class Dying:
    """A bridge whose process ends once an event is committed, or just before."""

    def __init__(self, bridge: Bridge, *, before: bool) -> None:
        self.bridge, self.before = bridge, before

    def receive_webhooks(self, posted):
        if self.before:
            os.kill(os.getpid(), signal.SIGKILL)
        self.bridge.receive_webhooks(posted)
        os.kill(os.getpid(), signal.SIGKILL)

    def close(self) -> None:
        self.bridge.close()


def child_serves(home, parent, url: str, before: bool) -> None:
    with serving(Dying(process_bridge(home, url), before=before)) as served:
        parent.say(served.port)
        parent.wait()


@pytest.mark.parametrize("before", [True, False], ids=["before the commit", "after the commit"])
def test_an_event_whose_receiver_was_killed_is_taken_once_when_it_comes_again(world, before):
    address = Address.of(world)
    campaign_id = world.sending()
    world.later(ms=SENDING_MS)
    body = address.about(world.remote_id(campaign_id))
    path = f"/webhooks/{address.connection_id}/{address.secret}"
    child = Child(world.home, child_serves, world.server.url, before)
    try:
        line = http.client.HTTPConnection("127.0.0.1", child.hear(), timeout=20)
        line.request("POST", path, body, FORM)
        with pytest.raises(OSError):  # nobody answers any more
            line.getresponse()
        line.close()
        assert child.process.wait(20) == -signal.SIGKILL
    finally:
        child.close()
    waiting_until(lambda: len(address.rows()) == (0 if before else 1))
    with serving(world.bridge) as served:
        assert served.post(address, body) == 200
    assert len(address.rows()) == 1
    world.run(hours=0.01)
    assert (world.state(campaign_id), world.heard(), world.sends()) == ("sent", ["GET inspect"], 1)
