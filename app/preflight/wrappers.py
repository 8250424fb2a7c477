"""Which program does a statement start, through whatever wraps it?

A wrapper (docker, srun, torchrun, mpirun, env, nohup, numactl, ssh, ...) is read past, not
understood: what counts is where the program's own arguments begin, and which environment
variables the wrapper hands on.
"""

from dataclasses import dataclass
from typing import Final, Literal

import regex

from app.preflight.shell import Source, Word

Program = Literal["launch_server", "serve", "diffusion", "other"]

_ASSIGNMENT: Final = regex.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", regex.DOTALL)
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish"})
_MODULES: Final[dict[str, Program]] = {
    "sglang.launch_server": "launch_server",
    "sglang.srt.launch_server": "launch_server",
    "sglang.cli.main": "serve",
    "sglang.cli.serve": "serve",
    "sglang.multimodal_gen.runtime.entrypoints.cli.main": "diffusion",
    "sglang.multimodal_gen.runtime.launch_server": "diffusion",
}
_CONTAINERS: Final = frozenset(
    {"docker", "podman", "nerdctl", "singularity", "apptainer", "enroot"}
)
_PREFIXES: Final = frozenset(
    [
        "sudo",
        "env",
        "nohup",
        "exec",
        "time",
        "nice",
        "ionice",
        "setsid",
        "stdbuf",
        "command",
        "caffeinate",
        "timeout",
        "numactl",
        "taskset",
        "chrt",
        "unbuffer",
        "script",
        "then",
        "do",
        "else",
        "!",
        "{",
    ]
)
_OTHERS: Final = {
    "vllm": "vLLM",
    "trtllm-serve": "TensorRT-LLM",
    "lmdeploy": "LMDeploy",
    "ollama": "Ollama",
    "llama-server": "llama.cpp",
    "text-generation-launcher": "TGI",
    "tritonserver": "Triton Inference Server",
    "curl": "curl",
    "git": "git",
    "pip": "pip",
}


@dataclass(frozen=True, slots=True)
class Launch:
    """Where a launch's own arguments begin, and what starts it."""

    program: Program
    name: str
    first: int
    """Index of the first argument among the statement's words."""
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Nested:
    """A word that is itself a command line (`bash -c "..."`)."""

    source: Source


@dataclass(frozen=True, slots=True)
class Other:
    """A statement that starts something else."""

    name: str
    """As it is called on the line: `vllm serve`, `python -m sglang.bench_serving`."""
    engine: str | None = None


def assignment(word: Word) -> tuple[str, str] | None:
    """`NAME=value` of a word."""
    m = _ASSIGNMENT.fullmatch(word.text)
    return (m["name"], m["value"]) if m else None


def find_program(words: list[Word]) -> Launch | Nested | Other | None:
    """The program that a statement starts; None for a statement that starts nothing."""
    for i, word in enumerate(words):
        launch = _launch_at(words, i)
        if launch is not None:
            return launch
        if i and (word.quoted or len(word.offsets) > 1) and _is_command_text(words, i):
            return Nested(Source(word.text, tuple(word.offsets)))
    if words and regex.match(r"--\w", words[0].text):
        return Launch(
            "launch_server",
            "python -m sglang.launch_server",
            0,
            "The text begins with flags: they were read as those of `python -m "
            "sglang.launch_server`.",
        )
    container = _container_arguments(words)
    if container is not None:
        return container
    return _other(words)


def _launch_at(words: list[Word], i: int) -> Launch | None:
    text = words[i].text
    following = words[i + 1].text if i + 1 < len(words) else ""
    module = following if text == "-m" else text[2:] if text.startswith("-m") else ""
    if module in _MODULES:
        first = i + 2 if text == "-m" else i + 1
        program = _MODULES[module]
        if program != "launch_server" and first < len(words) and words[first].text == "serve":
            first += 1
        return Launch(program, f"python -m {module}", first)
    leaf = text.rsplit("/", 1)[-1]
    if leaf == "launch_server.py" and "sglang_router" not in text:
        diffusion = "multimodal_gen" in text
        return Launch("diffusion" if diffusion else "launch_server", text, i + 1)
    if leaf in ("sglang", "sglang.exe") and following == "serve" and _starts_a_command(words, i):
        return Launch("serve", "sglang serve", i + 2)
    return None


