"""The documents agree with the tree, and their links lead somewhere."""

import re
from pathlib import Path

from campaignbridge.providers.mailchimp import Mailchimp
from campaignbridge.providers.resend import Resend
from tidy import rules, tree

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
RESEND = tree.ROOT / "docs" / "resend.md"
CASES = tree.ROOT / "docs" / "cases.md"
DECISION_LINES = 40


def documents() -> list[Path]:
    return sorted([*tree.ROOT.glob("*.md"), *(tree.ROOT / "docs").rglob("*.md")])


def anchors(path: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def dead_links(path: Path, text: str) -> list[str]:
    found = []
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        if not target.exists():
            found.append(f"{path.relative_to(tree.ROOT)}: {link} leads nowhere")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            found.append(f"{path.relative_to(tree.ROOT)}: {link} has no such heading")
    return found


def test_the_table_of_what_providers_can_do_says_what_their_adapters_say():
    rows = re.findall(
        r"^\| .*`(\w+)`.* \| (yes|no)\b.* \| (yes|no)\b.* \|$", RESEND.read_text("utf-8"), re.MULTILINE
    )
    told = {name: (mailchimp == "yes", resend == "yes") for name, mailchimp, resend in rows}
    known = Mailchimp.capabilities | Resend.capabilities
    assert told == {name: (name in Mailchimp.capabilities, name in Resend.capabilities) for name in known}


def test_links_in_documents_lead_somewhere():
    found = [line for path in documents() for line in dead_links(path, path.read_text("utf-8"))]
    assert not found, "\n" + "\n".join(found)


def test_a_dead_link_would_be_noticed():
    readme = tree.ROOT / "README.md"
    assert len(dead_links(readme, "[a](nowhere.md) [b](README.md#no-such-heading) [c](LICENSE)")) == 2


def test_decisions_are_numbered_without_gaps():
    found = rules.gaps([path.name for path in (tree.ROOT / "docs" / "decisions").glob("*") if path.is_file()])
    assert not found, "\n" + "\n".join(found)


def test_every_decision_is_short_and_has_its_three_parts():
    found = []
    for path in sorted((tree.ROOT / "docs" / "decisions").glob("*.md")):
        text = path.read_text("utf-8")
        if text.count("\n") > DECISION_LINES:
            found.append(f"{path.name}: more than {DECISION_LINES} lines")
        found += [
            f"{path.name}: no part '{part}'"
            for part in ("Context", "Decision", "Consequences")
            if f"\n## {part}\n" not in text
        ]
    assert not found, "\n" + "\n".join(found)


def test_the_index_leads_to_every_decision_and_document():
    index = (tree.ROOT / "docs" / "index.md").read_text("utf-8")
    inside = [path.relative_to(tree.ROOT / "docs").as_posix() for path in (tree.ROOT / "docs").rglob("*.md")]
    found = [name for name in sorted(inside) if name != "index.md" and f"({name})" not in index]
    assert not found, f"docs/index.md doesn't mention {found}"


def test_every_dependency_says_why_it_earns_its_place():
    text = (tree.ROOT / "pyproject.toml").read_text("utf-8")
    names = re.findall(r'^    "([a-z0-9-]+)(?:\[[a-z,]+\])?[><=]', text, re.MULTILINE)
    reasons = (tree.ROOT / "docs" / "decisions" / "0010-dependencies.md").read_text("utf-8")
    found = [name for name in names if f"`{name}`" not in reasons]
    assert names, "no dependency was found in pyproject.toml"
    assert not found, f"0010-dependencies.md gives no reason for {found}"


def test_make_explains_every_target():
    text = (tree.ROOT / "Makefile").read_text("utf-8")
    found = [name for name in TARGET.findall(text) if not re.search(rf"^{name}:.*## \S", text, re.MULTILINE)]
    assert not found, f"no '## …' behind {found}"


def test_every_test_that_the_cases_name_exists():
    text = CASES.read_text("utf-8")
    named = set(re.findall(r"`(?:tests/)?([\w/]+\.py)::(test_\w+)`", text))
    known = {
        (source.path, node.name)
        for source in tree.tests()
        for node in rules.ast.walk(source.tree)
        if isinstance(node, rules.ast.FunctionDef)
    }
    found = sorted(f"{file}::{name}" for file, name in named - known)
    assert not found, "docs/cases.md names tests that don't exist:\n" + "\n".join(found)


def test_no_case_is_left_without_its_test_once_there_are_tests_of_cases():
    if not list(tree.TESTS.rglob("test_cases*.py")):
        return
    rows = [line for line in CASES.read_text("utf-8").splitlines() if re.match(r"\| [A-Z]+-\d+ ", line)]
    found = [row.split("|")[1].strip() for row in rows if not re.search(r"\.py::test_\w+`", row)]
    assert rows, "docs/cases.md has no rows"
    assert not found, f"docs/cases.md names no test for {found}"
