"""Asked second: what is checked about one value: a tensor, a number, a type, a count."""

from typing import Final

from app.scanner.family_rules.rule import NOT_LOG, Rule

VALUES: Final[tuple[Rule, ...]] = (
    Rule(
        "wrong-result",
        r" nans? (?:detected|found|in|or)|contains? nan",
        unless=r"must|support|pattern",
    ),
    Rule(
        "incompatible-options",
        r"mutually exclusive|only one of |(?:specify|use|give|pass|set) only one |exactly one of|"
        r"exactly one \S+ or |at most one of|not both|cannot be combined|cannot combine |"
        r"come as a pair|cannot (?:be )?both |(?:are|is) exclusive|unavailable when |"
        r"not available when |cannot be mixed|"
        r"both .{1,40} and .{1,40} cannot|both .{0,20}or both |(?:not|n.t) (?:yet )?compatible|"
        r"incompatible with",
        kinds=NOT_LOG,
    ),
    Rule(
        "incompatible-options",
        checks=r"is (?:not )?None\) (?:==|!=|\^) \(\w",
        unless=r"mismatch|not match",
        kinds=NOT_LOG,
    ),
    Rule(
        "unset-state",
        r" is not enabled| is unset| not constructed|(?:decoder|tower|"
        r"encoder) is not loaded| not (?:been )?initiali[sz]ed|not yet initiali[sz]ed|"
        r"uninitiali[sz]ed",
        kinds=NOT_LOG,
    ),
    Rule(
        "required-option",
        r" (?:is|are) required (?:for|when|if|to|with|by|in|unless)| (?:is|are) required $|"
        r"must be (?:provided|specified|given|passed|supplied)(?! (?:as|in|with)\b)|"
        r" no .{1,30} specified |missing required (?!attribute|method)|requires? both |"
        r"requires? explicit|"
        r"requires? an explicit",
        unless=r"package|library|install|version",
    ),
    Rule(
        "duplicate",
        r"duplicate|must be unique|be unique|not unique| distinct |already (?:exist|"
        r"registered|initiali|"
        r"specified|in use|been|has|set|bound|defined|running|started|loaded|allocated)|"
        r"(?:is|was|already) already ",
        kinds=NOT_LOG,
    ),
    Rule(
        "wrong-result",
        r"missing or invalid|non-finite| violations",
        checks=r"isfinite|== 0$",
        kinds=NOT_LOG,
    ),
    Rule(
        "out-of-range",
        r"(?:must|should|needs?|requires?) (?:\S+ ){0,4}(?:positive|non-?negative|finite)|"
        r"out of bounds|out of range|outside the valid range|larger than zero|"
        r"should (?:not )?be (?:less|greater|smaller|larger) than|must be (?:less|greater|"
        r"smaller) than|"
        r"no positive ",
        unless=r"power|multiple|memory|divid",
    ),
    Rule(
        "out-of-range",
        r"(?:requires?|supports?|needs?|must|expects?) .{0,50}(?:<=|>=|<|>) |"
        r"needs? \d+\.\.|(?:at most|at least) (?:{}|\d)",
        checks=r"^(?:not )?\(?[\w.]+ (?:<=|>=|<|>) [\w.]+(?: (?:<=|>=|<|>) [\w.]+)?\)?$",
        unless=r"exceed|capacity|buffer|not support|support .{0,30}with|version|sm\d|\d-?d ",
        kinds=NOT_LOG,
    ),
    Rule("layout-or-device", checks=r"^(?:not )?[\w.\[\]]+\.(?:is_contiguous|IsContiguous)\(\)$"),
    Rule(
        "capacity-exceeded",
        r"^ (?:\S+ ){0,6}(?:cannot fit|does not fit|exceeds?) ",
        unless=r"maximum diff|tolerance",
        kinds=NOT_LOG,
    ),
    Rule(
        "not-divisible",
        checks=r"^(?:not )?\(?[\w.\[\]()-]+ % [\w.]+(?: (?:!=|==) 0)?\)?$",
        unless=r"exceed|unsupported",
        kinds=NOT_LOG,
    ),
    Rule(
        "not-divisible",
        r"divisible|multiples? of |(?:be|not|stay|is|are|requires?|bytes?|\d+b?) aligned |"
        r" align to | \S+-aligned | alignment |misaligned|whole number of|be even| even |"
        r"unaligned|power of two|power of 2|powers of | evenly | divides? | dividing ",
    ),
    Rule(
        "layout-or-device",
        r"contiguous| strides? |row-major|column-major|row major|column major|k-major|"
        r"channels?[- ]last| alias |"
        r"(?:must be|expects?) mn?-major| pinned |same device",
        unless=r"dtype .{0,20}contiguous dtype|payload|contiguous \w+ (?:messages|ownership)|"
        r"mismatch|number|"
        r"capacity",
    ),
    Rule(
        "shape-mismatch",
        r" shapes? |[_-]shape |\.shape |{shape}| \d-?d |"
        r"(?:one|two|three|four|five|six)-dimensional| \d-dimensional| dimensions? |"
        r" dims? | ndim | rank-\d tensor| rank \d (?:or|tensor|got) |rank-\d | dim\d |"
        r"head_dim|head_size|hidden_size|"
        r"head[ _]dims?|"
        r"hidden dim|_dim=|last dim|broadcast(?:able|ed)? (?:to|with) |"
        r"must be (?:a )?(?:flattened )?\[ \w+(?: \S+){1,6} \]|must have \[ |"
        r" expected \( \w+(?: \S+){1,6} \)|"
        r"must be \( \w+(?: [\w*/+-]+){1,6} \)|expected \[ \w+(?: [\w*/+-]+){1,6} \] got|"
        r"(?:row|rows|columns?|cols?|width|elements) .{0,30}got {}| size mismatch",
        unless=r"exceed|{dtype}| dtype|too (?:large|small)|must be (?:>|positive|at least)|"
        r"fit |(?:not|n.t) (?:yet |currently )?support|unsupported (?!(?:\w+ ){0,3}shape)|"
        r"incompatible|only supports",
    ),
    Rule(
        "dtype-mismatch",
        r" dtypes? |[_-]dtypes? |dtype=|{dtype}|data type|"
        r"must be (?:\w+ ){0,2}<number>|expects? (?:\S+ ){0,4}<number>|"
        r"requires? (?:\S+ ){0,2}<number>|expected (?:\S+ ){0,4}<number>|"
        r"only (?:\S+ ){0,3}<number>|unsupported (?:\S+ ){0,2}<number>|"
        r" stay <number>|"
        r"<number>-only|"
        r"must be 1-byte|floating[ -]point|scalar type",
        unless=r"exceed|must (?:be )?match --|--\S*dtype|contradict|exports|quantizations|"
        r"requires? .{0,40}"
        r"(?:support|scales) ",
    ),
    Rule(
        "dtype-mismatch",
        checks=r"^(?:not |\(|any\(|all\(|const_expr\()*[\w.\[\]]+\.dtype\b|^[\w.]+dtype\(\)|"
        r"^is_type<|"
        r"^std::is_same|is_floating_point|element_type|[dD]type (?:==|!=|not in|in) ",
        unless=r"exceed|too (?:large|small)|capacity|requires? .{0,30}scale|not support|"
        r"--\S*dtype|invalid .{0,20}family",
    ),
    Rule(
        "layout-or-device",
        r"must be on |must be (?:a |an |on )?(?:cuda|cpu|gpu) |cuda tensor|"
        r"cpu tensor|gpu tensor| on (?:the )?(?:cuda|cpu|gpu|host) |{device}|"
        r"device mismatch|layout (?:must|should)|(?:must|expects?) .{0,40} layout ",
        unless=r"unknown|invalid (?!device)|unsupported layout {}|layout {}|one of|support|"
        r"mismatch between",
        kinds=NOT_LOG,
    ),
    Rule(
        "layout-or-device",
        checks=r"is_contiguous|IsContiguous|\.stride\(|\.is_cuda\b|\.device\b|is_pinned",
        unless=r"fail|support",
        kinds=NOT_LOG,
    ),
    Rule(
        "not-divisible",
        checks=r"[\w)\]] ?% ?[\w(]|is_power_of|has_single_bit|& \(?\w+ - 1",
        unless=r"positive|exceed|must be one of|unsupported {}",
        kinds=NOT_LOG,
    ),
    Rule(
        "capacity-exceeded",
        r"exceed|too (?:large|long|many|big)|overflow| capacity |larger than|longer than|"
        r"not enough |insufficient|only has |"
        r"out of (?:\w+ )?(?:slots|blocks|pages|space|budget|room)|contain enough |"
        r"requires? {} (?:bytes|slots|rows|pages) |"
        r"needs? {} .{1,20} have {}|"
        r"can ?not alloc|more than the|no (?:more )?(?:free|"
        r"available) (?:\w+ )?(?:slots?|blocks?|pages?|space|rows?|"
        r"request|worker)|"
        r"exhaust|(?:cannot|does not|doesn.?t|must|can.?t) (?:fit|hold) |"
        r"(?:queue|pool|buffer|cache|table) (?:\S+ ){0,3}is full|context length|"
        r"(?:buffer|pool|cache|workspace|budget|capacity|arena|allocat\w+|table|slab|"
        r"ring) (?:\S+ ){0,8}too small|"
        r"at most | limit (?:of|is|exceeded|\() |(?:the|download|token|size) limit |"
        r"larger {} than|more .{1,40} than (?:the )?(?:max|limit|allow|"
        r"capacity|available|supported|{})|"
        r"maximum (?:of|allowed|supported|number|length|size|is)|shared memory (?:usage|"
        r"limit|size)|"
        r"allocation failed|does not fit|is shorter than|underflow|no room",
        unless=r"must be (?:a |an )?(?:between|in \[|finite|positive|non-?negative)|"
        r"unsupported in|than zero",
    ),
    Rule(
        "out-of-range",
        r"at least one ",
        checks=r"^[\w.]+ < [\w.]+(?: \+ \w+)?$|^[\w.]+ >= (?!0|1)",
    ),
    Rule("empty-input", checks=r"^(?:not )?\(?len\([\w.]+\) (?:== 0|> 0|>= 1|< 1)", kinds=NOT_LOG),
    Rule(
        "empty-input",
        r"^ no .{1,40} (?:loaded|left|remaining|decoded|generated) | empty |non-empty|"
        r"nonempty|at least one |at least 1 |"
        r" no (?:\w+ ){0,2}(?:prompts?|requests?|images?|items|samples|data|tokens|"
        r"messages|inputs?|frames|records|rows|entries|texts?|audio|video|layers) |"
        r"(?:to|has|have|with|contains?|no|zero) (?:zero )?(?:frames|tokens|items|images|"
        r"rows|samples|prompts) $|(?:^| has| have) no (?:\w+ ){0,2}[a-z]+s (?:to \w+ )?$",
        unless=r"not empty .{0,20}cannot|at least one of|still|must be empty|"
        r"non-empty (?:list|string)|found|between|no (?:data|tokens) (?:path|"
        r"type)|should be empty|requires? --",
        kinds=NOT_LOG,
    ),
    Rule(
        "out-of-range",
        r"must be (?:a |an |strictly |finite |finite and )*(?:positive|non-?negative|"
        r"negative|greater|less|larger|smaller|finite|nonzero|non-zero|between|within)|"
        r"must be (?:>|<|≥|≤|at least|in the range|in range|in \[ ?-?[\d{]|in \( ?-?[\d{])|"
        r"should be (?:a |an )?(?:positive|non-?negative|greater|less|larger|>|<|between|"
        r"in the range|at least)|"
        r"out of range|out of bounds|out-of-bounds|out-of-range|non-negative|nonnegative|"
        r"cannot be (?:negative|zero|less|greater)|"
        r"must not be (?:negative|zero|less|greater)| positive |"
        r"(?:must be|should be|expects?|expected|needs?|requires?|"
        r"got) (?:\S+ ){0,2}\S*(?:>=|<=|>|<) ?-?\d|"
        r" between {} and | between -?\d| in (?:\[|\() \S+ \S+ (?:\]|\))|must lie |"
        r"greater than|less than|"
        r"smaller than|must be lower| finite |(?:be|is|are|contain) negative |at least {}|"
        r"at least \d|"
        r"too (?:small|short|few|low|high)|not in range|"
        r"invalid .{0,30}(?:index|rank|range)|> 0 |descending|ascending|decreasing|"
        r"increasing|must increase|"
        r"monoton",
        unless=r"max(?:imum)? diff|tolerance|accuracy",
    ),
    Rule("out-of-range", raises=r"^IndexError$"),
    Rule(
        "wrong-type",
        r"must be (?:an? )?(?:instance|str|string|int|integer|list|dict|tuple|bool|"
        r"boolean|float|tensor|torch\.tensor|callable|mapping|sequence|object|array|bytes|"
        r"number|numeric|iterable|json object|dictionary|dataclass|subclass|path|numpy|"
        r"pil)\b|"
        r"should be (?:an? )?(?:instance|str|string|int|integer|list|dict|tuple|bool|"
        r"float|tensor|mapping|sequence)\b|"
        r"must be (?:strings|integers|lists|dicts|numbers|floats|tensors|tuples|booleans|"
        r"callables|mappings|objects)\b|"
        r"expect(?:s|ed)? (?:an? )?(?:instance|str|string|int|integer|list|dict|tuple|"
        r"bool|float|torch\.tensor|mapping|object|numpy) |"
        r"instance of |unexpected (?:\w+ ){0,2}type|"
        r"(?:unsupported|invalid|unknown|wrong|unrecognized) (?:\w+ ){0,3}type .{0,10}{type}|"
        r"(?:got|found|received|type|not) {type}|{type} instead|"
        r"must (?:all )?be (?:of )?type|type mismatch|must inherit|must subclass|subclass of|"
        r"non-empty (?:list|string)|must be iterable|"
        r"is not (?:an? )?(?:str|string|int|list|dict|tensor|callable|mapping|tuple)\b|"
        r"must be a {type}",
        unless=r"one of (?:\[|{})|must be (?:a )?(?:string|str) (?:like|of the form)",
    ),
    Rule(
        "wrong-type",
        r"must be |must return |must contain |must provide|should be |expect|{type}| got |"
        r" not an? | instance|"
        r" type | types | inherit| list| dict| str| mapping| tensor| invalid ",
        checks=r"^not (?:\()?(?:isinstance|issubclass|callable)\(|not isinstance\(|"
        r"^(?:isinstance|issubclass|callable)\([^()]*\)$|type\(\w+\) (?:is not|!=|is)\b",
        unless=r"unsupported|unknown|not support|does not|length|only|requires? |not match|"
        r"cannot resolve",
        kinds=NOT_LOG,
    ),
    Rule("duplicate", raises=r"FileExists|AlreadyExists|Duplicate"),
    Rule(
        "duplicate",
        r" already |duplicate|must not repeat|only .{1,40} once |only once|more than once|"
        r" twice | be unique|"
        r"not unique| repeated |"
        r"multiple .{1,40}(?:found|registered|match|candidates)| distinct |ambiguous|"
        r"collision|collide|has been (?:registered|initiali[sz]ed|released)",
    ),
    Rule(
        "wrong-length",
        r"numbers? of .{0,50}(?:match|equal|same|differ|mismatch|expected|got|must be {}|"
        r"correspond)|"
        r"lengths? .{0,60}(?:match|equal|same|differ|mismatch|expected|got|must be {})|"
        r"(?:has|have|holds?|contains?) {} .{1,40}(?:but|for) (?:the )?(?:\S+ )?{}|"
        r"must match .{0,40}(?:count|length) |same (?:number|length|count|size)|"
        r"(?:count|length|len|batch size|number) mismatch|"
        r"expected (?:exactly )?(?:{}|\d+|one|two|three|a single) (?!got|but)\w+ .{0,30}got {|"
        r"expected {count}|expected .{0,40}got {count}|"
        r"{count} (?:\w+ ){1,4}(?:for|but|expected|!=|vs|do|does|is|are)|"
        r"exactly (?:one|two|three|{}|\d+|1) |"
        r"must (?:have|contain) (?:exactly )?(?:{}|\d+|one) | one .{1,30} per |"
        r"counts? (?:mismatch|must|does|do|differ|!=|\(|{})|length of |lengths |"
        r"a single |batch[ _]size .{0,30}(?:match|must|expected)|equal length|"
        r"per-\w+ .{0,30}count|received {} .{0,30}for {}|cover {} of {}|length {}",
        unless=r"not support|only supports?|cannot",
    ),
    Rule(
        "wrong-length",
        checks=r"len\([^()]*\)\s*(?:==|!=|<|>)|(?:==|!=) len\(",
        unless=r"not support|only supports?|unknown|unexpected| match|differ|distilled|exceed|"
        r"empty|too |format|truncated|path|reference|requires? |supports? ",
        kinds=NOT_LOG,
    ),
    Rule(
        "shape-mismatch",
        checks=r"\.(?:ndim|dim\(\)|ndim\(\)) (?:!=|==|<|>|not in|in) |"
        r"\.shape(?:\[[^\]]*\])?\)? (?:!=|==) |\.size\(-?\d\) (?:!=|==) |^\w+\.unwrap\(\) == ",
        unless=r"support|exceed|empty|count|number|unknown|invalid|requires? \w+=",
        kinds=NOT_LOG,
    ),
)
