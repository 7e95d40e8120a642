"""Putting the drain into Claude Code, taking it out, and finding out whether it is in: settings, skills, checks."""
