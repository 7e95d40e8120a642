"""The optional watcher: it looks and marks and tells a person; it never moves, reads out or deletes mail."""
