"""`a2a-watch show`: one whole message."""

import click

from a2a_watch import durable
from a2a_watch.light.identity import Surroundings
from a2a_watch.light.lookup import agents, find
from a2a_watch.message import NotAMessage, decode, one_line, visible
from a2a_watch.names import Problem

SHOW_LIMIT = 1 << 30  # bytes; whoever asks for a message gets it, but a runaway file must not eat the machine


@click.command()
@click.argument("id")
def command(id: str) -> None:
    """Show one whole message, pending or read, of any agent; the beginning of its ID will do.

    Nothing is marked as read. Characters that would act on the terminal are shown as escapes.
    """
    root = Surroundings().root()
    inbox, folder, name = find(root, agents(root), id)
    file = durable.read(inbox.path(folder, name), SHOW_LIMIT)
    try:
        fields = decode(file[0]) if file else {}
    except NotAMessage:
        raise Problem(f"{inbox.path(folder, name)} is not a message", "a drain, which sets it aside") from None
    for key in ("id", "from", "to", "timestamp", "subject"):
        click.echo(f"{key}: {one_line(fields[key], 1000)}")
    click.echo(f"state: {'read' if folder else 'pending'}\n")
    click.echo(visible(fields["body"]))
