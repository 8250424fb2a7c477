"""A folder of vectors, given by REPROBASE_VECTORS, against what `compute` makes of it."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from reproducers.reference.compute import ASIDE, compute_file

FOLDER = os.environ.get("REPROBASE_VECTORS")
FILES = sorted(p for p in Path(FOLDER).iterdir() if p.name not in ASIDE) if FOLDER else []
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]
TOLERANCE = {"float64": 1e-12, "float32": 1e-5}

pytestmark = pytest.mark.skipif(not FOLDER, reason="REPROBASE_VECTORS names no folder of vectors")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("file", FILES, ids=lambda p: p.name)
def test_computed_outputs_are_the_expected_ones(
    file: Path, dtype: str, device: str, tmp_path: Path
) -> None:
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")
    target = tmp_path / file.name
    compute_file(file, target, dtype=getattr(torch, dtype), device=device)
    if file.suffix == ".json":
        assert json.loads(target.read_text()) == json.loads(file.read_text())
        return
    index = json.loads((file.parent / "index.json").read_text())
    expected, got = np.load(file), np.load(target)
    outputs = index["_".join(file.stem.split("_")[:2])]["outputs"]
    assert sorted(got.files) == sorted(o for o in outputs if o in expected.files)
    for name in got.files:
        want, have = expected[name], got[name]
        assert want.shape == have.shape, name
        if want.dtype.kind in "biu":
            np.testing.assert_array_equal(have, want, err_msg=name)
        elif want.size:
            assert abs(have - want).max() <= TOLERANCE[dtype] * abs(want).max(), name
