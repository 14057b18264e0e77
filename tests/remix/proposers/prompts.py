"""Prompts for tests."""

from __future__ import annotations

from r3cc.remix.model import Block, Prompt


def prompt(question: str = "make it faster", sample: int = 0, longest: int = 1000) -> Prompt:
    """A prompt of four blocks, three of them behind cache breakpoints."""
    return Prompt(
        blocks=(
            Block("system", "You rewrite kernels. " * 20, cached=True),
            Block("kernel", "__global__ void f(int n, double *x);" * 20, cached=True),
            Block("parent", "the parent of this batch " * 10, cached=True),
            Block("request", question, cached=False),
        ),
        parent={"f": "__global__ void f(int n, double *x) {}"},
        kernel_region="f",
        sample=sample,
        max_output_tokens=longest,
    )
