"""The Monkey Bard: a simulated infinite monkey that types Shakespeare."""
