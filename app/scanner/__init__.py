"""Wheel in, error sites out: what a release can raise, answer or log, and since when.

Nothing here executes or imports engine code; it is read as text. No session, no web, no clock.
"""
