"""The framework of the page and the JSON API."""
