"""Fills the database: curated files, scanned releases, shipped evidence."""
