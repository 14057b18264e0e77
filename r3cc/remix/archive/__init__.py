"""What a search has found, by kind, and what it asks next: all of it follows from the event log."""
