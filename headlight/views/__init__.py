"""Views of the pages, one folder per subject: figures, texts computed from numbers, payloads for the browser."""
