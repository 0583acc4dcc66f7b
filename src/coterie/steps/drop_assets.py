"""Leave out requests for what only belongs to a page: styles, scripts, images, fonts, icons, maps.

A request is recognized by the end of its path, in capitals or not, before `?`, `;` or `#`:

    styles and scripts    .css .less .scss .js .mjs .map .wasm
    images and icons      .png .jpg .jpeg .jpe .gif .svg .svgz .webp .avif .bmp .ico .cur .tif .tiff
    fonts                 .woff .woff2 .ttf .otf .eot
    for programs          robots.txt, favicon in any format, browserconfig.xml, .webmanifest

Documents, sound, video and archives stay: people ask for them. Put `drop_bots` before it, which looks for robots.txt.
"""

from __future__ import annotations

import polars as pl

from coterie.core.log import Log
from coterie.steps._spelling import PrepareStep, counted

ENDINGS = (
    "css less scss js mjs map wasm png jpg jpeg jpe gif svg svgz webp avif bmp ico cur tif tiff woff woff2 ttf otf eot"
    " webmanifest"
)
FILES = r"robots\.txt|favicon(?:\.[a-z0-9]+)?|browserconfig\.xml"
_ASSET = rf"(?i)^[^?;#]*(?:\.(?:{ENDINGS.replace(' ', '|')})|/(?:{FILES}))(?:[?;#]|$)"


class DropAssets(PrepareStep):
    """Leave out requests for styles, scripts, images, fonts and icons."""

    looks_at = "rows"

    def __call__(self, log: Log) -> Log:
        """The log without them; the step counts them."""
        self.only_visits(log)
        asset = pl.col("path").str.contains(_ASSET)
        counts = counted(log, rows=pl.len(), assets=asset.sum())
        note = f"drop_assets: {counts['assets']:,} of {counts['rows']:,} rows do not ask for a page and were left out."
        return self.done(log, log.frame.filter(~asset), {"assets": counts["assets"]}, note)
