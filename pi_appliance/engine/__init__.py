"""Where the parts come together: runner, scheduler, player hub, daemon. Floor 4."""
