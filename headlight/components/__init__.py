"""Components in plain JavaScript, one folder a component, and what they share in `lib/`."""
