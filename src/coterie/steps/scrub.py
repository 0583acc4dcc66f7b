"""Find strings that look like personal data, so that a release can leave them out.

Each recognizer is one value in ``RECOGNIZERS``.  Adding one is adding one value; its place in the
tuple is its rank, because a string is counted under the first recognizer that fires.  ``kinds`` is
the plain reference on one string.  ``find`` gives the first kind for a whole column: a vectorised
regular expression rejects most strings, and only the rest reach the exact Python check.

This is hygiene, not a guarantee: names, health and other meaning are not looked at.
"""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import phonenumbers
import polars as pl
from stdnum import iban, luhn
from stdnum.util import get_cc_module

from coterie.core.log import Log
from coterie.steps._spelling import PrepareStep

LONGEST = 2_000
"""Characters of a text that is looked at. The exact checks are slow on text made to be slow (a second for 40,000
characters like bank accounts), so longer ones are taken for personal data, of the kind `too_long`, without a look."""
TOO_LONG = "too_long"

Check: TypeAlias = Callable[[str], bool]

_FLAGS = re.IGNORECASE | re.ASCII
_NO_EDGE = "(?!)"  # matches nowhere


@dataclass(frozen=True, slots=True)
class Recognizer:
    """One kind of personal data.

    ``pattern`` must match every string that has a finding.  It is read by two engines (Rust in
    ``find``, Python in ``kinds``), so it may not use lookaround, ``\\b``, ``\\d``, ``\\w`` or
    ``\\s``; and it may ignore case only where ``check`` decides, as the engines fold differently.
    ``check`` decides on the whole string; None means that the pattern alone decides.
    """

    name: str
    doc: str
    pattern: str
    check: Check | None = None


def _shaped(name: str, doc: str, shape: str, valid: Check | None = None, edge: str = "[0-9A-Za-z]") -> Recognizer:
    """A recognizer for texts of one written shape that ``valid`` accepts.

    A finding may not touch a character of the class ``edge``.  The shape sits in a lookahead so
    that matches may overlap: a year in front of a card number must not hide the card.
    """
    exact = re.compile(f"(?<!{edge})(?=({shape})(?!{edge}))", _FLAGS)

    def check(text: str) -> bool:
        return any(valid is None or valid(match[1]) for match in exact.finditer(text))

    return Recognizer(name, doc, f"(?i)(?:{shape})", check)


def _heads(text: str) -> list[str]:
    """The text without its separators, then the same with ever fewer groups at the end."""
    groups = re.split("[^0-9A-Za-z]+", text)
    return ["".join(groups[:n]) for n in range(len(groups), 0, -1)]


# --- numbers with a checksum or a published structure -------------------------------------------

_SEP = "[ .\u2010-\u2015-]"  # what people write between groups of digits; dashes come in many kinds

# Issuer prefix and lengths: Visa, Mastercard (two ranges), American Express, Discover, Diners Club,
# JCB, UnionPay.
_ISSUER = re.compile(
    r"4(?:.{12}|.{15}|.{18})|5[1-5].{14}|2(?:22[1-9]|2[3-9].|[3-6]..|7[01].|720).{12}|3[47].{13}"
    r"|6(?:011|4[4-9].|5..).{12,15}|3(?:0[0-5]|[689].).{11,16}|35(?:2[89]|[3-8].).{12,15}|62.{14,17}"
)


def _is_card(text: str) -> bool:
    digits = re.sub("[^0-9]", "", text)
    return _ISSUER.fullmatch(digits) is not None and luhn.is_valid(digits)


def _is_iban(text: str) -> bool:
    return any(iban.is_valid(head, check_country=False) for head in _heads(text))


def _is_nino(text: str) -> bool:
    return text[:2].upper() not in {"BG", "GB", "KN", "NK", "NT", "TN", "ZZ"}


def _digits(*lengths: int, sep: str = _SEP + "?") -> str:
    """The shape of digit groups of the given lengths."""
    return sep.join(f"[0-9]{{{length}}}" for length in lengths)


