"""Language codes, names and detection."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lamar_rag import language_detection
from lamar_rag.language_names import _NAMES
from lamar_rag.languages import (
    UNDETERMINED,
    detect_language,
    detect_languages,
    english_name,
    is_right_to_left,
    language_name,
    normalize_language,
)

# BELEBELE's 122 variants, each group under the code that it must become (written by hand).
BELEBELE = """
ar acm_Arab apc_Arab arb_Arab arb_Latn ars_Arab ary_Arab arz_Arab
af afr_Latn
sq als_Latn
am amh_Ethi
as asm_Beng
az azj_Latn
bm bam_Latn
bn ben_Beng ben_Latn
bo bod_Tibt
bg bul_Cyrl
ca cat_Latn
ceb ceb_Latn
cs ces_Latn
ku ckb_Arab
da dan_Latn
de deu_Latn
el ell_Grek
en eng_Latn
et est_Latn
eu eus_Latn
fi fin_Latn
fr fra_Latn
ff fuv_Latn
om gaz_Latn
gn grn_Latn
gu guj_Gujr
ht hat_Latn
ha hau_Latn
he heb_Hebr
hi hin_Deva hin_Latn
hr hrv_Latn
hu hun_Latn
hy hye_Armn
ig ibo_Latn
ilo ilo_Latn
id ind_Latn
is isl_Latn
it ita_Latn
jv jav_Latn
ja jpn_Jpan
kac kac_Latn
kn kan_Knda
ka kat_Geor
kk kaz_Cyrl
kea kea_Latn
mn khk_Cyrl
km khm_Khmr
rw kin_Latn
ky kir_Cyrl
ko kor_Hang
lo lao_Laoo
ln lin_Latn
lt lit_Latn
lg lug_Latn
luo luo_Latn
lv lvs_Latn
ml mal_Mlym
mr mar_Deva
mk mkd_Cyrl
mt mlt_Latn
mi mri_Latn
my mya_Mymr
nl nld_Latn
no nob_Latn
ne npi_Deva npi_Latn
nso nso_Latn
ny nya_Latn
or ory_Orya
pa pan_Guru
ps pbt_Arab
fa pes_Arab
mg plt_Latn
pl pol_Latn
pt por_Latn
ro ron_Latn
ru rus_Cyrl
shn shn_Mymr
si sin_Latn sin_Sinh
sk slk_Latn
sl slv_Latn
sn sna_Latn
sd snd_Arab
so som_Latn
st sot_Latn
es spa_Latn
sr srp_Cyrl
ss ssw_Latn
su sun_Latn
sv swe_Latn
sw swh_Latn
ta tam_Taml
te tel_Telu
tg tgk_Cyrl
tl tgl_Latn
th tha_Thai
ti tir_Ethi
tn tsn_Latn
ts tso_Latn
tr tur_Latn
uk ukr_Cyrl
ur urd_Arab urd_Latn
uz uzn_Latn
vi vie_Latn
war war_Latn
wo wol_Latn
xh xho_Latn
yo yor_Latn
zh zho_Hans zho_Hant
ms zsm_Latn
zu zul_Latn
"""
EXPECTED_BELEBELE = {
    variant: code for code, *variants in map(str.split, BELEBELE.strip().splitlines()) for variant in variants
}

# The 51 files of NTREX-128 that the paper's Table 7 uses.
NTREX = (
    "arb:ar ben:bn bul:bg cat:ca ces:cs dan:da deu:de ell:el eng:en est:et fas:fa fil:tl fin:fi fra:fr "
    "guj:gu heb:he hin:hi hrv:hr hun:hu ind:id isl:is ita:it jpn:ja kan:kn kor:ko lav:lv lit:lt mal:ml "
    "mar:mr nld:nl nob:no pan:pa pol:pl por:pt ron:ro rus:ru slk:sk slv:sl spa:es srp-Cyrl:sr swa:sw "
    "swe:sv tam:ta tel:te tha:th tur:tr ukr:uk urd:ur vie:vi zho-CN:zh zul:zu"
)
EXPECTED_NTREX = dict(pair.split(":") for pair in NTREX.split())

SENTENCES = {
    "ar": "أين تقع أقدم مكتبة في المدينة ومتى بنيت؟",
    "bn": "আমি প্রতিদিন সকালে বাগানে হাঁটতে যাই।",
    "de": "Wann wurde die alte Brücke über den Fluss gebaut?",
    "el": "Πότε χτίστηκε η παλιά γέφυρα πάνω από το ποτάμι;",
    "en": "When was the old bridge over the river built?",
    "es": "¿Cuándo se construyó el viejo puente sobre el río?",
    "fa": "پل قدیمی روی رودخانه چه زمانی ساخته شد؟",
    "fi": "Milloin vanha silta joen yli rakennettiin?",
    "fr": "Quand le vieux pont sur la rivière a-t-il été construit ?",
    "he": "מתי נבנה הגשר הישן מעל הנהר?",
    "hi": "नदी के ऊपर पुराना पुल कब बनाया गया था?",
    "it": "Quando è stato costruito il vecchio ponte sul fiume?",
    "ja": "川にかかる古い橋はいつ建てられましたか。",
    "ko": "강 위의 오래된 다리는 언제 지어졌습니까?",
    "kn": "ಹಳೆಯ ಸೇತುವೆಯನ್ನು ಯಾವಾಗ ಕಟ್ಟಲಾಯಿತು?",
    "pl": "Kiedy zbudowano stary most nad rzeką?",
    "ro": "Când a fost construit podul vechi peste râu?",
    "ru": "Когда был построен старый мост через реку?",
    "th": "สะพานเก่าข้ามแม่น้ำสร้างขึ้นเมื่อใด",
    "tr": "Nehrin üzerindeki eski köprü ne zaman inşa edildi?",
    "vi": "Cây cầu cũ bắc qua sông được xây dựng khi nào?",
    "zh": "河上的那座古桥是什么时候建造的？",
    "zu": "Ibhuloho elidala eliwela umfula lakhiwa nini?",
}

TELLS_NOTHING = [
    "",
    "   \n\t\u00a0\u3000",
    "0123456789",
    "3,14 % 2026-01-01",
    "?!… — «»",
    "👍🏽🎉",
    "\u200b\u200e\ufeff",
    "\x00\x00",
    "\ud800",
    "\udfff\ud800 \udcff",
    "x",
    "XR-2000",
    "GPT-4",
]


def test_belebele_has_122_variants() -> None:
    assert len(EXPECTED_BELEBELE) == 122


@pytest.mark.parametrize(("variant", "code"), EXPECTED_BELEBELE.items())
def test_belebele_variant(variant: str, code: str) -> None:
    assert normalize_language(variant) == code


@pytest.mark.parametrize(("name", "code"), EXPECTED_NTREX.items())
def test_ntrex_name(name: str, code: str) -> None:
    assert normalize_language(name) == code


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("ger", "de"),  # 639-2's bibliographic codes
        ("chi", "zh"),
        ("gre", "el"),
        ("DE", "de"),
        ("Deu", "de"),
        (" de ", "de"),
        ("de-AT-1996", "de"),
        ("pt_BR", "pt"),
        ("zh-TW", "zh"),
        ("zh-Hant-HK", "zh"),
        ("yue", "zh"),
        ("cmn", "zh"),
        ("nb", "no"),
        ("nor", "no"),
        ("nb-NO", "no"),
        ("nn", "nn"),  # a two-letter code of its own
        ("fil", "tl"),
        ("tgl", "tl"),
        ("prs", "fa"),
        ("kmr", "ku"),
        ("mey", "ar"),  # an Arabic dialect that the macrolanguage's list leaves out
        ("ind", "id"),  # a member of "msa" with a two-letter code of its own
        ("gsw-BE", "gsw"),
        ("hmn", "hmn"),
        ("iw", "he"),  # withdrawn codes
        ("in", "id"),
        ("scr", "hr"),
        ("und", "und"),
        ("zxx", "und"),
        ("mul", "und"),
    ],
)
def test_tricky_codes(given: str, code: str) -> None:
    assert normalize_language(given) == code


@pytest.mark.parametrize(
    "given",
    ["", " ", "d", "German", "english", "xx", "qaa", "ber", "de-", "de--AT", "-de", "de_DE.UTF-8", "ｄｅ",
     "ъ", "de\n\nfr", "d\x00", "\ud800\ud800", "x-private", None, 7],
)  # fmt: skip
def test_what_is_no_language_code_is_refused_in_one_line(given: str) -> None:
    with pytest.raises(ValueError, match="unknown language code") as caught:
        normalize_language(given)
    message = str(caught.value)
    assert repr(given) in message
    assert "\n" not in message
    assert "deu_Latn" in message  # how to write it


def test_every_iso_code_becomes_a_form_that_stays() -> None:
    from iso639 import ALL_LANGUAGES

    forms = set()
    for language in ALL_LANGUAGES:
        for code in (language.part3, language.part2b, language.part2t, language.part1):
            if code and language.status == "A":
                form = normalize_language(code)
                assert normalize_language(form) == form, code
                assert normalize_language(code.upper()) == form, code
                forms.add(form)
    two_letters = {form for form in forms if len(form) == 2}
    assert two_letters == {
        language.part1 for language in ALL_LANGUAGES if language.part1 and language.part1 != "nb"
    }


def test_language_files_of_the_corpora_all_parse(data_dir: Path) -> None:
    table = (data_dir / "ntrex128" / "LANGUAGES.tsv").read_text(encoding="utf-8")
    names = [row.split()[0] for row in table.splitlines() if row.strip()]
    assert len(names) > 120
    for name in names:
        form = normalize_language(name)
        assert normalize_language(form) == form
    files = {path.name.split(".")[1] for path in (data_dir / "ntrex128" / "NTREX-128").glob("newstest*.txt")}
    assert files == set(EXPECTED_NTREX)


@pytest.mark.parametrize(
    ("code", "english", "own"),
    [
        ("deu_Latn", "German", "Deutsch"),
        ("el", "Greek", "Ελληνικά"),
        ("arb", "Arabic", "العربية"),
        ("zho_Hant", "Chinese", "中文"),
        ("nob", "Norwegian", "norsk"),
        ("fil", "Filipino", "Filipino"),
        ("hin_Deva", "Hindi", "हिन्दी"),
        ("und", "undetermined", "undetermined"),
        ("tlh", "Klingon", "Klingon"),  # outside the table: ISO 639-3's name
    ],
)
def test_names(code: str, english: str, own: str) -> None:
    assert english_name(code) == english
    assert language_name(code) == own


def test_names_are_known_for_every_language_of_the_corpora() -> None:
    assert set(EXPECTED_NTREX.values()) | set(EXPECTED_BELEBELE.values()) <= set(_NAMES)
    assert all(normalize_language(code) == code for code in _NAMES)
    assert (
        len({own for _, own in _NAMES.values()}) >= len(_NAMES) - 1
    )  # Fulfulde, Sesotho and the like must not be pasted twice


def test_names_refuse_what_is_no_code() -> None:
    for function in (english_name, language_name, is_right_to_left):
        with pytest.raises(ValueError, match="unknown language code 'German'"):
            function("German")


@pytest.mark.parametrize(
    ("code", "right_to_left"),
    [("ar", True), ("arb_Arab", True), ("arb_Latn", False), ("he", True), ("heb_Hebr", True), ("fa", True),
     ("urd_Arab", True), ("urd_Latn", False), ("ps", True), ("ckb", True), ("ckb-Arab", True), ("ku", False),
     ("kmr", False), ("pa", False), ("pa-Arab", True), ("uig", True), ("yi", True), ("dv", True),
     ("de", False), ("ja", False), ("hi", False), ("und", False), ("az-Arab-IR", True), ("de-1996", False)],
)  # fmt: skip
def test_writing_direction(code: str, right_to_left: bool) -> None:
    assert is_right_to_left(code) is right_to_left


@pytest.mark.parametrize(("code", "text"), SENTENCES.items())
def test_detects_a_sentence(code: str, text: str) -> None:
    assert detect_language(text) == code


def test_capitals_and_surrounding_whitespace_change_nothing() -> None:
    assert detect_language("WANN WURDE DIE ALTE BRÜCKE GEBAUT?") == "de"
    assert detect_language("\n" * 5000 + SENTENCES["fr"]) == "fr"


@pytest.mark.parametrize("text", TELLS_NOTHING)
def test_nothing_to_tell_is_undetermined(text: str) -> None:
    assert detect_language(text) == UNDETERMINED


def test_below_the_threshold_is_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    language, confidence = language_detection.most_likely_language("Guten Morgen")
    assert language == "de"
    monkeypatch.setattr(language_detection, "MINIMUM_CONFIDENCE", confidence)
    assert detect_language("Guten Morgen") == "de"
    monkeypatch.setattr(language_detection, "MINIMUM_CONFIDENCE", confidence + 1e-6)
    assert detect_language("Guten Morgen") == UNDETERMINED


class FixedIdentifier:
    """Stands in for py3langid's model."""

    def __init__(self, probabilities: dict[str, float]) -> None:
        self.labels = list(probabilities)
        self._ranked = sorted(probabilities.items(), key=lambda pair: -pair[1])

    def rank(self, text: str) -> list[tuple[str, float]]:
        return self._ranked


