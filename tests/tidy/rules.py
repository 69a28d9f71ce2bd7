"""The house rules as pure functions: a file's text in, a list of complaints out.

Each complaint says where, what and what to do instead. The tests loop over the tree; a second set of tests
plants a violation of each rule, so that a rule which can't fail is noticed.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FILE_LINES = 400
FUNCTION_LINES = 50
FUNCTION_LINES_HARD = 70
SENTENCE_WORDS = 3

HTTP_CLIENTS = {
    "aiohttp",
    "apprise",
    "http.client",
    "httpcore",
    "httpcore2",
    "httpx",
    "httpx2",
    "requests",
} | {
    "urllib.request",
    "urllib3",
}
RUNNERS = {"_thread", "concurrent.futures", "multiprocessing", "signal", "subprocess", "threading"}
GUARDS = {"Condition", "Lock", "RLock", "local"}  # of `threading`: they guard state and start nothing
TIME_AND_CHANCE = {"random", "secrets", "time", "uuid"}
NOW = {"now", "today", "utcnow"}
VAGUE = re.compile(r"(?:Manager|Helper|Util|Base|Impl)s?(?![a-z])")
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b")
MACHINE_PATH = re.compile(r"(?<![\w.:}/])/(?:wo" r"rk|ro" r"ot|ho" r"me)(?=/|\b(?![-\w]))")
REGISTRY = re.compile(
    r"\b(?:python" r"hosted|pypi\.o" r"rg|npm" r"js\.|registry\.np" r"m|crates\.i" r"o)\b", re.IGNORECASE
)
SQL_START = re.compile(
    r"\s*(?:select\b.+\bfrom\b|insert\s+(?:or\s+\w+\s+)?into\b|update\s+\S+\s+set\b|delete\s+from\b|"
    r"create\s+(?:table|index|unique)\b|with\s+\w+\s+as\s*\()",
    re.IGNORECASE | re.DOTALL,
)
SQL_INSIDE = re.compile(
    r"\b(?:SELECT\b.+\bFROM\b|INSERT\s+INTO\b|UPDATE\s+\S+\s+SET\b|DELETE\s+FROM\b)", re.DOTALL
)
SQL_NAME = re.compile(r"\s*--\s*name:\s*(\S+)")


@dataclass(frozen=True)
class Source:
    """One Python file: its path inside the package (or tests), and what is in it."""

    path: str
    text: str
    tree: ast.Module = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tree", ast.parse(self.text))

    @property
    def part(self) -> str:
        """The first folder, or the file's own name at the top: `store`, `ports.py`."""
        return Path(self.path).parts[0]


