"""Leave out requests for what only belongs to a page: styles, scripts, images, fonts, icons, maps.

A request is recognized by the end of its path, in capitals or not, before `?`, `;` or `#`:

    styles and scripts    .css .less .scss .js .mjs .map .wasm
    images and icons      .png .jpg .jpeg .jpe .gif .svg .svgz .webp .avif .bmp .ico .cur .tif .tiff
    fonts                 .woff .woff2 .ttf .otf .eot
    for programs          robots.txt, favicon in any format, browserconfig.xml, .webmanifest

Documents, sound, video and archives stay: people ask for them. Put `drop_bots` before it, which looks for robots.txt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from coterie.core.log import Log, Step
from coterie.steps._spelling import spelled
from coterie.steps._visits import counted, only_visits

ENDINGS = (
    "css less scss js mjs map wasm png jpg jpeg jpe gif svg svgz webp avif bmp ico cur tif tiff woff woff2 ttf otf eot"
    " webmanifest"
)
FILES = r"robots\.txt|favicon(?:\.[a-z0-9]+)?|browserconfig\.xml"
_ASSET = rf"(?i)^[^?;#]*(?:\.(?:{ENDINGS.replace(' ', '|')})|/(?:{FILES}))(?:[?;#]|$)"


@dataclass(frozen=True, kw_only=True)
class DropAssets:
    """Leave out requests for styles, scripts, images, fonts and icons."""

    looks_at: ClassVar[str] = "rows"

    def __call__(self, log: Log) -> Log:
        """The log without them; the step counts them."""
        only_visits(log, "drop_assets")
        asset = pl.col("path").str.contains(_ASSET)
        counts = counted(log, rows=pl.len(), assets=asset.sum())
        note = f"drop_assets: {counts['assets']:,} of {counts['rows']:,} rows do not ask for a page and were left out."
        step = Step(name=spelled(self), counts={"assets": counts["assets"]}, notes=(note,))
        return log.then(log.frame.filter(~asset), step)
