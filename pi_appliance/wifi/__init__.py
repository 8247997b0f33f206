"""Wi-Fi: networks in reach, joining one, and a hot spot for the set-up."""
