"""Hand-written reproducers, one module an entry, named for its slug."""
