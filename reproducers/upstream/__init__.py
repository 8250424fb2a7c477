"""The real code of a release: imported with declared stand-ins, or one function of it."""
