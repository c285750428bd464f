"""Policies under test: what reads pictures and an instruction and gives actions."""
