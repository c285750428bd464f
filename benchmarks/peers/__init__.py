"""Searchers of other people's libraries behind our agent contract: thin adapters to compare with.

One file an algorithm; the mathematics is the library's. What all share (no candidate twice, none
invalid, nothing left at the end) is in `_peer` and `_numbers`.
"""