def _national(country: str, module: str, doc: str, shape: str) -> Recognizer:
    """A national number that python-stdnum can validate."""
    rules = get_cc_module(country, module)
    if rules is None:
        raise ImportError(f"python-stdnum has no module {country}.{module}")

    def valid(text: str) -> bool:
        text = text.upper()  # as written first: some modules read the separator, others refuse it
        return rules.is_valid(text) or rules.is_valid(re.sub("[^0-9A-Z]", "", text))

    return _shaped(f"{country}_{module}", doc, shape, valid)


# Where the checksum is weak (one number in ten passes by chance), only the grouped form is taken:
# without groups, ``digits`` removes the string all the same.
_NATIONAL = (
    _national("us", "ssn", "US social security number", _digits(3, 2, 4, sep=_SEP)),
    _national("us", "itin", "US taxpayer number", _digits(3, 2, 4, sep=_SEP)),
    _national("es", "dni", "Spanish DNI", f"[0-9]{{8}}{_SEP}?[a-z]"),
    _national("es", "nie", "Spanish NIE", f"[xyz]{_SEP}?[0-9]{{7}}{_SEP}?[a-z]"),
    _national("de", "idnr", "German tax id", _digits(2, 3, 3, 3)),
    _national("fr", "nir", "French social security number",
              f"[12]{_SEP}?" + _digits(2, 2) + f"{_SEP}?(?:[0-9]{{2}}|2[ab]){_SEP}?"
              + _digits(3, 3, 2)),
    _national("it", "codicefiscale", "Italian tax code",
              "[a-z]{6} ?[0-9lmnp-v]{2}[a-z][0-9lmnp-v]{2} ?[a-z][0-9lmnp-v]{3}[a-z]"),
    _national("nl", "bsn", "Dutch citizen number, dotted", _digits(4, 2, 3, sep="[.]")),
    _shaped("gb_nino", "UK national insurance number",
            "[a-ceghj-prstw-z][a-ceghj-nprstw-z] ?" + _digits(2, 2, 2, sep=" ?") + " ?[a-d]",
            _is_nino),
    _national("br", "cpf", "Brazilian CPF", _digits(3, 3, 3, 2)),
    _national("cn", "ric", "Chinese resident id", "[0-9]{17}[0-9x]"),
    _national("in", "aadhaar", "Indian Aadhaar", _digits(4, 4, 4)),
    _national("in", "pan", "Indian PAN", "[a-z]{5}[0-9]{4}[a-z]"),
    _national("kr", "rrn", "South Korean resident number", "[0-9]{6}-[0-9]{7}"),
    _national("mx", "curp", "Mexican CURP", "[a-z]{4}[0-9]{6}[a-z]{6}[0-9a-z][0-9]"),
    _national("be", "nn", "Belgian national number", _digits(2, 2, 2, 3, 2)),
    _national("ch", "ssn", "Swiss AHV number", f"756{_SEP}?" + _digits(4, 4, 2)),
    _national("pl", "pesel", "Polish PESEL", "[0-9]{11}"),
    _national("fi", "hetu", "Finnish identity code", "[0-9]{6}[-+a-fu-y][0-9]{3}[0-9a-y]"),
    _national("se", "personnummer", "Swedish id", "(?:[0-9]{2})?[0-9]{6}[-+][0-9]{4}"),
    _national("dk", "cpr", "Danish CPR, with its dash", "[0-9]{6}-[0-9]{4}"),
    _national("ca", "sin", "Canadian SIN, grouped", _digits(3, 3, 3, sep="[ -]")),
)  # fmt: skip

# --- network addresses --------------------------------------------------------------------------


def _is_ipv4(text: str) -> bool:
    return all(int(part) < 256 for part in re.findall("[0-9]+", text)[:4])


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return re.search("[0-9]", text) is not None  # `abc::add` is code rather than an address


# --- phone numbers ------------------------------------------------------------------------------

