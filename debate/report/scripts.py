"""Values written into script files, so that no text in them can end the script or open a tag."""

from __future__ import annotations

import json

_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def to_script(value: object) -> str:
    """Write a value as a JavaScript expression.

    Everything outside ASCII is escaped, U+2028 and U+2029 with it, and so are ``<``, ``>`` and ``&``: the text is safe
    in a script file, and would be inside a ``<script>`` element too.

    Args:
        value: What JSON can hold.

    Returns:
        ASCII text.

    Raises:
        ValueError: A number is not finite; give None instead.
    """
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)
