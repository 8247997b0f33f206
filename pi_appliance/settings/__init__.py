"""The settings of the appliance: its configuration file, changed from the page."""
