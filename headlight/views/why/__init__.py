"""Why this token: what speaks for it and what against, and which part of the model wrote it."""
