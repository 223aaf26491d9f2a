"""What languages are called: in English, and in the language itself."""

from __future__ import annotations

from lamar_rag.language_codes import UNDETERMINED, iso_language, normalize_language

# Code, English name, the language's own name (as Unicode's CLDR and the languages' Wikipedias write it).
_TABLE = """
ace | Acehnese | Bahsa Acèh
af | Afrikaans | Afrikaans
am | Amharic | አማርኛ
an | Aragonese | aragonés
ar | Arabic | العربية
as | Assamese | অসমীয়া
az | Azerbaijani | azərbaycan
ba | Bashkir | башҡортса
bcl | Central Bikol | Bikol
be | Belarusian | беларуская
bem | Bemba | Ichibemba
bg | Bulgarian | български
bm | Bambara | bamanankan
bn | Bengali | বাংলা
bo | Tibetan | བོད་སྐད
br | Breton | brezhoneg
bs | Bosnian | bosanski
ca | Catalan | català
ceb | Cebuano | Cebuano
crh | Crimean Tatar | qırımtatarca
cs | Czech | čeština
cy | Welsh | Cymraeg
da | Danish | dansk
de | German | Deutsch
dv | Dhivehi | ދިވެހި
dz | Dzongkha | རྫོང་ཁ
ee | Ewe | eʋegbe
el | Greek | Ελληνικά
en | English | English
eo | Esperanto | Esperanto
es | Spanish | español
et | Estonian | eesti
eu | Basque | euskara
ext | Extremaduran | estremeñu
fa | Persian | فارسی
ff | Fula | Fulfulde
fi | Finnish | suomi
fj | Fijian | Na Vosa Vakaviti
fo | Faroese | føroyskt
fr | French | français
fy | Western Frisian | Frysk
ga | Irish | Gaeilge
gcf | Guadeloupean Creole French | kréyòl gwadloupéyen
gcr | Guianese Creole French | kriyòl gwiyannen
gd | Scottish Gaelic | Gàidhlig
gl | Galician | galego
gn | Guarani | avañe’ẽ
gom | Goan Konkani | कोंकणी
grc | Ancient Greek | Ἑλληνική
gsw | Swiss German | Schwiizertüütsch
gu | Gujarati | ગુજરાતી
guw | Gun | Gungbe
ha | Hausa | Hausa
hbo | Ancient Hebrew | עברית מקראית
he | Hebrew | עברית
hi | Hindi | हिन्दी
hmn | Hmong | Hmoob
hr | Croatian | hrvatski
ht | Haitian Creole | kreyòl ayisyen
hu | Hungarian | magyar
hy | Armenian | հայերեն
id | Indonesian | bahasa Indonesia
ig | Igbo | Igbo
ilo | Ilocano | Ilokano
is | Icelandic | íslenska
it | Italian | italiano
ja | Japanese | 日本語
jv | Javanese | basa Jawa
ka | Georgian | ქართული
kab | Kabyle | Taqbaylit
kac | Kachin | Jingpho
kea | Kabuverdianu | kabuverdianu
ki | Kikuyu | Gĩkũyũ
kk | Kazakh | қазақша
km | Khmer | ខ្មែរ
kn | Kannada | ಕನ್ನಡ
ko | Korean | 한국어
ku | Kurdish | kurdî
ky | Kyrgyz | кыргызча
la | Latin | Latina
lb | Luxembourgish | Lëtzebuergesch
lg | Ganda | Luganda
lij | Ligurian | ligure
ln | Lingala | lingála
lo | Lao | ລາວ
lt | Lithuanian | lietuvių
luo | Luo | Dholuo
lv | Latvian | latviešu
mg | Malagasy | Malagasy
mi | Maori | Māori
mk | Macedonian | македонски
ml | Malayalam | മലയാളം
mn | Mongolian | монгол
mr | Marathi | मराठी
ms | Malay | bahasa Melayu
mt | Maltese | Malti
my | Burmese | မြန်မာ
nd | North Ndebele | isiNdebele
ne | Nepali | नेपाली
nl | Dutch | Nederlands
nn | Norwegian Nynorsk | nynorsk
no | Norwegian | norsk
nso | Northern Sotho | Sesotho sa Leboa
ny | Chichewa | Chichewa
oc | Occitan | occitan
om | Oromo | Afaan Oromoo
or | Odia | ଓଡ଼ିଆ
pa | Punjabi | ਪੰਜਾਬੀ
pcm | Nigerian Pidgin | Naijá
pl | Polish | polski
ps | Pashto | پښتو
pt | Portuguese | português
qu | Quechua | Runasimi
ro | Romanian | română
ru | Russian | русский
rw | Kinyarwanda | Ikinyarwanda
sa | Sanskrit | संस्कृतम्
sd | Sindhi | سنڌي
se | Northern Sami | davvisámegiella
shi | Tachelhit | Taclḥit
shn | Shan | တႆး
si | Sinhala | සිංහල
sk | Slovak | slovenčina
sl | Slovenian | slovenščina
sm | Samoan | Gagana Samoa
sn | Shona | chiShona
so | Somali | Soomaali
sq | Albanian | shqip
sr | Serbian | српски
ss | Swati | siSwati
st | Southern Sotho | Sesotho
su | Sundanese | Basa Sunda
sv | Swedish | svenska
sw | Swahili | Kiswahili
ta | Tamil | தமிழ்
te | Telugu | తెలుగు
tg | Tajik | тоҷикӣ
th | Thai | ไทย
ti | Tigrinya | ትግርኛ
tk | Turkmen | türkmençe
tl | Filipino | Filipino
tn | Tswana | Setswana
to | Tongan | lea faka-Tonga
tr | Turkish | Türkçe
ts | Tsonga | Xitsonga
tt | Tatar | татарча
ty | Tahitian | Reo Tahiti
ug | Uyghur | ئۇيغۇرچە
uk | Ukrainian | українська
ur | Urdu | اردو
uz | Uzbek | o‘zbek
ve | Venda | tshiVenḓa
vec | Venetian | vèneto
vi | Vietnamese | Tiếng Việt
vo | Volapük | Volapük
wa | Walloon | walon
war | Waray | Winaray
wo | Wolof | Wolof
xh | Xhosa | isiXhosa
yi | Yiddish | ייִדיש
yo | Yoruba | Yorùbá
zh | Chinese | 中文
zu | Zulu | isiZulu
"""

_NAMES: dict[str, tuple[str, str]] = {
    code: (english, own) for code, english, own in (row.split(" | ") for row in _TABLE.strip().splitlines())
}


def language_name(code: str) -> str:
    """Return the language's name in the language itself: "Deutsch" for "de" or "deu_Latn".

    A language outside the table gets its ISO 639-3 name, which is English; "und" is "undetermined".

    Raises:
        ValueError: `code` is not the code of a language.
    """
    return _names(code)[1]


def english_name(code: str) -> str:
    """Return the language's English name: "German" for "de". "und" is "undetermined".

    Raises:
        ValueError: `code` is not the code of a language.
    """
    return _names(code)[0]


def _names(code: str) -> tuple[str, str]:
    normalized = normalize_language(code)
    if normalized == UNDETERMINED:
        return "undetermined", "undetermined"
    known = _NAMES.get(normalized)
    if known is not None:
        return known
    language = iso_language(normalized)
    name = normalized if language is None else language.name
    return name, name
