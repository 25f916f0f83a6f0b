"""What pages show, one folder a subject: views, figures, texts computed from numbers, and payloads for the browser."""
