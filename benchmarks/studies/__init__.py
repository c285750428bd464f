"""What the studies share: their folders, their processes, comparisons under the same seeds, tables.

`search_study` and `policy_study` are the studies.
"""
