"""Tests of the doctor, the support bundle and the metrics."""
