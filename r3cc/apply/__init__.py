"""The winners of a search as a profile that the next build takes, and its check on recorded launches."""
