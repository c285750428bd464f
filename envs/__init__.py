"""Search environments: the generic ones here, one folder a domain."""
