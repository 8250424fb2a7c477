"""An entry file that is right, to be broken one line at a time."""

from pathlib import Path

GOOD = """```toml
package = "sglang"
error_class = "ValueError"
error_type = "exception"
message = "needs {wanted} rows, has {rows}"
aliases = ["0123456789abcdef", "old-name"]
severity = "stops-server"
family = "capacity-exceeded"
tags = ["rows"]
related = ["other-entry"]
handling_strategy = "validation"
```
# The table has fewer rows than the batch needs

The table was made for fewer rows than this batch brings.

## Solutions

1. **Make the table larger.** Use this if memory allows:

   ```diff
   - --rows 8
   + --rows 16
   ```
2. **Send fewer rows.** The batch may be split.

## Example fix

```python broken
table(8).take(16)
```
```python fixed
table(16).take(16)
```

## Not this if

- the message speaks of *columns*.
- the table is empty.

## Why

One row a request.

```python
## this is a comment inside of a fence, no heading
```

## Trigger scenarios

- Sixteen requests at once.

## Common situations

- A test with a small table.

## Validation code

```python
def validate(rows, wanted):
    if rows < wanted:
        raise ValueError("too few rows")
```

## Type guard

```python
def is_large_enough(rows, wanted):
    return rows >= wanted
```

## Try and except

```python
def guarded(call):
    try:
        return call()
    except ValueError:
        return None
```

## Prevention tips

- Derive both from one setting.

## Corrections

- **Said:** The table grows by itself. **The code does:** It is refused. **Run:** `table-is-refused`
"""


def entry_path(folder: Path, text: str = GOOD, name: str = "too-few-rows") -> Path:
    """Write an entry file."""
    path = folder / f"{name}.md"
    path.write_text(text, encoding="utf-8")
    return path
