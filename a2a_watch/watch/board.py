"""What the watcher does next. Pure: wakes, looks and the time come in; looks, notices and withdrawals come out.

A wake says which agent to look at again and nothing else. Seconds are of any clock that only goes forward.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

LOOK_SECONDS = 0.1  # between two looks at one agent: a storm of events costs ten looks a second
QUIET_SECONDS = 0.3  # a burst is over when so long nothing came
BURST_SECONDS = 2.0  # and is announced by then all the same; also the time between two notices
RETRY_SECONDS = 5.0  # after a notice that failed, doubled each time
LONGEST_RETRY_SECONDS = 60.0
LINES = 5  # of a notice's body; more, and desktops cut it
UNWOKEN = "it has used up its wakes (A2A_WAKES); the mail waits for the next prompt"
REMEMBERED = 200  # so many that were announced and are no longer pending: they may be given back


@dataclass(frozen=True)
class Mail:
    """One message as a notice speaks of it; `key` is the same after a restart, and after it was read and given back.

    `unwoken` is no message: it says that no session is woken for the others, and waits with them.
    """

    key: str
    sender: str = ""
    subject: str = ""
    excerpt: str = ""
    unwoken: bool = False


@dataclass(frozen=True)
class Notice:
    """One desktop notification, and which mail it announces; text as it is to be read, with no markup."""

    title: str
    body: str
    keys: frozenset[str]


class Board:
    """What is known of each agent, and what was announced; `told` are the keys from before, oldest first."""

    def __init__(
        self, told: Iterable[str] = (), quiet: Collection[str] = (), preview: bool = True, announces: bool = True
    ) -> None:
        self._told, self._quiet = dict.fromkeys(told), quiet
        self._preview, self._announces = preview, announces
        self._looks: dict[str, float] = {}
        self._looked: dict[str, float] = {}
        self._mail: dict[str, dict[str, Mail]] = {}
        self._waiting: set[str] = set()  # the keys of all of it
        self._news: dict[str, None] = {}  # waits, and was not announced
        self._first = self._last = 0.0  # when the first and the last of it were seen
        self._silent_until = float("-inf")
        self._failures = 0
        self._flying: Notice | None = None
        self._shown: list[Notice] = []

    def wake(self, agent: str, now: float) -> None:
        """Have `agent` looked at: at once, or a moment after the last look."""
        last = self._looked.get(agent)
        self.look_at(agent, now if last is None else max(now, last + LOOK_SECONDS))

    def look_at(self, agent: str, when: float) -> None:
        """Have `agent` looked at by `when`."""
        self._looks[agent] = min(when, self._looks.get(agent, when))

    def looks(self, now: float) -> list[str]:
        """Return the agents to look at now; each is owed a `saw`."""
        due = [agent for agent, when in self._looks.items() if when <= now]
        for agent in due:
            del self._looks[agent]
            self._looked[agent] = now
        return due

    def saw(self, agent: str, mail: Iterable[Mail], now: float) -> None:
        """Take what waits for `agent`."""
        before, after = self._mail.pop(agent, {}), {one.key: one for one in mail}
        if after:
            self._mail[agent] = after
        is_quiet = agent in self._quiet or not self._announces
        fresh = [key for key in after if not (is_quiet or key in self._told or key in self._news)]
        self._waiting.difference_update(before)
        self._waiting.update(after)
        for key in before:
            if key not in after:
                self._news.pop(key, None)
        if fresh:
            self._first, self._last = self._first if self._news else now, now
            self._news.update(dict.fromkeys(fresh))

    def notice(self, now: float) -> Notice | None:
        """Return what to show now, once; `shown`, `unsure` or `failed` must follow."""
        if self._flying or not self._news or self._announce_at() > now:
            return None
        self._flying = self._compose()
        return self._flying

    def shown(self, notice: Notice, now: float) -> None:
        """Take that it was shown: it is never shown again, and taken down when its mail is gone."""
        self._shown.append(notice)
        self.unsure(notice, now)

    def unsure(self, notice: Notice, now: float) -> None:
        """Take that nobody knows whether it was shown: better never than twice, for the mail is safe."""
        for key in notice.keys:
            self._told[key] = None
            self._news.pop(key, None)
        self._flying, self._failures = None, 0
        self._silent_until = now + BURST_SECONDS

    def failed(self, now: float) -> None:
        """Take that it was not shown; it is tried again later, with what came meanwhile."""
        self._flying = None
        self._silent_until = now + min(RETRY_SECONDS * 2**self._failures, LONGEST_RETRY_SECONDS)
        self._failures = min(self._failures + 1, 10)

    def over(self) -> list[Notice]:
        """Return the notices that were shown and whose mail is gone, once each."""
        gone = [notice for notice in self._shown if self._waiting.isdisjoint(notice.keys)]
        self._shown = [notice for notice in self._shown if notice not in gone]
        return gone

    def told(self) -> list[str]:
        """Return the keys to remember: those that wait, and the last of those that do not."""
        gone = [key for key in self._told if key not in self._waiting][-REMEMBERED:]
        self._told = dict.fromkeys([*gone, *(key for key in self._told if key in self._waiting)])
        return list(self._told)

    def due(self) -> float | None:
        """Return when there is something to do; None when only a wake can bring it."""
        times = list(self._looks.values())
        if not self._flying and self._news:
            times.append(self._announce_at())
        return min(times, default=None)

    def _announce_at(self) -> float:
        return max(min(self._last + QUIET_SECONDS, self._first + BURST_SECONDS), self._silent_until)

    def _compose(self) -> Notice:
        news = [(agent, one) for agent, mail in self._mail.items() for one in mail.values() if one.key in self._news]
        keys = frozenset(one.key for _, one in news)
        fresh = [(agent, one) for agent, one in news if not one.unwoken]
        unwoken = [f"{agent} was not woken: {UNWOKEN}" for agent, one in news if one.unwoken]
        if not fresh:
            title = unwoken[0].partition(":")[0] if len(unwoken) == 1 else f"{len(unwoken)} agents were not woken"
            return Notice(title, UNWOKEN if len(unwoken) == 1 else "\n".join(unwoken[:LINES]), keys)
        agents = list(dict.fromkeys(agent for agent, _ in fresh))
        if len(fresh) == 1:
            agent, one = fresh[0]
            lines = [*([one.excerpt] if self._preview else []), *unwoken]
            return Notice(self._line(one, agent), "\n".join(filter(None, lines)), keys)
        to = agents[0] if len(agents) == 1 else ""
        # The newest last, as in the inbox.
        lines = [self._line(one, "" if to else agent) for agent, one in fresh if one.sender]
        hidden = len(fresh) - LINES
        if not self._preview:
            lines = list(dict.fromkeys(lines))
            hidden = len(lines) - LINES
        more = [f"… and {hidden} more"] if hidden > 0 and lines else []
        names = ", ".join(agents[:3]) + (f" and {len(agents) - 3} more" if len(agents) > 3 else "")
        return Notice(f"{len(fresh)} new for {names}", "\n".join([*lines[-LINES:], *more, *unwoken[:1]]), keys)

    def _line(self, one: Mail, agent: str) -> str:
        who = f"{one.sender or '?'} → {agent}" if agent else one.sender
        return f"{who}: {one.subject}" if self._preview and one.subject else who
