"""The benchmarks room."""
