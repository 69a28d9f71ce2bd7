"""Nothing in the background can change anything at a provider: by what it calls, by its types, and at run time."""

import ast

import pytest

from campaignbridge import ports
from campaignbridge.flows.reading import READS, OnlyReads, open_reader
from tidy import tree

pytest_plugins = ["support.stores", "support.world"]

MUTATIONS = {name for name in vars(ports.Provider) if not name.startswith("_")} - {
    name for name in vars(ports.Reader) if not name.startswith("_")
}
ENTRIES = {"watch_handler", "sweep_handler"}
FORBIDDEN = MUTATIONS | {"open_provider", "perform"}
ALLOWED = {"open_reader": {"open_provider"}}  # the one place that wraps it


def functions():
    """Return every function and class of the flows by name, with what it mentions."""
    found = {}
    for source in tree.package():
        if source.part != "flows":
            continue
        for node in ast.walk(source.tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.setdefault(node.name, []).append(node)
    return found


def mentioned(node):
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr


def reachable(known, entries):
    """Return the names of all functions that these can lead to, by any name they mention."""
    seen, open_ = set(), set(entries)
    while open_:
        name = open_.pop()
        seen.add(name)
        for node in known.get(name, ()):
            open_ |= {other for other in mentioned(node) if other in known} - seen
    return seen


def trespasses(known, entries):
    """Yield each call of a provider's mutation that these functions can lead to."""
    for name in reachable(known, entries):
        for node in known.get(name, ()):
            for part in ast.walk(node):
                if not isinstance(part, ast.Attribute) or part.attr not in FORBIDDEN - ALLOWED.get(
                    name, set()
                ):
                    continue
                if ast.unparse(part.value).split(".")[-1] in ("provider", "wiring", "prepared", "self"):
                    yield f"{name}: {ast.unparse(part)}"


def test_a_reader_has_no_mutation():
    assert {
        "send",
        "schedule",
        "unschedule",
        "cancel",
        "create_draft",
        "sync_draft",
        "send_test",
        "dial",
    } <= MUTATIONS
    assert set() == READS & MUTATIONS
    assert {"inspect", "find_by_token", "verify"} <= READS


def test_no_path_from_the_background_reaches_a_call_that_changes_anything():
    known = functions()
    assert len(reachable(known, ENTRIES)) > 30
    assert list(trespasses(known, ENTRIES)) == []


@pytest.mark.parametrize("entry", ["send", "hand_off", "cancel", "send_test"])
def test_what_a_person_may_do_does_reach_one(entry):
    assert list(trespasses(functions(), {entry}))


def test_the_handlers_that_are_registered_are_the_ones_that_are_looked_at(world):
    made = {f"{name}_handler" for name in ("watch", "sweep")}
    assert made == ENTRIES
    assert set(world.bridge.handlers) == {"watch_campaign", "sweep"}


@pytest.mark.parametrize("name", sorted(MUTATIONS))
def test_a_mutation_that_is_asked_of_a_reader_is_a_bug_before_anybody_hears_of_it(world, name):
    campaign_id = world.drafted()
    reader = open_reader(world.bridge.wiring, world.dossier(campaign_id).connection)
    assert isinstance(reader, OnlyReads)
    with pytest.raises(AssertionError, match="only reads"):
        getattr(reader, name)
    assert world.heard() == []
