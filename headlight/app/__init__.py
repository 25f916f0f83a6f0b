"""Parts of all pages: bar, navigation, addresses, selectors, small widgets, and cached results."""
