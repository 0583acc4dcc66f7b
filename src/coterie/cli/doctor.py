"""`coterie doctor`: what to paste into bug reports; and `coterie completion`: the completion script of a shell."""

from __future__ import annotations

import click

from coterie import __version__
from coterie.cli import options as opt
from coterie.cli.console import progress
from coterie.errors import ParameterError

_ENGINES = "pyspark grpcio"
_DEPENDENCIES = (
    "polars numpy numba click rich orjson msgspec jinja2 zstandard python-stdnum phonenumberslite altair"
    " vl-convert-python PyStemmer ua-parser ua-parser-builtins pyarrow pandas aiohttp cryptography"
)


@click.command(cls=opt.Command)
@click.option(
    "--engine", metavar="ADDRESS", help="Check a Spark cluster, too: spark://HOST:PORT, sc://HOST:PORT, yarn."
)
@click.option("--compile", "compiles", is_flag=True, help="Compile everything beforehand, as for a container's image.")
def doctor(engine: str | None, compiles: bool) -> None:
    """Versions, threads and memory: paste into bug reports."""
    import os
    import platform
    import shutil
    import tempfile
    from importlib.metadata import PackageNotFoundError, version

    import polars as pl

    from coterie import taxonomies

    click.echo(f"coterie {__version__}")
    click.echo(f"python {platform.python_version()} on {platform.system()} {platform.machine()}")
    for name in (_DEPENDENCIES + (f" {_ENGINES}" if engine else "")).split():
        try:
            click.echo(f"{name} {version(name)}")
        except PackageNotFoundError:
            click.echo(f"{name} not installed")
    click.echo(f"threads {pl.thread_pool_size()}")
    if hasattr(os, "sysconf"):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        click.echo(f"memory {memory / 2**30:.1f} GiB")
    click.echo(f"free space for temporary files {shutil.disk_usage(tempfile.gettempdir()).free / 2**30:.1f} GiB")
    click.echo(f"knowledge bases: wordnet ({len(taxonomies.load('wordnet')):,} nouns of WordNet 3.0)")
    if engine is not None:
        _examine(engine)
    if compiles:
        _compile()


def _examine(address: str) -> None:
    """What a cluster is, and whether its workers can do what Coterie needs."""
    from coterie.engines.clusters import cluster_at

    for line in cluster_at(address).examine(address):
        click.echo(line)


def _compile() -> None:
    """Compile into the folder that later runs of this user look into."""
    from coterie.algorithms.kernels._cache import ADVICE, folder
    from coterie.testing.compiling import compile_everything

    place = folder()
    if place is None:
        raise ParameterError(f"No folder can keep what is compiled. {ADVICE}")
    with progress(quiet=False) as job:
        compile_everything(job.progress)
    click.echo(f"compiled into {place}")


@click.command(cls=opt.Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a SHELL: eval "$(coterie completion bash)"."""
    from click.shell_completion import get_completion_class

    script = get_completion_class(shell)
    assert script is not None  # noqa: S101 (the choices above are those click knows)
    click.echo(script(ctx.find_root().command, {}, "coterie", "_COTERIE_COMPLETE").source())
