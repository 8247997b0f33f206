"""The doctor's checks, one subject a file: each takes the patient and yields findings. Nothing is changed by them."""
