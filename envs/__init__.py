"""The envs room."""
