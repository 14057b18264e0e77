"""The search: pipelines, code generation, launch shapes, and the Nevergrad driver."""
