"""Write the generated parts of README.md and docs/. With --check only say whether they are up to date.

A generated part stands between `<!-- begin NAME -->` and `<!-- end NAME -->`; whole pages are generated too. Tutorials
and how-to pages have commands that are run: what stands below them is what they printed.
"""

from __future__ import annotations

import argparse
import re
import sys
from functools import partial
from inspect import cleandoc
from pathlib import Path

import click
from executed_pages import executed
from reference_pages import python_page, sidecar_table

from coterie import measures
from coterie.cli import options
from coterie.cli.lists import example_of
from coterie.cli.main import cli
from coterie.core import registry
from coterie.core.params import params_of, with_values
from coterie.core.promise import Promise, promise_class
from coterie.core.shapes import LEVEL, SHAPES, VISITS
from coterie.measures.inputs import INPUTS
from coterie.reading import searches as _searches
from coterie.steps.scrub import RECOGNIZERS

ROOT = Path(__file__).parents[1]


def method_table() -> str:
    lines = ["| method | accepts | promise | status |", "|---|---|---|---|"]
    for name in registry.names("methods"):
        method = registry.method(name)
        accepts = ", ".join(shape.name for shape in method.accepts)
        lines.append(
            f"| `{name}` | {accepts} | {_section(registry.module('methods', name), 'Promise')} | {method.status} |"
        )
    return "\n".join(lines)


def short_method_table() -> str:
    """The same for a first look: who is hidden among how many others, in one sentence."""
    lines = ["| method | what it promises |", "|---|---|"]
    for name in registry.names("methods"):
        lines.append(f"| `{name}` | {_section(registry.module('methods', name), 'Promise')} |")
    return "\n".join(lines)


def _section(module, title: str) -> str:
    """The first sentence of a section of a method's docstring."""
    text = re.search(rf"^{title}: (.*?)(?=^\w+: |\Z)", cleandoc(module.__doc__), re.S | re.M)[1]
    return " ".join(text.split()).partition(". ")[0].rstrip(".")


def measure_table() -> str:
    lines = ["| measure | what it tells | needs |", "|---|---|---|"]
    for name in registry.names("measures"):
        lines.append(f"| `{name}` | {_first_line('measures', name).rstrip('.')} | {_needs(name) or 'nothing else'} |")
    return "\n".join(lines)


def _needs(name: str) -> str:
    """What a measure needs besides a log and a release: the run record, and inputs without a default."""
    needs = measures.load(name).needs
    inputs = [f"`{INPUTS[each].option}`" for each in sorted(needs & set(INPUTS)) if INPUTS[each].default is None]
    return ", ".join([*(["`--record`"] if "record" in needs else []), *inputs])


def _first_line(kind: str, name: str) -> str:
    return (registry.module(kind, name).__doc__ or "").strip().splitlines()[0]


def format_table() -> str:
    lines = ["| format | what it is |", "|---|---|"]
    for name in registry.names("formats"):
        lines.append(f"| `{name}` | {registry.module('formats', name).__doc__.strip().splitlines()[0]} |")
    return "\n".join(lines)


def methods_page() -> str:
    parts = ["# Methods\n"]
    for name in registry.names("methods"):
        parts.append(f"## {name}\n\n```text\n{cleandoc(registry.module('methods', name).__doc__)}\n```\n")
        parts.append("| parameter | default | allowed | meaning |\n|---|---|---|---|")
        for p in params_of(registry.method(name)):
            parts.append(f"| `{p.name}` | `{p.default}` | {p.rule.describe(p.kind)} | {p.doc} |")
        parts.append("")
    return "\n".join(parts)


_SEARCHES_MORE = """\
`coterie inspect access.log` tells which parameters seem to hold searches, and how many rows have them. All methods for
search logs then apply. The sidecar of a release says which parameter it was, so that `verify`, `measure` and `report`
read the original in the same way:

```sh
coterie anonymize interest_microaggregate access.log --query-param q -o safe.tsv
coterie verify safe.tsv --original access.log
```

In Python it is `coterie.read("access.log", query_param="q")`, in a study `query_param = "q"` in `[read]`. Names of
parameters are told apart by case. Tables with a column `path` can be read so, too. What a form sends with POST does not
stand in an access log. Robots are not left out: who they are is not known any more once a log is a search log."""


def formats_page() -> str:
    parts = [
        "# Formats\n\nThe format is sniffed from the first lines, or named with `--format`. Each format says how sure "
        "it is, from 0 to 1, and the surest one reads the file; where two are equally sure, `--format` must say which. "
        "A package of yours can add a format by an entry point of the group `coterie.formats`: see "
        "`src/coterie/reading/formats/__init__.py`, and examine it with `coterie.testing.check_format`.\n"
    ]
    for name in registry.names("formats"):
        parts.append(f"## {name}\n\n{cleandoc(registry.module('formats', name).__doc__)}\n")
    parts.append(f"## Access logs as search logs\n\n{cleandoc(_searches.__doc__ or '')}\n\n{_SEARCHES_MORE}\n")
    return "\n".join(parts)


