"""Web radio: stations, addresses of their streams, and the watchdog of the stream that plays."""
