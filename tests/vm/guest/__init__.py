"""The programs inside the virtual machine, with Python but neither pytest nor a network."""
