"""The wall around engine code, and the process that watches over it.

Before a line of an engine runs, its process has lost root, the network, sight of the user's files
and the right to write anywhere but its scratch folder; its time, memory, processes, files and
output are bounded. Whatever it starts dies with it. Each measure is named in the result; one that
this machine does not allow is named as not enforced.

Standard library and system calls only. On systems other than Linux only the limits of POSIX hold,
and the result says so.
"""
