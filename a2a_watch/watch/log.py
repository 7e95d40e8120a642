"""What the watcher says on standard error: a line each, whole and at once."""

import logging
import os


class Lines(logging.Handler):
    """Writes past Python's buffers, which would fail at the end when the terminal was closed."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line; a terminal that is gone is no reason to end."""
        try:
            os.write(2, (self.format(record) + "\n").encode("utf-8", "backslashreplace"))
        except OSError:
            pass
