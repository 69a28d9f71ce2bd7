"""Nothing in the background can change anything at a provider: by what it calls, by its types, and at run time."""

import ast
from pathlib import PurePosixPath

import pytest

from campaignbridge import ports
from campaignbridge.flows.reading import READS, OnlyReads, open_reader
from tidy import tree

pytest_plugins = ["support.stores", "support.world"]

MUTATIONS = {name for name in vars(ports.Provider) if not name.startswith("_")} - {
    name for name in vars(ports.Reader) if not name.startswith("_")
}
ENTRIES = {"watch_handler", "sweep_handler", "collect_handler", "send_handler", "webhooks_handler"}
ENTRIES |= {"tick_handler", "mirror_handler"}
WAVES = ["make_segment", "push", "make_draft", "send"]  # the one exception: for whoever activated the ramp
FORBIDDEN = MUTATIONS | {"open_provider", "perform"}
ALLOWED = {"open_reader": {"open_provider"}}  # the one place that wraps it


def functions():
    """Return every function and class of the flows by module and name, and what each module's imported names are."""
    found, imported = {}, {}
    for source in tree.package():
        if source.part != "flows":
            continue
        module = PurePosixPath(source.path).stem
        names = imported.setdefault(module, {})
        for node in ast.walk(source.tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.setdefault((module, node.name), []).append(node)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("campaignbridge.flows"):
                inside = (node.module or "").rpartition(".")[2]
                for alias in node.names:
                    names[alias.asname or alias.name] = (inside, alias.name)
    return found, imported


def leads_to(module, node, known, imported):
    """Yield the functions that this one mentions, by their own module's names."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            place = imported[module].get(part.id, (module, part.id))
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            whole = imported[module].get(part.value.id)  # `watch.watch`, or a method of the same class
            place = (whole[1], part.attr) if whole and whole[0] == "flows" else (module, part.attr)
        else:
            continue
        if place in known:
            yield place


def reachable(entries):
    """Return all functions that these can lead to."""
    known, imported = functions()
    seen, open_ = set(), {place for place in known if place[1] in entries}
    while open_:
        place = open_.pop()
        seen.add(place)
        for node in known[place]:
            open_ |= set(leads_to(place[0], node, known, imported)) - seen
    return {place: known[place] for place in seen}


def trespasses(entries):
    """Yield each call of a provider's mutation that these functions can lead to."""
    for (module, name), nodes in reachable(entries).items():
        for node in nodes:
            for part in ast.walk(node):
                if not isinstance(part, ast.Attribute) or part.attr not in FORBIDDEN - ALLOWED.get(
                    name, set()
                ):
                    continue
                if ast.unparse(part.value).split(".")[-1] in ("provider", "wiring", "prepared", "self"):
                    yield f"{module}.{name}: {ast.unparse(part)}"


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
    assert len(reachable(ENTRIES)) > 50
    assert list(trespasses(ENTRIES)) == []


@pytest.mark.parametrize("entry", ["send", "hand_off", "cancel", "send_test"])
def test_what_a_person_may_do_does_reach_one(entry):
    assert list(trespasses({entry}))


def test_the_handlers_that_are_registered_are_the_ones_that_are_looked_at(world):
    handlers = {"watch_campaign", "sweep", "collect_notices", "send_notice", "process_webhooks"}
    handlers |= {"ramp_tick", "mirror_wave"}
    assert set(world.bridge.handlers) == {*handlers, "wave_step"}
    assert len(ENTRIES) == len(handlers)


@pytest.mark.parametrize("step", WAVES)
def test_the_steps_of_a_wave_are_the_one_exception(step):
    assert list(trespasses({step}))


@pytest.mark.parametrize("name", sorted(MUTATIONS))
def test_a_mutation_that_is_asked_of_a_reader_is_a_bug_before_anybody_hears_of_it(world, name):
    campaign_id = world.drafted()
    reader = open_reader(world.bridge.wiring, world.dossier(campaign_id).connection)
    assert isinstance(reader, OnlyReads)
    with pytest.raises(AssertionError, match="only reads"):
        getattr(reader, name)
    assert world.heard() == []
