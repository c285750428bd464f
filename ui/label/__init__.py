"""The page on which people flag a run's pictures, questions and expected answers."""