_GAP = "[ ./()\u2010-\u2015-]{0,4}"
_PHONE_WORD = "(?:phone|telephone|tel|call|cell|mobile|fax|number|ph)"
# Grouping that stands for itself: area code, exchange, line; seven digits only where the string
# holds nothing else or says that it is a phone.
_PHONE_FORM = re.compile(
    rf"(?<![0-9])[0-9]{{3}}\)?{_SEP}{{1,3}}[0-9]{{3}}{_SEP}{{1,3}}[0-9]{{4}}(?![0-9])"
    rf"|\A[2-9][0-9]{{2}}-[0-9]{{4}}\Z"
    rf"|(?<![a-z]){_PHONE_WORD}[ :.#]{{1,3}}[2-9][0-9]{{2}}{_SEP}?[0-9]{{4}}(?![0-9])",
    _FLAGS,
)
_PHONE_US = re.compile(rf"(?<![0-9])(?=1?{_GAP}([2-9][0-9]{{2}}{_GAP}[2-9][0-9]{{6}})(?![0-9]))")
_PHONE_WORLD = re.compile(rf"(?<![0-9])(?:\+|0011|011|00){_GAP}([1-9](?:{_GAP}[0-9]){{6,14}})(?![0-9])")
_PHONE_TRUNK = re.compile(rf"(?<![0-9])\(?0[0-9]{{1,4}}\)?(?:{_SEP}{{1,2}}[0-9]{{2,8}}){{1,4}}")
_TRUNK_REGIONS = ("GB", "FR", "DE", "NL", "AU", "BE", "CH", "AT", "SE")


def _is_number(text: str, region: str | None) -> bool:
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(text, region))
    except phonenumbers.NumberParseException:
        return False


def _is_trunk_number(text: str) -> bool:
    """A national number with its leading zero, grouped as that country groups it."""
    if len(re.sub("[^0-9]", "", text)) < 8:  # short ones are more often something else
        return False
    strict = phonenumbers.Leniency.EXACT_GROUPING
    return any(phonenumbers.PhoneNumberMatcher(text, region, strict).has_next() for region in _TRUNK_REGIONS)


def _has_phone(text: str) -> bool:
    if _PHONE_FORM.search(text):
        return True
    if any(_is_number(match[1], "US") for match in _PHONE_US.finditer(text)):
        return True
    for match in _PHONE_WORLD.finditer(text):
        if any(_is_number("+" + head, None) for head in _heads(match[1])):
            return True
    return any(_is_trunk_number(match[0]) for match in _PHONE_TRUNK.finditer(text))


# --- street addresses ---------------------------------------------------------------------------

