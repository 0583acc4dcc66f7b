"""The application: addresses of the studio, what each shows, and what each form does.

    GET  /open, /log/N, /log/N/risk, /log/N/choose, /log/N/compare, /log/N/decide, /verify     the six steps
    POST /open, /log/N/again, /log/N/show, /log/N/hide, /log/N/risk, /log/N/try, /try/N/attack, /try/N/decide, /verify
    GET  /job/N (how far it is, as JSON)    POST /job/N/stop, /close

Looking never changes anything: what works is begun by a form, whose answer leads to a page that can be reloaded.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from coterie.core import registry
from coterie.studio import commands, pages, plain
from coterie.studio.desk import COMPARED, Attempt, Desk, OpenLog
from coterie.studio.guard import DOCUMENT_POLICY, TooMuchError
from coterie.studio.picture import Point, draw
from coterie.studio.queue import Job

MOST_SYNTHETIC = 100_000
_READING = ("format", "query_param", "user_field", "date")


class BadFormError(Exception):
    """What was typed cannot be; the sentence says why."""


class Studio:
    """Answers the browser of the owner."""

    def __init__(self, desk: Desk, base: str, upload: int, close: Callable[[], None] = lambda: None) -> None:
        self._desk, self._base, self._upload, self._close = desk, base, upload, close

    def app(self) -> Starlette:
        """The application to run behind a Guard."""
        get, post = ["GET"], ["POST"]
        routes = [
            Route("/", self._start, methods=get),
            Route("/open", self._open_page, methods=get),
            Route("/open", self._open, methods=post),
            Route("/log/{log:int}", self._log, methods=get),
            Route("/log/{log:int}/again", self._again, methods=post),
            Route("/log/{log:int}/show", self._show, methods=post),
            Route("/log/{log:int}/hide", self._hide, methods=post),
            Route("/log/{log:int}/risk", self._risk_page, methods=get),
            Route("/log/{log:int}/risk", self._risk, methods=post),
            Route("/log/{log:int}/choose", self._choose, methods=get),
            Route("/log/{log:int}/try", self._try, methods=post),
            Route("/try/{attempt:int}/attack", self._attack, methods=post),
            Route("/log/{log:int}/compare", self._compare, methods=get),
            Route("/log/{log:int}/decide", self._decide_page, methods=get),
            Route("/try/{attempt:int}/decide", self._decide, methods=post),
            Route("/decision/{decision:int}", self._decision, methods=get),
            Route("/decision/{decision:int}/report", self._report, methods=get),
            Route("/verify", self._verify_page, methods=get),
            Route("/verify", self._verify, methods=post),
            Route("/verify/{check:int}", self._checked, methods=get),
            Route("/job/{job:int}", self._job, methods=get),
            Route("/job/{job:int}/stop", self._stop, methods=post),
            Route("/close", self._end, methods=post),
            Route("/static/{name}", self._static, methods=get),
        ]
        handlers: dict[Any, Any] = {
            HTTPException: self._http_error,
            BadFormError: self._bad_form,
            TooMuchError: self._too_much,
            Exception: self._ours,
        }
        return Starlette(routes=routes, exception_handlers=handlers)

    # --- parts -----------------------------------------------------------------------------------------

    def _page(self, name: str, step: str, log: OpenLog | None = None, status: int = 200, **parts: Any) -> HTMLResponse:
        desk = self._desk
        text = pages.page(
            name,
            base=self._base,
            step=step,
            log=log,
            token=desk.token,
            before=desk.queue.before,
            upload=self._upload,
            **parts,
        )
        return HTMLResponse(text, status)

    def _to(self, path: str) -> RedirectResponse:
        return RedirectResponse(f"{self._base}{path}", 303)

    async def _form(self, request: Request) -> FormData:
        """What was sent, if a page of ours sent it."""
        form = await request.form(max_files=50, max_fields=400)
        token = form.get("token")
        if not isinstance(token, str) or not hmac.compare_digest(token.encode(), self._desk.token.encode()):
            await form.close()
            raise HTTPException(403)
        return form

    async def _files(self, form: FormData) -> tuple[list[str], list[str]]:
        """What was dropped: where its copies are, and what it was called."""
        try:
            given = [each for each in form.getlist("files") if isinstance(each, UploadFile) and each.filename]
            files = [(each.filename or "", each.file) for each in given]
            return await run_in_threadpool(self._desk.keep, files) if files else ([], [])
        finally:
            await form.close()

    def _log_of(self, request: Request) -> OpenLog:
        log = self._desk.logs.get(request.path_params["log"])
        if log is None:
            raise HTTPException(404)
        return log

    def _attempt_of(self, request: Request) -> Attempt:
        attempt = self._desk.attempts.get(request.path_params["attempt"])
        if attempt is None:
            raise HTTPException(404)
        return attempt

    async def _http_error(self, request: Request, error: Exception) -> Response:  # noqa: ARG002 (Starlette's signature)
        status = error.status_code if isinstance(error, HTTPException) else 500
        says = {
            403: "This form is not from a page of this studio, or the studio was started anew. Reload the page.",
            404: "There is nothing at this address. The studio keeps nothing once it was closed.",
        }.get(status, "This address does not work that way.")
        return self._page("message", "", status=status, heading="That did not work", says=says)

    async def _bad_form(self, request: Request, error: Exception) -> Response:  # noqa: ARG002 (the same)
        return self._page("message", "", status=400, heading="Something is missing", says=str(error))

    async def _too_much(self, request: Request, error: Exception) -> Response:  # noqa: ARG002 (the same)
        says = "That is larger than the studio takes, so nothing was kept. Go back, and type where the file is instead."
        return self._page("message", "", status=413, heading="Too large", says=says)

    async def _ours(self, request: Request, error: Exception) -> Response:  # noqa: ARG002 (the same)
        # Whatever it is: its message may hold what was typed, and is neither shown nor logged.
        says = f"This is a mistake of Coterie ({type(error).__name__}). Nothing was written."
        return self._page("message", "", status=500, heading="Something went wrong", says=says)

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in pages.STATIC:
            raise HTTPException(404)
        return Response(pages.static(name), headers={"content-type": pages.STATIC[name]})

    # --- open ------------------------------------------------------------------------------------------

    async def _start(self, request: Request) -> Response:  # noqa: ARG002 (the same)
        newest = next(reversed(self._desk.logs), None)
        return self._to("/open" if newest is None else f"/log/{newest}")

    async def _open_page(self, request: Request) -> Response:  # noqa: ARG002 (the same)
        catalogue = self._desk.catalogue
        kinds = () if catalogue is None else catalogue.synthetic
        return self._page(
            "open", "open", logs=list(self._desk.logs.values()), formats=registry.names("formats"), kinds=kinds
        )

    async def _open(self, request: Request) -> Response:
        form = await self._form(request)
        match form.get("how"):
            case "name":
                source = self._named(form)
            case "synthetic":
                users = _whole(form, "users", 2, MOST_SYNTHETIC)
                kind = _text(form, "kind")
                source = plain.Source(paths=(f"synth:users={users},seed=7{f',kind={kind}' if kind else ''}",))
            case "drop":
                source = await self._dropped(form)
            case _:
                raise BadFormError("Name a file, drop one, or take the made-up log.")
        return self._to(f"/log/{self._desk.open(source).id}")

    def _named(self, form: FormData) -> plain.Source:
        path = _text(form, "path")
        if not path:
            raise BadFormError("Type where the log is: the path of a file, or a pattern such as logs/*.gz")
        if path == "-":
            raise BadFormError("A log cannot be typed here. Name a file.")
        return plain.Source(paths=(str(Path(path).expanduser()),), reading=_reading(form))

    async def _dropped(self, form: FormData) -> plain.Source:
        paths, names = await self._files(form)
        if not paths:
            raise BadFormError("No file came. Choose one, or drop it on the page.")
        return plain.Source(paths=tuple(paths), shown=tuple(names), kept=False, reading=_reading(form))

    async def _log(self, request: Request) -> Response:
        log, desk = self._log_of(request), self._desk
        known = None if desk.catalogue is None or log.opened is None else desk.catalogue.columns.get(log.opened.shape)
        names = log.names or (log.opened.names if log.opened is not None else ())
        return self._page(
            "log", "open", log, formats=registry.names("formats"), steps_there=registry.names("steps"),
            command=commands.inspect(log.source), known=known or _SEARCHES, names=names,
        )  # fmt: skip

    async def _again(self, request: Request) -> Response:
        form, log = await self._form(request), self._log_of(request)
        return self._to(f"/log/{self._desk.again(log, _reading(form), _text(form, 'prepare') or 'default').id}")

    async def _show(self, request: Request) -> Response:
        form, log = await self._form(request), self._log_of(request)
        self._desk.ask(log, "names" if _text(form, "what") == "names" else "rows")
        return self._to(f"/log/{log.id}")

    async def _hide(self, request: Request) -> Response:
        await self._form(request)
        log = self._log_of(request)
        log.rows = log.names = None
        return self._to(f"/log/{log.id}")

    # --- risk ------------------------------------------------------------------------------------------

    async def _risk_page(self, request: Request) -> Response:
        log = self._log_of(request)
        return self._page("risk", "risk", log, command=commands.inspect(log.source))

    async def _risk(self, request: Request) -> Response:
        await self._form(request)
        log = self._log_of(request)
        self._desk.risk(log)
        return self._to(f"/log/{log.id}/risk")

    # --- choose ----------------------------------------------------------------------------------------

    async def _choose(self, request: Request) -> Response:
        log, desk = self._log_of(request), self._desk
        catalogue = desk.catalogue
        if catalogue is None or log.opened is None:
            return self._page("wait", "choose", log, job=desk.known if catalogue is None else log.job)
        attempt = desk.attempts.get(_number(request.query_params.get("try")))
        groups = catalogue.groups.get(log.opened.shape, ())
        offered = [name for _, _, names in groups for name in names]
        name = attempt.method if attempt is not None else request.query_params.get("method", "")
        if name not in offered:
            name = next(iter(offered), "")
        offer = catalogue.offers.get(name)
        typed = dict(attempt.typed) if attempt is not None else {}
        command = "" if offer is None else commands.anonymize(log.source, offer, typed or {"k": _k(offer)}, "safe.tsv")
        return self._page(
            "choose", "choose", log, groups=groups, offers=catalogue.offers, offer=offer, typed=typed, attempt=attempt,
            command=command, attacks=commands.measure(log.source, "safe.tsv"), tried=desk.tried(log),
        )  # fmt: skip

    async def _try(self, request: Request) -> Response:
        form, log = await self._form(request), self._log_of(request)
        catalogue = self._desk.catalogue
        offer = None if catalogue is None else catalogue.offers.get(_text(form, "method"))
        if offer is None or log.opened is None:
            raise BadFormError("Open a log and choose a method first.")
        attempt = self._desk.attempt(log, offer.name, _typed(form, offer))
        return self._to(f"/log/{log.id}/choose?try={attempt.id}#result")

    async def _attack(self, request: Request) -> Response:
        await self._form(request)
        attempt = self._attempt_of(request)
        if attempt.tried is None:
            raise BadFormError("There is no release to attack yet.")
        self._desk.attack(attempt)
        return self._to(f"/log/{attempt.log}/choose?try={attempt.id}#attacks")

    # --- compare ---------------------------------------------------------------------------------------

    async def _compare(self, request: Request) -> Response:
        log, said = self._log_of(request), request.query_params
        tried = self._desk.tried(log)
        chosen = [_number(each) for each in said.getlist("t")]
        picked = [each for each in reversed(tried) if each.id in chosen] or list(reversed(tried[:COMPARED]))
        side = picked[:COMPARED]
        risks, uses = _axes(side, ("attacks", "privacy")), _axes(side, ("utility",))
        x, y = _picked_axis(risks, said.get("x")), _picked_axis(uses[::-1], said.get("y"))
        most, least = _percent(said.get("most")), _percent(said.get("least"))
        if "most" not in said and x is not None and x.section == "attacks":
            most = _one_in_k(side)
        points = [] if x is None or y is None else _points(side, x.id, y.id)
        drawn = None if x is None or y is None else draw(points, (x.axis, y.axis), most, least)
        records = [f"record.{each.id}" for each in side]
        return self._page(
            "compare", "compare", log, tried=tried, side=side, risks=risks, uses=uses, x=x, y=y, most=most, least=least,
            drawn=drawn, short=_in_short(side), rows=_side_by_side(side), compared=COMPARED,
            too_many=len(picked) > COMPARED,
            command=commands.report(log.source, [f"safe.{each.id}.tsv" for each in side], "report.html", records),
        )  # fmt: skip

    # --- decide ----------------------------------------------------------------------------------------

    async def _decide_page(self, request: Request) -> Response:
        log, desk = self._log_of(request), self._desk
        tried = desk.tried(log)
        attempt = desk.attempts.get(_number(request.query_params.get("try"))) or (tried[0] if tried else None)
        command = ""
        if attempt is not None and desk.catalogue is not None:
            offer = desk.catalogue.offers[attempt.method]
            command = commands.anonymize(log.source, offer, attempt.typed, "release.tsv", "private-record")
        done = [each for each in desk.decisions.values() if desk.attempts[each.attempt].log == log.id]
        return self._page(
            "decide", "decide", log, tried=tried, attempt=attempt, done=done, command=command,
            there=desk.catalogue, typed=desk.about,
            folder=desk.about.get("folder") or str(Path.cwd() / "decision"),
        )  # fmt: skip

    async def _decide(self, request: Request) -> Response:
        form, attempt = await self._form(request), self._attempt_of(request)
        if attempt.tried is None or self._desk.catalogue is None:
            raise BadFormError("There is no release to decide about yet.")
        kind = _text(form, "kind")
        if kind not in self._desk.catalogue.kinds:
            raise BadFormError(f"A release is written as {', '.join(self._desk.catalogue.kinds)}.")
        about: dict[str, Any] = {name: _text(form, name) for name, _ in self._desk.catalogue.questions}
        about["thresholds"] = _thresholds(form, self._desk.catalogue.thresholds)
        folder = _text(form, "folder")
        if not folder:
            raise BadFormError("Say where to write: the name of a new folder.")
        decision = self._desk.decide(attempt, folder, kind, about, keep_record=_text(form, "record") == "on")
        return self._to(f"/decision/{decision.id}")

    async def _decision(self, request: Request) -> Response:
        decision = self._desk.decisions.get(request.path_params["decision"])
        if decision is None:
            raise HTTPException(404)
        attempt = self._desk.attempts[decision.attempt]
        return self._page("decision", "decide", self._desk.logs[attempt.log], decision=decision, attempt=attempt)

    async def _report(self, request: Request) -> Response:
        """The report as it was written, in a sandbox: it has a style of its own and no way back to us."""
        decision = self._desk.decisions.get(request.path_params["decision"])
        if decision is None or decision.written is None:
            raise HTTPException(404)
        try:
            text = await run_in_threadpool(Path(decision.written.report).read_text, encoding="utf-8")
        except OSError:
            raise HTTPException(404) from None
        return HTMLResponse(text, headers={"content-security-policy": DOCUMENT_POLICY})

    # --- verify ----------------------------------------------------------------------------------------

    async def _verify_page(self, request: Request) -> Response:
        log = self._desk.logs.get(_number(request.query_params.get("log")))
        return self._page(
            "verify", "verify", log, logs=[each for each in self._desk.logs.values() if each.opened is not None],
            promises=registry.names("promises"), checks=list(reversed(self._desk.checks.values())), check=None,
        )  # fmt: skip

    async def _verify(self, request: Request) -> Response:
        form = await self._form(request)
        paths, names = await self._files(form)
        out = _text(form, "out")
        if paths:
            out, name = _release_among(paths, names)
        elif out:
            out = str(Path(out).expanduser())
            name = Path(out).name
        else:
            raise BadFormError("Drop a release and its sidecar, or type where it is.")
        log = self._desk.logs.get(_number(_text(form, "original")))
        original = None if log is None else log.source
        if original is None and (path := _text(form, "original_path")):
            original = plain.Source(paths=(str(Path(path).expanduser()),))
        promise, record = _text(form, "promise"), _text(form, "record")
        k = _whole(form, "k", 1, 10**9) if _text(form, "k") else None
        command = commands.verify(name if paths else out, original, promise, k, record)
        check = self._desk.check(
            name,
            command,
            None if log is None else log.id,
            out=out,
            original=original,
            promise=promise,
            k=k,
            record=record,
        )
        return self._to(f"/verify/{check.id}")

    async def _checked(self, request: Request) -> Response:
        check = self._desk.checks.get(request.path_params["check"])
        if check is None:
            raise HTTPException(404)
        log = None if check.log is None else self._desk.logs.get(check.log)
        return self._page("verdict", "verify", log, check=check)

    # --- jobs ------------------------------------------------------------------------------------------

    def _job_of(self, request: Request) -> Job:
        job = self._desk.queue.get(request.path_params["job"])
        if job is None:
            raise HTTPException(404)
        return job

    async def _job(self, request: Request) -> Response:
        job = self._job_of(request)
        says = {
            "state": job.state,
            "stage": job.stage,
            "share": job.share,
            "seconds": pages.duration(job.seconds),
            "left": pages.duration(job.left),
            "before": self._desk.queue.before(job) if job.state == "waiting" else 0,
        }
        return JSONResponse(says)

    async def _stop(self, request: Request) -> Response:
        form = await self._form(request)
        job = self._job_of(request)
        await run_in_threadpool(self._desk.queue.stop, job)
        back = _text(form, "back")
        return self._to(back if back.startswith("/") and not back.startswith("//") else "/")

    async def _end(self, request: Request) -> Response:
        await self._form(request)
        self._close()
        says = "The studio is closed. Everything it held is gone, but for the folders that you asked for."
        return self._page("closed", "", heading="Closed", says=says)


# --- what was typed --------------------------------------------------------------------------------------

_SEARCHES = (("user", ""), ("time", ""), ("query", ""), ("rank", ""), ("url", ""))
"""Columns to ask for where it is not known yet what a file holds."""


def _text(form: FormData, name: str) -> str:
    value = form.get(name)
    return value.strip()[:4000] if isinstance(value, str) else ""


def _whole(form: FormData, name: str, least: int, most: int) -> int:
    number = _number(_text(form, name), -1)
    if not least <= number <= most:
        raise BadFormError(f"{name} must be a whole number from {least:,} to {most:,}.")
    return number


def _number(text: str | None, otherwise: int = 0) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 12 else otherwise


def _percent(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number <= 1000 else None


def _thresholds(form: FormData, risks: tuple[str, ...]) -> dict[str, float]:
    """The thresholds that were typed."""
    found = {}
    for risk in risks:
        text = _text(form, f"threshold.{risk}")
        number = _percent(text)
        if text and (number is None or number > 100):
            raise BadFormError(f"The threshold for {risk.replace('_', ' ')} is a percentage from 0 to 100.")
        if number is not None:
            found[risk] = number
    return found


def _reading(form: FormData) -> dict[str, Any]:
    """How to read a log, as far as a form says it."""
    reading: dict[str, Any] = {name: text for name in _READING if (text := _text(form, name))}
    columns = {name[7:]: text for name in form if name.startswith("column.") and (text := _text(form, name))}
    for pair in _text(form, "columns").split(","):
        ours, mark, theirs = pair.partition("=")
        if mark and ours.strip() and theirs.strip():
            columns[ours.strip()] = theirs.strip()
    if columns:
        reading["columns"] = columns
    if _text(form, "allow_bad") == "on":
        reading["allow_bad"] = True
    return reading


def _typed(form: FormData, offer: plain.Offer) -> dict[str, str]:
    """What was typed for each parameter of a method."""
    typed = {}
    for field in offer.fields:
        name = f"p.{field.name}"
        if field.widget == "flag":
            typed[field.name] = "on" if name in form else ""
        elif field.widget == "several":
            typed[field.name] = ",".join(str(each) for each in form.getlist(name)) or "none"
        elif text := _text(form, name):
            typed[field.name] = text
    return typed


def _k(offer: plain.Offer) -> str:
    return next((field.default for field in offer.fields if field.name == "k"), "")


def _release_among(paths: list[str], names: list[str]) -> tuple[str, str]:
    """Which of the files that were dropped is the release: not the sidecar of another one."""
    sidecars = {path for path in paths if path.removesuffix(".json") in paths and path.endswith(".json")}
    place = next((i for i, path in enumerate(paths) if path not in sidecars), 0)
    return paths[place], names[place]


# --- side by side ----------------------------------------------------------------------------------------


def _axes(side: list[Attempt], sections: tuple[str, ...]) -> list[plain.Shown]:
    """The figures that can be an axis: those of the first release that all of them have, attacks first."""
    if not side:
        return []
    common = set.intersection(*({each.id for each in attempt.figures} for attempt in side))
    axes = [each for each in side[0].figures if each.axis and each.section in sections and each.id in common]
    return sorted(axes, key=lambda each: sections.index(each.section))


def _picked_axis(axes: list[plain.Shown], name: str | None) -> plain.Shown | None:
    return next((each for each in axes if each.id == name), axes[0] if axes else None)


def _one_in_k(side: list[Attempt]) -> float | None:
    """What a report weighs attacks against unless told otherwise: one in the largest k."""
    ks = [each.tried.k for each in side if each.tried is not None and each.tried.k is not None]
    return round(100 / max(ks), 2) if ks else None


def _points(side: list[Attempt], x: str, y: str) -> list[Point]:
    points = []
    for place, attempt in enumerate(side, 1):
        figures = {each.id: each for each in attempt.figures}
        label = attempt.tried.label if attempt.tried is not None else attempt.method
        a, b = figures[x], figures[y]
        if a.number is not None and b.number is not None:
            points.append(Point(label=label, place=place, x=a.number, y=b.number))
        if a.random_number is not None and b.random_number is not None:
            points.append(Point(label=f"Random groups in place of {label}", place=place, x=a.random_number,
                                y=b.random_number, random=True))  # fmt: skip
    return points


def _in_short(side: list[Attempt]) -> list[tuple[str, list[tuple[str, str]]]]:
    """What each release leaves of the three risks, and what can be an axis: a title, and a text with its reading."""
    rows: dict[str, list[tuple[str, str]]] = {}
    for place, attempt in enumerate(side):
        found: dict[str, tuple[str, str]] = {}
        for each in () if attempt.attacked is None else attempt.attacked.weighed:
            found.setdefault(each.risk.capitalize(), (each.after, each.says))
        found |= {each.title: (each.after, "") for each in attempt.figures if each.axis}
        for title, text in found.items():
            rows.setdefault(title, [("–", "")] * len(side))[place] = text
    return list(rows.items())


def _side_by_side(side: list[Attempt]) -> list[tuple[str, list[tuple[plain.Shown, list[plain.Shown | None]]]]]:
    """Each section with its figures, and what each release has for them."""
    sections = {"privacy": "Privacy", "attacks": "Attacks", "utility": "Use"}
    tables = []
    for section, title in sections.items():
        rows: dict[str, plain.Shown] = {}
        for attempt in side:
            rows |= {each.id: each for each in attempt.figures if each.section == section and each.id not in rows}
        by = [{each.id: each for each in attempt.figures} for attempt in side]
        tables.append((title, [(figure, [own.get(name) for own in by]) for name, figure in rows.items()]))
    return [(title, rows) for title, rows in tables if rows]
