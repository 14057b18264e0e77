"""Variants of kernels that a remix search built: ``STORE/variants/<id>.bc`` with its module JSON beside it."""

from __future__ import annotations

from pathlib import Path


def variants_folder(store: Path) -> Path:
    """Where a store keeps variants."""
    return store / "variants"


def variant_paths(store: Path, variant: str) -> tuple[Path, Path]:
    """Bitcode and module JSON of a variant in a store."""
    folder = variants_folder(store)
    return folder / f"{variant}.bc", folder / f"{variant}.json"