_STRONG = "street|st|avenue|ave|road|rd|boulevard|blvd|lane|ln|parkway|pkwy|turnpike|tpke|highway|hwy"
_WEAK = "drive|dr|court|ct|place|pl|way|circle|cir|square|sq|terrace|ter|trail|trl|loop|pike|run|cove|crescent|plaza"
_UNIT = "(?:apartment|apt|suite|ste|unit)[. #]{1,3}[0-9]{1,5}"
_NUMBERED = "(?:route|rt|rte|highway|hwy|county road|state road)[. ]{1,2}[0-9]{1,4}"
_ADDRESS = (
    "([0-9]{1,5})[a-z]?[, ]{1,2}((?:[a-z0-9'.&-]{1,24}[, ]{1,2}){0,4}?)"
    f"({_STRONG}|{_WEAK}|{_UNIT}|{_NUMBERED})"
)
_ADDRESS_EXACT = re.compile(f"(?<![0-9a-z.])(?={_ADDRESS}(?![0-9a-z]))", _FLAGS)
_SAINT = re.compile(
    "[. ]{1,2}(?:louis|paul|patrick|john|mary|joseph|peter|augustine|thomas|luci|martin|maarten"
    "|george|charles|cloud|jude|franci|james|andrew|vincent|anthony|clair|croix|kitts|nick)",
    _FLAGS,
)
# A word that no street name holds, so that `80 gb hard drive` and `7 days in st louis` stay.
_NOT_A_STREET = re.compile(
    "[0-9]+|an?|and|are|at|best|between|by|cheap|days?|disk|flash|for|four|free|from|gb|hard|hours?"
    "|how|in|inch|is|mb|miles?|minutes?|months?|near|on|or|speed|test|the|to|top|usb|vs|weeks?"
    "|wheel|with|years?",
)
# `route 287 danbury ct`: a number after one of these is a road or a station.
_NOT_A_HOUSE = ("route ", "rt ", "rte ", "highway ", "hwy ", "interstate ", "exit ", "channel ")
# Forms with the name after the type (French) or the number last (German, Dutch, Spanish, Italian).
_EUROPEAN = (
    "[0-9]{1,4}(?: bis| ter)?,? (?:rue|boulevard|avenue|impasse|chemin|quai) (?:de|du|des|la|le) "
    "|[a-z\u00df-\u00fc]{3,}(?:stra(?:ss|\u00df)e|str\\.|weg|platz|gasse|straat|laan|plein) "
    "[0-9]{1,3}"
    "|(?:calle|avenida|avda|paseo|viale|piazza) (?:[a-z\u00df-\u00fc.]{2,20},? ){1,4}[0-9]{1,3}"
)
_EUROPEAN_EXACT = re.compile(f"(?<![0-9a-z])(?:{_EUROPEAN})(?![0-9])", _FLAGS)


def _is_address(match: re.Match[str]) -> bool:
    number, words, kind = match[1], match[2].lower().replace(",", " ").split(), match[3].lower()
    if any(map(_NOT_A_STREET.fullmatch, words)):
        return False
    is_year = re.fullmatch("19[0-9]{2}|20[0-2][0-9]", number) is not None
    if re.match(_NUMBERED, kind):
        return not is_year and len(number) > 2
    if not words:
        return False
    if kind == "st":
        # `2006 iowa st football` is a team; a year-like house number asks for the full stop.
        if is_year and match.string[match.end(3) : match.end(3) + 1] != ".":
            return False
        return _SAINT.match(match.string, match.end(3)) is None
    if kind in _STRONG.split("|"):
        return not (is_year and len(words) > 2)
    before = match.string[max(0, match.start() - 12) : match.start()].lower()
    if before.endswith(_NOT_A_HOUSE):
        return False
    # `5 star hotel way` and `2004 road course run`: an ordinary word as type needs a house number.
    return not is_year and (len(number) > 2 or (len(words) == 1 and match.start() == 0))


def _has_address(text: str) -> bool:
    if _EUROPEAN_EXACT.search(text):
        return True
    return any(_is_address(match) for match in _ADDRESS_EXACT.finditer(text))


def _is_account(text: str) -> bool:
    """Hyphenated groups with eight digits or more that are no date."""
    groups = [len(group) for group in text.split("-")]
    is_date = len(groups) == 3 and sorted(groups)[1] <= 2 and max(groups) <= 4
    return sum(groups) >= 8 and not is_date


# --- the list -----------------------------------------------------------------------------------

