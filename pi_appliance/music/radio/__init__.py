"""Web radio: the stations, their addresses, and the watchdog of the one that plays."""
