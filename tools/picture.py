"""Takes docs/notification.png: the real watcher, dunst, and a screen that nobody sees.

`python -m tools.picture`; needs dbus-daemon, dunst, Xvfb and ImageMagick.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.desktop import Bus, Dunst
from tests.kit import REPO, World
from tests.watching import until, watching

NOTES = [
    ("project-a", "Bumped the shared API version", "Pull the shared config and re-run your build."),
    ("web", "Login page uses the new tokens", "x"),
    ("infra", "CI cache moved", "x"),
    ("docs", "re: which port?", "x"),
]


def main() -> None:
    """Send one note, then three, and take the picture."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as ends:
        world, bus = World(Path(folder)), Bus(ends)
        dunst = Dunst(bus, ends, "468x230")
        world.root.mkdir(parents=True)
        with watching(world, notify=True, env=bus.env) as one:
            for number, (sender, subject, body) in enumerate(NOTES):
                world.repo(sender)
                world.send("project-b", body, subject, at=sender)
                if number == 0:
                    one.says("shown: ")
            one.says("shown: ", times=2)
            until(lambda: dunst.displayed() == 2, "two notifications")
            dunst.picture(REPO / "docs" / "notification.png")


if __name__ == "__main__":
    main()
