"""`coterie completion`: the completion script of a shell."""

from __future__ import annotations

import click

from coterie.cli import options as opt


@click.command(cls=opt.Command, context_settings=opt.CONTEXT)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a SHELL: eval "$(coterie completion bash)"."""
    from click.shell_completion import get_completion_class

    script = get_completion_class(shell)
    assert script is not None  # noqa: S101 (the choices above are those click knows)
    click.echo(script(ctx.find_root().command, {}, "coterie", "_COTERIE_COMPLETE").source())
