"""What runs inside the virtual machine. It has Python and the program, and neither pytest nor a network."""
