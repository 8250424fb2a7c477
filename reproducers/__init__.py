"""Tower two: everything that executes engine code. It runs in a subprocess, one request each."""
