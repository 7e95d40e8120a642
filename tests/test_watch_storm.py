"""Everything at once: senders, drains and foreign writers over six agents; at rest the markers tell the truth."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tests.kit import HOOK, SEND, World
from tests.watching import marked, markers_are_true, note, waiting, watching

SECONDS = 20
AGENTS = [f"agent-{number}" for number in range(6)]
# One writer that knows nothing of us: new mail by rename, link and plain write, and mail taken away.
FOREIGN = """
import json, os, random, sys, time
root, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
pick, end, number = random.Random(seed), time.monotonic() + seconds, 0
while time.monotonic() < end:
    folder, number = os.path.join(root, pick.choice(%r)), number + 1
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "f%%d-%%06d.json" %% (seed, number))
    way = pick.randrange(4)
    if way < 2:
        with open(path + ".tmp", "w") as file: json.dump({"from": "foreign", "subject": str(number)}, file)
        os.rename(path + ".tmp", path)
    elif way == 2:
        with open(path, "w") as file: json.dump({"from": "foreign", "subject": str(number)}, file)
    else:
        for name in os.listdir(folder):
            if name.endswith(".json") and pick.random() < 0.5:
                try: os.unlink(os.path.join(folder, name))
                except FileNotFoundError: pass
    time.sleep(pick.random() / 50)
""" % (AGENTS,)


@pytest.mark.timeout(180)
def test_after_a_storm_every_marker_is_true(world: World) -> None:
    """20 s of sends, drains and foreign writes over six agents: then, without a rescan, each marker is what waits."""
    for agent in AGENTS:
        world.repo(agent)
        note(world, agent, "first")
    loops = []
    with watching(world, "--rescan", "3600") as one:
        for seed in range(2):
            loops.append(subprocess.Popen([sys.executable, "-c", FOREIGN, str(world.root), str(SECONDS), str(seed)]))
        end = time.monotonic() + SECONDS
        sends = drains = 0
        while time.monotonic() < end:
            agent = AGENTS[sends % 6]
            assert world.run(SEND, agent, "x", "--subject", f"S{sends}").returncode == 0
            sends += 1
            if sends % 3 == 0:
                assert world.run(HOOK, at=AGENTS[drains % 6]).returncode == 0
                drains += 1
        assert [loop.wait() for loop in loops] == [0, 0]
        markers_are_true(world)
        assert marked(world) == waiting(world)
        assert one.stop() == 0
    assert sends > 20 and drains > 5
    assert not [name for name in os.listdir(world.inbox(AGENTS[0])) if name.endswith(".new.tmp")]
