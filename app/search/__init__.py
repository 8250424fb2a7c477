"""Search over all entries: words as you type, one typo forgiven, and messages pasted as they are.

`search` answers a query; it opens the index of the catalog as it is now and makes one if there is
none. The index is a cache in the index folder: it may be deleted at any time, and any number of
processes may use and make it at once. No query is wrong: there is no syntax, only words.
"""

from app.search.filters import Filters
from app.search.index import Found, Hit, SearchIndex
from app.search.store import catalog_version, refresh, search

__all__ = ["Filters", "Found", "Hit", "SearchIndex", "catalog_version", "refresh", "search"]