def imports(source: Source) -> Iterator[tuple[int, str, str | None]]:
    """Yield (line, module, name) of every import; name is None for `import module`."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, None
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node.lineno, "." * node.level + (node.module or ""), alias.name


def _reaches(module: str, name: str | None, wanted: set[str]) -> bool:
    """Say whether an import brings in one of the wanted modules or something below it."""
    whole = f"{module}.{name}" if name else module
    return any(path == want or path.startswith(f"{want}.") for want in wanted for path in (module, whole))


def long_file(source: Source) -> list[str]:
    lines = source.text.count("\n")
    if lines <= FILE_LINES:
        return []
    return [f"{source.path}: {lines} lines, more than {FILE_LINES}: split it by what its parts do"]


def long_functions(source: Source, allowed: dict[str, str]) -> list[str]:
    found = []
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        where = f"{source.path}:{node.lineno} {node.name}"
        if lines > FUNCTION_LINES_HARD:
            found.append(f"{where}: {lines} lines, more than the hard limit of {FUNCTION_LINES_HARD}")
        elif lines > FUNCTION_LINES and f"{source.path}::{node.name}" not in allowed:
            found.append(f"{where}: {lines} lines, more than {FUNCTION_LINES}: name its steps")
    return found


def _docstrings(tree: ast.Module) -> set[int]:
    owners = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, owners) and node.body and isinstance(node.body[0], ast.Expr)
    }


def _strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield every string that is no docstring; an f-string as one text with `?` for each value."""
    skipped = _docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values)
            yield (
                node.lineno,
                "".join(str(p.value) if isinstance(p, ast.Constant) else "?" for p in node.values),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


def sql_outside_store(source: Source) -> list[str]:
    if source.part == "store":
        return []
    return [
        f"{source.path}:{line}: SQL in a string; statements live in store/sql: {text.strip()[:60]!r}"
        for line, text in _strings(source.tree)
        if SQL_START.match(text) or SQL_INSIDE.search(text)
    ]


def http_outside_providers(source: Source) -> list[str]:
    if (
        source.part in {"providers", "notices"} or source.path == "sandbox/courier.py"
    ):  # a provider's webhooks
        return []
    return [
        f"{source.path}:{line}: imports the HTTP client {module}; only providers/ and notices/ speak to the outside"
        for line, module, name in imports(source)
        if _reaches(module, name, HTTP_CLIENTS)
    ]


def web_outside_server(source: Source) -> list[str]:
    if source.part == "server":
        return []
    return [
        f"{source.path}:{line}: imports {module}; only server/ knows the web framework"
        for line, module, name in imports(source)
        if _reaches(module, name, {"fastapi", "starlette", "uvicorn"})
    ]


def threads_outside_runtime(source: Source) -> list[str]:
    if source.part == "cli" or source.path in {"engine/runtime.py", "sandbox/server.py"}:
        return []
    used = {
        node.attr
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "threading"
    }
    return [
        f"{source.path}:{line}: imports {module}; threads, processes and signals belong to engine/runtime.py"
        for line, module, name in imports(source)
        if _reaches(module, name, RUNNERS)
        and not (module == "threading" and (name in GUARDS or (name is None and used and used <= GUARDS)))
    ]


def impure_domain(source: Source) -> list[str]:
    if source.part != "domain":
        return []
    ours = "campaignbridge.domain"
    return [
        f"{source.path}:{line}: imports {module}; the domain uses the standard library and itself only"
        for line, module, name in imports(source)
        if module.split(".")[0] not in sys.stdlib_module_names and not _reaches(module, name, {ours})
    ]


def own_time_or_chance(source: Source) -> list[str]:
    if source.part not in {"domain", "flows"}:
        return []
    found = [
        f"{source.path}:{line}: imports {module}; time and chance are arguments (ports.Clock, ports.Chance)"
        for line, module, name in imports(source)
        if _reaches(module, name, TIME_AND_CHANCE)
    ]
    found += [
        f"{source.path}:{node.lineno}: reads the local clock by .{node.func.attr}(); now is the store's"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in NOW
        and ast.unparse(node.func.value).split(".")[-1] in {"date", "datetime"}
    ]
    return found


def imports_inside_functions(source: Source) -> list[str]:
    if source.part in {"cli", "bootstrap.py", "installing.py"}:
        return []
    return [
        f"{source.path}:{inner.lineno}: import inside {node.name}(); move it to the top of the file"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    ]


def vague_class_names(source: Source) -> list[str]:
    return [
        f"{source.path}:{node.lineno}: class {node.name}: say what it does for its reader"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef) and VAGUE.search(node.name)
    ]


def undocumented_package(source: Source) -> list[str]:
    if Path(source.path).name != "__init__.py" or ast.get_docstring(source.tree):
        return []
    return [f"{source.path}: no docstring; say what lives here, what may not, which file to read first"]


def short_test_names(source: Source) -> list[str]:
    return [
        f"{source.path}:{node.lineno}: {node.name}: a test's name is a sentence about behaviour"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and len([word for word in node.name.split("_")[1:] if word]) < SENTENCE_WORDS
    ]


def sleeps(source: Source) -> list[str]:
    found = [
        f"{source.path}:{line}: imports sleep; time is an argument, a test waits for a fact"
        for line, module, name in imports(source)
        if name == "sleep" and module in {"time", "asyncio"}
    ]
    found += [
        f"{source.path}:{node.lineno}: sleeps; time is an argument, a test waits for a fact"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"time.sleep", "asyncio.sleep"}
    ]
    return found


def unexplained_statements(path: str, text: str) -> list[str]:
    lines, found = text.splitlines(), []
    for number, line in enumerate(lines):
        named = SQL_NAME.match(line)
        if not named:
            continue
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        if not re.match(r"--\s*\w", following) or SQL_NAME.match(following):
            found.append(
                f"{path}:{number + 1}: {named[1]}: say in the next line (`-- …`) why its predicate is enough"
            )
    return found


def unfinished(path: str, text: str) -> list[str]:
    return _matches(path, text, UNFINISHED, "unfinished work is an issue, not a comment")


def machine_traces(path: str, text: str) -> list[str]:
    found = _matches(path, text, MACHINE_PATH, "a path of one machine")
    return found + _matches(path, text, REGISTRY, "the host of a package registry")


def _matches(path: str, text: str, pattern: re.Pattern[str], why: str) -> list[str]:
    return [
        f"{path}:{number}: {why}: {line.strip()[:80]}"
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def gaps(names: list[str]) -> list[str]:
    """Complain about file names that aren't NNNN-title.md, and about holes and doubles in the numbers."""
    found = [
        f"{name}: not NNNN-title.md" for name in names if not re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", name)
    ]
    numbers = sorted(int(name[:4]) for name in names if name[:4].isdigit())
    if numbers != list(range(1, len(numbers) + 1)):
        found.append(f"numbers have a gap or a double: {numbers}")
    return found
