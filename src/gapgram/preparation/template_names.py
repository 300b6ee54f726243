"""Names of templates by what a reader sees of them: English, German, French, Italian, and a few more."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(","))


# Their first argument.
FIRST = _names(
    """abbr, abbrlink, angbr, angle bracket, big, bigger, center, code, em, gloss, ill, illm, ill2,
    interlanguage link, interlanguage link multi, ipa, ipablink, ipalink, ipaslink, kbd, key press, keypress,
    larger, linktext, math, mono, mvar, music, nastaliq, native name, nobold, nobr, nobreak, noitalic, not a typo,
    notatypo, nowrap, nowraplinks, nts, polytonic, samp, sc, sic, script/arabic, script/hebrew, semxlit, small,
    small caps, smallcaps, smaller, strong, sub, sup, tooltip, tt, typo, unicode, url, vanchor, var,
    visible anchor, zh-full, mp, sort, pipe link,
    abkürzung, arf, ars, css, els, ens, ess, frs, grcs, hes, hus, its, jas, las, nls, pls, pts, rus, svs, trs,
    sperrschrift, farblink, hochgestellt, tiefgestellt,
    lien, petit, petites capitales, page h', citation étrangère, guil, term, terme défini, incise, romain,
    inglese, latino, francese, tedesco, spagnolo, russo, greco, maiuscoletto, citazione necessaria, senza fonte"""
)
# Their second argument, or the first where there is only one.
SECOND = _names(
    """lang, langue, script, color, colour, font color, fontcolor, colored text, legend, legend inline, legend0,
    resize, font size, hover title, translit, farbe, couleur, texte coloré, colore, citation-langue, nowrap2"""
)
# Their last argument.
LAST = _names("transl, transliteration")
# A passage of its own.
QUOTES = _names(
    """quote, quotation, blockquote, block quote, cquote, rquote, quote box, quotebox, bquote, poemquote,
    poem quote, centered pull quote, pull quote, zitat, zitat-en, zitat-fr, citation bloc, citazione, цитат"""
)
# Items one below the other.
LISTS = _names(
    """plainlist, flatlist, hlist, ubl, unbulleted list, ublist, vunblist, bulleted list, ordered list,
    columns-list, columns list, colonnes, collapsible list"""
)
MEASURES = _names("convert, cvt, conv, convertir")
PARTS_WITH_SPACES = _names("unité, unite, date, date-, heure, nombre")
PARTS_WITHOUT_SPACES = _names("chem, chem2, chimie, fchim, pow")
FRACTIONS = _names("frac, fraction, sfrac, bruch")
CENTURIES = _names("s, s-, s2, siècle")
CENTURIES_BEFORE_CHRIST = _names("-s, -s-, siècle av jc")
SHIPS = _names("uss, hms, ss, hmas, hmcs, rms, usns, sms, mv, ms")
FLAGS = _names("flag, flagu, flagcountry, drapeau2")
JAPANESE = _names("nihongo, nihongo2, nihongo3, nihongo foot, japonais")

# A sign or a word. Two line feeds end a paragraph.
LITERALS = {
    "nbsp": " ", "space": " ", "spaces": " ", "thinsp": " ", "thin space": " ", "hair space": " ", "nnbsp": " ",
    "shy": "", "wbr": "", "br": " ", "clear": "\n\n", "-": "\n\n", "snd": " – ", "spnd": " – ", "snds": " – ",
    "spaced ndash": " – ", "spaced en dash": " – ", "ndash": "–", "en dash": "–", "endash": "–", "mdash": "—",
    "em dash": "—", "emdash": "—", "mdashb": " — ", "spaced mdash": " — ", "dash": " – ", "'": "'", "'s": "'s",
    "\"'": "\"'", "'\"": "'\"", "·": " · ", "dot": " · ", "!": "|", "pipe": "|", "=": "=", "(": "(", ")": ")",
    "...": "…", "ellipsis": "…", "okina": "ʻ", "hamza": "ʾ", "ayin": "ʿ", "minus": "−", "times": "×",
    "n°": "n°", "numéro": "n°", "m.": "M.", "mme": "Mme", "mlle": "Mlle", "1er": "1er", "ier": "Ier", "1re": "1re",
    "av jc": "av. J.-C.", "ap jc": "apr. J.-C.",
}  # fmt: skip