def test_dialects_are_added_up_and_rarer_languages_weigh_less() -> None:
    # By hand: ar 0.2 + ary 0.2 = 0.4; lb (of NTREX-128, not of the 51) 0.5 * 0.5 = 0.25;
    # vo 0.1 * 0.25 = 0.025.
    identifier = FixedIdentifier({"lb": 0.5, "ar": 0.2, "ary": 0.2, "vo": 0.1})
    language, confidence = language_detection.Detector(identifier).best("any")
    assert language == "ar"
    assert confidence == pytest.approx(0.4 / 0.675)
    language, confidence = language_detection.Detector(identifier, 1.0, 1.0).best("any")
    assert language == "lb"
    assert confidence == pytest.approx(0.5)


def test_what_has_no_linguistic_content_counts_as_undetermined() -> None:
    identifier = FixedIdentifier({"zxx": 0.7, "en": 0.3})
    language, confidence = language_detection.Detector(identifier).best("any")
    assert language == UNDETERMINED
    assert confidence == pytest.approx(0.7)


def test_only_the_start_of_a_long_text_counts() -> None:
    limit = language_detection.SAMPLE_CHARACTERS
    german = (SENTENCES["de"] + " ") * (limit // len(SENTENCES["de"]) + 1)
    long_text = german[:limit] + "x" + SENTENCES["ru"] * 25_000
    assert len(long_text) > 1_000_000
    assert language_detection.most_likely_language(long_text) == language_detection.most_likely_language(
        german[:limit]
    )
    assert detect_language(" " * 1_000_000) == UNDETERMINED
    assert detect_language("7" * 1_000_000) == UNDETERMINED


def test_odd_characters_within_a_text_do_no_harm() -> None:
    for odd in ("\ud800", "\udfff", "\x00", "\ufffe", "\U0010ffff", "e\u0301" * 20):
        assert detect_language(SENTENCES["de"] + odd) == "de"
        assert isinstance(detect_language(odd * 3000), str)


def test_every_answer_is_a_normalised_code() -> None:
    texts = [*SENTENCES.values(), *TELLS_NOTHING, *(chr(point) * 3 for point in range(0, 0x20000, 97))]
    for code in set(detect_languages(texts)):
        assert normalize_language(code) == code


def test_many_texts_come_back_in_order() -> None:
    assert detect_languages(list(SENTENCES.values())) == list(SENTENCES)
    assert detect_languages([]) == []


def test_a_wrong_argument_is_one_line() -> None:
    with pytest.raises(ValueError, match=r"got one string 'Guten Morgen', expected a list"):
        detect_languages("Guten Morgen")
    with pytest.raises(ValueError, match="got a NoneType, expected a text"):
        detect_language(None)  # type: ignore[arg-type]


def test_sixteen_threads_load_and_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_detection, "_detector", None)  # so that they load it together
    texts = [text[:length] for length in (8, 20, 60) for text in SENTENCES.values()] * 8
    with ThreadPoolExecutor(16) as pool:
        together = list(pool.map(language_detection.most_likely_language, texts))
    assert together == [language_detection.most_likely_language(text) for text in texts]


