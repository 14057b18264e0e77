"""Judging one candidate: compile, restore, launch, validate, time."""
