"""How long it takes, beside a shell version of the same: `make bench`."""
