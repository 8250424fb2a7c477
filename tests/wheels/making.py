"""Tiny wheels, made on the spot."""

import zipfile
from collections.abc import Mapping
from pathlib import Path


def make_wheel(
    folder: Path,
    files: Mapping[str, str | bytes],
    *,
    package: str = "tiny",
    version: str = "1.0",
    metadata: str | None = None,
) -> Path:
    """Write `<package>-<version>-py3-none-any.whl` with these files and a METADATA."""
    path = folder / f"{package}-{version}-py3-none-any.whl"
    info = f"{package}-{version}.dist-info"
    text = metadata or f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\nLicense: MIT\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in files.items():
            z.writestr(name, content)
        z.writestr(f"{info}/METADATA", text)
        z.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    return path
