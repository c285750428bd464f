"""Physics engines behind one protocol: see `world.World`."""
