"""The reference refuses in the engine's words: every message is found in a real release."""

import pytest

from app.runs.reference_places import reference_sites
from app.scanner.identity import bare_class
from app.scanner.locate import locate
from app.scanner.records import ScannedSite
from app.scanner.templates import skeleton
from app.settings import load_settings
from app.wheels import fetch

COMMAND = ("__main__.py", "arrays.py", "compute.py", "scenarios.py")

OWN = {
    "A draft tree is verified through its scratch: intermediate_ssm is None "
    "while retrieve_parent_token is given.": "the engine runs the chain in silence",
    "Verify needs {} scratch steps, but intermediate_ssm only has {}.": "Triton writes on",
    "accept_lens counts the bonus token and is at least 1, got {}.": "the engine reads column -1",
    "accept_lens {} exceed the replay window of {} rows.": "the engine folds foreign rows",
    "invalid eagle tree: candidate {} is selected without its parent {}.": "the engine prints",
    "{} has shape {}, expected {}.": "the engine reads on by its computed stride",
    "num_tokens_per_req is unset ({}): {} tokens cannot be divided into requests.": "-8 requests",
    "{} tokens are no multiple of {} a request.": "the engine rounds down",
    "the ring is sized for {} rows a verify, got {}.": "the engine trusts its pool",
    "selected index k out of range": "torch.topk's own message",
}
"""Message -> why no release has it."""
KERNEL = {
    "extend: expect req_to_token to be int32 or int64, got {}",
    "extend: expect req_lens to be int64, got {}",
    "extend: expect req_pool_indices to be int64, got {}",
    "extend: expect extend_seq_lens and extend_start_loc to have same dtype as req_to_token.",
    "extend: expect tree_mask to be bool, got {}",
    "extend: expect tree_mask numel to be num_seqs * max_len_extend^2 = {}, got {}",
    "extend attention: tree_mask requires uniform extend_seq_lens, got {}",
    "prefix len < 0!",
    "seq_len out of scope!",
    "req_pool_id out of scope!",
    "{} must be {}",
    "{} must be int64",
    "{} must be contiguous",
}
"""Messages of the sgl-kernel package, whose C++ is in no sglang wheel."""


def checks() -> list[ScannedSite]:
    """What the scanner reads out of the reference's own files, its command line left out."""
    sites = (s for s in reference_sites() if not s.file.endswith(COMMAND))
    return [s for s in sites if s.kind in ("raise", "assert")]


def test_every_message_is_the_engines_the_kernels_or_known_as_its_own() -> None:
    found = {skeleton(s.template) for s in checks()}
    assert set(OWN) | KERNEL <= found, "an exemption that is no longer needed"
    assert len(found) > len(OWN) + len(KERNEL) + 40


@pytest.mark.wheel
def test_the_scanner_finds_the_references_messages_in_real_releases() -> None:
    wanted = {
        (bare_class(s.error_class), skeleton(s.template)): s
        for s in checks()
        if skeleton(s.template) not in KERNEL | set(OWN)
    }
    settings = load_settings()
    for version in ("0.5.23", "0.5.18"):
        sites = locate(fetch("sglang", version, settings), list(wanted.values()))
        for site in sites:
            wanted.pop((bare_class(site.error_class), skeleton(site.template)), None)
    assert not wanted, "no release has: " + "\n".join(f"{c}: {t}" for c, t in wanted)
