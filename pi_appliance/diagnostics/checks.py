"""The doctor's checks, one subject a file: each takes the context and yields findings. Nothing is changed by them."""
