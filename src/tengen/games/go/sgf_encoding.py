"""The text encoding of SGF files: UTF-8, what `CA` names, or what the bytes look like.

A file must be decoded before it is parsed: in Chinese and Japanese encodings the second byte of a character may be a
bracket or a backslash.
"""

import codecs
import re
from collections.abc import Iterator
from typing import Final

_FIND = re.compile(rb"(?<![A-Za-z])CA\s*\[\s*([^\]\s]{1,40})\s*\]")
_WIDER: Final = {"gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949", "shift_jis": "cp932", "big5": "cp950"}
"""Files use characters that only the wider encoding of the same family has."""
_PLAIN: Final = ("ascii", "utf-8", "iso8859-1", "cp1252")
_SAMPLE: Final = "(;C[\\]a])"
_LEAST: Final = 0.25  # of the characters beyond ASCII that must be everyday ones
_LONGEST: Final = 20_000  # bytes that are looked at
_EVERYDAY: Final = {
    "cp949": "이가는다을에의한국수프로단기전백흑대회제승선바둑사집패불계년월일시간장소김박정최조강윤임오서신권황안송류"
    "홍성남배유민영재현우준호진석철창훈동원상인규태경희덤반면목결본도예리그왕위명초스들고하지만은를나라것보어"
    "아있습니까했음공짜여자덕차해점귀변중앙돌따냄강타협회문화여류",
    "gb18030": "的一是不了在有人这中国棋手黑白先胜负半目子年月日赛届第冠军名段局盘贴超时认输围甲天元王战本因坊李张刘陈"
    "杨赵周吴徐孙马朱胡郭何高林罗郑梁谢宋唐许邓冯韩曹曾彭蔡潘田董袁于余叶蒋杜苏魏程吕丁沈任姚卢姜崔钟谭陆汪范金"
    "石常昊古力孔杰聂卫平昌镐上下左右大小飞关跳断接点角边星三连好死活劫争率网络对弈比分解说评论结果时间地点东"
    "西北京上海韩日级个到为以可就后前里",
    "cp950": "的一是不了在有人這中國棋手黑白先勝負半目子年月日賽屆第冠軍名段局盤貼超時認輸圍甲天元王戰本因坊李張劉陳楊"
    "趙周吳徐孫馬朱胡郭何高林羅鄭梁謝宋唐許鄧馮韓曹曾彭蔡潘田董袁於余葉蔣杜蘇魏程呂丁沈任姚盧姜崔鐘譚陸汪範金"
    "石上下左右大小飛關跳斷接點角邊星三連好死活劫爭網對弈解說評論結果間地",
    "cp932": "".join(map(chr, range(0x3041, 0x30FB)))
    + "本因坊戦名人段目勝先番碁聖天元王座十杯第期局黒白中押半込手日年月棋院対趙治勲小林光一武宮正樹加藤夫大竹英"
    "雄山下敬吾張井裕太高尾紳路",
}
_EVERYDAY_SETS: Final = {name: frozenset(text) for name, text in _EVERYDAY.items()} | {
    "euc_jp": frozenset(_EVERYDAY["cp932"])
}


def decoded(data: bytes) -> tuple[str, str]:
    """The text of a file, and the encoding that gives these very bytes back."""
    for name in _likely(data):
        try:
            text = data.decode(name)
        except UnicodeError:
            continue
        if text.encode(name) == data:
            return text, name
    return data.decode("latin-1"), "latin-1"


def as_utf8(data: bytes) -> bytes:
    """The whole file in UTF-8 if its encoding is known, else as it is."""
    if data.isascii() and (declared(data) or "ascii") in _PLAIN:
        return data
    text, name = decoded(data)
    return data if name == "latin-1" else text.removeprefix("\ufeff").encode()


def declared(data: bytes) -> str | None:
    """The encoding that a file declares, if Python knows it and plain ASCII stays itself in it."""
    found = _FIND.search(data)
    if found is None:
        return None
    try:
        name = codecs.lookup(found[1].decode("ascii")).name
        return _WIDER.get(name, name) if _SAMPLE.encode(name) == _SAMPLE.encode("ascii") else None
    except (LookupError, ValueError, TypeError, AttributeError):  # unknown, or a codec that is not for text
        return None


def detected(data: bytes) -> str | None:
    """The East Asian encoding in which most characters of a file are everyday ones, or None."""
    sample = data[:_LONGEST]
    found = list[tuple[float, str]]()
    for name, everyday in _EVERYDAY_SETS.items():
        decoder = codecs.getincrementaldecoder(name)("strict")
        try:
            text = decoder.decode(sample, final=len(sample) == len(data))
        except UnicodeError:
            continue
        foreign = [letter for letter in text if letter > "\x7f"]
        found.append((sum(letter in everyday for letter in foreign) / max(1, len(foreign)), name))
    share, name = max(found, default=(0.0, ""))
    return name if share >= _LEAST else None


def _likely(data: bytes) -> Iterator[str]:
    """Encodings to try, the likeliest first."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        yield "utf-16-le" if data.startswith(codecs.BOM_UTF16_LE) else "utf-16-be"
    known = declared(data)
    if known is not None and data.isascii():  # one that shifts between sets of characters
        yield known
    yield "utf-8"
    yield from filter(None, [known])
    yield from filter(None, [detected(data)])
