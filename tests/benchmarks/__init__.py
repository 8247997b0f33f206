"""What pi-appliance costs, beside others that do the like. Run by hand; docs/benchmarks.md tells how."""
