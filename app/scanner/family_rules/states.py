"""Asked last: broken data, values that disagree, state, and the families that say least."""

from typing import Final

from app.scanner.family_rules.rule import ASSERT, LOG, NOT_LOG, Rule

STATES: Final[tuple[Rule, ...]] = (
    Rule(
        "not-implemented",
        raises=r"^NotImplementedError$",
        unless=r"unknown|invalid|unsupported|not registered",
    ),
    Rule(
        "malformed-data",
        raises=r"JSONDecode|^SyntaxError$|Unicode|Parse|Decod|Malformed|Corrupt",
    ),
    Rule(
        "malformed-data",
        r" pars(?:e|ing|er) .{0,40}(?:fail|error|invalid)|"
        r"(?:failed|unable|could not|cannot|error|failure) (?:to )?(?:pars|decod|"
        r"deseriali|compile (?:grammar|regex)|unpickle|extract)|"
        r"malformed| json |decod(?:e|ing) .{0,30}(?:fail|error)|"
        r"invalid (?:\w+ ){0,2}(?:format|header|syntax|json|utf-?8|base64|encoding|url|"
        r"image|video|audio|magic|data|schema|grammar|regex|payload|string|pattern)|"
        r"corrupt|must (?:start|begin|end) with|"
        r"(?:bad|wrong|unexpected|unknown) (?:file |data )?format|"
        r"format .{0,20}(?:must|expected|should)|(?:invalid|unsupported|json) schema |"
        r" regex | grammar |chat template|"
        r"unexpected (?:end|eof|token|char)|unterminated|"
        r"not (?:a )?valid (?:json|regex|utf|base64|url|yaml|python)| of the form |"
        r"non-hexadecimal|percent escape|base64|must be formatted|truncated|"
        r"could not be (?:parsed|decoded)|(?:bad|invalid|"
        r"missing|truncated) header ",
        unless=r"fail(?:ed|ure)? to (?:remove|delete|clean)",
    ),
    Rule(
        "inconsistent-values",
        r"mismatch|conflicting|contradict|must be constant|"
        r"(?:does|do|did|must|should)(?: not|n.?t)? (?:match|agree|equal|correspond)|"
        r"must be (?:the )?(?:same|equal|identical)|disagree|inconsistent| differs? |"
        r" different | differ | != | unequal|must (?:all )?match|must share|(?:use|have|"
        r"share) the same |"
        r"expected {}.{0,30}got {}|"
        r"expected {}.{0,20}found {}|not match|identical|diverge",
        unless=r"tolerance|max diff|reference|logits|output",
    ),
    Rule("aborted", raises=r"Cancel|KeyboardInterrupt|Abort|Shutdown"),
    Rule(
        "aborted",
        r"abort|cancel|shut(?:ting)? ?down| stopped |disconnect| terminated | killed |"
        r"retract| draining |giving up",
        unless=r" failed|error",
    ),
    Rule(
        "wrong-result",
        r"\bnan\b| nans |max diff|tolerance| accuracy |allclose|"
        r"differs? from (?:the )?(?:reference|baseline|expected)|"
        r"below (?:the )?(?:threshold|expected|minimum)|output(?:s)? (?:mismatch|differ)|"
        r"logits? (?:mismatch|differ)| score | regress|baseline|reference (?:path|output)|"
        r"expected {?\S+ in (?:content|output|response|text|message)|"
        r"should contain |should fail |should be unchanged|should stay equal|"
        r"should not change|expected .{1,40} to fail|_correct=|should be empty|"
        r"expected \d\d\d .{0,60}got {}",
        unless=r"must be|requires? |profile",
    ),
    Rule(
        "wrong-result",
        checks=r"allclose|isnan|assert_close|torch\.equal|max_diff|diff <|\bscore\b|isfinite\(|"
        r"\b(?:resp|response|res|result|results|choices)\b[.\[]",
        unless=r"fail|error|none",
    ),
    Rule(
        "operation-failed",
        r"^ (?:\S+ ){0,6}failed (?:to|with|for|while|during|in|on) |"
        r"^ (?:\S+ ){0,6}failed \S* ?{error}|"
        r"^ error |error occurred| exited | crashed | died |did not (?:stop|start|exit|"
        r"terminate|return|produce|create)|"
        r"(?:returned|produced) no ",
        unless=r"failed to (?:find|locate|determine|resolve|infer|identify|derive|detect|get)",
    ),
    Rule(
        "internal-invariant",
        r"should (?:never|not happen)|^ internal |unreachable| bug |invariant|impossible|"
        r" leak|double free|double-free|"
        r"never happen|inconsisten",
    ),
    Rule(
        "wrong-state",
        r" is (?:already )?closed |(?:outside|inside) .{0,20}capture|transition | while |"
        r" during |in progress",
        kinds=NOT_LOG,
    ),
    Rule(
        "unset-state",
        r"not (?:been |yet |been yet )?(?:initiali[sz]ed|set up|allocated|built|created|"
        r"prepared|bound|attached|configured|started|ready|populated|captured|enabled|"
        r"computed|resolved|installed|set|materialized|running|connected|open)|"
        r"uninitiali[sz]ed| is none | are none | is null|^ null | is unset| unresolved|"
        r" is incomplete|"
        r"before (?:calling|using|it|any) |(?:must|should|prepare) .{1,50} before |no prepared |"
        r"must (?:run|be called|be initiali[sz]ed|be prepared|be built|be set|"
        r"be allocated|be loaded|be captured) before|"
        r"call .{0,40} first|has(?: not|n.?t) been|have not been| first $|"
        r" without (?:an? )?\w+ metadata|"
        r"must be (?:called|initiali[sz]ed|loaded|created|built|started|prepared|"
        r"allocated|captured|resolved|bound)|"
        r" not set | was not called",
        unless=r"fail",
        kinds=NOT_LOG,
    ),
    Rule(
        "failed-lookup",
        raises=r"^(?:KeyError|AttributeError|LookupError|NameError|\w*NotFound\w*)$",
    ),
    Rule(
        "failed-lookup",
        r"not found|"
        r"(?:cannot|could not|can.?t|unable to|failed to|couldn.?t) (?:find|locate|"
        r"determine|resolve|infer|identify|look ?up|derive|detect|get)|"
        r"has no (?:attribute|\w+)|"
        r"(?:does|do|did)(?: not|n.?t) (?:exist|contain|have|include|define|expose|appear|belong)|"
        r"no such|not (?:registered|in the|in |present|defined|exist|contain)| missing |"
        r" no .{1,40} (?:found|matching|matches|matched|named|registered|available) | no {} |"
        r" no .{1,40} for {}| no such |unknown |unregistered| lacks? | absent|undeclared|"
        r"not declared|"
        r"never been loaded|are not loaded| no .{1,40} loaded",
    ),
    Rule(
        "unset-state",
        checks=r"\b\w+\.[\w.]+ is None|^not self\.\w+$|not hasattr\(|== nullptr",
        unless=r"unexpected|not found|already|cannot|while|fail|error| only | still |must stay",
        kinds=frozenset({"argparse", "http", "raise"}),
    ),
    Rule(
        "unset-state",
        checks=r"\b\w+\.[\w.]+ is not None|^self\.\w+$|^hasattr\(|!= nullptr",
        unless=r"unexpected|not found|already|cannot|while|fail|error| only | still |must stay",
        kinds=ASSERT,
    ),
    Rule(
        "wrong-state",
        r" closed | while | during |in progress| still | busy| finished| state |"
        r"after (?:it|finaliz|close|shutdown|being)|"
        r"cannot .{1,60} (?:running|active)| idle|transition|called when| phase| in use|"
        r"not allowed| leased?|received .{1,30}(?:before|when|without)|pending|in-flight|"
        r"cannot be called ",
        kinds=NOT_LOG,
    ),
    Rule(
        "wrong-state",
        checks=r"\b_?(?:state|closed|phase|status)\b|_state\b|_closed\b",
        unless=r"fail|error",
        kinds=NOT_LOG,
    ),
    Rule(
        "unsupported-feature",
        r" cannot (?:process|consume|serve|infer|apply|use|take|accept|represent|express|"
        r"run|read|crop|bound)",
        kinds=NOT_LOG,
    ),
    Rule("not-implemented", raises=r"^NotImplementedError$"),
    Rule(
        "operation-failed",
        r" fail(?:ed|ure|s|ing)? | error |{error}| exception|crash|"
        r"exit(?:ed)? (?:with|code)| unable to | could not |"
        r"returned (?:an )?(?:error|non-?zero|invalid)|error:| raised | died |"
        r"unhandled",
    ),
    Rule(
        "operation-failed",
        checks=r"^except\b|Exception|Error\b|returncode|CUDA_SUCCESS|cudaSuccess|"
        r"ret(?:_code)? != 0|^(?:cuda|cu|nccl|hip)[A-Z]\w+\(",
    ),
    Rule(
        "shape-mismatch",
        checks=r"\.shape\b|\.ndim\b|\.dim\(|\.size\(|\.numel\(|\.sizes\(|ndim\(\)|"
        r"_dim\b|head_dim|hidden_size|unwrap\(\)",
        kinds=NOT_LOG,
    ),
    Rule("wrong-length", checks=r"len\(", kinds=NOT_LOG),
    Rule("out-of-range", checks=r"^[\w.\[\]()' -]+ (?:<=|>=|<|>) [\w.\[\]()' -]+", kinds=NOT_LOG),
    Rule(
        "required-option",
        checks=r"^\w+ is None",
        kinds=frozenset({"argparse", "http", "raise"}),
    ),
    Rule("required-option", checks=r"^\w+ is not None", kinds=ASSERT),
    Rule("invalid-choice", checks=r" (?:not )?in ", kinds=frozenset({"http", "raise", "argparse"})),
    Rule("inconsistent-values", checks=r"==|!=", kinds=NOT_LOG),
    Rule("internal-invariant", unless=r"\w", kinds=ASSERT),
    Rule("risky-setting", kinds=LOG),
    Rule("operation-failed", kinds=frozenset({"http"})),
)
