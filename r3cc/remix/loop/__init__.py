"""The search over one kernel: asking, judging, committing verdicts, and the measurements at the end."""
