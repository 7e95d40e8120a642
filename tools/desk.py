"""Stands for a desktop that nobody looks at: takes notifications on the session bus, prints each as a line of JSON.

Needs dbus-fast, which comes with desktop-notifier. `python tools/desk.py` ends with its bus.
"""

import asyncio
import json
from typing import Annotated as A

from dbus_fast import BusType, Variant
from dbus_fast.aio import MessageBus
from dbus_fast.annotations import DBusSignature as Is
from dbus_fast.service import ServiceInterface, dbus_method, dbus_signal

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"


class Desk(ServiceInterface):
    """The interface of the Desktop Notifications Specification."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self._last = 0

    @dbus_method()
    def Notify(
        self, app_name: A[str, Is("s")], replaces_id: A[int, Is("u")], app_icon: A[str, Is("s")],
        summary: A[str, Is("s")], body: A[str, Is("s")], actions: A[list[str], Is("as")],
        hints: A[dict[str, Variant], Is("a{sv}")], expire_timeout: A[int, Is("i")],
    ) -> A[int, Is("u")]:  # fmt: skip
        """Take one."""
        self._last += 1
        print(json.dumps({"shown": self._last, "title": summary, "body": body}), flush=True)
        return self._last

    @dbus_method()
    def CloseNotification(self, id_: A[int, Is("u")]) -> None:
        """Take one down."""
        print(json.dumps({"closed": id_}), flush=True)
        self.NotificationClosed(id_, 3)

    @dbus_method()
    def GetCapabilities(self) -> A[list[str], Is("as")]:
        """Say what can be shown."""
        return ["body"]

    @dbus_method()
    def GetServerInformation(self) -> A[list[str], Is("ssss")]:
        """Say who this is."""
        return ["desk", "a2a-watch", "1", "1.2"]

    @dbus_signal()
    def NotificationClosed(self, id_: int, reason: int) -> A[list[int], Is("uu")]:
        """Say that one is no longer up, and why."""
        return [id_, reason]


async def main() -> None:
    """Serve until the bus is gone."""
    bus = await MessageBus(bus_type=BusType.SESSION).connect()
    bus.export(PATH, Desk())
    await bus.request_name(NAME)
    print(json.dumps({"ready": True}), flush=True)
    await bus.wait_for_disconnect()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    asyncio.run(main())
