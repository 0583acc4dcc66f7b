"""Pages for the browser: plain HTML without scripts, which loads nothing from anywhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from coterie.apps.peer.links import LONGEST_QUERY
from coterie.apps.peer.memory import SAID, Answer
from coterie.apps.peer.meter import NAMED_OTHERS, NAMED_POINTING, POINTS_AT_AUTHOR
from coterie.apps.peer.results import Result

_STYLE = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
_STYLE_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_DIGEST}'; img-src data:; base-uri 'none'; frame-ancestors 'none'; "
    f"form-action 'self'"
)
_HEADERS = {
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
}


def headers(leads_to: str = "") -> dict[str, str]:
    """What every response says to the browser. A form may be answered by being sent on to `leads_to`, and to nobody
    else: some browsers ask the policy of the page about that, too."""
    return {"Content-Security-Policy": f"{_POLICY} {leads_to}".rstrip(), **_HEADERS}


def start_page(base: str, lines: Sequence[str] = ()) -> str:
    """A place to type."""
    return _page(base, "Search", lines=lines)


def error_page(base: str, heading: str, lines: Sequence[str], query: str = "") -> str:
    """What did not work."""
    return _page(base, heading, query=query, heading=heading, lines=lines)


def forbidden_page() -> str:
    """For whoever is not the user's own browser: it says nothing, and links to nothing."""
    return "<!doctype html><title>403</title><p>This address answers the browser of its owner only."


def question_page(base: str, query: str, token: str, reasons: Sequence[str]) -> str:
    """Ask before a query leaves."""
    lines = ["It has not left this machine. If you send it, it goes from your own address; what looks like personal "
             "data is never handed to a friend."]  # fmt: skip
    question = {"token": token, "reasons": reasons}
    return _page(base, "Send this?", query=query, heading="Send this?", lines=lines, question=question)


def results_page(
    base: str, query: str, answer: Answer, hrefs: Mapping[str, str], score: float, *, remembered: bool, again: str
) -> str:
    """The results; `hrefs` are the links for their addresses, `again` is what a link to ask again says."""
    by = {result.url: result for result in answer.results}
    opened = by.get(answer.opened or "")
    if remembered:
        origin, says = f"From memory, {_ago(answer.age)} old: this search did not leave your machine.", "Ask again"
    elif answer.through_friend:
        origin, says = "A friend’s address asked.", "Ask from your own"
    else:
        origin, says = "Your own address asked.", ""
    shown = {
        "origin": origin,
        "again": f"{base}/search?{again}" if says else "",
        "again_says": says,
        "score": f"{score:.2f}",
        "points": score >= POINTS_AT_AUTHOR,
        "meaning": _meaning(score, answer, remembered),
        "opened": _shown(opened, hrefs) if remembered and opened else None,
        "results": [_shown(result, hrefs) for result in answer.results],
    }
    return _page(base, f"{query} – search", query=query, answer=shown)


def status_page(base: str, numbers: Mapping[str, int], friends: Sequence[Mapping[str, Any]]) -> str:
    """What happened since the process began, as numbers."""
    rows = [(SAID[name], value) for name, value in numbers.items()]
    return _page(base, "In numbers", heading="Since this peer was started", numbers=rows, friends=friends)


def _meaning(score: float, answer: Answer, remembered: bool) -> str:
    """How much a search points at its author, and how often the way that it took gave them away."""
    points = score >= POINTS_AT_AUTHOR
    like = f"{'Much' if points else 'Little'} like your earlier searches ({score:.2f})"
    like += ": it points at you." if points else "."
    if remembered:
        return like
    if not answer.through_friend:
        return f"{like} It went out from your own address, so the engine need not guess who asked."
    return (
        f"{like} In a simulation, an engine that knew the past of 432 real users named the author of "
        f"{NAMED_POINTING if points else NAMED_OTHERS} % of such searches. They had ten friends each; with fewer it is "
        f"more."
    )


def _shown(result: Result, hrefs: Mapping[str, str]) -> dict[str, str]:
    return {"href": hrefs[result.url], "title": result.title, "text": result.text, "host": result.host}


def _ago(seconds: float) -> str:
    if seconds < 3600:
        minutes = round(seconds / 60)
        return "less than a minute" if minutes < 1 else f"{minutes} minute{'s' * (minutes > 1)}"
    hours = round(seconds / 3600)
    return f"{hours} hour{'s' * (hours > 1)}"


def _page(base: str, title: str, **parts: Any) -> str:
    query = parts.pop("query", "")
    return _template().render(
        base=base,
        title=title,
        query=query,
        style=Markup(_STYLE),  # noqa: S704 (our own)
        longest=LONGEST_QUERY,
        **parts,
    )


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("coterie.apps.peer", "."), autoescape=True, undefined=jinja2.ChainableUndefined,
        trim_blocks=True,
    )  # fmt: skip
    return environment.get_template("page.html.j2")
