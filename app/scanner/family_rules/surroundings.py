"""Asked first: what a log says the engine does next, and what is missing around it."""

from typing import Final

from app.scanner.family_rules.rule import LOG, NOT_LOG, Rule

SURROUNDINGS: Final[tuple[Rule, ...]] = (
    Rule("invalid-choice", r"invalid choice"),
    Rule(
        "operation-failed",
        r"^ (?:\[ \S+ \] |\S+ ){0,2}{error} $",
        checks=r"^except|\bexc?\b",
        kinds=NOT_LOG,
    ),
    Rule(
        "deprecated-usage",
        r"deprecated| has been removed| have been removed| no longer supported|"
        r" no longer exists| is retired| was renamed| been renamed| will be removed|"
        r" was removed in|"
        r" obsolete| removed in version",
    ),
    Rule(
        "fallback",
        r"(?<!when)(?<!while)(?<!not)(?<!are)(?<!by)(?<!of) using | changing |retrying with |"
        r" auto set | auto-set |"
        r" auto-select|will be ignored| is ignored|"
        r" treat(?:ed)? as | keeps |fall(?:s|ing)? ?back|fell back|"
        r"fallback| disabl(?:e|es|ed|ing) |"
        r" ignor(?:e|es|ed|ing) | skip(?:s|ped|ping)? |overrid|overwrit| instead |"
        r"default(?:s|ing)? to | us(?:e|es|ing) (?:the )?default| clamp| round(?:ed|ing) |"
        r" adjusted | adjusting |truncated|truncating| forc(?:e|es|ed|ing) | turned off |"
        r" turning off | switching to | switched to | continuing |"
        r" continue (?:with|without)| proceed(?:ing)? with| dropped | dropping |"
        r" treating | assuming | assume | will use | will be used| is set to | resetting |"
        r" setting .{1,60} to | stays disabled| stay disabled| has no effect| no-op|"
        r" capped | capping |reduc(?:ed|ing) .{1,40} (?:from|to) | bypass| will not be |"
        r" automatically | deferred | keeping | degenerating | replaced | replacing |"
        r" is disabled| are disabled| enabl(?:e|ed|ing) .{1,50} because| unavailable so ",
        kinds=LOG,
    ),
    Rule(
        "risky-setting",
        r" may degrade| may be | may cause| may lead| may affect| may not | may result|"
        r" might | could lead| could cause| accuracy (?:may|might|could)| degrad|"
        r"suboptimal|sub-optimal| not recommended| recommend| consider | experimental|"
        r" slower | slow | insecure| not tested| untested| be careful|"
        r" for (?:better|best|optimal) | caution| is reduced",
        unless=r" fail(?:ed|ure|s)? ",
        kinds=LOG,
    ),
    Rule("out-of-memory", raises=r"OutOfMemory|^MemoryError$"),
    Rule(
        "out-of-memory",
        r"out of memory| oom |leaves? no .{0,20}memory|no .{0,20}memory (?:is )?left|"
        r"not enough (?:\w+ ){0,3}memory|"
        r"insufficient (?:\w+ ){0,3}memory|memory (?:\w+ ){0,2}exhausted|"
        r"fail(?:ed|ure) to allocate |mem[-_]fraction[-_]static|"
        r"memory is (?:not enough|insufficient|too small)| not enough memory|"
        r"cannot allocate memory| allocat(?:e|ion) .{0,30}bytes failed",
        unless=r"must be |should be | can oom| may |shared memory",
    ),
    Rule("timeout", raises=r"Timeout"),
    Rule(
        "timeout",
        r"gave up waiting|after waiting|did not become (?:ready|live|healthy|idle|fully)|"
        r"timed[ -]out |times out | timeout after | timeout waiting| timeout while|"
        r" timeout exceeded| deadline |did not (?:\w+ ){1,4}(?:with)?in | watchdog|"
        r"no .{1,30} within {}|no output for {}|after {} ?s(?:econds)? ",
        unless=r"must be |should be |positive",
    ),
    Rule(
        "version-mismatch",
        r"version.{0,60}>=|version.{0,40}<|version.{0,30}mismatch|"
        r"version.{0,30}too (?:old|new)|version.{0,40}not supported|"
        r"unsupported .{0,40}version|version.{0,40}(?:required|incompatible)|"
        r"incompatible .{0,30}version|requires? .{0,60}version|needs? .{0,40}version |"
        r" or newer | or later |requires? [\w .-]{1,40}>= ?v?\d+\.\d|"
        r"upgrade |version.{0,30}expected|"
        r"expected .{0,40}version|newer version|older version|version {}.{0,20}is not |"
        r"(?:cuda|torch|pytorch|triton|python|flashinfer|transformers|driver|nccl|rocm) ?>= ?\d",
        unless=r"not installed|sm_?\d\d|capability|hopper|blackwell|ampere|version_?id|conversion|"
        r"(?:h|b)\d00|gpu",
    ),
    Rule(
        "missing-dependency",
        raises=r"ImportError|ModuleNotFound|PackageNotFound|MissingDependency",
    ),
    Rule(
        "missing-dependency",
        r"pip install|pip3 install|uv pip | not installed| be installed | please install|"
        r" please build|"
        r"(?:could not|cannot|failed to|unable to) import | not (?:built|compiled) with|"
        r" install .{1,40} (?:from|with|to|via|first)|"
        r"(?:package|library|extension)s? .{0,30}not (?:available|found|importable)|"
        r"no module named|unavailable in this environment|which is unavailable|"
        r"requires? (?:the )?[\w./-]{1,30} (?:package|library|module) |"
        r"(?:package|library) (?:is )?(?:required|missing)|import error|importerror|"
        r" import failed|build failed|failed to (?:build|compile) |"
        r"cannot find .{1,30} package|unavailable import",
    ),
    Rule(
        "missing-dependency",
        checks=r"^except \(?(?:ImportError|ModuleNotFoundError)",
        unless=r" version ",
    ),
    Rule(
        "unsupported-hardware",
        r"compute capability|requires? that .{0,30}<hardware>|requires? (?:an? |the |"
        r"at least |at minimum )?<hardware>|"
        r"needs? (?:an? |the )?<hardware>|"
        r"only (?:\w+ ){0,3}(?:on|for|with|in|by) (?:an? |the )?<hardware>|"
        r"only supports? (?:the )?<hardware>|supports? (?:\w+ )?<hardware> only|"
        r"supported (?:only )?(?:on|by|for) (?:an? |the )?<hardware>|"
        r"available (?:only )?(?:on|for) (?:an? |the )?<hardware>|"
        r"implemented (?:only )?(?:on|for) (?:an? |the )?<hardware>|"
        r"unsupported (?:platform|device|gpu|hardware|cpu)|"
        r"unsupported (?:\w+ )?arch(?:itecture)? ?:? ?{}.{0,20}sm|"
        r"no (?:\w+ )?(?:cuda|gpus?|accelerators?|devices?|npu) (?:device |is |are |was |"
        r"were )?(?:found|available|detected|visible)|"
        r"(?:platform|device|gpu|hardware|cpu) (?:{} )?(?:does not|doesn.?t|cannot|do not) support|"
        r"(?:platform|device|gpu|hardware|cpu) (?:{} |type {} )?is not supported|"
        r"current platform|supported on this platform|"
        r"(?:on|for) (?:this|the current) (?:device|platform|gpu|hardware)|"
        r"device capability|gpu architecture|must (?:be )?run on <hardware>|"
        r"cuda is not available|cuda (?:is )?unavailable|"
        r"<hardware> (?:or newer|or later|and above)|"
        r"not supported on (?:\w+ )?<hardware>|non-cuda |(?:hopper|blackwell|ampere)\+",
        unless=r"must be on |same device|on the device|only supports? <number>|error occurred",
    ),
    Rule(
        "unsupported-hardware",
        r" support| requires | available | only | unavailable | need| no kernel ",
        checks=r"\bis_(?:cuda|hip|npu|xpu|cpu|musa|mps|hpu|sm\d+|blackwell|hopper|"
        r"out_of_tree)\w*\(|_is_(?:cuda|hip|npu|xpu|cpu|sm\d+\w*)\b|"
        r"get_device_capability|get_device_sm|is_available\(\)|"
        r"device_capability|is_\w*supported_arch|\bcapability\b",
        unless=r"tensor|contiguous|dtype|error occurred",
    ),
    Rule("access-denied", raises=r"^PermissionError$|Unauthorized|Forbidden"),
    Rule(
        "access-denied",
        r"trust_remote_code|trust-remote-code|unauthorized|unauthorised|403 forbidden|"
        r" permission|access denied|api[ _-]key|untrusted|refusing to (?:use|connect|load|"
        r"follow|open)| escapes? (?:the|its|from|out) |"
        r"traversal|"
        r"outside (?:of )?(?:the )?(?:allowed|root|base|workspace)|"
        r"not (?:in the )?allow(?:ed)?[ -]?list|"
        r"allowed (?:hosts?|domains?|paths?|local|media)|credential|"
        r"unsafe (?:path|pickle|archive|tar|zip|url)| symlink attack|"
        r"invalid .{0,12}token .{0,20}auth",
        unless=r"not support",
    ),
    Rule("file-not-found", raises=r"^FileNotFoundError$|NotADirectory|IsADirectory"),
    Rule(
        "file-not-found",
        r"no such file|<file> .{0,50}not found|"
        r"<file> .{0,50}(?:does not|doesn.?t|did not) exist|<file> .{0,30}is missing|"
        r"(?:not a|is no) (?:file|directory|folder|regular file)|"
        r"(?:could not|cannot|unable to|failed to|can.?t) (?:find|locate) .{0,50}<file>|"
        r" no .{0,40}<file> .{0,20}(?:found|exist|in |at |under )|missing .{0,30}<file> |"
        r"not found (?:at|under) {}| no .{0,40}weights found|must be an existing ",
    ),
    Rule(
        "file-not-found",
        r"not (?:been )?found|exist|missing|no such| file | files | directory | path | no ",
        checks=r"(?:isfile|\.exists|isdir|is_file|is_dir)\(",
        unless=r"already|overwrite|not match",
    ),
    Rule(
        "communication-failure",
        raises=r"Connection|HTTPException_|Socket|zmq|ZMQ|Transport|Network|Transfer|"
        r"grpc|Rpc",
    ),
    Rule(
        "communication-failure",
        r"connection (?:\w+ ){0,2}(?:refused|lost|closed|reset|failed|error|aborted|timed)|"
        r"(?:failed|unable|error) .{0,20}to connect|"
        r"fail(?:ed|ure) to (?:send|receive|recv|download|fetch|upload|bind|reach|forward|"
        r"broadcast|dispatch|push|pull|publish|signal|notify)\b|"
        r"could not (?:connect|reach|download|fetch|send|receive|bind)|"
        r"cannot (?:connect|reach|download|fetch)|nccl error|bootstrap (?:server|failed|"
        r"request)| socket|rdma|"
        r"handshake|status code|status_code|http (?:error|status)|http {}|server returned|"
        r"peer .{0,20}(?:unreachable|failed|lost|closed|died)|download (?:\w+ )?failed|"
        r"zmq|grpc .{0,40}(?:fail|error|exception|unavailable)| port .{0,30}(?:in use|"
        r"taken|not available|unavailable|occupied|free)|"
        r"transfer .{0,40}fail|fail.{0,40} transfer|network error|"
        r"all_?(?:reduce|gather) .{0,20}fail|request to {}.{0,30}fail|remote error|"
        r"receiv(?:e|ing) .{0,30}fail|"
        r"(?:server|worker|peer|endpoint) .{0,20}(?:not reachable|unreachable|"
        r"did not respond|not responding|not healthy|unhealthy)|"
        r"prefetch .{0,40}fail|"
        r"error .{0,30}(?:sending|receiving|connecting|downloading|fetching)|heartbeat|"
        r"websocket|mooncake .{0,30}fail|nixl .{0,20}transfer",
        unless=r"must be |should be | requires? | pars| decod",
    ),
    Rule(
        "weight-loading",
        r"params_dict|checkpoint (?:provides|carries|does not have|has factors)|"
        r"fail(?:ed|ure) to load .{0,40}(?:lora|adapter|weight|model|checkpoint|component|state)|"
        r"unexpected (?:\w+ ){0,2}keys?|missing (?:\w+ ){0,2}keys? |"
        r"(?:missing|unexpected|extra|unmapped|unconsumed|unused|unloaded|"
        r"unknown) (?:\S+ ){0,4}<weights> |"
        r" <weights> (?:\S+ ){0,4}(?:missing|not found|unexpected|not (?:loaded|"
        r"initialized|in the model|in checkpoint|mapped))|"
        r"(?:cannot|could not|failed to|unable to) (?:load|map|merge|convert|apply|unload|"
        r"update|dequantize|repack) (?:\S+ ){0,4}<weights>|"
        r"checkpoint .{0,60}(?:missing|lacks|does not contain|incomplete|has no|"
        r"contains no|must contain|without)|"
        r"not loaded from |weight[ _]loader?|loading (?:the )?weights? |"
        r"never loaded|weights? .{0,40}not loaded|was not loaded|"
        r"update .{0,20}weights .{0,20}fail|fail.{0,30}weights|"
        r"no weights? |missing {}.{0,20}(?:weight|scale)|no parameter |state dict|"
        r"weights? (?:were|was|is|are) not ",
        unless=r"{shape}| shape| must be (?:set|provided|specified|positive|"
        r"contiguous)|layout| requires? |adapters are not loaded",
    ),
)
