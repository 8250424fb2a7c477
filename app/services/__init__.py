"""One module a question: (session, input) in, one page object out; faces only render it."""
