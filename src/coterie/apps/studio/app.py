"""The application: addresses of the studio, what each shows, and what each form does.

    GET  /open, /log/N, /log/N/risk, /log/N/choose, /log/N/compare, /log/N/decide, /verify     the six steps
    POST /open, /log/N/again, /log/N/show, /log/N/hide, /log/N/risk, /log/N/try, /try/N/attack, /try/N/decide, /verify
    GET  /job/N (how far it is, as JSON)    POST /job/N/stop, /close

Looking never changes anything: what works is begun by a form, whose answer leads to a page that can be reloaded.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from coterie.apps.studio import commands, fields, pages, picture, plain
from coterie.apps.studio.desk import COMPARED, Attempt, Desk, OpenLog
from coterie.apps.studio.fields import BadFormError
from coterie.apps.studio.guard import DOCUMENT_POLICY, TooMuchError
from coterie.apps.studio.picture import draw
from coterie.apps.studio.plain import whole_path
from coterie.core import registry
from coterie.core.files import disk_is_full
from coterie.errors import CoterieError
from coterie.reading.reading import columns_as_text
from coterie.reports.about import POLICIES

MOST_SYNTHETIC = 100_000
MOST_FILES = 50
"""Files that can be dropped at once."""
_REFUSALS = {
    403: "This form is not from a page of this studio, or the studio was started anew. Reload the page.",
    404: "There is nothing at this address. The studio keeps nothing once it was closed.",
    400: f"That could not be read. At most {MOST_FILES} files can be dropped at once; else name them.",
}
_TOO_LARGE = "That is larger than the studio takes, so nothing was kept. Go back, and type where the file is instead."
_NO_ROOM = "The disk is full, so nothing was kept. Make room and try again, or type where the file is instead."
T = TypeVar("T")


def _named(request: Request, name: str, get: Callable[[int], T | None]) -> T:
    """What the number in an address stands for."""
    found = get(request.path_params[name])
    if found is None:
        raise HTTPException(404)
    return found


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
        errors = (HTTPException, BadFormError, CoterieError, OSError, TooMuchError, Exception)
        return Starlette(routes=routes, exception_handlers=dict.fromkeys(errors, self._refused))

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
        # Whoever waits for their first page is served first; then work may start.
        return HTMLResponse(text, status, background=BackgroundTask(desk.queue.begin))

    def _to(self, path: str) -> RedirectResponse:
        return RedirectResponse(f"{self._base}{path}", 303)

    async def _form(self, request: Request) -> FormData:
        """What was sent, if a page of ours sent it."""
        form = await request.form(max_files=MOST_FILES, max_fields=400)
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
        return _named(request, "log", self._desk.logs.get)

    def _asked_for(self, request: Request, log: OpenLog) -> Attempt | None:
        """The release of this log that an address names; None where it names none, or one of another log."""
        attempt = self._desk.attempts.get(fields.number_in(request.query_params.get("try")))
        return attempt if attempt is not None and attempt.log == log.id else None

    async def _refused(self, request: Request, error: Exception) -> Response:  # noqa: ARG002 (Starlette's signature)
        """What is said of an error in place of a page."""
        match error:
            case HTTPException():
                status, heading = error.status_code, "That did not work"
                says = _REFUSALS.get(status, "This address does not work that way.")
            case BadFormError() | CoterieError():
                status, heading, says = 400, "Something is missing", str(error)
            case TooMuchError():
                status, heading, says = 413, "Too large", _TOO_LARGE
            case OSError() if disk_is_full(error):
                status, heading, says = 507, "No room", _NO_ROOM
            case _:  # its message may hold what was typed, and is neither shown nor logged
                status, heading = 500, "Something went wrong"
                says = f"This is a mistake of Coterie ({type(error).__name__}). Nothing was written."
        return self._page("message", "", status=status, heading=heading, says=says)

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
                source = self._by_name(form)
            case "synthetic":
                users = fields.whole_of(form, "users", 2, MOST_SYNTHETIC)
                kind = fields.text_of(form, "kind")
                if kind and (self._desk.catalogue is None or kind not in self._desk.catalogue.synthetic):
                    raise BadFormError("There is no such kind of made-up log.")
                source = plain.Source(paths=(f"synth:users={users},seed=7{f',kind={kind}' if kind else ''}",))
            case "drop":
                source = await self._dropped(form)
            case _:
                raise BadFormError("Name a file, drop one, or take the made-up log.")
        return self._to(f"/log/{self._desk.open(source).id}")

    def _by_name(self, form: FormData) -> plain.Source:
        path = fields.text_of(form, "path")
        if not path:
            raise BadFormError("Type where the log is: the path of a file, or a pattern such as logs/*.gz")
        if path == "-":
            raise BadFormError("A log cannot be typed here. Name a file.")
        return plain.Source(paths=(whole_path(path),), reading=fields.reading_of(form))

    async def _dropped(self, form: FormData) -> plain.Source:
        paths, names = await self._files(form)
        if not paths:
            raise BadFormError("No file came. Choose one, or drop it on the page.")
        return plain.Source(paths=tuple(paths), shown=tuple(names), kept=False, reading=fields.reading_of(form))

    async def _log(self, request: Request) -> Response:
        log, desk = self._log_of(request), self._desk
        known = None if desk.catalogue is None or log.opened is None else desk.catalogue.columns.get(log.opened.shape)
        names = () if log.hides else log.names or (log.opened.names if log.opened is not None else ())
        return self._page(
            "log", "open", log, formats=registry.names("formats"), steps_there=registry.names("steps"),
            command=commands.inspect(log.shown), columns=columns_as_text(log.shown.reading.columns),
            known=known or fields.SEARCHES, names=names,
        )  # fmt: skip

    async def _again(self, request: Request) -> Response:
        form, log = await self._form(request), self._log_of(request)
        reading = fields.reading_of(form)
        if log.hides and not reading.columns:  # the page does not name them
            reading = replace(reading, columns=log.source.reading.columns)
        return self._to(f"/log/{self._desk.again(log, reading, fields.text_of(form, 'prepare') or 'default').id}")

    async def _show(self, request: Request) -> Response:
        form, log = await self._form(request), self._log_of(request)
        self._desk.ask(log, "names" if fields.text_of(form, "what") == "names" else "rows")
        return self._to(f"/log/{log.id}")

    async def _hide(self, request: Request) -> Response:
        await self._form(request)
        log = self._log_of(request)
        log.rows = log.names = None
        return self._to(f"/log/{log.id}")

    # --- risk ------------------------------------------------------------------------------------------

    async def _risk_page(self, request: Request) -> Response:
        log = self._log_of(request)
        return self._page("risk", "risk", log, command=commands.inspect(log.shown))

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
        attempt = self._asked_for(request, log)
        groups = catalogue.groups.get(log.opened.shape, ())
        offered = [name for _, _, names in groups for name in names]
        name = attempt.method if attempt is not None else request.query_params.get("method", "")
        if name not in offered:
            name = next(iter(offered), "")
        offer = catalogue.offers.get(name)
        typed = dict(attempt.typed) if attempt is not None else {}
        number = "" if attempt is None else f".{attempt.id}"
        out, record = f"safe{number}.tsv", f"record{number}"
        values = typed or ({} if offer is None else {"k": fields.k_of(offer)})
        command = "" if offer is None else commands.anonymize(log.shown, offer, values, out, record)
        return self._page(
            "choose", "choose", log, groups=groups, offers=catalogue.offers, offer=offer, typed=typed, attempt=attempt,
            command=command, attacks=commands.measure(log.shown, out, record), tried=desk.tried(log),
            gone=attempt is None and "try" in request.query_params,
        )  # fmt: skip

    async def _try(self, request: Request) -> Response:
        form, log = await self._form(request), self._log_of(request)
        catalogue = self._desk.catalogue
        offer = None if catalogue is None else catalogue.offers.get(fields.text_of(form, "method"))
        if offer is None or log.opened is None:
            raise BadFormError("Open a log and choose a method first.")
        if log.opened.shape not in offer.accepts or not offer.promises:
            raise BadFormError("This method is not for a log like this one. Choose another.")
        attempt = self._desk.attempt(log, offer.name, fields.parameters_of(form, offer))
        return self._to(f"/log/{log.id}/choose?try={attempt.id}#result")

    async def _attack(self, request: Request) -> Response:
        await self._form(request)
        attempt = _named(request, "attempt", self._desk.attempts.get)
        if attempt.tried is None:
            raise BadFormError("There is no release to attack yet.")
        self._desk.attack(attempt)
        return self._to(f"/log/{attempt.log}/choose?try={attempt.id}#attacks")

    # --- compare ---------------------------------------------------------------------------------------

    async def _compare(self, request: Request) -> Response:
        log, said = self._log_of(request), request.query_params
        tried = self._desk.tried(log)
        chosen = [fields.number_in(each) for each in said.getlist("t")]
        picked = [each for each in reversed(tried) if each.id in chosen] or list(reversed(tried[:COMPARED]))
        side = picked[:COMPARED]
        risks, uses = picture.axes(side, ("attacks", "privacy")), picture.axes(side, ("utility",))
        x, y = picture.picked_axis(risks, said.get("x")), picture.picked_axis(uses[::-1], said.get("y"))
        most, least = fields.percent_in(said.get("most")), fields.percent_in(said.get("least"))
        if "most" not in said and x is not None and x.section == "attacks":
            most = round(POLICIES["default"].threshold, 2)
        points = [] if x is None or y is None else picture.points(side, x.id, y.id)
        drawn = None if x is None or y is None else draw(points, (x.axis, y.axis), most, least)
        outs = [(each, f"compare.{each.id}.tsv", f"compare.{each.id}.record") for each in side]
        made = [self._anonymize(log, *out) for out in outs]
        page = commands.report(log.shown, [out for _, out, _ in outs], "compare.html", [kept for _, _, kept in outs])
        return self._page(
            "compare", "compare", log, tried=tried, side=side, risks=risks, uses=uses, x=x, y=y, most=most, least=least,
            drawn=drawn, short=picture.in_short(side), rows=picture.tables(side), compared=COMPARED,
            too_many=len(picked) > COMPARED,
            command="\n".join([*made, page]),
        )  # fmt: skip

    def _anonymize(self, log: OpenLog, attempt: Attempt, out: str, record: str) -> str:
        """What to type for a release that was tried."""
        catalogue = self._desk.catalogue
        if catalogue is None:
            return ""
        return commands.anonymize(log.shown, catalogue.offers[attempt.method], attempt.typed, out, record)

    # --- decide ----------------------------------------------------------------------------------------

    async def _decide_page(self, request: Request) -> Response:
        log, desk = self._log_of(request), self._desk
        tried = desk.tried(log)
        attempt = self._asked_for(request, log) or (tried[0] if tried else None)
        command = ""
        if attempt is not None:
            out, record = "release.tsv", "private-record"
            page = commands.report(log.shown, [out], "report.html", [record])
            command = "\n".join([self._anonymize(log, attempt, out, record), page])
        done = [each for each in desk.decisions.values() if each.log == log.id]
        return self._page(
            "decide", "decide", log, tried=tried, attempt=attempt, done=done, command=command,
            there=desk.catalogue, typed=desk.about,
            folder=desk.about.get("folder") or str(Path.cwd() / "decision"), record=desk.keeps_record(attempt),
        )  # fmt: skip

    async def _decide(self, request: Request) -> Response:
        form, attempt = await self._form(request), _named(request, "attempt", self._desk.attempts.get)
        if attempt.tried is None or self._desk.catalogue is None:
            raise BadFormError("There is no release to decide about yet.")
        kind = fields.text_of(form, "kind")
        if kind not in self._desk.catalogue.kinds:
            raise BadFormError(f"A release is written as {', '.join(self._desk.catalogue.kinds)}.")
        about: dict[str, Any] = {name: fields.text_of(form, name) for name, _ in self._desk.catalogue.questions}
        about["thresholds"] = fields.thresholds_of(form, self._desk.catalogue.thresholds)
        folder = fields.text_of(form, "folder")
        if not folder:
            raise BadFormError("Say where to write: the name of a new folder.")
        decision = self._desk.decide(attempt, folder, kind, about, keep_record=fields.text_of(form, "record") == "on")
        return self._to(f"/decision/{decision.id}")

    async def _decision(self, request: Request) -> Response:
        decision = _named(request, "decision", self._desk.decisions.get)
        return self._page("decision", "decide", self._desk.logs[decision.log], decision=decision)

    async def _report(self, request: Request) -> Response:
        """The report as it was written, in a sandbox: it has a style of its own and no way back to us."""
        decision = _named(request, "decision", self._desk.decisions.get)
        if decision.written is None:
            raise HTTPException(404)
        try:
            text = await run_in_threadpool(Path(decision.written.report).read_text, encoding="utf-8")
        except OSError:
            raise HTTPException(404) from None
        return HTMLResponse(text, headers={"content-security-policy": DOCUMENT_POLICY})

    # --- verify ----------------------------------------------------------------------------------------

    async def _verify_page(self, request: Request) -> Response:
        log = self._desk.logs.get(fields.number_in(request.query_params.get("log")))
        return self._page(
            "verify", "verify", log, logs=[each for each in self._desk.logs.values() if each.opened is not None],
            promises=registry.names("promises"), checks=list(reversed(self._desk.checks.values())), check=None,
        )  # fmt: skip

    async def _verify(self, request: Request) -> Response:
        form = await self._form(request)
        paths, names = await self._files(form)
        out = fields.text_of(form, "out")
        if paths:
            out, name = fields.release_among(paths, names)
        elif out:
            out = whole_path(out)
            name = out.rpartition("/")[2]
        else:
            raise BadFormError("Drop a release and its sidecar, or type where it is.")
        log = self._desk.logs.get(fields.number_in(fields.text_of(form, "original")))
        original = None if log is None else log.source
        if original is None and (path := fields.text_of(form, "original_path")):
            original = plain.Source(paths=(whole_path(path),))
        promise, record = fields.text_of(form, "promise"), fields.text_of(form, "record")
        record = whole_path(record) if record else ""
        k = fields.whole_of(form, "k", 1, 10**9) if fields.text_of(form, "k") else None
        shown = original if log is None else log.shown
        command = commands.verify(name if paths else out, shown, promise, k, record)
        asked = {"out": out, "original": original, "promise": promise, "k": k, "record": record}
        check = self._desk.check(name, command, None if log is None else log.id, **asked)
        return self._to(f"/verify/{check.id}")

    async def _checked(self, request: Request) -> Response:
        check = _named(request, "check", self._desk.checks.get)
        log = None if check.log is None else self._desk.logs.get(check.log)
        return self._page("verdict", "verify", log, check=check)

    # --- jobs ------------------------------------------------------------------------------------------

    async def _job(self, request: Request) -> Response:
        job = _named(request, "job", self._desk.queue.get)
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
        job = _named(request, "job", self._desk.queue.get)
        await run_in_threadpool(self._desk.queue.stop, job)
        back = fields.text_of(form, "back")
        return self._to(back if back.startswith("/") and not back.startswith("//") else "/")

    async def _end(self, request: Request) -> Response:
        await self._form(request)
        self._close()
        says = "The studio is closed. Everything it held is gone, but for the folders that you asked for."
        return self._page("closed", "", heading="Closed", says=says)
