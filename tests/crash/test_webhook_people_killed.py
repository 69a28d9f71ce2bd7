"""Processes that are killed while a signed event acts: storing it, and counting it once its campaign is known."""

import http.client
import os
import signal
from contextlib import contextmanager

import pytest

from campaignbridge.bootstrap import assemble
from campaignbridge.domain.connection import Secret
from campaignbridge.domain.gate import Figures
from campaignbridge.store.unit import Store
from campaignbridge.store.vault import Vault, parse_ring
from crash.test_webhook_killed import Dying
from flows.test_webhook_figures import Heard, unknown
from flows.test_webhook_people import listed, mailchimp_event
from server.conftest import serving
from support.posting import RING, SIGNING_KEY, Address, keeping_keys, signed
from support.ramps import mailchimp_of
from support.stores import Child, Counting
from support.world import MINUTE_MS, process_bridge, waiting_until

pytest_plugins = ["support.stores", "support.world", "support.resend", "support.ramps"]


def child_serves(home, parent, url: str, ring: str, before: bool) -> None:
    bridge = process_bridge(home, url)
    bridge.vault = Vault(lambda: parse_ring(Secret(ring), place="here"))
    with serving(Dying(bridge, before=before)) as served:
        parent.say(served.port)
        parent.wait()


@pytest.mark.parametrize("before", [True, False], ids=["before the commit", "after the commit"])
def test_whom_an_event_names_is_suppressed_once_it_is_stored_or_when_it_comes_again(world, before):
    address = Address.signing(world)
    body = mailchimp_event("abuse", world.now())
    headers = signed(body, SIGNING_KEY, world.now())
    path = f"/webhooks/{address.connection_id}/{address.secret}"
    child = Child(world.home, child_serves, world.server.url, RING.reveal(), before)
    try:
        line = http.client.HTTPConnection("127.0.0.1", child.hear(), timeout=20)
        line.request("POST", path, body, headers)
        with pytest.raises(OSError):  # nobody answers any more
            line.getresponse()
        line.close()
        assert child.process.wait(20) == -signal.SIGKILL
    finally:
        child.close()
    waiting_until(lambda: len(address.rows()) == (0 if before else 1))
    assert listed(world) == (None if before else ("complaint", "webhook"))
    with serving(keeping_keys(world)) as served:
        assert served.post(address, body, headers) == 200
    assert (len(address.rows()), listed(world)) == (1, ("complaint", "webhook"))


class Fatal(Counting):
    """A database whose process is killed around the statement that stores a fate."""

    def __init__(self, database, *, before: bool) -> None:
        super().__init__(database)
        self.before = before

    @contextmanager
    def transaction(self, *, write=True):
        with super().transaction(write=write) as tx:
            yield Doomed(tx, before=self.before)

    def listener(self):
        return self.database.listener()


class Doomed:
    """Passes every statement on, and dies around one."""

    def __init__(self, tx, *, before: bool) -> None:
        self.tx, self.before = tx, before

    def __getattr__(self, kind: str):
        return getattr(self.tx, kind)

    def each(self, name, rows, /):
        if name == "fates.add" and self.before:
            os.kill(os.getpid(), signal.SIGKILL)
        found = self.tx.each(name, rows)
        if name == "fates.add":
            os.kill(os.getpid(), signal.SIGKILL)
        return found


def child_works(home, parent, url: str, before: bool) -> None:
    parent.say("ready")
    wiring = process_bridge(home, url).wiring
    store = Store(Fatal(home.open(), before=before))
    assemble(store, wiring.open_provider, wiring.clock, wiring.chance, "host:5:dead").tick(batch=10)


@pytest.mark.parametrize("before", [True, False], ids=["before the fate", "after the fate"])
def test_a_worker_that_is_killed_while_it_handles_a_stored_event_loses_nothing(home, tmp_path, before):
    for ramping in mailchimp_of(home, tmp_path):
        heard = Heard(ramping)
        with unknown(heard):
            heard.told(heard.body("abuse", heard.people[0]))
        child = Child(home, child_works, heard.world.server.url, before)
        try:
            assert child.hear() == "ready"
            assert child.process.wait(20) == -signal.SIGKILL
        finally:
            child.close()
        assert (heard.figures(), heard.address.outcomes()) == (Figures(), [None])
        heard.world.later(ms=11 * MINUTE_MS)  # its lease ends
        ramping.work()
        assert (heard.figures(), heard.address.outcomes()) == (Figures(1, 0, 1), ["counted"])
