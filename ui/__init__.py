"""Local pages for people; each binds to loopback alone."""