def measures_page() -> str:
    parts = ["# Measures\n\nRows are `name, key, value, unit`; percentages are on 0..100.\n"]
    for name in registry.names("measures"):
        text = cleandoc(registry.module("measures", name).__doc__)
        needs = f"Needs {_needs(name)}." if _needs(name) else "Needs nothing but the log and the release."
        parts.append(f"## {name}\n\n```text\n{text}\n```\n\n{needs}\n")
    return "\n".join(parts)


_NAMES_MEASURED = """\
### How much names finds

By `python benchmarks/names_quality.py` with the list `census`. Names are drawn from all names of the census, by how
many people have them, also from those that are not on the list; names of other countries and times are found less, and
nicknames, user names and single names not at all.

| queries | how many | with a name, by the step |
|---|---:|---:|
| made up around a full name (recall) | 20,000 | 80.3 % |
| the same, a first name with a letter after it | 3,305 | 80.7 % |
| made up of two words of WordNet (wrongly found) | 20,000 | 0.1 % |
| AOL queries with digits, labelled by hand as personal data: yes | 315 | 2.5 % |
| the same: no | 615 | 2.3 % |

The labelled queries are addresses and numbers for the most part, so they tell how rarely these hold a full name, not
how well names are found.
"""


def steps_page() -> str:
    parts = [
        "# Prepare steps\n\nUnless you say otherwise, `--prepare default` is done: `normalize,drop_empty`, and for "
        "access logs `strip_query,normalize,drop_empty`. `--prepare none` for none. A step may "
        'have parameters: `--prepare "default,sessions(minutes=10)"`. The same text stands in TOML (or '
        '`{name = "sessions", minutes = 10}`) and in the sidecar of a release, so that verify, measure and report '
        "prepare the original in the same way. In Python a step may also be a value: `Sessions(minutes=10)`.\n"
    ]
    for name in registry.names("steps"):
        parts.append(f"## {name}\n\n{cleandoc(registry.module('steps', name).__doc__)}\n")
        table = [
            f"| `{p.name}` | `{p.default}` | {p.rule.describe(p.kind)} | {p.doc} |"
            for p in params_of(registry.member("steps", name))
        ]
        if table:
            parts.append("\n".join(["| parameter | default | allowed | meaning |", "|---|---|---|---|", *table, ""]))
    parts.append(_NAMES_MEASURED)
    kinds = "\n".join(f"| `{r.name}` | {r.doc} |" for r in RECOGNIZERS)
    parts.append(
        f"### What scrub looks for\n\n| kind | meaning |\n|---|---|\n{kinds}\n\nMeasured in [scrub.md](scrub.md).\n"
    )
    return "\n".join(parts)


def shapes_page() -> str:
    parts = [
        "# Shapes\n\nEvery table has a named shape; these are all of them.\n",
        f"Where a promise says how fine times are, a release of searches or visits has one column more, behind `time`: "
        f"`{LEVEL}` (hour, day, week, month or quarter). `time` is the beginning of what it says; both are empty, or "
        f"neither is.\n",
    ]
    for shape in SHAPES.values():
        parts.append(f"## {shape.name}\n\n{shape.doc.capitalize()}.\n")
        parts.append("| column | type | may be null | meaning |\n|---|---|---|---|")
        for column in shape.columns:
            private = " (never released)" if column.name in shape.private else ""
            private += " (points at a person)" if column.name in shape.identifying else ""
            private += " (empty in every release)" if column.name in shape.never_given else ""
            parts.append(
                f"| `{column.name}` | {column.dtype} | {'yes' if column.nullable else 'no'} | {column.doc}{private} |"
            )
        if shape.subject:
            revealed = f" Revealed: `{shape.item}`, called a {shape.item_noun}." if shape.item else ""
            parts.append(f"\nProtected: `{shape.subject}`, called a {shape.subject_noun}.{revealed}")
        parts.append("")
    return "\n".join(parts)


def promises_page() -> str:
    parts = ["# Promises\n\nWhat a release can promise, for k = 5, and what that does not say.\n"]
    for name in registry.names("promises"):
        promise = example_of(promise_class(name))
        parts.append(f"## {name}\n\n{promise.__doc__}\n\n{_said_by(promise)}")
        visits = with_values(promise, shape=VISITS.name)
        if visits != promise:
            parts.append(f"Of an access log it says:\n\n{_said_by(visits)}")
    return "\n".join(parts)


