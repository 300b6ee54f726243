"""What differs between languages: abbreviations, elisions, ordinals; and which languages there are."""

from __future__ import annotations

from dataclasses import dataclass

from gapgram.errors import UsageError


def words_of(text: str) -> frozenset[str]:
    """The words of a text, as a set.

    >>> sorted(words_of("b a"))
    ['a', 'b']
    """
    return frozenset(text.split())


# Wikipedias in languages that put spaces between words.
_WITH_SPACES = words_of(
    """
    aa ab ace ady af als am an ang ar arc arz as ast av ay az azb ba bar bat-smg bcl be be-tarask be-x-old bg
    bh bi bjn bm bn bpy br bs bug bxr ca cbk-zam ce ceb ch chr chy ckb co cr crh cs csb cu cv cy da de diq dsb
    dv ee el eml en eo es et eu ext fa ff fi fiu-vro fj fo fr frp frr fur fy ga gag gd gl glk gn gom got gu gv
    ha haw he hi hif hr hsb ht hu hy ia id ie ig ik ilo io is it iu jam jbo jv ka kaa kab kbd kbp kg ki kk kl
    kn ko koi krc ks ksh ku kv kw ky la lad lb lbe lez lg li lij lmo ln lrc lt ltg lv mai map-bms mdf mg mhr
    mi min mk ml mn mr mrj ms mt mwl myv mzn na nah nap nb nds nds-nl ne new nl nn no nov nrm nso nv ny oc olo
    om or os pa pag pam pap pcd pdc pfl pi pih pl pms pnb pnt ps pt qu rm rmy rn ro roa-rup roa-tara ru rue rw
    sa sah sc scn sco sd se sg sh si simple sk sl sm sn so sq sr srn ss st stq su sv sw szl ta tcy te tet tg
    ti tk tl tn to tpi tr ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo wa war wo xal xh xmf yi yo
    za zea zu
    """
)
_WITHOUT_SPACES = words_of("bo cdo dz gan hak ja km lo lzh my th wuu zh zh-classical zh-min-nan zh-yue")
WIKIPEDIA_CODES = _WITH_SPACES | _WITHOUT_SPACES

_ABBREVIATIONS = {
    "en": "c ca ch fig figs no nos op p par para pp sec sect vol vols gen lt col sgt capt hon rev mt ft",
    "de": "abb abs anm art aufl bd bzw ca dr evtl fa geb ggf hrsg jh kap lit nr prof s sog st str tab vgl ziff",
    "fr": "al art av apr cf chap dr éd fig ibid m me mlle mm mme n no nos p pp st ste t vol",
    "it": "all art artt avv cap cfr co dir dott fig ing lett n nn on p pag pagg pp prof reg s sig sigg ss vol",
}
_ELISIONS = {
    "fr": r"(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)",
    "ca": r"(?:[dlmnst])",
    "oc": r"(?:[dlmnst]|qu)",
    "it": r"[^\W\d_]+",
}
# "im 19. Jahrhundert": a number with a dot after one of these is an ordinal, not the end of a sentence.
_BEFORE_ORDINALS = {
    "de": "ab am beim bis das dem den der des die im ins seit und vom zum zur",
}


@dataclass(frozen=True)
class Language:
    """What splitting and tokenising need to know of a language.

    abbreviations: lower case, without their dot; a sentence does not end after them.
    elision: a regular expression of the words that lose their end before an apostrophe, or empty.
    before_ordinals: words after which a number with a dot is an ordinal.
    """

    code: str
    abbreviations: frozenset[str]
    elision: str
    before_ordinals: frozenset[str]


def language_of(code: str) -> Language:
    """The language with a Wikipedia code.

    >>> language_of("fr").code
    'fr'
    >>> language_of("french")
    Traceback (most recent call last):
    gapgram.errors.UsageError: language 'french': expected a Wikipedia code such as en, de, fr, it
    """
    if code in _WITHOUT_SPACES:
        raise UsageError(f"language {code!r} is written without spaces: its words cannot be told apart here")
    if code not in _WITH_SPACES:
        raise UsageError(f"language {code!r}: expected a Wikipedia code such as en, de, fr, it")
    return Language(
        code,
        words_of(_ABBREVIATIONS.get(code, "")),
        _ELISIONS.get(code, ""),
        words_of(_BEFORE_ORDINALS.get(code, "")),
    )
