"""Marks around an answer: Markdown, LaTeX, HTML, quotes, special tokens, unseen characters."""

from __future__ import annotations

import json
import re
import unicodedata

_FLAGS = re.IGNORECASE
_INVISIBLE = re.compile(
    "\x1b\\[[0-9;?]{0,20}[A-Za-z]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u00ad\u200b-\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff\ufffd\ud800-\udfff]"
)
_FONT = (
    r"\\(?:text|textbf|textit|textrm|texttt|textsf|emph|mathrm|mathbf|mathit|mathsf|mathtt|mbox|rm"
    r"|fbox|underline|bm|boldsymbol|large|Large)\s{0,9}"
)
_LATEX = re.compile(_FONT + r"\{([^{}]*)\}")
_LATEX_NAME = re.compile(_FONT + r"(?=\{)")
_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4}){1,1000}")
_SPACE = re.compile(r"\\(?:[,;:!\s]|quad\b|qquad\b|displaystyle\b|left\b|right\b|newline\b)")
_TOKENS = re.compile(
    r"<\|[^|<>\n]{1,40}\|>|</?s>|<(?:eos|bos|pad|end_of_turn|end_of_utterance)>|\[/?INST\]", _FLAGS
)
_INLINE = re.compile(
    r"</?(?:b|i|u|em|strong|span|code|center|font|mark|sub|sup|small|big|a|kbd|tt)"
    r"(?:\s[^<>\n]{0,200})?>",
    _FLAGS,
)
_BLOCK = re.compile(
    r"</?(?:p|br|div|h[1-6]|pre|li|ul|ol|tr|td|th|table|tbody)(?:\s[^<>\n]{0,200})?/?>", _FLAGS
)
_ENTITY = re.compile(r"&(?:nbsp|ensp|emsp|thinsp|quot|apos|#39|#34|#160);", _FLAGS)
_ASCII = str.maketrans(
    {
        **dict.fromkeys("「」『』《》〈〉«»“”„‟‹›〝〞〟", '"'),
        **dict.fromkeys("’‘‚‛′", "'"),
        **dict.fromkeys("【〔〖", "["),
        **dict.fromkeys("】〕〗", "]"),
        **dict.fromkeys("。｡", "."),
        **dict.fromkeys("、､،", ","),
        **dict.fromkeys("−﹣", "-"),
        "︰": ":",
        "؛": ";",
        "؟": "?",
    }
)
_EDGE_UNDERSCORES = re.compile(r"(?<![A-Za-z0-9])_+|_+(?![A-Za-z0-9])")
_WORD = re.compile(r"[^\W_]+")
_LEADING = re.compile(r"[^\w?!¬≠✗✘❌✖🚫☒\\/]*")
_TRAILING = re.compile(r"[^\w?¬≠✗✘❌✖🚫☒\\/]*")


def plain(text: str) -> str:
    """Return `text` without Markdown, LaTeX and HTML marks, in compatibility form (NFKC).

    Terminal colours, characters that are not seen (zero-width, direction marks, NUL) and a
    model's special tokens go too; quotes and stops of other scripts become ASCII ones.
    """
    return re.sub(r"[*`$#~]+", "", gentle(text))


def gentle(text: str) -> str:
    """Return `text` as `plain` does, but with marks that can be content: ``$5``, ``C#``, ``~5``."""
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).translate(_ASCII)
    text = _TOKENS.sub("", _ENTITY.sub(" ", unwrap(text)))
    text = _BLOCK.sub("\n", _INLINE.sub("", text))
    text = _SPACE.sub(" ", re.sub(r"\\[()\[\]]", "", text))
    text = _EDGE_UNDERSCORES.sub("", text)
    text = re.sub(r"^[ \t>]{0,9}#{1,6}(?=\s)", "", text, flags=re.MULTILINE)
    text = re.sub(r"\${1,2}([^$\n]{0,200})\${1,2}", r"\1", text)
    return re.sub(r"[*`]+|~~+", "", text)


def unwrap(text: str) -> str:
    """Return `text` with LaTeX font commands replaced by what they set."""
    for _ in range(3):
        text = _LATEX.sub(r"\1", text)
    return _LATEX_NAME.sub("", text)


def unescaped(text: str) -> str:
    r"""Return `text` with JSON's ``\uXXXX`` replaced by what they stand for, quotes excepted."""

    def said(match: re.Match[str]) -> str:
        characters: str = json.loads(f'"{match[0]}"')
        return match[0] if '"' in characters or "\\" in characters else characters

    return _ESCAPES.sub(said, text)


def words(text: str) -> str:
    """Return the lower-case words of `text`, joined by single spaces."""
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).lower()))


def undecorated(line: str) -> str:
    """Return `line` without marks at both ends; a denial or a question mark stays."""
    left = _LEADING.match(line)
    line = line[left.end() :] if left else line
    right = _TRAILING.match(line[::-1])
    return line[: len(line) - right.end()] if right else line
