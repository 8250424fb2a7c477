"""The catalog for language models: five read-only tools by the Model Context Protocol.

The same tools over standard input and output (`reprobase mcp`) and over HTTP at `/mcp`. They give
the documents that the JSON routes give.
"""
