"""What systemd wants to hear from a service of `Type=notify`: sd_notify(3), and nothing where nobody listens."""

from __future__ import annotations

import socket


class Supervisor:
    """Speaks to the datagram socket `address`, empty without a supervisor; `seconds` is its patience, 0 for endless."""

    def __init__(self, address: str, seconds: float) -> None:
        self._address, self.patience = address, seconds

    def tell(self, state: str) -> None:
        """Send `state`, as `READY=1`; a supervisor that cannot be reached changes nothing."""
        if not self._address:
            return
        # Linux: a name that begins with @ lies in no folder.
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | getattr(socket, "SOCK_CLOEXEC", 0)) as one:
                one.sendto(state.encode(), address)
        except OSError:
            pass
