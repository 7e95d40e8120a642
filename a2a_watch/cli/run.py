"""`a2a-watch run`: the watcher, in the foreground."""

import logging

import click

from a2a_watch.light.identity import Surroundings
from a2a_watch.watch.log import Lines
from a2a_watch.watch.loop import Watcher
from a2a_watch.watch.post import Options


def _words(_context: click.Context, _parameter: click.Parameter, command: str | None) -> tuple[str, ...]:
    if command is None:
        return ()
    import shlex  # memory that a watcher without it need not have

    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise click.BadParameter(f"{str(error).lower()}: {command}") from None
    if not words:
        raise click.BadParameter("there is no command in it")
    return words


@click.command()
@click.option("--no-notify", is_flag=True, help="Keep the markers, show nothing.")
@click.option("--no-preview", is_flag=True, help="Say who wrote to whom, and not what.")
@click.option("--quiet", multiple=True, metavar="AGENT", help="Never announce mail for AGENT; may be repeated.")
@click.option("--on-mail", metavar="COMMAND", callback=_words,
              help="Run COMMAND, by no shell, for each burst of new mail for an agent.")  # fmt: skip
@click.option("--rescan", default=60.0, show_default=True, type=click.FloatRange(0.5, 86_400), metavar="SECONDS",
              help="Look at everything so often, for what no event told of.")  # fmt: skip
@click.option("--poll", is_flag=True, help="Do not rely on events; by itself where the kernel has none.")
@click.option("-v", "--verbose", is_flag=True, help="Say more.")
def command(
    no_notify: bool,
    no_preview: bool,
    quiet: tuple[str, ...],
    on_mail: tuple[str, ...],
    rescan: float,
    poll: bool,
    verbose: bool,
) -> None:
    """Watch the inboxes: keep the markers true, and show a notification when mail lands.

    Delivery never needs it. It runs until it is stopped; as a service: a2a-watch service install.
    """
    logging.basicConfig(
        format="%(name)s: %(message)s", level=logging.DEBUG if verbose else logging.INFO, handlers=[Lines()]
    )
    here = Surroundings()
    here.lend_bus()
    Watcher(here, Options(not no_notify, not no_preview, quiet, rescan, poll, on_mail)).run()
