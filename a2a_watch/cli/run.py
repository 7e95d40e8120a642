"""`a2a-watch run`: the watcher, in the foreground."""

import logging

import click

from a2a_watch.light.identity import Surroundings
from a2a_watch.watch.log import Lines
from a2a_watch.watch.loop import Watcher
from a2a_watch.watch.post import Options
from a2a_watch.watch.supervisor import Supervisor


@click.command()
@click.option("--no-notify", is_flag=True, help="Keep the markers, show nothing.")
@click.option("--no-preview", is_flag=True, help="Say who wrote to whom, and not what.")
@click.option("--quiet", multiple=True, metavar="AGENT", help="Never announce mail for AGENT; may be repeated.")
@click.option("--rescan", default=60.0, show_default=True, type=click.FloatRange(0.5, 86_400), metavar="SECONDS",
              help="Look at everything so often, for what no event told of.")  # fmt: skip
@click.option("--poll", is_flag=True, help="Do not rely on events; by itself where the kernel has none.")
@click.option("-v", "--verbose", is_flag=True, help="Say more.")
def command(
    no_notify: bool, no_preview: bool, quiet: tuple[str, ...], rescan: float, poll: bool, verbose: bool
) -> None:
    """Watch the inboxes: keep the markers true, and show a notification when mail lands.

    Delivery never needs it. It runs until it is stopped; as a service: a2a-watch service install.
    """
    logging.basicConfig(
        format="%(name)s: %(message)s", level=logging.DEBUG if verbose else logging.INFO, handlers=[Lines()]
    )
    here = Surroundings()
    here.lend_bus()
    options = Options(not no_notify, not no_preview, quiet, rescan, poll)
    Watcher(here.root(), options, Supervisor(here.notify_socket, here.watchdog_seconds)).run()
