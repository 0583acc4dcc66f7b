"""Whole tasks in one line: each keyword goes where it belongs, into the job, into the account, or to the task."""

from dataclasses import fields

from coterie.jobs import Account, Job


def how(**asked) -> dict:
    """The keywords of a task of `coterie.jobs`, from those of its job, of its account and of its own."""
    for name, kind in (("job", Job), ("account", Account)):
        own = {field.name: asked.pop(field.name) for field in fields(kind) if field.name in asked}
        if own:
            asked[name] = kind(**own)
    return asked
