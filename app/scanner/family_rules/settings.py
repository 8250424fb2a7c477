"""Asked third: names that choose, settings that exclude or need each other, missing features."""

from typing import Final

from app.scanner.family_rules.rule import ASSERT, NOT_LOG, Rule

SETTINGS: Final[tuple[Rule, ...]] = (
    Rule(
        "not-implemented",
        r"subclass(?:es)? .{0,30}must|not implemented|not yet implemented|unimplemented|"
        r"must implement|"
        r"should implement|must be implemented|subclass(?:es)? (?:must|should|need)|"
        r"must (?:be )?overrid| abstract | todo |not been implemented|isn.?t implemented",
        unless=r"must not",
    ),
    Rule(
        "invalid-choice",
        r"must be one of|must be either|should be one of|only supports? \S+ and \S+ $|"
        r"ha(?:s|ve) to be (?:one of|in {})|"
        r"must be \d+ (?:\d+ )*or \d+|(?:must|should) be in {}|must not be in {}|"
        r"must be (?:{}|\w+) or (?:{}|\w+) (?:but )?got|"
        r"(?:supports?|expects?) \S+ in [({\[]|expected one of|choose from|"
        r"valid (?:options|values|choices|names|types|modes|keys)|"
        r"supported (?:values|options|types|formats|modes|backends|\w+s) (?:are|is|include)|"
        r"available (?:options|\w+s) (?:are|is)?",
        kinds=NOT_LOG,
    ),
    Rule(
        "incompatible-options",
        r"mutually exclusive|incompatible with| incompatible |not compatible|incompatibl|"
        r"cannot (?:both )?be (?:used|combined|enabled|set|specified|mixed|"
        r"given) .{0,20}(?:with|together|when|at|while|alongside)|"
        r"conflicts? with (?!.*!=)|cannot be used (?:in|with|for|when|together)|"
        r"not (?:yet |currently )?supported (?:with|when|together|under|in combination|"
        r"while|if|alongside)|"
        r"only one of|at the same time|"
        r"cannot (?:use|combine|mix|enable|specify|set) .{1,60} (?:with|and|together|when|while)|"
        r"does not support --|not supported together| together | not both|"
        r"both .{1,40} and .{1,60}(?:set|specified|provided|enabled|cannot)|"
        r"cannot be combined|should not pass|must not pass|should not be (?:provided|"
        r"passed|set|given|used)|not be passed|"
        r"--[\w-]+ .{0,40}(?:cannot|can not|must not|is not allowed|not be used)|"
        r"doesn.?t support --|do not support --|either .{1,40} or .{1,40} not both|"
        r"at most one of|exactly one of|disallows|"
        r"(?:is|are) not allowed (?:with|when|together)|"
        r"must not be (?:set|used|specified|enabled|given|provided) (?:with|when|together|if)",
        kinds=NOT_LOG,
    ),
    Rule(
        "required-option",
        r" (?:is|are) required | required (?:field|argument|param|key|option|when|for|if)|"
        r"must be (?:set|specified|provided|given|passed|supplied|defined|configured|present) |"
        r"must (?:also )?(?:set|specify|provide|pass|supply|define) |"
        r"please (?:also )?(?:set|specify|provide|pass|supply|give|define) |"
        r"(?:need|have) to (?:be )?(?:set|specif|provide|pass|suppl|define)|"
        r"need(?:s|ed)? to be (?:set|specified|provided|given|passed)|"
        r"missing required (?!attribute|method)|"
        r"without (?:specifying|setting|providing|passing)|"
        r"(?:was|were|is|are) not (?:provided|specified|given|passed|supplied)|"
        r" not (?:provided|specified) |"
        r" no .{1,30} (?:was |were )?(?:provided|specified|given|configured) |"
        r"at least one of|requires? (?:either|explicit|an? explicit)|"
        r"should be (?:provided|specified|given|passed|set) (?!to )|"
        r"expected .{1,30} to be (?:set|provided)|must not be none|cannot be none|"
        r"should not be none|can.?t be none|"
        r"missing (?:the )?\S+ (?:field|argument|parameter|option|config)|"
        r"(?:is|are) mandatory|must declare |is missing (?:required )?(?:fields|keys|"
        r"entries|parameters)| pass --\S+ (?:<|{}|to)",
        unless=r"must be set to|set to (?:{}|\d)|must be passed as",
    ),
    Rule(
        "required-option",
        r" requires? | needs? | missing | expects? | must | received no |required",
        checks=r"^(?:not )?[^()]*\bis None\)*$|^'\w+' not in |^not \w+$| not in \w*(?:config|"
        r"args|kwargs|payload|"
        r"body)$",
        unless=r"initiali|before|prepare|first |build|captur|not support|call |=true|=false|={}|"
        r"quantization $",
        kinds=frozenset({"argparse", "http", "raise"}),
    ),
    Rule(
        "required-option",
        r" requires? | needs? | missing | expects? | must | received no |required",
        checks=r"^\(?[\w.\[\]]+ is not None|^'\w+' in |has_value\(\)$|!= nullptr|^self\.\w+$",
        unless=r"initiali|before|prepare|first |build|captur|not support|call ",
        kinds=ASSERT,
    ),
    Rule(
        "malformed-data",
        r" hex digest| data uri |url must |uri must |(?:not|be) (?:a )?valid json|"
        r"(?:expected|invalid|not) .{0,20}base64",
        kinds=NOT_LOG,
    ),
    Rule(
        "unmet-requirement",
        r"^ (?:\S+ ){1,8}(?:requires?|needs) ",
        unless=r"before| first |initiali|must (?:match|equal)|the same | share |json| parse|"
        r"not supported",
        kinds=NOT_LOG,
    ),
    Rule(
        "invalid-choice",
        r" must be | should be ",
        checks=r"\bnot in [\[({]|^\w[\w.]* in [\[({]| != '\w+'$",
        unless=r"the same|(?:must|should) be (?:enabled|disabled|set)",
        kinds=NOT_LOG,
    ),
    Rule(
        "unsupported-feature",
        r"not (?:yet |currently |natively |directly )?support(?:ed|s)?\b|"
        r"supports? (?:exactly|one|only|a single|single) |(?:serves?|accepts?|handles?|"
        r"takes) only |unsupported input|"
        r"^ only .{1,60} supported (?!.*(?:got|but))|can(?:not| t) use |"
        r"does not apply |does not serve |are handled by |"
        r"(?:does|do|did)(?: not|n.?t) (?:currently |yet |natively )?(?:support|allow|"
        r"accept|handle|provide|implement)|"
        r"only (?:currently )?supports? |currently (?:only )?supports? |supports? only |"
        r" no support |"
        r"not (?:wired|available|applicable|possible|allowed) (?:for|in|with|to)|"
        r"unsupported for | unsupported $|(?:takes|accepts) no |does not use |"
        r"cannot (?:currently )?(?:serve|handle|run|support|be served|be handled) |"
        r"currently only |"
        r" is only (?:supported|available|implemented|used|valid|allowed|possible) (?!when|if)|"
        r"is (?:set )?only (?:by|for) |^ only (?:the |a )?\S+ (?:\S+ ){0,3}(?:can|may|"
        r"supports?|builds?|uses?) |"
        r"not (?:been )?validated|is not part of |"
        r"only (?:supported|available|implemented|valid|allowed|works?|applies) (?:for|in|"
        r"on|with|by|as) |"
        r" can only |not support |isn.?t supported|aren.?t supported| unavailable for |"
        r"initially supports|are (?:currently )?unsupported|unsupported in (?:the|this)|"
        r"supports? .{1,60} only |assumes no |cannot execute|temporarily unsupported",
        unless=r"(?:unknown|invalid|unsupported) .{0,40}{}.{0,30} only|"
        r"{} is not (?:yet |currently )?supported $|unsupported {}|"
        r"only .{1,60} (?:is|are) (?:currently )?supported .{0,20}(?:got|but) ",
    ),
    Rule(
        "out-of-range",
        r" invalid | bad ",
        checks=r"^(?:not )?\(?[\w.]+ (?:<=|>=|<|>) [\w.]+(?: (?:or|and) .*[<>].*)?\)?$",
        kinds=NOT_LOG,
    ),
    Rule(
        "malformed-data",
        r" invalid ",
        checks=r"^except \(?(?:ValueError|TypeError|KeyError|json|binascii|Unicode)",
        kinds=NOT_LOG,
    ),
    Rule("wrong-result", r" violations? ", kinds=NOT_LOG),
    Rule(
        "invalid-choice",
        r"un(?:known|recogni[sz]ed|supported|handled|expected|registered) .{0,60}{|"
        r"un(?:known|recogni[sz]ed|supported|handled) .{0,60}[:=]|invalid .{0,60}{|"
        r"illegal .{0,40}{|bad .{0,30}{|undefined .{0,40}{|is not a valid |"
        r"not (?:a )?(?:valid|recogni[sz]ed|known|supported) |"
        r"{} (?:is )?(?:not|un)supported|only .{1,40} (?:is|are) (?:currently )?supported|"
        r"is (?:invalid|unknown|unsupported|unrecognized) | one of |unknown |"
        r"unrecogni[sz]ed |unsupported ",
        unless=r"transition|request id|session|\bjson\b|unknown \S*(?:id|req|room|rid|handle)\b|"
        r"unknown (?:adapter|request|rid)|invalid (?:json|"
        r"format|syntax|header|utf|base64|url|image|encoding)|internal|state|"
        r"unexpected .{0,30}(?:size|count|"
        r"number|length|shape|keys)|invalid number|unregistered",
    ),
    Rule(
        "unmet-requirement",
        r" requires? | needs? |(?<!not) needed (?:for|to|by) | required |"
        r"only (?:valid|allowed|meaningful|used|applicable) (?:when|if|with|for|in)|"
        r"only (?:supported|available|implemented|works?) (?:when|if)|should be (?:set to|"
        r"attached|enabled|disabled) |"
        r"only applies to |"
        r"must be (?:enabled|on|disabled|off|set to|used|called with|built with) |"
        r"depends? on | expects? |"
        r"must (?:use|have|run|support|come|enable|start|include|contain|declare|be )|"
        r" prerequisite|only when |without --| not enabled",
        unless=r"before| first |initiali| must (?:match|equal)|{} !=| never| json| format| parse|"
        r"must be (?:the )?(?:same|equal|identical|constant)| share | the same ",
        kinds=NOT_LOG,
    ),
    Rule(
        "invalid-choice",
        checks=r" (?:not )?in [\[({]|(?:==|!=) '",
        unless=r"require|fail|missing|not found| match",
        kinds=NOT_LOG,
    ),
)
