"""Print how the code is structured and how it is written: `python -m tests.metrics`.

The figures show a trend; no single one is a goal.
"""

import ast
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pi_appliance"
FEATURES = {"posting", "music", "puzzles", "notify", "settings", "access", "maintenance"}
_WHAT = re.compile(r"\bwhat\b", re.IGNORECASE)


@dataclass
class Code:
    """The counts over all modules."""

    lengths: list[int] = field(default_factory=list)
    folders: Counter[str] = field(default_factory=Counter)
    functions: list[str] = field(default_factory=list)
    classes: Counter[str] = field(default_factory=Counter)
    docstring_words: int = 0
    what_clauses: int = 0
    importers: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    feature_edges: Counter[str] = field(default_factory=Counter)


def module_name(path: Path) -> str:
    """Return the dotted name of the module at `path`."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def read_code() -> Code:
    """Read every module of the package."""
    paths = {module_name(path): path for path in PACKAGE.rglob("*.py")}
    code = Code()
    for name, path in paths.items():
        text = path.read_text("utf-8")
        code.lengths.append(text.count("\n"))
        code.folders[str(path.parent.relative_to(ROOT))] += path.name != "__init__.py"
        for node in ast.walk(ast.parse(text)):
            _count_node(code, node)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pi_appliance"):
                _count_import(code, name, node, set(paths))
    return code


def _count_node(code: Code, node: ast.AST) -> None:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("__"):
        code.functions.append(node.name.strip("_"))
    if isinstance(node, ast.ClassDef):
        code.classes[node.name.lstrip("_")] += 1
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
        docstring = ast.get_docstring(node) or ""
        code.docstring_words += len(docstring.split())
        code.what_clauses += len(_WHAT.findall(docstring))


def _count_import(code: Code, importer: str, node: ast.ImportFrom, modules: set[str]) -> None:
    for alias in node.names:
        full = f"{node.module}.{alias.name}"
        target = full if full in modules else str(node.module)
        code.importers[target].add(importer)
    package, other = (name.split(".")[1:2] for name in (importer, f"{node.module}."))
    if package and other and {*package, *other} <= FEATURES and package != other:
        code.feature_edges[f"{package[0]} -> {other[0]}"] += 1


def report(code: Code) -> str:
    """Return the figures as a table in Markdown."""
    one_word = sum("_" not in name for name in code.functions)
    edges = [(edge, str(count)) for edge, count in code.feature_edges.items()]
    one_importer = sum(len(importers) == 1 for importers in code.importers.values())
    rows = {
        "files": f"{len(code.lengths):,}",
        "lines": f"{sum(code.lengths):,}",
        "lines a file": f"median {median(code.lengths):.0f}, longest {max(code.lengths)}",
        "modules in the largest folders": ", ".join(f"{name} {count}" for name, count in code.folders.most_common(3)),
        "functions": f"{len(code.functions):,}",
        "functions with a name of one word": f"{100 * one_word / len(code.functions):.0f} %",
        "class names defined more than once": str(sum(count > 1 for count in code.classes.values())),
        "modules with one importer": f"{one_importer} ({100 * one_importer / len(code.lengths):.0f} %)",
        "'what' clauses per 1,000 docstring words": f"{1000 * code.what_clauses / max(1, code.docstring_words):.1f}",
        "imports between features": ", ".join(map(" ".join, edges)) or "none",
    }
    lines = [f"| {name} | {value} |" for name, value in rows.items()]
    return "\n".join(["| figure | value |", "| --- | --- |", *lines])


if __name__ == "__main__":
    print(report(read_code()))  # noqa: T201 - it is a script