def test_importing_loads_neither_tables_nor_model() -> None:
    code = (
        "import sys; import lamar_rag.languages; "
        "print([m for m in ('iso639', 'py3langid', 'numpy', 'torch') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.slow
def test_xquad_is_detected_well(data_dir: Path) -> None:
    # The floors lie a little below what docs/language-detection.md reports.
    right: dict[str, list[float]] = {"context": [], "question": [], "three words": []}
    for path in sorted((data_dir / "xquad").glob("xquad.*.json")):
        code = path.name.split(".")[1]
        articles = json.loads(path.read_text(encoding="utf-8"))["data"]
        paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
        contexts = [paragraph["context"] for paragraph in paragraphs]
        questions = [qa["question"] for paragraph in paragraphs for qa in paragraph["qas"]]
        spaceless = {"th": 12, "zh": 6}
        starts = [
            "".join(question.split())[: spaceless[code]]
            if code in spaceless
            else " ".join(question.split()[:3])
            for question in questions
        ]
        for name, texts in (("context", contexts), ("question", questions), ("three words", starts)):
            found = detect_languages(texts)
            right[name].append(found.count(code) / len(found))
    assert len(right["context"]) == 12
    assert min(right["context"]) >= 0.99
    assert min(right["question"]) >= 0.97
    assert sum(right["three words"]) / 12 >= 0.93
