"""Models behind an API: one adapter a provider, and what they share."""
