"""Mail between coding-agent sessions on one machine: a message is a file, an inbox is a directory."""

__version__ = "0.1.0"
