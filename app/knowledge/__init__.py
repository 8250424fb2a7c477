"""Curated files in, explained entries and safe HTML out: no session, no web, no clock."""
