"""What every test needs: an interrupt that interrupts, and the same examples on every CI run."""

import os
import signal

from hypothesis import settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts its background jobs with SIGINT ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    # New examples are for people who look for faults; a landing should not depend on luck.
    settings.load_profile("ci")