RECOGNIZERS: tuple[Recognizer, ...] = (
    _shaped("url_credentials", "URL with a password, a token or a session in it",
            "[a-z][a-z0-9+.-]{1,20}://[^ /@?#:]{0,64}:[^ /@]{1,64}@"
            "|[?&;][a-z_-]{0,20}(?:passw(?:or)?d|pwd|token|api_?key|secret|session_?id|auth)"
            "[= ][^ &]{4}", edge=_NO_EDGE),
    Recognizer("email", "e-mail address",
               "[^ @,;:<>()\\[\\]](?:@|[(]at[)]|\\[at\\])(?:[^ @.]{1,63}[.]){1,8}[A-Za-z]{2}"),
    _shaped("iban", "international bank account number",
            "[a-z]{2}[0-9]{2}(?:[ -]?[a-z0-9]{4}){2,7}(?:[ -]?[a-z0-9]{1,3})?", _is_iban),
    _shaped("payment_card", "payment card number",
            "[0-9]{13,19}|" + "|".join(
                _digits(*groups, sep=_SEP) for groups in ((4, 4, 4, 4), (4, 6, 5), (4, 6, 4))),
            _is_card),
    *_NATIONAL,
    _shaped("mac", "hardware (MAC) address", "[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}"),
    _shaped("ipv4", "IPv4 address, or a host name built from one",
            "[0-9]{1,3}(?:[.][0-9]{1,3}){3}|[0-9]{1,3}(?:-[0-9]{1,3}){3}[.][a-z]",
            _is_ipv4, edge="[0-9]"),
    _shaped("ipv6", "IPv6 address", "[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}", _is_ipv6,
            edge="[0-9A-Za-z:]"),
    Recognizer("phone", "phone number", f"[0-9](?:{_GAP}[0-9]){{6}}", _has_phone),
    _shaped("po_box", "post-office box",
            "(?:p[. ]{0,2}o[. ]{0,2}box|post office box|postfach)[ :.#]{0,3}[0-9]", edge=_NO_EDGE),
    Recognizer("address", "street address", f"(?i)(?:{_ADDRESS}|{_EUROPEAN})", _has_address),
    _shaped("zip4", "US ZIP+4 code", "[0-9]{5}-[0-9]{4}"),
    _shaped("account", "hyphenated digit groups, eight digits or more",
            "[0-9]{1,12}(?:-[0-9]{1,12}){2,6}", _is_account),
    Recognizer("digits", "five or more digits in a row", "[0-9]{5}"),
)  # fmt: skip

# No recognizer may fire on a string without one of these, which spares most strings all the rest.
_ANY = r"[0-9@?&;:(\[]"


def kinds(text: str) -> tuple[str, ...]:
    """The names of all recognizers that fire on ``text``, in the order of ``RECOGNIZERS``; or ``too_long``."""
    if len(text) > LONGEST:
        return (TOO_LONG,)
    return tuple(
        r.name
        for r in RECOGNIZERS
        if (r.check(text) if r.check is not None else re.search(r.pattern, text) is not None)
    )


def find(texts: pl.Series) -> pl.Series:
    """The first kind of ``kinds`` for each string, or null where none fires."""
    name = texts.name
    texts = texts.cast(pl.String).alias("text")
    long = texts.str.len_chars().fill_null(0) > LONGEST
    kinds_of = [pl.DataFrame({"text": texts.filter(long).unique()}).with_columns(pl.lit(TOO_LONG).alias("kind"))]
    left = texts.filter(~long & texts.str.contains(_ANY).fill_null(False)).unique()
    for recognizer in RECOGNIZERS:
        hit = left.str.contains(recognizer.pattern)
        if recognizer.check is not None:
            checked = pl.Series(map(recognizer.check, left.filter(hit)), dtype=pl.Boolean)
            hit = hit.scatter(hit.arg_true(), checked)
        named = pl.lit(recognizer.name).alias("kind")
        kinds_of.append(pl.DataFrame({"text": left.filter(hit)}).with_columns(named))
        left = left.filter(~hit)
    frame = pl.DataFrame({"text": texts})
    joined = frame.join(pl.concat(kinds_of), on="text", how="left", maintain_order="left")
    return joined["kind"].alias(name)


class Scrub(PrepareStep):
    """Leave out rows whose item looks like personal data."""

    looks_at = "rows"

    def __call__(self, log: Log) -> Log:
        """The log without rows whose item looks like personal data; the step counts what it removed."""
        item = log.shape.item
        items = log.frame.group_by(item).len().collect(engine="streaming")
        personal = items.with_columns(find(items[item]).alias("kind")).drop_nulls("kind")
        counts = dict(personal.group_by("kind").agg(pl.col("len").sum()).sort("kind").iter_rows())
        kept = log.frame.join(personal.lazy().select(item), on=item, how="anti", nulls_equal=True)
        return self.done(log, kept, counts)
