"""The light programs: a2a-id, a2a-send and the drain. Standard library only, on every Python from 3.9."""
