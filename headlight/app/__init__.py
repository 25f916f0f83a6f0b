"""What every page uses: sidebar, navigation, the address, selectors and small widgets."""
