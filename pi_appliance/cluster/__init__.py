"""The cluster: several machines that work on the same search, by Dask's scheduler and workers."""
