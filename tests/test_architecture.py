"""Who may import whom, how long a module may be, and which names are too vague for one; read from the source."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
APPS = ("advisor", "catalog", "quotes", "config")
MAX_LINES = 450
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "tools"}
# what answers a request or a command; nothing below may reach up to it
FACES = {"views", "urls", "api", "admin", "management"}
# of config, what the apps share; it imports none of them
USED_BY_APPS = ("config.api_", "config.visitors.")
# no clock, no chance, no outside world in the engine
IMPURE = {"random", "secrets", "time", "datetime", "os", "subprocess", "socket", "urllib", "http", "logging", "sqlite3"}


@dataclass(frozen=True, slots=True)
class Import:
    importer: str  # dotted name of the importing module
    imported: str
    path: Path
    line: int
    is_for_types_only: bool = False  # below `if TYPE_CHECKING`, so not there at run time

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line} imports {self.imported}"


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_in(path: Path, source: str) -> Iterator[Import]:
    """Every import statement, those inside functions and below TYPE_CHECKING too."""
    importer = module_name(path)
    package = importer if path.name == "__init__.py" else importer.rpartition(".")[0]
    tree = ast.parse(source, filename=str(path))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(importer, alias.name, path, node.lineno, id(node) in for_types)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base]).rstrip(".")
            for alias in node.names:
                yield Import(importer, f"{base}.{alias.name}", path, node.lineno, id(node) in for_types)


def sources(*folders: str) -> list[Path]:
    return sorted(
        path for folder in folders for path in (ROOT / folder).rglob("*.py") if "migrations" not in path.parts
    )


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    return [found for path in sources(*APPS) for found in imports_in(path, path.read_text(encoding="utf-8"))]


def is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def reason_against(found: Import) -> str | None:
    """Why this import is not allowed, or None."""
    app, target = found.importer.split(".")[0], found.imported.split(".")[0]
    if is_within(found.importer, "advisor.engine"):
        if is_within(found.imported, "advisor.engine") or target == "numpy":
            return None
        if target not in sys.stdlib_module_names:
            return "the engine imports numpy and the standard library only"
        return "the engine knows no clock, chance or outside world" if target in IMPURE else None
    if target == "config" and app != "config":
        return None if found.imported.startswith(USED_BY_APPS) else "of config, apps may use only api_* and visitors"
    if found.importer.startswith(USED_BY_APPS) and target in APPS and target != "config":
        return "what the apps use of config imports none of them"
    if app == "catalog" and target in {"advisor", "quotes"}:
        return "the catalogue imports neither advisor nor quotes"
    if app == "advisor" and target == "quotes":
        return "the advisor does not know the quotes"
    return None


def is_face(module: str) -> bool:
    parts = module.split(".")[1:3]
    return bool(FACES & set(parts)) or any(part.endswith(("_views", "_urls")) for part in parts)


def test_apps_import_in_one_direction(imports: list[Import]) -> None:
    faults = [f"{found}: {reason}" for found in imports if (reason := reason_against(found))]
    assert not faults, "\n".join(faults)


def test_nothing_below_reaches_up_to_views_api_admin_or_commands(imports: list[Import]) -> None:
    faults = [
        str(found)
        for found in imports
        if found.imported.split(".")[0] in {"advisor", "catalog", "quotes"}
        and is_face(found.imported)
        and not is_face(found.importer)
        and not found.importer.startswith("config.")
    ]
    assert not faults, "\n".join(faults)


def test_no_modules_import_each_other_in_a_circle(imports: list[Import]) -> None:
    modules = {module_name(path) for path in sources(*APPS)}
    edges: dict[str, set[str]] = {name: set() for name in modules}
    for found in imports:
        target = found.imported if found.imported in modules else found.imported.rpartition(".")[0]
        if target in modules and target != found.importer and not found.is_for_types_only:
            edges[found.importer].add(target)
    circle = first_circle(edges)
    assert circle is None, " -> ".join(circle or [])


def first_circle(edges: dict[str, set[str]]) -> list[str] | None:
    """The first import circle met by depth-first search, as the chain of its modules."""
    done: set[str] = set()

    def visit(module: str, chain: list[str]) -> list[str] | None:
        if module in chain:
            return [*chain[chain.index(module) :], module]
        if module in done:
            return None
        for target in sorted(edges[module]):
            if circle := visit(target, [*chain, module]):
                return circle
        done.add(module)
        return None

    return next((circle for module in sorted(edges) if (circle := visit(module, []))), None)


def test_modules_stay_short() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sources(*APPS, "tests")}
    faults = [f"{path.relative_to(ROOT)}: {length} lines" for path, length in lengths.items() if length > MAX_LINES]
    assert not faults, f"over {MAX_LINES} lines, split by subject: " + ", ".join(faults)


def test_modules_are_named_by_their_subject() -> None:
    faults = [str(path.relative_to(ROOT)) for path in sources(*APPS, "tests") if path.stem in VAGUE_NAMES]
    assert not faults, faults


@pytest.mark.parametrize(
    ("path", "source", "is_allowed"),
    [
        ("advisor/engine/memory.py", "import numpy as np", True),
        ("advisor/engine/memory.py", "from advisor.engine import units", True),
        ("advisor/engine/memory.py", "from django.conf import settings", False),
        ("advisor/engine/memory.py", "from advisor import hardware", False),
        ("advisor/engine/memory.py", "def f():\n    import time", False),
        ("advisor/engine/memory.py", "from .. import hardware", False),
        ("catalog/services.py", "from advisor.engine import units", False),
        ("catalog/services.py", "from config.settings import DEBUG", False),
        ("catalog/api/views.py", "from config.api_errors import Unprocessable", True),
        ("advisor/services.py", "from quotes.models import Quote", False),
        ("quotes/services.py", "from advisor.services import scenario_search", True),
        ("config/api_errors.py", "from quotes.models import Quote", False),
        ("config/health.py", "from catalog.services import current_revision", True),
    ],
)
def test_the_rules_tell_good_imports_from_bad_ones(path: str, source: str, is_allowed: bool) -> None:
    (found,) = imports_in(ROOT / path, source)
    assert (reason_against(found) is None) is is_allowed


def test_a_circle_is_found_and_named() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}
    assert first_circle(edges) == ["b", "c", "b"]
