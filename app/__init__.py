"""Tower one: the catalog, diagnosis and the web. It never imports torch or runs engine code."""
