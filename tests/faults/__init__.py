"""What a bad card, a full disk and kill -9 do to an appliance."""
