"""Components in plain JavaScript: one folder per component, shared modules in `lib/`, and their bundler."""
