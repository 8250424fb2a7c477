"""Speculative verify in plain torch: what the engine's kernels compute, written to be read.

Any device, any floating dtype, no kernels: loops over requests and draft nodes where that is
clearest. Engine terms are kept letter for letter, and a guard that the engine has raises the
engine's class and message here too.

| file | question |
|---|---|
| metadata, attention | which lengths and which keys does a verify batch see? |
| beams, tree | how do draft steps become a tree, its links, positions and mask? |
| greedy | which nodes does the target accept, and which step is committed? |
| gates, recurrent, gdn, kda, scatter | what does recurrent verify write and commit? |
| chunked, replay, ring | what does verify without stored states compute? |
| widths, sampling | how wide is a phase, and how is a draft token drawn? |
| buffers, ragged, adaptive | what do captured graphs hold, and what fits them? |

Shapes: `bs` requests, `N` or `T` = draft_token_num nodes a request (root included), `H` key heads,
`HV` value heads (value head hv reads key head hv // (HV / H)), `K` and `V` head sizes, `L` rows of
a replay window.
"""
