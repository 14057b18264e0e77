"""Kernels from MLIR compilers as entries of the capture store: translated, launched once on made-up data."""
