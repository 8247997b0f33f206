"""Who may use the page and the API: password, signed-in devices, their roles, and invitations."""