def _said_by(promise: Promise) -> str:
    limits = "\n".join(f"- {limit}" for limit in promise.limits)
    return f"> {promise.sentence}\n\nIts limits:\n\n{limits}\n"


def cli_page() -> str:
    parts = [
        "# Command line\n\nThe help of every command. Exit codes: 0 done, 1 the promise does not hold "
        "(`verify`, and `report`, which writes its page all the same), 2 bad usage, "
        "bad input or a full disk, 3 not checkable with what was given (`verify`), 70 our fault, 130 Ctrl-C, "
        "141 nobody reads the output any more (`| head`).\n"
    ]
    for name, command in _commands(cli):
        parts.append(_help(command, f"coterie {name}"))
        if isinstance(command, click.Group):
            parts += [_help(each, f"coterie {name} {sub}") for sub, each in _commands(command)]
    return "\n".join(parts)


def _commands(group: click.Group) -> list[tuple[str, click.Command]]:
    with click.Context(group) as ctx:
        return [(name, group.get_command(ctx, name)) for name in group.list_commands(ctx)]


def _help(command: click.Command, path: str) -> str:
    with click.Context(command, info_name=path, terminal_width=100, **options.CONTEXT) as ctx:
        return f"## {path}\n\n```text\n{command.get_help(ctx)}\n```\n"


def protocols_part() -> str:
    parts = []
    for name in registry.names("protocols"):
        parts.append(f"### {name}\n\n```text\n{cleandoc(registry.module('protocols', name).__doc__)}\n```\n")
        parts.append("| parameter | default | allowed | meaning |\n|---|---|---|---|")
        for p in params_of(registry.member("protocols", name)):
            parts.append(f"| `{p.name}` | `{p.default}` | {p.rule.describe(p.kind)} | {p.doc} |")
        parts.append("")
    return "\n".join(parts).rstrip()


def simulation_measures_part() -> str:
    kind = "simulation_measures"
    texts = {name: registry.module(kind, name).__doc__ for name in registry.names(kind)}
    return "\n\n".join(f"### {name}\n\n```text\n{cleandoc(text)}\n```" for name, text in texts.items())


PAGES = {
    "docs/methods.md": methods_page,
    "docs/formats.md": formats_page,
    "docs/measures.md": measures_page,
    "docs/prepare.md": steps_page,
    "docs/shapes.md": shapes_page,
    "docs/promises.md": promises_page,
    "docs/cli.md": cli_page,
    "docs/reference/python.md": python_page,
}
PARTS = {
    "README.md": {"methods": short_method_table},
    "docs/how_to/choose_a_method.md": {"methods": method_table},
    "docs/reference/README.md": {"formats": format_table, "measures": measure_table},
    "docs/reference/sidecar.md": {"fields": sidecar_table},
    "docs/simulate.md": {"protocols": protocols_part, "measures": simulation_measures_part},
}
EXECUTED = ("README.md", *(f"docs/{folder}/*.md" for folder in ("tutorial", "how_to")))
"""Pages whose commands are run, as patterns."""


def _filled(text: str, found: re.Match[str]) -> str:
    return f"{found[1]}{text}\n{found[2]}"


def pages() -> list[Path]:
    """All pages with something generated, those whose commands are run last."""
    run = [path for pattern in EXECUTED for path in sorted(ROOT.glob(pattern))]
    return [*(ROOT / name for name in (*PAGES, *PARTS) if ROOT / name not in run), *run]


def generated(path: Path) -> str:
    """The text that a page should have."""
    name = path.relative_to(ROOT).as_posix()
    if name in PAGES:
        note = "<!-- generated by tools/generate_docs.py: edit the code instead -->\n\n"
        return note + PAGES[name]().rstrip() + "\n"
    text = path.read_text(encoding="utf-8")
    for part, make in PARTS.get(name, {}).items():
        pattern = rf"(<!-- begin {part} -->\n).*?(<!-- end {part} -->)"
        text = re.sub(pattern, partial(_filled, make()), text, flags=re.S)
    return executed(text) if any(path.match(pattern) for pattern in EXECUTED) else text


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.partition(".")[0])
    arguments.add_argument("--check", action="store_true", help="only say which pages are stale")
    arguments.add_argument("pages", nargs="*", type=Path, help="some pages in place of all")
    given = arguments.parse_args()
    stale = False
    for path in [path.resolve() for path in given.pages] or pages():
        text = generated(path)
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale = True
        if given.check:
            print(f"{path.relative_to(ROOT)} is stale: run make docs")
        else:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    return stale and given.check


if __name__ == "__main__":
    sys.exit(main())
