"""Reference pages that follow from the code alone: public Python names, and the fields of a sidecar."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import coterie
from coterie import errors, testing
from coterie.writing.sidecar import Sidecar

_VERBS = ("read", "log", "inspect", "prepare", "anonymize", "write", "load_release", "verify", "measure", "report")
"""In the order in which one needs them."""
_NOUNS = (
    ("coterie.core.log", "Log", "coterie.Log"),
    ("coterie.core.log", "Release", "coterie.Release"),
    ("coterie.core.promise", "Verdict", "what `verify` gives"),
    ("coterie.core.promise", "Check", "one line of a verdict"),
)
_INNER = {
    *("then", "resources", "engine", "settings", "reading", "guessed"),
    *("go_on_to", "tick", "end_part", "end_window", "mark_place", "waiting", "mark", "abandon", "abandoned"),
    "of_state",
}
"""Members that only Coterie itself uses."""
_WIDTH = 100


def python_page() -> str:
    """The public names, from their docstrings."""
    if {*_VERBS, "Log", "Release"} != set(coterie.__all__):
        raise SystemExit("A public name is missing in tools/reference_pages.py, or is none any more.")
    parts = [
        "# Python\n",
        "```python\nimport coterie\n```\n",
        "Everything below is public; other modules are not. Logs are tables of polars, pandas, Arrow or Spark, or what "
        '`coterie.read` and `coterie.log` give. Methods are named (`"suppress_rare"`, with parameters behind it) or '
        "given as values (`SuppressRare(k=5)` of `coterie.methods.suppress_rare`). Parameters of methods: "
        "[methods.md](../methods.md).\n",
        "## Functions\n",
    ]
    for name in _VERBS:
        parts.append(_function(getattr(coterie, name), f"coterie.{name}"))
    parts.append("## Values\n")
    parts += [_class(getattr(import_module(module), name), name, note) for module, name, note in _NOUNS]
    parts.append(
        f"## Errors\n\nIn `coterie.errors`. Catch `CoterieError` for all of them.\n\n```text\n{_tree(errors)}\n```\n"
    )
    from coterie.apps.gate import Gate, Rules

    parts.append("## The gate\n\nSee [gate.md](../gate.md).\n")
    parts += [_class(Gate, "Gate", "coterie.apps.gate.Gate"), _class(Rules, "Rules", "coterie.apps.gate.Rules")]
    parts.append("## Testing kit\n\nFor methods, promises, measures and formats of your own: `coterie.testing`.\n")
    parts += [_function(getattr(testing, name), f"coterie.testing.{name}") for name in testing.__all__]
    return "\n".join(parts)


def sidecar_table() -> str:
    """The fields of a sidecar with their meaning."""
    lines = ["| field | what it holds |", "|---|---|"]
    lines += [f"| `{name}` | {_one_line(doc) or _SAID[name]} |" for name, doc in _fields(_body(Sidecar))]
    return "\n".join(lines)


_SAID = {
    "format": "The version of this format.",
    "method": "The method that made the release.",
    "parameters": "Its parameters. Never the seed.",
    "limits": "What the promises do not say, in sentences.",
    "warnings": "What the release cost, and what people should know of it.",
    "checks": "What was looked at before it was written, with counts.",
    "shape": "The columns of the release, by name ([shapes.md](../shapes.md)).",
}
"""Fields whose names say nearly all."""


def _function(made: object, called: str) -> str:
    node = _body(made)
    return f"### {called}\n\n```python\n{_signature(node, called)}\n```\n\n{_prose(ast.get_docstring(node) or '')}\n"


def _class(made: type, name: str, note: str) -> str:
    node = _body(made)
    parts = [f"### {name}\n", f"{_prose(ast.get_docstring(node) or '')} ({note})\n"]
    lines = [f"| `{field}` | {_one_line(doc)} |" for field, doc in _fields(node) if doc and field not in _INNER]
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("_") and each.name not in _INNER:
            spelled = each.name if each.decorator_list else f"{each.name}({', '.join(_names(each))})"
            lines.append(f"| `{spelled}` | {_one_line(ast.get_docstring(each) or '')} |")
    made_by = next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
    if made_by is not None:
        parts.append(f"```python\n{_signature(made_by, name)}\n```\n")
    parts.append("\n".join(["| member | what it is |", "|---|---|", *lines]) + "\n")
    return "\n".join(parts)


def _body(made: object) -> ast.ClassDef | ast.FunctionDef:
    """The class or function as it is written; its source may be that of a wrapped one."""
    made = inspect.unwrap(made)
    module = ast.parse(Path(inspect.getsourcefile(made)).read_text(encoding="utf-8"))
    return next(
        node for node in module.body if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == made.__name__
    )


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """The fields of a class, each with the text below it."""
    for each, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and not each.target.id.startswith("_"):
            said = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            yield each.target.id, inspect.cleandoc(str(after.value.value)) if said else ""


def _signature(node: ast.FunctionDef, called: str) -> str:
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    pairs = zip(positional, _padded(given.defaults, positional), strict=True)
    texts = [_argument(*each) for each in pairs if each[0].arg != "self"]
    if given.kwonlyargs:
        texts.append("*")
        texts += [_argument(*each) for each in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg:
        texts.append(f"**{_argument(given.kwarg, None)}")
    back = "" if node.returns is None or node.name == "__init__" else f" -> {ast.unparse(node.returns)}"
    line = f"{called}({', '.join(texts)}){back}"
    return line if len(line) <= _WIDTH else f"{called}(\n" + "".join(f"    {text},\n" for text in texts) + f"){back}"


def _padded(defaults: list[ast.expr], arguments: list[ast.arg]) -> list[ast.expr | None]:
    return [*[None] * (len(arguments) - len(defaults)), *defaults]


def _argument(given: ast.arg, default: ast.expr | None) -> str:
    kind = f": {ast.unparse(given.annotation)}".replace("'", '"') if given.annotation else ""
    if default is None:
        return given.arg + kind
    value = ast.unparse(default).replace("'", '"')
    return f"{given.arg}{kind} = {'...' if value.startswith('_') else value}"


def _names(node: ast.FunctionDef) -> list[str]:
    return [each.arg for each in (*node.args.args, *node.args.kwonlyargs) if each.arg != "self"]


def _tree(module: object) -> str:
    """The tree that is drawn in a docstring."""
    return textwrap.dedent(re.search(r"\n\n((?: {4}.*\n)+)", module.__doc__)[1]).rstrip()


def _prose(text: str) -> str:
    """Paragraphs without the line breaks of code."""
    return "\n\n".join(_one_line(each) for each in re.split(r"\n\s*\n", text))


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