def _starts_a_command(words: list[Word], i: int) -> bool:
    """Not the value of an option such as `--name sglang`."""
    return i == 0 or not words[i - 1].text.startswith("--") or "=" in words[i - 1].text


def _is_command_text(words: list[Word], i: int) -> bool:
    text = words[i].text
    if not regex.search(
        r"sglang(?:\.launch_server|\s+serve\b|/launch_server\.py)|launch_server", text
    ):
        before = [w.text for w in words[:i]]
        shell = any(w.rsplit("/", 1)[-1] in _SHELLS for w in before)
        return shell and regex.fullmatch(r"-\w*c", before[-1]) is not None and " " in text
    return bool(regex.search(r"\s", text.strip()))


def _container_arguments(words: list[Word]) -> Launch | None:
    """`docker run IMAGE --model-path ...`: an image of SGLang whose entry point is the server."""
    if not any(w.text.rsplit("/", 1)[-1] in _CONTAINERS for w in words[:3]):
        return None
    for i, word in enumerate(words[:-1]):
        if "sglang" in word.text and not word.text.startswith("-"):
            following = words[i + 1].text
            if following in ("--model-path", "--model") or following.startswith("--model"):
                return Launch(
                    "launch_server",
                    "python -m sglang.launch_server",
                    i + 1,
                    f"The arguments after the image {word.text} were read as those of `python -m "
                    "sglang.launch_server`.",
                )
    return None


def _other(words: list[Word]) -> Other | None:
    i = 0
    while i < len(words) and (
        assignment(words[i]) or words[i].text in _PREFIXES or words[i].text.startswith("-")
    ):
        i += 1
    if i >= len(words):
        return None
    texts = [w.text for w in words]
    for j, text in enumerate(texts[:-1]):
        if text == "-m" and not texts[j + 1].startswith("-"):
            module = texts[j + 1]
            return Other(f"python -m {module}", "vLLM" if module.startswith("vllm") else None)
    for text in texts:
        leaf = text.rsplit("/", 1)[-1]
        if leaf in _OTHERS:
            return Other(leaf, _OTHERS[leaf])
    if texts[i].rsplit("/", 1)[-1] == "sglang":
        return Other(" ".join(texts[i : i + 2]))
    return Other(texts[i][:80])


def handed_on(words: list[Word]) -> tuple[dict[str, str], list[str]]:
    """The environment variables that the words before a program set.

    Returns:
        The variables, and what was seen but cannot be read from the line.
    """
    env: dict[str, str] = {}
    notes: list[str] = []
    leading, after_env = True, False
    for i, word in enumerate(words):
        before = words[i - 1].text if i else ""
        pair = assignment(word)
        if pair and (leading or before in ("-e", "--env", "-x")):
            env[pair[0]] = pair[1]
        elif word.text in _PREFIXES:
            # `env -u NAME A=1 program`: everything up to the program is env's.
            leading, after_env = True, after_env or word.text == "env"
        elif leading and word.text.startswith("-"):
            continue
        elif before in ("-e", "--env", "-x") and regex.fullmatch(r"[A-Za-z_]\w*", word.text):
            notes.append(f"{word.text} is handed on from the caller's environment: not known here.")
        else:
            if (m := regex.match(r"(?:--env=|-e(?=[A-Z_])|--genv=)(.*)", word.text)) and (
                inner := _ASSIGNMENT.fullmatch(m[1])
            ):
                env[inner["name"]] = inner["value"]
            elif word.text.startswith("--export="):
                env |= _exports(word.text.removeprefix("--export="))
            elif word.text.startswith("--env-file"):
                notes.append("The file of --env-file is not read: what it sets is not known here.")
            leading = after_env
    return env, notes


def _exports(text: str) -> dict[str, str]:
    """`ALL,A=1,B=2` of srun's --export."""
    pairs = (_ASSIGNMENT.fullmatch(part) for part in text.split(","))
    return {m["name"]: m["value"] for m in pairs if m}
