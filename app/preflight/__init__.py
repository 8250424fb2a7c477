"""A launch line as people paste it: which words it holds, and what the release's checks say to it.

Text in, plain data out: no session, no web, no engine code. The checks themselves run behind the
wall (`reproducers.launch`); `app.services.preflight` joins the two.
"""
